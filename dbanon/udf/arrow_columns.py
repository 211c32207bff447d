"""Columns of numbers from Arrow and to it.

What pyarrow offers for this imports its functions and pandas: together a sixth of the first statement of a process.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa


def items(lists: Any) -> Any:
    """Return the items of one list; none of a NULL."""
    return lists[0].values if lists[0].is_valid else lists.values[:0]


def known(column: Any) -> Any:
    """Which values of a column are not NULL."""
    bits = column.buffers()[0]
    if bits is None:
        return np.ones(len(column), bool)
    valid = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    return valid[column.offset : column.offset + len(column)].astype(bool)


def numbers(column: Any, missing: float = np.nan) -> Any:
    """A column of numbers as an array, NULLs as `missing`, which must be of its type; where there are none, a view that
    cannot be written."""
    values = np.frombuffer(column.buffers()[1] or b"", column.type.to_pandas_dtype())
    values = values[column.offset : column.offset + len(column)]
    return np.where(known(column), values, values.dtype.type(missing)) if column.null_count else values


def packed(values: Any) -> Any:
    """Return an array of numbers as a column without NULLs."""
    values = np.ascontiguousarray(values)
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])


def texts(values: Sequence[str]) -> Any:
    """Return a column of texts without NULLs."""
    encoded = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(encoded), buffers)


def flags(values: Sequence[bool]) -> Any:
    """Return a column of truth values without NULLs."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits(np.asarray(values, bool))])


def bits(values: Any) -> Any:
    """Return truth values as Arrow keeps them."""
    return pa.py_buffer(np.packbits(values, bitorder="little"))
