"""Types of released columns: as those of the frame that came, where the values allow it.

DuckDB gives a categorical the type ENUM, whose list of values is that of the source: values that only suppressed rows
have, or none at all. Such a list never leaves: texts leave as texts.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pyarrow as pa

from dbanon.api import duckdb_relations


def settled(made: pa.Table, types: pa.Schema | None) -> pa.Table:
    """Return the table with texts in place of dictionaries, and with the time zones and durations of the source."""
    columns = [_column(made, field, _type_of(types, field.name)) for field in made.schema]
    return pa.table(columns, names=made.column_names)


def _type_of(types: pa.Schema | None, name: str) -> pa.DataType | None:
    return None if types is None or name not in types.names else types.field(name).type


def _column(made: pa.Table, field: pa.Field, source: pa.DataType | None) -> pa.ChunkedArray:
    column = made[field.name]
    wanted = plain(field.type)
    if pa.types.is_timestamp(field.type) and field.type.tz and source is not None and pa.types.is_timestamp(source):
        wanted = pa.timestamp(field.type.unit, source.tz) if source.tz else wanted
    elif pa.types.is_interval(field.type) and source is not None and pa.types.is_duration(source):
        whole = duckdb_relations.of_arrow(pa.table({"d": column})).project("epoch_us(d) AS d").to_arrow_table()
        return whole["d"].cast(pa.duration("us"))
    return column if wanted == field.type else column.cast(wanted)


def plain(type_: pa.DataType) -> pa.DataType:
    """Return a type with the values of dictionaries in their place, nested ones too.

    >>> plain(pa.list_(pa.dictionary(pa.int8(), pa.string())))
    ListType(list<item: string>)
    """
    if pa.types.is_dictionary(type_):
        return type_.value_type
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(plain(field.type)) for field in type_])
    if pa.types.is_map(type_):
        return pa.map_(plain(type_.key_type), plain(type_.item_type))
    if pa.types.is_fixed_size_list(type_):
        return pa.list_(type_.value_field.with_type(plain(type_.value_type)), type_.list_size)
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(plain(type_.value_type)))
    return type_


MASKED = frozenset(
    (*(f"{kind}{bits}" for kind in ("Int", "UInt") for bits in (8, 16, 32, 64)), "Float32", "Float64", "boolean")
)
"""Types of pandas that know missing values, by name."""


@cache
def masked() -> Mapping[pa.DataType, Any]:
    """Return the types of `MASKED`, by those of Arrow."""
    import pandas as pd

    numbers = {getattr(pa, name.lower())(): pd.api.types.pandas_dtype(name) for name in MASKED - {"boolean"}}
    return {**numbers, pa.bool_(): pd.BooleanDtype()}
