"""Find the names that WITH gives to queries, and where in a statement each is visible."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dbanon.sqltext.tokenizer import Token

_OPENING, _CLOSING = "([{", ")]}"


class CteName(NamedTuple):
    """The name of a query of WITH, and the offsets in the statement between which the name is visible."""

    name: str
    start: int
    end: int


def cte_names(tokens: Sequence[Token]) -> Iterator[CteName]:
    """Yield the names that WITH gives to queries in a statement, given as tokens without space and comments.

    A name is visible from the end of its query, with RECURSIVE from its beginning, to the end of the statement or of
    the brackets in which WITH is. O(n) for each WITH.

    >>> from dbanon.sqltext.tokenizer import code_tokens
    >>> list(cte_names(code_tokens("WITH t AS (SELECT 1) FROM t")))
    [CteName(name='t', start=20, end=27)]
    """
    for index, token in enumerate(tokens):
        if token.upper == "WITH":
            yield from _names_of_with(tokens, index + 1)


def _names_of_with(tokens: Sequence[Token], index: int) -> Iterator[CteName]:
    """Yield the names of one WITH; `index` is that of the token after it. Nothing if it is another use of the word."""
    is_recursive = index < len(tokens) and tokens[index].upper == "RECURSIVE"
    end = _end_of_scope(tokens, index)
    index += is_recursive
    while index < len(tokens) and tokens[index].kind in ("word", "quoted"):
        name, index = tokens[index].name, index + 1
        while index < len(tokens) and tokens[index].upper in ("(", "USING", "KEY"):  # columns
            index = after_brackets(tokens, index) if tokens[index].text == "(" else index + 1
        if index >= len(tokens) or tokens[index].upper != "AS":
            return
        index += 1
        while index < len(tokens) and tokens[index].upper in ("NOT", "MATERIALIZED"):
            index += 1
        if index >= len(tokens) or tokens[index].text != "(":
            return
        begin, index = tokens[index].start, after_brackets(tokens, index)
        yield CteName(name, begin if is_recursive else tokens[index - 1].end, end)
        if index >= len(tokens) or tokens[index].text != ",":
            return
        index += 1


def after_brackets(tokens: Sequence[Token], index: int) -> int:
    """Return the index after the bracket that closes the one at `index`; the number of tokens if none does."""
    depth = 0
    for position in range(index, len(tokens)):
        first = tokens[position].text[:1]
        depth += (first in _OPENING) - (first in _CLOSING)
        if depth == 0:
            return position + 1
    return len(tokens)


def _end_of_scope(tokens: Sequence[Token], index: int) -> int:
    """Return the offset at which the brackets around the token at `index`, or the statement, end."""
    depth = 0
    for token in tokens[index:]:
        first = token.text[:1]
        depth += (first in _OPENING) - (first in _CLOSING)
        if depth < 0 or (depth == 0 and token.text == ";"):
            return token.start
    return tokens[-1].end if tokens else 0
