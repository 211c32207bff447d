"""Types of released columns: those of the source frame, if the values allow it.

DuckDB gives a categorical column the type ENUM, whose values are those of the source, including values that only
suppressed rows have. Such a list is never published: categoricals are released as texts.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pyarrow as pa

from dbanon.api import duckdb_relations


def normalize_types(table: pa.Table, source_schema: pa.Schema | None) -> pa.Table:
    """Return an Arrow table of results with column types that match the source, as far as values and privacy allow.

    Dictionary (categorical) types become the types of their values, everywhere. Timestamps with a time zone get the
    zone of the source column; intervals become durations if the source column has durations.

    Args:
        table: The rows that DuckDB returned.
        source_schema: The Arrow types of the source's columns by name; None if unknown.
    """
    columns = [_normalize_column(table, field, _column_type(source_schema, field.name)) for field in table.schema]
    return pa.table(columns, names=table.column_names)


def _column_type(schema: pa.Schema | None, name: str) -> pa.DataType | None:
    """Return the Arrow type of a column; None without a schema or without such a column."""
    return None if schema is None or name not in schema.names else schema.field(name).type


def _normalize_column(table: pa.Table, field: pa.Field, source_type: pa.DataType | None) -> pa.ChunkedArray:
    """Return one column of the table, cast as `normalize_types` describes; `source_type` is None if unknown."""
    column = table[field.name]
    target_type = without_dictionaries(field.type)
    if (
        pa.types.is_timestamp(field.type)
        and field.type.tz
        and source_type is not None
        and pa.types.is_timestamp(source_type)
    ):
        target_type = pa.timestamp(field.type.unit, source_type.tz) if source_type.tz else target_type
    elif pa.types.is_interval(field.type) and source_type is not None and pa.types.is_duration(source_type):
        durations = (
            duckdb_relations.relation_from_arrow(pa.table({"d": column})).project("epoch_us(d) AS d").to_arrow_table()
        )
        return durations["d"].cast(pa.duration("us"))
    return column if target_type == field.type else column.cast(target_type)


def without_dictionaries(type_: pa.DataType) -> pa.DataType:
    """Return a type with its dictionary types replaced by the types of their values, also in structs, maps and lists.

    >>> without_dictionaries(pa.list_(pa.dictionary(pa.int8(), pa.string())))
    ListType(list<item: string>)
    """
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(without_dictionaries(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(without_dictionaries(type_.key_type), without_dictionaries(type_.item_type))
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(type_.value_field.with_type(without_dictionaries(type_.value_type)), type_.list_size)
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(without_dictionaries(type_.value_type)))
    return type_


MASKED_NAMES = frozenset(
    (*(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)), "Float32", "Float64", "boolean")
)
"""Names of the pandas types that have missing values."""


@cache
def masked_dtypes() -> Mapping[pa.DataType, Any]:
    """Return the nullable pandas dtypes of `MASKED_NAMES` (such as Int64) by Arrow type; cached."""
    import pandas as pd

    numbers = {getattr(pa, name.lower())(): pd.api.types.pandas_dtype(name) for name in MASKED_NAMES - {"boolean"}}
    return {**numbers, pa.bool_(): pd.BooleanDtype()}
