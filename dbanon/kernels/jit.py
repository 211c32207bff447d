"""How kernels are compiled: on their first call, cached on disk where a cache can be written, without the GIL.

The first call of an algorithm after an install compiles its kernels, and that costs by the code that is written down.
So no C entry is made that nobody calls. An argument that may be None leaves out the branches that test it. And a number
begins as np.int64(0) where it is passed on: for a plain 0, a constant to numba, the kernel would be compiled once more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numba
from numba.core import event

_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}


def kernel(function: Callable[..., Any]) -> Any:
    """numba.njit with an on-disk cache, or without one where no folder for it can be written."""
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:
        return numba.njit(**_OPTIONS)(function)


class _Listener(event.Listener):
    """Tells once that something is compiled; what the disk has is not."""

    def __init__(self, told: Callable[[], None]) -> None:
        self._told: Callable[[], None] | None = told

    def on_start(self, event: event.Event) -> None:
        told, self._told = self._told, None
        if told is not None:
            told()

    def on_end(self, event: event.Event) -> None: ...


@contextlib.contextmanager
def compiling(told: Callable[[], None]) -> Iterator[None]:
    """Calls `told` the first time that a kernel is compiled within, on the thread that compiles it."""
    with event.install_listener("numba:compile", _Listener(told)):
        yield
