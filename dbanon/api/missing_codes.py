"""Lists that mix texts and numbers, `['NA', 999]`: DuckDB refuses them, so their numbers are put in quotes."""

import re
from collections.abc import Iterator, Sequence

import duckdb

from dbanon.sqltext.tokenizer import Token, code_tokens
from dbanon.table_functions.parameter_types import ForColumns
from dbanon.table_functions.table_function import TableFunction

_NUMBER = re.compile(r"[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?")


def mixes(function: TableFunction, name: str) -> bool:
    """Return whether lists of a parameter may hold texts and numbers."""
    return any(p.name == name.lower() and isinstance(p.kind, ForColumns) for p in function.parameters)


def numbers(words: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Where the numbers are in the lists of an argument that begins with these words: from and to.

    Of a list that holds anything but texts and numbers there are none.
    """
    depth = 0
    inner: list[Token] | None = None
    for token in words:
        depth += (token.text in ("[", "{", "(")) - (token.text in ("]", "}", ")"))
        if depth < 0 or (depth == 0 and token.text == ","):
            return
        if token.text == "[":
            inner = []
        elif token.text == "]" and inner is not None:
            yield from _of_list(inner)
            inner = None
        elif inner is not None:
            inner.append(token)


def _of_list(inner: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the same of what stands between two brackets."""
    elements: list[list[Token]] = [[]]
    for token in inner:
        if token.text == ",":
            elements.append([])
        else:
            elements[-1].append(token)
    found = []
    for element in elements:
        written = "".join(token.text for token in element)
        if len(element) <= 2 and _NUMBER.fullmatch(written):
            found.append((element[0].start, element[-1].end))
        elif len(element) != 1 or not written.startswith("'"):
            return []
    return found


def as_text(number: str) -> str:
    """Return a number of a statement as a text."""
    return "'" + "".join(number.split()) + "'"


def quoted(value: str) -> str:
    """Return a literal with the numbers in its lists as texts."""
    for start, end in sorted(numbers(code_tokens(value)), reverse=True):
        value = value[:start] + as_text(value[start:end]) + value[end:]
    return value


def of_cell(cell: str) -> list[str]:
    """Return codes in a cell of a CSV file: a list as DuckDB writes it, `[NA, '?', 999]`, or one code."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return [cell]
    with duckdb.connect(config={"enable_external_access": "false"}) as scratch:
        read: list[str | None] = scratch.execute("SELECT CAST(? AS VARCHAR[])", [cell]).fetchall()[0][0]
    return [code for code in read if code is not None]
