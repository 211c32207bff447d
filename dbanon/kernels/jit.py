"""How kernels are compiled: on their first call, cached on disk where a cache can be written, without the GIL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def kernel(function: Callable[..., Any]) -> Any:
    """numba.njit with an on-disk cache, or without one where no folder for it can be written."""
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)
