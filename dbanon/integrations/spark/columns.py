"""Columns of Spark by names of any kind, and what can be done with values of a type."""

from pyspark.sql import Column, functions as fn
from pyspark.sql.types import DataType


def named(name: str) -> Column:
    """Return a column by its whole name, whatever is in it."""
    return fn.col("`" + name.replace("`", "``") + "`")


def of_struct(struct: str, name: str) -> Column:
    """Return a field of a struct."""
    return fn.col(struct).getField(name)


def is_hashed(type_: DataType) -> bool:
    """Return whether Spark groups, hashes and orders values of the type."""
    return not _has(type_, "map<", "interval", "variant")


def is_exact(type_: DataType) -> bool:
    """Whether, beside that, equal values read alike: 0.0 and -0.0 do not."""
    return is_hashed(type_) and not _has(type_, "float", "double")


def _has(type_: DataType, *words: str) -> bool:
    return any(word in type_.simpleString() for word in words)
