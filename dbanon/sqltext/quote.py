"""Identifiers and literals become SQL text here and nowhere else.

`Sql` marks text that is already SQL. Templates refuse to print anything that is not `Sql`, so a name that
was never quoted cannot reach a statement by accident.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


class Sql(str):
    """A string that is SQL text already."""

    __slots__ = ()


def identifier(name: str) -> Sql:
    """Return a quoted identifier: any text but the NUL character is a legal name.

    >>> print(identifier('odd name'))
    "odd name"
    """
    if "\0" in name:
        raise ValueError("a name cannot contain the NUL character")
    return Sql('"' + name.replace('"', '""') + '"')


def qualified(*parts: str) -> Sql:
    """`"database"."schema"."table"`; empty parts are left out."""
    return Sql(".".join(identifier(p) for p in parts if p))


def literal(value: str | int | float | bool | None) -> Sql:
    """Return a SQL literal of a Python scalar."""
    if value is None:
        return Sql("NULL")
    if isinstance(value, bool):
        return Sql("true" if value else "false")
    if isinstance(value, int):
        return Sql(str(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{value} has no literal")
        digits = repr(value)  # without an exponent DuckDB reads a DECIMAL, which may round differently
        return Sql(digits if "e" in digits else f"{digits}e0")
    return text(value)


def text(value: str) -> Sql:
    """Return a string literal; NUL characters are spelled with chr(0), which a literal cannot hold."""
    pieces = ["'" + piece.replace("'", "''") + "'" for piece in value.split("\0")]
    return Sql(pieces[0] if len(pieces) == 1 else "(" + " || chr(0) || ".join(pieces) + ")")


def argument(value: object) -> Sql:
    """Return a parameter's value: a scalar, a list or a mapping.

    A list or a map has one type in DuckDB, so that all are texts where some are.

    >>> print(argument({"age": ["NA", 999]}))
    MAP {'age': ['NA', '999']}
    """
    return _argument(value, any(isinstance(leaf, str) for leaf in _leaves(value)))


def _leaves(value: object) -> Iterator[object]:
    """Yield the scalars in a value."""
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else None
    if inner is None:
        yield value
        return
    for item in inner:
        yield from _leaves(item)


def _argument(value: Any, as_text: bool) -> Sql:
    if isinstance(value, Mapping):
        return Sql(f"MAP {{{joined(f'{text(str(k))}: {_argument(v, as_text)}' for k, v in value.items())}}}")
    if isinstance(value, (list, tuple)):
        return Sql(f"[{joined(_argument(v, as_text) for v in value)}]")
    return (
        text(str(value))
        if as_text and isinstance(value, (int, float)) and not isinstance(value, bool)
        else literal(value)
    )


def one_line(value: str) -> str:
    """Text for a comment or a line of output: what is no printable character is escaped, so that nothing ends the
    comment or begins another line.

    >>> print(one_line("d\\nDROP TABLE t"))
    d\\nDROP TABLE t
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)


def as_json(value: object) -> Sql:
    """Return a JSON document as a string literal."""
    return text(json.dumps(value, ensure_ascii=False))


def joined(parts: Iterable[str], separator: str = ", ") -> Sql:
    """Return several pieces of SQL as one."""
    return Sql(separator.join(parts))


def literal_rows(columns: Mapping[str, object], rows: Sequence[Sequence[object]]) -> Sql:
    """Return a statement that gives literal rows; `columns` are their types by name."""
    document = [dict(zip(columns, row, strict=True)) for row in rows]
    return Sql(f"SELECT unnest(from_json({as_json(document)}, {as_json([dict(columns)])}), max_depth := 2)")
