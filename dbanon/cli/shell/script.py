"""Split a script that may be incomplete into statements and dot commands."""

from collections.abc import Iterable, Iterator

from dbanon.sqltext.tokenizer import code_tokens


def split_statements(text: str) -> tuple[list[str], str]:
    """Return the statements that end with a semicolon, without it, and the rest of the text after the last semicolon.

    Empty statements are omitted.

    >>> split_statements("SELECT ';'; SELECT 2; FROM")
    (["SELECT ';'", 'SELECT 2'], ' FROM')
    """
    complete, begin, content = [], 0, False
    for token in code_tokens(text):
        if token.text != ";":
            content = True
            continue
        if content:
            complete.append(text[begin : token.start].strip())
        begin, content = token.end, False
    return complete, text[begin:]


def is_blank(text: str) -> bool:
    """Return whether a text has nothing but white space and comments."""
    return not code_tokens(text)


def script_steps(lines: Iterable[str]) -> Iterator[str]:
    """Yield the statements (without semicolon) and dot commands of a script in order.

    A dot command is a line that begins with a dot outside of a statement. The last statement needs no semicolon.
    """
    pending = ""
    for line in lines:
        if line.startswith(".") and is_blank(pending):
            pending = ""
            yield line.strip()
            continue
        pending += line if line.endswith("\n") else line + "\n"
        if ";" in line:
            done, pending = split_statements(pending)
            yield from done
    if not is_blank(pending):
        yield pending.strip()
