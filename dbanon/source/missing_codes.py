"""Codes for missing values: the value of a code in a column's type, and SQL that reads codes as NULL.

A code is written as text. Numbers, dates and times compare by value (999 is 999.0), all else byte by byte. The release
gate has an implementation of its own (dbanon.gate.missing_codes) and imports nothing from here.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Context, Decimal

from dbanon.source.catalog import Source
from dbanon.source.column_types import family, is_category
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

IsTrue = Callable[[str], bool]
"""A function that evaluates a SQL condition about literals."""

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?", re.IGNORECASE)
_NON_FINITE = ("nan", "inf", "-inf", "infinity", "-infinity")
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.(?P<fraction>[0-9]+))?)?"
_TIME = re.compile(_CLOCK)
_MOMENT = re.compile(rf"[0-9]{{4,6}}-[0-9]{{1,2}}-[0-9]{{1,2}}(?P<clock>[ T]{_CLOCK})?|-?infinity", re.IGNORECASE)
_FRACTION = {"TIMESTAMP_S": 0, "TIMESTAMP_MS": 3, "TIMESTAMP_NS": 9}
"""Digits of fractional seconds, where they are not six: DuckDB would round further digits to a value that no code
means."""

_MAX_LENGTH = 400
"""Number of characters that no number of any type reaches."""

_EXACT_CONTEXT = Context(prec=1000)
"""A context with more digits than any type has."""


def supports_codes(type_: str) -> bool:
    """Return whether codes for missing values can be compared with values of a DuckDB type.

    They cannot with lists, structs, intervals or bytes.
    """
    return family(type_)[0] is not None or is_category(type_)


def code_value(type_: str, code: str, is_true: IsTrue) -> Sql | None:
    """Return SQL of the value of a DuckDB type that a missing code means; None if the type has no such value.

    The value is comparable with `comparable_column`: for categories (such as UUID) it is a text. `is_true` evaluates a
    SQL condition about literals.
    """
    kind, scale = family(type_)
    if kind in ("integer", "huge", "decimal"):
        number_text = _plain_number(code, scale)
        return None if number_text is None else _cast(number_text, type_, is_true)
    if kind == "float":
        if code.lower() in _NON_FINITE:
            return _cast(code, type_, is_true)
        code_sql = _cast(code, type_, is_true) if _NUMBER.fullmatch(code) and len(code) < _MAX_LENGTH else None
        return code_sql if code_sql is not None and is_true(f"isfinite({code_sql})") else None
    if kind is not None:
        return _temporal_value(kind, type_, code, is_true)
    if type_ == "VARCHAR":
        return text(code)
    if type_ == "BOOLEAN":
        return text(code.lower()) if code.lower() in ("true", "false") else None
    if not is_category(type_):
        return None
    code_sql = _cast(code, type_, is_true)
    return None if code_sql is None else Sql(f"CAST({code_sql} AS VARCHAR)")


def _plain_number(code: str, scale: int) -> str | None:
    """Return a code as the text of a number without an exponent; None if it is no number or does not fit.

    It does not fit if it has more than `scale` decimals or more than 40 digits before the point.
    """
    if not _NUMBER.fullmatch(code) or len(code) >= _MAX_LENGTH:
        return None
    number = Decimal(code).normalize(_EXACT_CONTEXT)
    fits = number.as_tuple().exponent >= -scale and number.adjusted() < 40  # type: ignore[operator]
    return f"{number:f}" if fits else None


def _temporal_value(kind: str, type_: str, code: str, is_true: IsTrue) -> Sql | None:
    """Return SQL of the date or time that a code means; None if it is no date or time, or more precise than the type.

    `kind` is the family of the type: date, time, timestamp or nanos. `is_true` runs a SQL condition about literals and
    returns whether it is true. For instants the value is a TIMESTAMP (in UTC).
    """
    match = (_TIME if kind == "time" else _MOMENT).fullmatch(code)
    if match is None or len((match["fraction"] or "").rstrip("0")) > _FRACTION.get(type_, 6):
        return None
    if kind == "date" and match["clock"] and re.search(r"[1-9]", match["clock"]):
        return None
    return _cast(code, "TIMESTAMP" if type_ == "TIMESTAMP WITH TIME ZONE" else type_, is_true)


def _cast(code: str, type_: str, is_true: IsTrue) -> Sql | None:
    """Return SQL of a code cast to a DuckDB type; None if DuckDB cannot cast it.

    `is_true` runs a SQL condition and returns whether it is true.
    """
    return Sql(f"CAST({text(code)} AS {type_})") if is_true(f"TRY_CAST({text(code)} AS {type_}) IS NOT NULL") else None


def comparable_column(name: str, type_: str) -> Sql:
    """Return SQL of a column for the comparison with codes: instants in UTC, categories as text, byte by byte."""
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return Sql(f"({identifier(name)} AT TIME ZONE 'UTC')")
    return Sql(f"CAST({identifier(name)} AS VARCHAR) COLLATE POSIX") if is_category(type_) else identifier(name)


def column_without_codes(name: str, type_: str, codes: Sequence[Sql]) -> Sql:
    """Return SQL of a column, in its own type, with NULL in place of the values `codes`.

    `codes` are SQL values as `code_value` returns them. The column is unchanged without codes.
    """
    if not codes:
        return identifier(name)
    return Sql(
        f"(CASE WHEN {comparable_column(name, type_)} IN ({join_sql(codes)}) THEN NULL ELSE {identifier(name)} END)"
    )


def without_codes(source: Source, declared: Iterable[DeclaredColumn], is_true: IsTrue) -> Source:
    """Return a copy of the source whose `rows` have NULL in place of the codes for missing values in `declared`.

    A code that is not a value of the column's type is ignored.

    `declared` are the policy rows of the source; `is_true` evaluates a SQL condition about literals.
    """
    codes = {row.column: row.settings.missing_codes for row in declared}
    return replace(source, cleaned=relation_without_codes(source.read, source.columns, codes, is_true))


def relation_without_codes(
    relation: Sql, columns: Mapping[str, str], codes: Mapping[str, Sequence[str]], is_true: IsTrue
) -> Sql | None:
    """Return SQL of a relation with NULL in place of codes for missing values; None if nothing is replaced.

    A code that is not a value of the column's type is ignored.

    Args:
        relation: The relation.
        columns: Its column types by name.
        codes: Codes by column, whose names are compared without case.
        is_true: Evaluates a SQL condition about literals.
    """
    codes_by_column = {fold_case(column): column_codes for column, column_codes in codes.items()}
    values = {}
    for name, type_ in columns.items():
        code_values = (code_value(type_, code, is_true) for code in codes_by_column.get(fold_case(name), ()))
        values[name] = [code_sql for code_sql in code_values if code_sql is not None]
    return select_without_codes(relation, columns, values)


def select_without_codes(relation: Sql, columns: Mapping[str, str], values: Mapping[str, Sequence[Sql]]) -> Sql | None:
    """Return SQL of a relation with NULL in place of `values`, by column; None if there are none.

    The values are SQL, as `code_value` returns them.

    `columns` are the column types of the relation by name.
    """
    if not any(values.values()):
        return None
    reads = ((name, column_without_codes(name, type_, values.get(name, ()))) for name, type_ in columns.items())
    columns_sql = join_sql(f"{cleaned_column} AS {identifier(name)}" for name, cleaned_column in reads)
    return Sql(f"(SELECT {columns_sql} FROM {relation})")
