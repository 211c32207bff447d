"""Allocation of arrays in kernels.

The first call pays for each kind of allocation as much as for forty lines of code, so there are few.
"""

import numpy as np

from dbanon.kernels.jit import kernel_part


@kernel_part
def empty_int64(n):
    """Return an uninitialized array of n integers."""
    return np.empty(n, np.int64)


@kernel_part
def empty_int32(n):
    """Return an uninitialized array of n 32-bit integers, for tuple numbers and small counts."""
    return np.empty(n, np.int32)


@kernel_part
def empty_table(rows, columns):
    """Return an uninitialized (rows, columns) array of integers."""
    return np.empty((rows, columns), np.int64)


@kernel_part
def zeros(n):
    """Return an array of n zeros (64-bit integers)."""
    array = empty_int64(n)
    for i in range(n):
        array[i] = 0
    return array
