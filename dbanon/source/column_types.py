"""Types of columns: arithmetic families, categories, and how persons are compared."""

import re

from dbanon.sqltext.quote import Sql

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
ZONED = "TIMESTAMP WITH TIME ZONE"
_FAMILIES = dict.fromkeys(INTEGERS, "integer") | {
    "HUGEINT": "huge",
    "UHUGEINT": "huge",
    "FLOAT": "float",
    "DOUBLE": "float",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_S": "timestamp",
    "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP_NS": "nanos",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "TIME": "time",
}
CALENDAR_FAMILIES = ("date", "timestamp", "nanos")
"""Families of types that have a day."""

NUMERIC_FAMILIES = ("integer", "huge", "float", "decimal")
"""Families of numbers."""

_CATEGORIES = re.compile(r"^(VARCHAR|BOOLEAN|UUID|ENUM\(.*)$", re.DOTALL)

_HAS_EQUAL_TEXTS = re.compile(
    r"^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|DECIMAL\(.*|VARCHAR|BOOLEAN|DATE|TIMESTAMP|UUID|ENUM\(.*)$"
)


def has_equal_texts(type_: str) -> bool:
    """Return whether equal values of a DuckDB type have equal texts.

    True for integers, DECIMAL, VARCHAR, BOOLEAN, DATE, TIMESTAMP, UUID and ENUM. False for all other types: 0.0 and
    -0.0 are equal with different texts, and so are a month and 30 days.
    """
    return _HAS_EQUAL_TEXTS.match(type_) is not None


def is_category(type_: str) -> bool:
    """Return whether a DuckDB type is VARCHAR, BOOLEAN, UUID or ENUM, whose values are distinguished by their text."""
    return _CATEGORIES.match(type_) is not None


def is_nested(type_: str) -> bool:
    """Return whether a DuckDB type is a list, a struct, binary or another type without single text values."""
    return type_.endswith("]") or type_.startswith(("STRUCT", "MAP", "UNION", "JSON", "VARIANT", "BLOB", "BIT"))


def family(type_: str) -> tuple[str | None, int]:
    """Return (arithmetic family, decimals) of a numeric or time type; (None, 0) for all others.

    Families are integer, huge, float, decimal, date, timestamp, nanos and time. Decimals are 0 except for a DECIMAL.
    """
    decimal = re.match(r"DECIMAL\((\d+),(\d+)\)$", type_)
    return (_FAMILIES.get(type_), 0) if decimal is None else ("decimal", int(decimal[2]))


def is_zoned(type_: str) -> bool:
    """Return whether a type is TIMESTAMP WITH TIME ZONE: instants, whose text depends on the session's time zone."""
    return type_ == ZONED


def label_text(value: Sql, type_: str) -> Sql:
    """Return SQL of the text of a value as in labels of hierarchies; the time zone of the session does not change it.

    An instant (TIMESTAMP WITH TIME ZONE) is written in UTC: `2020-01-01 00:00:00+00`. Values of other types are cast to
    VARCHAR.
    """
    if not is_zoned(type_):
        return Sql(f"CAST({value} AS VARCHAR)")
    utc = f"CAST({value} AT TIME ZONE 'UTC' AS VARCHAR)"
    return Sql(f"({utc} || CASE WHEN isfinite({value}) THEN '+00' ELSE '' END)")


def are_comparable_keys(type_: str, other_type: str) -> bool:
    """Return whether key columns of these two types can be compared: they are equal, or both are integer types."""
    return type_ == other_type or {type_, other_type} <= set(INTEGERS)


def person_value(value: Sql, type_: str) -> Sql | None:
    """Return SQL of a column that identifies persons, such that equal results mean the same person.

    Texts are compared byte by byte; -0.0 becomes 0.0; instants become microseconds. `value` is SQL of the column. None
    if values of the type cannot identify persons (lists, structs, intervals, bytes).
    """
    if type_ in ("FLOAT", "DOUBLE"):
        return Sql(f"({value} + 0::{type_})")
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return Sql(f"epoch_us({value})")
    if type_ == "VARCHAR":
        return Sql(f"{value} COLLATE POSIX")
    return value if family(type_)[0] is not None or is_category(type_) else None
