"""Types of columns: the families that arithmetic knows, and what no category can be."""

import re

from dbanon.sqltext.quote import Sql

INTEGERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT")
ZONED = "TIMESTAMP WITH TIME ZONE"
_TIMES = {
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_S": "timestamp",
    "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP_NS": "nanos",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "TIME": "time",
}
_CATEGORIES = re.compile(r"^(VARCHAR|BOOLEAN|UUID|ENUM\(.*)$", re.DOTALL)


def is_category(type_: str) -> bool:
    """Return whether values of a type are told apart by their text."""
    return _CATEGORIES.match(type_) is not None


def is_nested(type_: str) -> bool:
    return type_.endswith("]") or type_.startswith(("STRUCT", "MAP", "UNION", "JSON", "VARIANT", "BLOB", "BIT"))


def family(type_: str) -> tuple[str | None, int]:
    """(arithmetic family, decimals) of a numeric or time type; (None, 0) for the others."""
    if type_ in INTEGERS:
        return "integer", 0
    if type_ in ("HUGEINT", "UHUGEINT"):
        return "huge", 0
    if type_ in ("FLOAT", "DOUBLE"):
        return "float", 0
    if match := re.match(r"DECIMAL\((\d+),(\d+)\)$", type_):
        return "decimal", int(match[2])
    if type_ == "DATE":
        return "date", 0
    return _TIMES.get(type_), 0


def is_zoned(type_: str) -> bool:
    """Return whether values of a type are instants, whose text depends on the session's time zone."""
    return type_ == ZONED


def label_text(value: Sql, type_: str) -> Sql:
    """Return SQL of the text of a value, by which hierarchies know it and texts are compared.

    It is the same in every session: an instant is written in UTC, as DuckDB does where that is the session's time zone
    (`2020-01-01 00:00:00+00`).
    """
    if not is_zoned(type_):
        return Sql(f"CAST({value} AS VARCHAR)")
    utc = f"CAST({value} AT TIME ZONE 'UTC' AS VARCHAR)"
    return Sql(f"({utc} || CASE WHEN isfinite({value}) THEN '+00' ELSE '' END)")


def alike_as_keys(one: str, other: str) -> bool:
    """Return whether values of two types are equal where they name the same person."""
    return one == other or {one, other} <= set(INTEGERS)


def person_value(value: Sql, type_: str) -> Sql | None:
    """Return the person that a column tells, read as `value`.

    None where values of its type cannot tell people apart.
    """
    if type_ in ("FLOAT", "DOUBLE"):
        return Sql(f"({value} + 0::{type_})")
    if type_ == "TIMESTAMP WITH TIME ZONE":
        return Sql(f"epoch_us({value})")
    if type_ == "VARCHAR":
        return Sql(f"{value} COLLATE POSIX")
    return value if family(type_)[0] is not None or is_category(type_) else None
