"""Linking of kernel parts into the kernels that call them, by inner classes of numba 0.68.

These classes are not public; `dbanon.kernels.jit` checks the version.
"""

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _Library(JITCodeLibrary):
    """The compiled code of a kernel part and of what it calls, which is only linked into kernels.

    It is neither optimized nor translated by itself, which numba would do for each function that a function calls.
    """

    def finalize(self) -> None:
        """Link the code of the called parts into this module, and skip optimization."""
        self._raise_if_finalized()
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    @property
    def codegen(self) -> Any:
        """The library itself: numba asks it for a code generator, and none is needed."""
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """Ignore the environment: it is for exceptions with values, and kernels raise none."""


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    """The numba compiler pass that turns a kernel part into a `_Library`, which is only linked."""

    _name = "lowering_of_a_part"

    def run_pass(self, state: Any) -> bool:
        """Run numba's lowering with a `_Library` as its target; return whether the code was changed."""
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


class PartCompiler(CompilerBase):
    """The numba compiler of kernel parts, whose code is only linked into kernels."""

    def define_pipelines(self) -> list[Any]:
        """Return numba's default compiler pipeline with the lowering pass replaced by `_Lowering`, as a list of one."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(_Lowering if p is NativeLowering else p, about) for p, about in passes.passes]
        passes.finalize()
        return [passes]
