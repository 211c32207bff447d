"""Quote identifiers and literals; no other module does.

`Sql` marks text that is already SQL. Templates refuse to print anything that is not `Sql`, so an unquoted name cannot
reach a statement by accident.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


class Sql(str):
    """A string that is SQL text already, so that it needs no quoting."""

    __slots__ = ()


class Fragment(Sql):
    """SQL that a Jinja template can print without escaping."""

    __slots__ = ()

    def __html__(self) -> Fragment:
        """Return the text itself, so that Jinja does not escape it."""
        return self


def identifier(name: str) -> Sql:
    """Return a name as a SQL identifier in double quotes; ValueError if it contains the NUL character.

    >>> print(identifier('odd name'))
    "odd name"
    """
    if "\0" in name:
        raise ValueError("a name cannot contain the NUL character")
    return Sql('"' + name.replace('"', '""') + '"')


def qualified(*parts: str) -> Sql:
    """Return a qualified name such as `"database"."schema"."table"`, each part in quotes; empty parts are omitted."""
    return Sql(".".join(identifier(p) for p in parts if p))


def literal(value: str | int | float | bool | None) -> Sql:
    """Return a SQL literal of a Python scalar; ValueError for an infinite number or NaN.

    A float has an exponent, so that DuckDB reads a DOUBLE; None is NULL; a text is quoted (see `text`).
    """
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
    """Return a SQL string literal. NUL characters, which a literal cannot contain, are written as chr(0)."""
    pieces = ["'" + piece.replace("'", "''") + "'" for piece in value.split("\0")]
    return Sql(pieces[0] if len(pieces) == 1 else "(" + " || chr(0) || ".join(pieces) + ")")


def argument(value: object) -> Sql:
    """Return a Python scalar, list, tuple or mapping as SQL for the value of a parameter.

    A list or a map has one type in DuckDB, so all numbers become texts if any value is a text. Keys of a mapping become
    texts.

    >>> print(argument({"age": ["NA", 999]}))
    MAP {'age': ['NA', '999']}
    """
    return _argument(value, any(isinstance(leaf, str) for leaf in _scalars(value)))


def _scalars(value: object) -> Iterator[object]:
    """Yield the scalars of nested lists, tuples and mappings, in order; keys of mappings are not included."""
    children = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else None
    if children is None:
        yield value
        return
    for child in children:
        yield from _scalars(child)


def _argument(value: Any, as_text: bool) -> Sql:
    """Return the SQL of a scalar, list, tuple or mapping.

    With `as_text`, numbers are written as string literals; booleans and None are not. Keys of mappings are always
    string literals.
    """
    if isinstance(value, Mapping):
        return Sql(f"MAP {{{join_sql(f'{text(str(k))}: {_argument(v, as_text)}' for k, v in value.items())}}}")
    if isinstance(value, (list, tuple)):
        return Sql(f"[{join_sql(_argument(v, as_text) for v in value)}]")
    return (
        text(str(value))
        if as_text and isinstance(value, (int, float)) and not isinstance(value, bool)
        else literal(value)
    )


def one_line(value: str) -> str:
    r"""Return text for a comment or a line of output, with non-printable characters escaped.

    No character can end the comment or begin another line.

    >>> print(one_line("d\nDROP TABLE t"))
    d\nDROP TABLE t
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)


def as_json(value: object) -> Sql:
    """Return a value, serialized as JSON, as a SQL string literal."""
    return text(json.dumps(value, ensure_ascii=False))


def join_sql(parts: Iterable[str], separator: str = ", ") -> Sql:
    """Join pieces of SQL with a separator, by default a comma; nothing is quoted."""
    return Sql(separator.join(parts))


_MAX_JSON_LINE = 110
"""Maximum length of a row of literal_rows() that is written on one line."""


def literal_rows(columns: Mapping[str, object], rows: Sequence[Sequence[object]]) -> Sql:
    """Return a SELECT statement whose result is the given rows.

    `columns` maps the names of the columns to their SQL types. The values are written as JSON, one row per line, and
    converted by DuckDB.
    """
    document = text(_json_lines([dict(zip(columns, row, strict=True)) for row in rows]))
    return Sql(f"SELECT unnest(from_json({document}, {as_json([dict(columns)])}), max_depth := 2)")


def _json_lines(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as a JSON array with one row per line; a row too long for a line has one value per line."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    lines = [
        line if len(line) <= _MAX_JSON_LINE else json.dumps(row, ensure_ascii=False, indent=1)
        for line, row in zip(lines, rows, strict=True)
    ]
    return f"[{lines[0]}]" if len(lines) == 1 else "[\n{}\n]".format(",\n".join(lines)) if lines else "[]"
