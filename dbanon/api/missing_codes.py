"""Quote the numbers in lists that mix texts and numbers, such as `['NA', 999]`, because DuckDB refuses these."""

import re
from collections.abc import Iterator, Sequence

import duckdb

from dbanon.sqltext.tokenizer import Token, code_tokens
from dbanon.table_functions.parameter_types import ForColumns
from dbanon.table_functions.table_function import TableFunction

_NUMBER = re.compile(r"[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?")


def takes_codes(function: TableFunction, parameter: str) -> bool:
    """Return whether a parameter of the function takes lists of codes: its type is `ForColumns`.

    Such lists may mix texts and numbers. Names are compared without case. False if the function has no such parameter.
    """
    return any(p.name == parameter.lower() and isinstance(p.kind, ForColumns) for p in function.parameters)


def number_spans(tokens: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of the numbers in the bracketed lists of one argument.

    Lists that contain anything but texts and numbers are skipped.

    Args:
        tokens: The tokens from the beginning of the argument on. Those from the comma or bracket after the argument are
            ignored.
    """
    depth = 0
    inner: list[Token] | None = None
    for token in tokens:
        depth += (token.text in ("[", "{", "(")) - (token.text in ("]", "}", ")"))
        if depth < 0 or (depth == 0 and token.text == ","):
            return
        if token.text == "[":
            inner = []
        elif token.text == "]" and inner is not None:
            yield from _list_number_spans(inner)
            inner = None
        elif inner is not None:
            inner.append(token)


def _list_number_spans(inner: Sequence[Token]) -> list[tuple[int, int]]:
    """Return the (start, end) offsets of each number in a list; empty if the list has anything but numbers and texts.

    `inner` are the tokens between the brackets.
    """
    elements: list[list[Token]] = [[]]
    for token in inner:
        if token.text == ",":
            elements.append([])
        else:
            elements[-1].append(token)
    spans = []
    for element in elements:
        element_text = "".join(token.text for token in element)
        if len(element) <= 2 and _NUMBER.fullmatch(element_text):
            spans.append((element[0].start, element[-1].end))
        elif len(element) != 1 or not element_text.startswith("'"):
            return []
    return spans


def quote_number(number: str) -> str:
    """Return a number, given as text, as a SQL string literal without the space in the text (`- 9` becomes '-9')."""
    return "'" + "".join(number.split()) + "'"


def quote_listed_numbers(literal: str) -> str:
    """Return the SQL text of an argument with the numbers in its bracketed lists written as string literals."""
    for start, end in sorted(number_spans(code_tokens(literal)), reverse=True):
        literal = literal[:start] + quote_number(literal[start:end]) + literal[end:]
    return literal


def codes_from_cell(cell: str) -> list[str]:
    """Return the codes in a cell of a CSV file: a list as DuckDB writes it, `[NA, '?', 999]`, or the cell as one code.

    NULL elements are omitted.
    """
    if not (cell.startswith("[") and cell.endswith("]")):
        return [cell]
    with duckdb.connect(config={"enable_external_access": "false"}) as scratch:
        codes: list[str | None] = scratch.execute("SELECT CAST(? AS VARCHAR[])", [cell]).fetchall()[0][0]
    return [code for code in codes if code is not None]
