"""Room for what kernels find. The first call pays for each kind of array as for forty lines, so these are few."""

import numpy as np

from dbanon.kernels.jit import part


@part
def integers(n):
    """Return room for n whole numbers; nothing is written into it."""
    return np.empty(n, np.int64)


@part
def small_integers(n):
    """Return the same for numbers of items and of records of a few classes."""
    return np.empty(n, np.int32)


@part
def table(rows, columns):
    """Return the same in two dimensions."""
    return np.empty((rows, columns), np.int64)


@part
def zeros(n):
    """n zeros."""
    made = integers(n)
    for i in range(n):
        made[i] = 0
    return made
