"""How kernels are compiled: on their first call, cached on disk where a cache can be written, without the GIL.

The first call of an algorithm after an install compiles its kernels, and that costs by the code that is written down.
So no C entry is made that nobody calls. An argument that may be None leaves out the branches that test it. And a number
begins as np.int64(0) where it is passed on: for a plain 0, a constant to numba, the kernel would be compiled once more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}


def kernel(function: Callable[..., Any]) -> Any:
    """numba.njit with an on-disk cache, or without one where no folder for it can be written."""
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:
        return numba.njit(**_OPTIONS)(function)
