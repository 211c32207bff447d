"""How kernels are compiled: on their first call, cached on disk where a cache can be written, without the GIL.

The first call of an algorithm after an install compiles its kernels, and that costs by the code that is written down.
So what only kernels call is a `part`: it becomes machine code as part of the kernels that call it, not before. No C
entry is made that nobody calls. An argument that may be None leaves out the branches that test it. And a number begins
as np.int64(0) where it is passed on: for a plain 0, a constant to numba, a part would be compiled once more.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numba
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.extending import typeof_impl

from dbanon import session

_OPTIONS: dict[str, Any] = {"nogil": True, "no_cfunc_wrapper": True}


def kernel(function: Callable[..., Any]) -> Any:
    """numba.njit with an on-disk cache, or without one where no folder for it can be written."""
    try:
        return numba.njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:
        return numba.njit(**_OPTIONS)(function)


def kept_in() -> str | None:
    """The folder in which compiled kernels are kept; None where none can be written."""
    try:
        return str(numba.njit(cache=True, **_OPTIONS)(kept_in).stats.cache_path)
    except RuntimeError:
        return None


# --- what only kernels call ------------------------------------------------------------------------------


class _Part:
    """A function that kernels can call. Where Python calls it, it is not compiled."""

    def __init__(self, function: Callable[..., Any]) -> None:
        options = {**_OPTIONS, "pipeline_class": _Compiler, "no_cpython_wrapper": True}
        self.dispatcher = numba.njit(**options)(function)
        self.py_func = function

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


def part(function: Callable[..., Any]) -> Any:
    """A function that only kernels and other parts call."""
    return _Part(function)


@typeof_impl.register(_Part)
def _typeof_part(value: _Part, _: Any) -> Any:
    return numba.typeof(value.dispatcher)


class _Library(JITCodeLibrary):
    """The code of a part and of what it calls, to be linked into that of kernels. By itself it is neither optimized nor
    translated, which numba would do for each function that a function calls."""

    def finalize(self) -> None:
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Called for what has been translated: the environment is for exceptions that have values, of which kernels
        raise none."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "lowering_of_a_part"

    def run_pass(self, state: Any) -> bool:
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class _Compiler(CompilerBase):
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_Lowering if p is NativeLowering else p, about) for p, about in passes.passes]
        passes.finalize()
        return [passes]


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
            session.compiles(function.__name__)

    def on_end(self, event: event.Event) -> None:
        self._depth -= 1
        if self._depth == 0 and self._was_on:
            gc.enable()


event.register("numba:compile", _Compiling())
