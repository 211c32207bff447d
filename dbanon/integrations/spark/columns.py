"""Columns of Spark by any name, and what Spark can do with values of a type."""

from pyspark.sql import Column, functions as fn
from pyspark.sql.types import DataType


def quoted_column(name: str) -> Column:
    """Return the Spark column of a name that may contain any characters, also dots."""
    return fn.col("`" + name.replace("`", "``") + "`")


def struct_field(struct: str, name: str) -> Column:
    """Return the Spark column of the field `name` of the struct column `struct`."""
    return fn.col(struct).getField(name)


def is_hashed(type_: DataType) -> bool:
    """Return whether Spark can group, hash and order values of the type: it contains no map, interval or variant."""
    return not _mentions(type_, "map<", "interval", "variant")


def is_exact(type_: DataType) -> bool:
    """Return whether Spark can group by the type and equal values have the same text (not so for 0.0 and -0.0)."""
    return is_hashed(type_) and not _mentions(type_, "float", "double")


def shown_values(column: Column, type_: DataType) -> tuple[Column, ...]:
    """Return columns by which Spark groups values as readers see them: the text is added if 0.0 and -0.0 may occur."""
    return (column,) if is_exact(type_) or not is_hashed(type_) else (column, column.cast("string"))


def _mentions(type_: DataType, *words: str) -> bool:
    """Return whether Spark's name of the type, such as `array<float>`, contains any of the words."""
    return any(word in type_.simpleString() for word in words)
