"""Columns of Spark by names of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


def named(name: str) -> Column:
    """A column by its whole name, whatever is in it."""
    from pyspark.sql import functions as F

    return F.col("`" + name.replace("`", "``") + "`")


def of_struct(struct: str, name: str) -> Column:
    """A field of a struct."""
    from pyspark.sql import functions as F

    return F.col(struct).getField(name)
