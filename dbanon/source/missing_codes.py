"""Codes that stand for a missing value: which value of its type a column has for a code, and how it is read as NULL.

A code is written as text. Numbers, dates and times compare by value (999 is 999.0), all else byte by byte. The release
gate reads codes by itself (dbanon.gate.missing_codes) and takes nothing from here.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Context, Decimal

from dbanon.source.catalog import Source
from dbanon.source.column_types import family, is_category
from dbanon.source.stored_policy import Declared
from dbanon.sqltext.quote import Sql, identifier, joined, text

Holds = Callable[[str], bool]
"""Whether a SQL condition about literals is true."""

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]{1,3})?", re.IGNORECASE)
_WILD = ("nan", "inf", "-inf", "infinity", "-infinity")
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(:[0-9]{2}(\.(?P<fraction>[0-9]+))?)?"
_TIME = re.compile(_CLOCK)
_MOMENT = re.compile(rf"[0-9]{{4,6}}-[0-9]{{1,2}}-[0-9]{{1,2}}(?P<clock>[ T]{_CLOCK})?|-?infinity", re.IGNORECASE)
_FRACTION = {"TIMESTAMP_S": 0, "TIMESTAMP_MS": 3, "TIMESTAMP_NS": 9}
"""Digits after the seconds, where they are not six: DuckDB would round others to a value that nobody named."""

_MOST = 400
"""Characters of a number that is longer than all that a type holds."""

_EXACT = Context(prec=1000)
"""More digits than any type has."""


def can_have(type_: str) -> bool:
    """Return whether codes can be compared with values of a type: not with lists, structs, intervals, bytes."""
    return family(type_)[0] is not None or is_category(type_)


def value(type_: str, code: str, holds: Holds) -> Sql | None:
    """Return the value of a type that a code is, as `compared` has it; None where it cannot be one."""
    kind, scale = family(type_)
    if kind in ("integer", "huge", "decimal"):
        plain = _plain(code, scale)
        return None if plain is None else _cast(plain, type_, holds)
    if kind == "float":
        if code.lower() in _WILD:
            return _cast(code, type_, holds)
        found = _cast(code, type_, holds) if _NUMBER.fullmatch(code) and len(code) < _MOST else None
        return found if found is not None and holds(f"isfinite({found})") else None
    if kind is not None:
        return _moment(kind, type_, code, holds)
    if type_ == "VARCHAR":
        return text(code)
    if type_ == "BOOLEAN":
        return text(code.lower()) if code.lower() in ("true", "false") else None
    if not is_category(type_):
        return None
    found = _cast(code, type_, holds)
    return None if found is None else Sql(f"CAST({found} AS VARCHAR)")


def _plain(code: str, scale: int) -> str | None:
    """Return a number without an exponent; None where it is none, or has more decimals than a type."""
    if not _NUMBER.fullmatch(code) or len(code) >= _MOST:
        return None
    number = Decimal(code).normalize(_EXACT)
    fits = number.as_tuple().exponent >= -scale and number.adjusted() < 40  # type: ignore[operator]
    return f"{number:f}" if fits else None


def _moment(kind: str, type_: str, code: str, holds: Holds) -> Sql | None:
    """Return a date or a time; what is between two values of the type is none of them."""
    match = (_TIME if kind == "time" else _MOMENT).fullmatch(code)
    if match is None or len((match["fraction"] or "").rstrip("0")) > _FRACTION.get(type_, 6):
        return None
    if kind == "date" and match["clock"] and re.search(r"[1-9]", match["clock"]):
        return None
    return _cast(code, "TIMESTAMP" if type_ == "TIMESTAMP WITH TIME ZONE" else type_, holds)


def _cast(code: str, type_: str, holds: Holds) -> Sql | None:
    """Return a code in a type; None where DuckDB cannot read it so."""
    return Sql(f"CAST({text(code)} AS {type_})") if holds(f"TRY_CAST({text(code)} AS {type_}) IS NOT NULL") else None


def compared(name: str, type_: str) -> Sql:
    """Return a column as its codes are compared with it: instants in UTC, categories by their bytes."""
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return Sql(f"({identifier(name)} AT TIME ZONE 'UTC')")
    return Sql(f"CAST({identifier(name)} AS VARCHAR) COLLATE POSIX") if is_category(type_) else identifier(name)


def read(name: str, type_: str, codes: Sequence[Sql]) -> Sql:
    """Return a column of the source with NULL in place of codes (of `value`), in its own type."""
    if not codes:
        return identifier(name)
    return Sql(f"(CASE WHEN {compared(name, type_)} IN ({joined(codes)}) THEN NULL ELSE {identifier(name)} END)")


def cleaned(source: Source, declared: Iterable[Declared], holds: Holds) -> Source:
    """The source such that `rows` has NULL in place of the codes of its policy; a code that no value can be is none."""
    codes = {row.column: row.settings.missing for row in declared}
    return replace(source, cleaned=relation(source.read, source.columns, codes, holds))


def relation(of: Sql, columns: Mapping[str, str], codes: Mapping[str, Sequence[str]], holds: Holds) -> Sql | None:
    """Return the same of a relation with these columns and types, by codes of columns.

    None where nothing is replaced.
    """
    given = {column.lower(): own for column, own in codes.items()}
    values = {}
    for name, type_ in columns.items():
        found = (value(type_, code, holds) for code in given.get(name.lower(), ()))
        values[name] = [one for one in found if one is not None]
    return selected(of, columns, values)


def selected(of: Sql, columns: Mapping[str, str], values: Mapping[str, Sequence[Sql]]) -> Sql | None:
    """Return the same by codes as `value` gives them, by the columns' own names."""
    if not any(values.values()):
        return None
    reads = ((name, read(name, type_, values.get(name, ()))) for name, type_ in columns.items())
    return Sql(f"(SELECT {joined(f'{as_read} AS {identifier(name)}' for name, as_read in reads)} FROM {of})")
