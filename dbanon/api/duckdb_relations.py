"""Relations of DuckDB: the connection of one has no name in Python, and yet another is made beside it."""

import contextlib
import uuid
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa


def is_relation(value: object) -> bool:
    """Return whether it is a relation of DuckDB."""
    return isinstance(value, duckdb.DuckDBPyRelation)


def of_arrow(table: pa.Table) -> Any:
    """Return the rows of an Arrow table as a relation on a connection of its own."""
    return duckdb.connect().from_arrow(table)


def texts(column: pa.ChunkedArray) -> list[str | None]:
    """Return the values of an Arrow column as DuckDB writes them."""
    table = of_arrow(pa.table({"value": column})).project("value::VARCHAR AS value").to_arrow_table()
    written: list[str | None] = table["value"].to_pylist()
    return written


def display_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of an Arrow column to display: text where Python has no such date, as after year 9999."""
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        return texts(column)
    return values


def beside(relation: Any) -> Callable[[pa.Table], Any]:
    """Makes a relation of an Arrow table on the connection of another relation; where that connection reads no Python
    objects (`enable_external_access`, `python_enable_replacements`), on one of its own."""

    def made(table: pa.Table) -> Any:
        dbanon_released_rows = table
        name = f"dbanon_{uuid.uuid4().hex}"
        try:
            return relation.query(name, "FROM dbanon_released_rows")
        except duckdb.Error:
            return of_arrow(dbanon_released_rows)
        finally:
            with contextlib.suppress(duckdb.Error):  # DuckDB 1.5 leaves a temporary view of the name
                relation.query(name, f'DROP VIEW "{name}"')

    return made
