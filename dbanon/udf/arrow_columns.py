"""Conversion of Arrow columns to NumPy arrays and back.

pyarrow's own conversions import its functions and pandas: together a sixth of the first statement of a process.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa


def list_items(list_column: Any) -> Any:
    """Return the items of the first list of an Arrow list column as an Arrow array; empty if that list is NULL."""
    return list_column[0].values if list_column[0].is_valid else list_column.values[:0]


def is_valid(column: Any) -> Any:
    """Return a boolean NumPy array with one entry per row: False where an Arrow column is NULL, else True."""
    bitmap = column.buffers()[0]
    if bitmap is None:
        return np.ones(len(column), bool)
    is_valid_row = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    return is_valid_row[column.offset : column.offset + len(column)].astype(bool)


def to_numpy(column: Any, missing: float = np.nan) -> Any:
    """Return a numeric Arrow column as a NumPy array of its type, with NULL replaced by `missing`.

    Args:
        column: A column of numbers.
        missing: The number that replaces NULL; must be of the column's type.

    Returns:
        An array of the column's type: a copy, or a read-only view if the column has no NULL.
    """
    numbers = np.frombuffer(column.buffers()[1] or b"", column.type.to_pandas_dtype())
    numbers = numbers[column.offset : column.offset + len(column)]
    return np.where(is_valid(column), numbers, numbers.dtype.type(missing)) if column.null_count else numbers


def to_arrow(values: Any, is_null: Any = None) -> Any:
    """Return a numeric NumPy array as an Arrow array of its type; a contiguous array is not copied.

    Args:
        values: The numbers.
        is_null: A boolean array of the same length, True where the Arrow array is NULL; None for no NULL.
    """
    values = np.ascontiguousarray(values)
    validity = None if is_null is None else to_bitmap(~is_null)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [validity, pa.py_buffer(values)])


def struct_array(columns: Sequence[Any], type_: Any) -> Any:
    """Return Arrow arrays of equal length as one array of structs, whose fields are those of `type_` in order."""
    return pa.StructArray.from_arrays(columns, fields=list(type_))


def typed_column(values: Sequence[Any], type_: Any) -> Any:
    """Return Python values as an Arrow array of a type, as `pyarrow.array(values, type_)` does.

    Meant for few values: of many, `pyarrow.array` takes less time than it saves.

    Args:
        values: The values. None, and a key that a dictionary lacks, become NULL.
        type_: A type of texts, booleans, numbers, lists (from lists) or structs (from dictionaries).
    """
    is_null = np.array([value is None for value in values], bool)
    validity = to_bitmap(~is_null)
    if pa.types.is_struct(type_):
        fields = [typed_column([(value or {}).get(field.name) for value in values], field.type) for field in type_]
        return pa.Array.from_buffers(type_, len(values), [validity], children=fields)
    if pa.types.is_list(type_):
        offsets = np.cumsum([0, *(len(value or ()) for value in values)], dtype=np.int32)
        elements = typed_column([element for value in values for element in value or ()], type_.value_type)
        return pa.Array.from_buffers(type_, len(values), [validity, pa.py_buffer(offsets)], children=[elements])
    if pa.types.is_string(type_):
        return pa.Array.from_buffers(
            type_, len(values), [validity, *text_column([value or "" for value in values]).buffers()[1:]]
        )
    if pa.types.is_boolean(type_):
        return pa.Array.from_buffers(type_, len(values), [validity, to_bitmap(np.array(values, bool))])
    return to_arrow(np.array([0 if value is None else value for value in values], type_.to_pandas_dtype()), is_null)


def text_column(values: Sequence[str]) -> Any:
    """Return strings as an Arrow array of UTF-8 texts without NULLs."""
    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def boolean_column(values: Sequence[bool]) -> Any:
    """Return booleans as an Arrow array without NULLs."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, to_bitmap(np.asarray(values, bool))])


def to_bitmap(values: Any) -> Any:
    """Pack booleans into an Arrow buffer of bits, least significant bit first."""
    return pa.py_buffer(np.packbits(values, bitorder="little"))
