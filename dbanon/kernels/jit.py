"""Compilation of kernels: on the first call, without the GIL, cached on disk if a cache folder is writable.

The first call of an algorithm after an install compiles its kernels, which costs time by the amount of code. So a
function that only kernels call is a `kernel_part`: it becomes machine code as part of the kernels that call it, without
a C entry of its own. An argument that is None removes the branches that test it. And a counter starts as np.int64(0)
where it is passed on: a plain 0 is a constant for numba, and the part would be compiled once more.
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
    """Compile a function with numba.njit, with a cache on disk, or without one if no folder for it is writable.

    Compilation happens at the first call. Use as a decorator.
    """
    try:
        dispatcher = numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:
        return numba.njit(**_OPTIONS)(function)
    if IS_KNOWN_NUMBA:
        from dbanon.kernels.kernel_cache import KernelCache

        dispatcher._cache = KernelCache(function)
    return dispatcher


def cache_folder() -> str | None:
    """Return the path of the folder in which compiled kernels are cached; None if no such folder is writable."""
    try:
        return str(numba.njit(cache=True, **_OPTIONS)(cache_folder).stats.cache_path)
    except RuntimeError:
        return None


IS_KNOWN_NUMBA = numba.version_info.short == (0, 68)
"""Whether this numba has the inner classes that `numba_linking` and `kernel_cache` are made for.

With other versions, kernel parts and the cache on disk are ordinary ones of numba: the first call of a process takes
longer, and nothing else changes.
"""

# --- what only kernels call ------------------------------------------------------------------------------


def _linking_options() -> dict[str, Any]:
    """Return the numba options by which a part is linked into the kernels that call it, without a Python entry."""
    from dbanon.kernels.numba_linking import PartCompiler

    return {"pipeline_class": PartCompiler, "no_cpython_wrapper": True}


class _KernelPart:
    """A function that kernels can call; from Python, the uncompiled function runs."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        """Keep the Python function and create its numba dispatcher, which numba 0.68 links into kernels."""
        self.dispatcher = numba.njit(**_OPTIONS, **options, **(_linking_options() if IS_KNOWN_NUMBA else {}))(function)
        self.py_func = function

    def __call__(self, *arguments: Any) -> Any:
        """Run the Python function, uncompiled."""
        return self.py_func(*arguments)


def kernel_part(function: Callable[..., Any]) -> Any:
    """Wrap a function so that kernels that call it compile it as their part; called from Python, it runs uncompiled."""
    return _KernelPart(function)


def inlined_part(function: Callable[..., Any]) -> Any:
    """Wrap a function of a few lines as a kernel part (see `kernel_part`) whose code is copied into its callers."""
    return _KernelPart(function, forceinline=True)


@typeof_impl.register(_KernelPart)
def _typeof_part(value: _KernelPart, _: Any) -> Any:
    """Return the numba type of a kernel part: that of its dispatcher, so that compiled code can call it."""
    return numba.typeof(value.dispatcher)


# --- while kernels are compiled --------------------------------------------------------------------------


class _Compiling(event.Listener):
    """A numba event listener that reports compilations, and pauses the garbage collector while kernels are compiled.

    The collector would find nothing to free, and take a tenth of the time of a compilation.
    """

    def __init__(self) -> None:
        """Start outside of any compilation."""
        self._depth, self._was_on = 0, False

    def on_start(self, event: event.Event) -> None:
        """Pause the garbage collector at the outermost compilation; report the function unless it is numba's own."""
        if self._depth == 0:
            self._was_on = gc.isenabled()
            gc.disable()
        self._depth += 1
        function = event.data["dispatcher"].py_func
        if not function.__module__.startswith("numba."):
            compile_events.report(function.__name__)

    def on_end(self, event: event.Event) -> None:
        """Resume the garbage collector after the outermost compilation, if it was on before."""
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()


event.register("numba:compile", _Compiling())
