"""How kernels are compiled: on their first call, cached on disk where a cache can be written, without the GIL.

The first call of an algorithm after an install compiles its kernels, and that costs by the code that is written down.
So what only kernels call is a `part`: it becomes machine code as part of the kernels that call it, not before. No C
entry is made that nobody calls. An argument that may be None leaves out the branches that test it. And a number begins
as np.int64(0) where it is passed on: for a plain 0, a constant to numba, a part would be compiled once more.
"""

import gc
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event
from numba.extending import typeof_impl

from dbanon.kernels import compile_events

_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}


def kernel(function: Callable[..., Any]) -> Any:
    """numba.njit with an on-disk cache, or without one where no folder for it can be written."""
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:
        return numba.njit(**_OPTIONS)(function)


def kept_in() -> str | None:
    """Return the folder in which compiled kernels are kept; None where none can be written."""
    try:
        return str(numba.njit(cache=True, **_OPTIONS)(kept_in).stats.cache_path)
    except RuntimeError:
        return None


KNOWN = numba.version_info.short == (0, 68)
"""Whether this is the numba whose inner classes `dbanon.kernels.numba_linking` is made for. With others parts are
functions of numba like all: the first call takes longer, and all else is the same."""

# --- what only kernels call ------------------------------------------------------------------------------


def _linked() -> dict[str, Any]:
    from dbanon.kernels.numba_linking import Compiler

    return {"pipeline_class": Compiler, "no_cpython_wrapper": True}


class _Part:
    """A function that kernels can call. Where Python calls it, it is not compiled."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.dispatcher = numba.njit(**_OPTIONS, **options, **(_linked() if KNOWN else {}))(function)
        self.py_func = function

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def part(function: Callable[..., Any]) -> Any:
    """Return a function that only kernels and other parts call."""
    return _Part(function)


def inlined(function: Callable[..., Any]) -> Any:
    """A part of a few lines that is copied to where it is called, as a call in a loop would cost more than it does."""
    return _Part(function, forceinline=True)


@typeof_impl.register(_Part)
def _typeof_part(value: _Part, _: Any) -> Any:
    return numba.typeof(value.dispatcher)


# --- while kernels are compiled --------------------------------------------------------------------------


class _Compiling(event.Listener):
    """Says what is compiled, and keeps the garbage collector from looking through all that this makes, of which it
    finds nothing to free: a tenth of the time."""

    def __init__(self) -> None:
        self._depth, self._was_on = 0, False

    def on_start(self, event: event.Event) -> None:
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._depth += 1
        function = event.data["dispatcher"].py_func
        if not function.__module__.startswith("numba."):
            compile_events.report(function.__name__)

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()


event.register("numba:compile", _Compiling())
