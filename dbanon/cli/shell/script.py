"""Cut a script that may be unfinished into statements and dot commands."""

from collections.abc import Iterable, Iterator

from dbanon.sqltext.tokenizer import code_tokens


def statements(text: str) -> tuple[list[str], str]:
    """Return the statements that a semicolon ends, without it, and what follows the last one; empty ones are left out.

    >>> statements("SELECT ';'; SELECT 2; FROM")
    (["SELECT ';'", 'SELECT 2'], ' FROM')
    """
    found, begin, content = [], 0, False
    for token in code_tokens(text):
        if token.text != ";":
            content = True
            continue
        if content:
            found.append(text[begin : token.start].strip())
        begin, content = token.end, False
    return found, text[begin:]


def blank(text: str) -> bool:
    """Return whether a text has only blanks and comments."""
    return not code_tokens(text)


def script(lines: Iterable[str]) -> Iterator[str]:
    """Yield statements and dot commands of a text; the last statement needs no semicolon.

    A dot command is a line that begins with a dot where no statement is open.
    """
    pending = ""
    for line in lines:
        if line.startswith(".") and blank(pending):
            pending = ""
            yield line.strip()
            continue
        pending += line if line.endswith("\n") else line + "\n"
        if ";" in line:
            done, pending = statements(pending)
            yield from done
    if not blank(pending):
        yield pending.strip()
