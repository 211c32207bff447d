"""Types of released columns: those of the source frame, if the values allow it.

DuckDB gives a categorical column the type ENUM, whose values are those of the source, including values that only
suppressed rows have. Such a list is never published: categoricals are released as texts.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from dbanon.api import duckdb_relations


def normalize_types(table: pa.Table, source_schema: pa.Schema | None) -> pa.Table:
    """Return an Arrow table of results with column types that match the source, as far as values and privacy allow.

    Dictionary (categorical) types become the types of their values, everywhere. Timestamps with a time zone get the
    zone of the source column; intervals become durations if the source column has durations. Bounds of timestamps that
    are whole days become timestamps: the first and the last moment of these days.

    Args:
        table: The rows that DuckDB returned.
        source_schema: The Arrow types of the source's columns by name; None if unknown.
    """
    columns = [_normalize_column(table, field, _column_type(source_schema, field.name)) for field in table.schema]
    for index, field in enumerate(table.schema):
        columns[index] = _bounds_as_timestamps(columns[index], field.name, table.column_names, source_schema)
    return pa.table(columns, names=table.column_names)


def _bounds_as_timestamps(column: Any, name: str, names: Sequence[str], source_schema: pa.Schema | None) -> Any:
    """Return a column with bounds of days, of a source column of timestamps, as timestamps; others unchanged.

    Args:
        column: The column: of `intervals` 'bounds' NAME_min or NAME_max, of 'struct' one of {'low', 'high'}.
        name: Its name.
        names: The names of all columns.
        source_schema: The Arrow types of the source's columns by name; None if unknown.
    """
    if pa.types.is_struct(column.type):
        target_type = _timestamp_type(source_schema, name)
        if target_type is None or [field.name for field in column.type] != ["low", "high"]:
            return column
        array = column.combine_chunks()
        ends = [_day_as_timestamp(array.field(i), is_end, target_type) for i, is_end in enumerate((False, True))]
        return pa.chunked_array([pa.StructArray.from_arrays(ends, ["low", "high"], mask=array.is_null())])
    base, _, suffix = name.rpartition("_")
    target_type = _timestamp_type(source_schema, base)
    if target_type is None or base in names or suffix not in ("min", "max"):
        return column
    return _day_as_timestamp(column, suffix == "max", target_type)


def _timestamp_type(schema: pa.Schema | None, name: str) -> pa.DataType | None:
    """Return the type of a source column of timestamps; None if there is no such column, or it has another type."""
    type_ = _column_type(schema, name)
    return type_ if type_ is not None and pa.types.is_timestamp(type_) else None


def _day_as_timestamp(days: Any, is_end: bool, type_: pa.DataType) -> Any:
    """Return dates as timestamps of a type: the first moment of each day, or the last one if `is_end`.

    Days are those in UTC. Other values are returned unchanged, and dates that the type cannot represent.
    """
    if not pa.types.is_date(days.type):
        return days
    import pyarrow.compute as pc  # slow to import

    unit = "ns" if type_.unit == "ns" else "us"
    try:
        moments = days.cast(pa.timestamp(unit))
        if is_end:
            last_moment = 86_400 * (10**9 if unit == "ns" else 10**6) - 1
            moments = pc.add_checked(moments, pa.scalar(last_moment, pa.duration(unit)))
        return moments if type_.tz is None else pc.assume_timezone(moments, "UTC").cast(pa.timestamp(unit, type_.tz))
    except pa.ArrowInvalid:  # infinite dates, and those beyond the unit
        return days


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
