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


def to_arrow(values: Any) -> Any:
    """Return a numeric NumPy array as an Arrow array of its type without NULLs; a contiguous array is not copied."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


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
