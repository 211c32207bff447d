"""Lay out a statement that people read: join short lines, and wrap long ones at commas and keywords."""

import textwrap
from collections.abc import Sequence

from dbanon.sqltext.line_join import join_short_lines
from dbanon.sqltext.quote import text
from dbanon.sqltext.tokenizer import spaced_words

MAX_WIDTH = 120
"""Lines of a printed statement have at most so many characters, unless one name is longer."""

_INDENT = "    "
_BREAK_BEFORE = frozenset({
    "and", "or", "when", "then", "else", "end", "from", "join", "where", "left", "full", "cross", "group", "order",
    "having", "union", "on", "as", "positional", "||", "::", "+", "-",
})  # fmt: skip
"""Words before which a line may be broken."""

_CLAUSES = frozenset({
    "from", "join", "where", "left", "full", "cross", "positional", "group", "order", "having", "union",
})  # fmt: skip
"""Those of them that begin a clause."""

_UNBROKEN = frozenset({
    ("left", "join"), ("full", "join"), ("cross", "join"), ("positional", "join"), ("distinct", "from"),
})  # fmt: skip
"""Pairs of words between which a line is not broken."""

_AFTER_BRACKET = 3
"""The rank of a line break after an opening bracket, which is worse than any other break, however nested."""

_LITERAL_PREFIXES = frozenset({"date", "time", "timestamp", "timestamptz", "interval", "as", "at", "from", "join"})
"""Words after which a string literal is not an expression: a typed literal, a name or a file. It is not split."""


def wrap_lines(statement: str, width: int = MAX_WIDTH) -> str:
    """Return a statement with lines of at most `width` characters: only its white space changes, and long literals.

    Brackets and lists of columns that fit into a line are joined first (`join_short_lines`). A line is broken at the
    least nested comma or keyword that fits; what follows is indented. A string literal that does not fit becomes
    `concat(...)` of shorter ones. Only a line with a longer quoted name stays longer. O(n).
    """
    lines: list[list[tuple[str, str]]] = [[]]
    for blank, word in spaced_words(join_short_lines(statement)):
        *comments, blank_before = blank.split("\n")
        if comments and lines[-1]:
            lines.append([])
        for comment in comments:
            if comment.strip():
                lines[-1].append(("", comment.rstrip()))
                lines.append([])
        lines[-1].append((blank_before, word))
    return "\n".join(wrapped for line in lines if line for wrapped in _wrap_line(line, width))


def _wrap_line(line: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Return the lines into which one line is broken.

    Args:
        line: The tokens of the line, each with the blanks before it; a comment is a single token.
        width: The greatest length of a line.
    """
    whole_line = "".join(blank + word for blank, word in line)
    if max(map(len, whole_line.split("\n"))) <= width:
        return [whole_line]
    indent = " " * (len(whole_line) - len(whole_line.lstrip(" ")))
    if whole_line.lstrip().startswith("--"):
        prefix = f"{indent}-- "
        return textwrap.wrap(
            whole_line.strip()[2:].strip(),
            width,
            initial_indent=prefix,
            subsequent_indent=prefix,
            break_long_words=False,
            break_on_hyphens=False,
        )
    lines: list[str] = []
    rest = _split_literals(line, width - len(indent) - 2 * len(_INDENT))
    while True:
        size = _fitting_tokens(rest, width)
        lines.append("".join(blank + word for blank, word in rest[:size]).rstrip())
        if size == len(rest):
            return lines
        rest = [(indent + _INDENT, rest[size][1]), *rest[size + 1 :]]


def _fitting_tokens(tokens: Sequence[tuple[str, str]], width: int) -> int:
    """Return how many tokens stay on a line: up to the best break that fits, or else up to the first break.

    The least nested break is best; of equally nested ones that of the least rank; of equal ones the last. All tokens
    stay if they fit.
    """
    depth, length, best, best_rank, first = 0, 0, 0, (False, 0, 0), 0
    for i, (blank, word) in enumerate(tokens):
        rank = _break_rank(tokens[i - 1][1], word) if i > 0 else None
        if rank is not None:
            first = first or i
            break_rank = (rank == _AFTER_BRACKET, depth, rank)
            if length <= width and (not best or break_rank <= best_rank):
                best, best_rank = i, break_rank
        first_line, *other_lines = word.split("\n")  # of a literal
        length += len(blank) + len(first_line)
        if length > width and (best or first):
            return best or first
        length = len(other_lines[-1]) if other_lines else length
        depth += (word in ("(", "[", "{")) - (word in (")", "]", "}"))
        depth += (word.lower() == "case") - (word.lower() == "end")
    return len(tokens)


def _break_rank(previous: str, word: str) -> int | None:
    """Return the rank of a line break between two tokens, 0 for the best; None if there must not be a break.

    The ranks are: after a comma or before a clause, before another keyword, before another word or operator, after an
    opening bracket.
    """
    if word == ")" or (previous.lower(), word.lower()) in _UNBROKEN:
        return None
    if previous == "," or (word.lower() in _CLAUSES and previous not in ("(", "[")):
        return 0
    if previous in ("(", "["):
        return _AFTER_BRACKET
    if word.lower() in _BREAK_BEFORE:
        return 1 if word.isalpha() and word.lower() != "as" else 2
    return None


def _split_literals(tokens: Sequence[tuple[str, str]], width: int) -> list[tuple[str, str]]:
    """Return tokens in which a string literal longer than `width` is a call of concat with shorter ones.

    A literal that is no expression, such as the key of a struct, stays whole.
    """
    result: list[tuple[str, str]] = []
    for i, (blank, word) in enumerate(tokens):
        if (
            max(map(len, word.split("\n"))) <= width
            or word[0] != "'"
            or (i > 0 and tokens[i - 1][1].lower() in _LITERAL_PREFIXES)
            or (i + 1 < len(tokens) and tokens[i + 1][1] == ":")
        ):
            result.append((blank, word))
            continue
        result += [(blank, "concat"), ("", "(")]
        for number, piece in enumerate(_literal_pieces(word[1:-1].replace("''", "'"), width - 8)):
            result += [("", ","), (" ", text(piece))] if number else [("", text(piece))]
        result.append(("", ")"))
    return result


def _literal_pieces(value: str, size: int) -> list[str]:
    """Cut a text into pieces of which a literal has at most `size` characters between its quotes.

    A piece ends after a line break, or else after a blank or comma. A quote counts twice, because literals double it.
    """
    pieces = []
    for line in value.splitlines(keepends=True):
        while len(line) + line.count("'") > size:
            longest = size - line.count("'", 0, size)
            end = max(line.rfind(" ", 1, longest), line.rfind(",", 1, longest)) + 1 or longest
            pieces.append(line[:end])
            line = line[end:]
        pieces.append(line)
    return pieces
