"""Columns of Spark by any name, and what Spark can do with values of a type."""

from pyspark.sql import Column, functions as fn
from pyspark.sql.types import DataType


def quoted_column(name: str) -> Column:
    """Return the column of a name that may contain any characters."""
    return fn.col("`" + name.replace("`", "``") + "`")


def struct_field(struct: str, name: str) -> Column:
    """Return a field of a struct column."""
    return fn.col(struct).getField(name)


def is_hashed(type_: DataType) -> bool:
    """Return whether Spark groups, hashes and orders values of the type."""
    return not _mentions(type_, "map<", "interval", "variant")


def is_exact(type_: DataType) -> bool:
    """Return whether Spark can group by the type, and equal values have the same text (unlike 0.0 and -0.0)."""
    return is_hashed(type_) and not _mentions(type_, "float", "double")


def _mentions(type_: DataType, *words: str) -> bool:
    """Return whether the name of a type contains any of the words."""
    return any(word in type_.simpleString() for word in words)
