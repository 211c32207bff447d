"""Relations of DuckDB, and how to create a relation on the connection of another one, which Python cannot access."""

import contextlib
import uuid
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa


def is_relation(value: object) -> bool:
    """Return whether a value is a relation of DuckDB."""
    return isinstance(value, duckdb.DuckDBPyRelation)


def relation_from_arrow(table: pa.Table) -> Any:
    """Return the rows of an Arrow table as a relation on a new DuckDB connection in memory."""
    return duckdb.connect().from_arrow(table)


def dataframe_from_arrow(table: pa.Table) -> Any:
    """Return the rows of an Arrow table as a pandas DataFrame, with the types that DuckDB gives its columns.

    If pandas stores texts as Arrow (from version 3 on), columns of texts keep their memory: DuckDB would make a Python
    object of every value. A column without any value is converted by DuckDB; its dtype is object.
    """
    import pandas as pd

    text_dtype: Any = pd.Series([""]).dtype
    if getattr(text_dtype, "storage", None) != "pyarrow":
        return relation_from_arrow(table).df()
    texts = [
        field.name
        for field in table.schema
        if pa.types.is_string(field.type) and table[field.name].null_count < len(table)
    ]
    others = table.select([name for name in table.column_names if name not in texts])
    columns = dict(relation_from_arrow(others).df()) if others.num_columns else {}
    columns |= {name: text_dtype.__from_arrow__(_large_strings(table[name])) for name in texts}
    return pd.DataFrame({name: columns[name] for name in table.column_names})


def _large_strings(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of texts with offsets of 64 bits, as pandas stores them; the characters are not copied."""
    return pa.chunked_array([_large_string_array(chunk) for chunk in column.chunks], pa.large_string())


def _large_string_array(chunk: pa.Array) -> pa.Array:
    """Return an array of texts with offsets of 64 bits; its characters are shared unless it is a slice or empty."""
    validity, offsets, characters = chunk.buffers()
    if chunk.offset or not len(chunk) or characters is None:
        return chunk.cast(pa.large_string())
    wide_offsets = np.frombuffer(offsets, np.int32, len(chunk) + 1).astype(np.int64)
    return pa.LargeStringArray.from_buffers(len(chunk), pa.py_buffer(wide_offsets), characters, validity)


def duckdb_texts(column: pa.ChunkedArray) -> list[str | None]:
    """Return the values of an Arrow column as the texts of DuckDB's cast to VARCHAR; None for NULL."""
    table = relation_from_arrow(pa.table({"value": column})).project("value::VARCHAR AS value").to_arrow_table()
    values: list[str | None] = table["value"].to_pylist()
    return values


def display_values(column: pa.ChunkedArray) -> list[Any]:
    """Return the values of an Arrow column as Python objects.

    If Python cannot represent one, such as a date after the year 9999, all are the texts that DuckDB writes.
    """
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError):
        return duckdb_texts(column)
    return values


def relation_factory(relation: Any) -> Callable[[pa.Table], Any]:
    """Return a function that makes a relation with the rows of an Arrow table, on the connection of `relation`.

    If that connection does not read Python objects (`enable_external_access`, `python_enable_replacements`), the new
    relation has a connection of its own.
    """

    def make(table: pa.Table) -> Any:
        """Return a relation with the rows of the Arrow table; see `relation_factory`."""
        dbanon_released_rows = table
        name = f"dbanon_{uuid.uuid4().hex}"
        try:
            return relation.query(name, "FROM dbanon_released_rows")
        except duckdb.Error:
            return relation_from_arrow(dbanon_released_rows)
        finally:
            with contextlib.suppress(duckdb.Error):  # DuckDB 1.5 leaves a temporary view of the name
                relation.query(name, f'DROP VIEW "{name}"')

    return make
