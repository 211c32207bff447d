"""Loading of compiled kernels from disk without what only a compilation needs, by inner classes of numba 0.68.

These classes are not public; `dbanon.kernels.jit` checks the version.
"""

import io
import os
import pickle
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile
from numba.core.environment import Environment, lookup_environment
from numba.core.runtime.nrt import rtsys


class KernelCache(FunctionCache):
    """The cache of one kernel on disk, which loads machine code without numba's declarations of functions.

    numba imports and installs all declarations (scipy's linear algebra included) before it loads cached code: a quarter
    of the CPU time of the first `best` in a process. Machine code only needs numba's runtime. A compilation installs
    the declarations by itself, when the code is not in the cache.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Open the cache of a function."""
        super().__init__(function)
        self._cache_file.__class__ = _KernelFile
        self._cache_file._source_stamp = self._cache_file._source_stamp, _sources_stamp()

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel for a signature; None if the cache does not have it."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


@cache
def _sources_stamp() -> tuple[tuple[str, int, int], ...]:
    """Return path, size and time of change of each module of the kernels.

    A kernel is compiled again if one of them changes: its machine code contains parts from other modules, and its
    arguments are classes from other modules. numba alone compares the module of the kernel.
    """
    kernels = Path(__file__).parent
    return tuple(
        (f"{folder.name}/{file.name}", file.stat().st_size, file.stat().st_mtime_ns)
        for folder in (kernels, kernels / "streams")
        for file in sorted(os.scandir(folder), key=lambda file: file.name)
        if file.name.endswith(".py")
    )


_UNREADABLE = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, TypeError, ValueError)
"""What unpickling raises for a damaged file, or for one that names what this version of dbanon does not have."""


class _KernelFile(IndexDataCacheFile):
    """The files of one kernel in the cache."""

    def _load_index(self) -> dict[Any, str]:
        """Return the files by signature; none if the index is obsolete or damaged: the kernel is then compiled again.

        The index of another version of dbanon can name classes that this one does not have.
        """
        try:
            index: dict[Any, str] = super()._load_index()
        except _UNREADABLE:
            return {}
        return index

    def _load_data(self, name: str) -> Any:
        """Return the unpickled contents of a file.

        Raises:
            OSError: The file is damaged; numba then compiles the kernel again.
        """
        try:
            return _KernelUnpickler(io.BytesIO(Path(self._data_path(name)).read_bytes())).load()
        except _UNREADABLE as error:
            raise OSError(f"the cached kernel {name} is damaged") from error


class _KernelUnpickler(pickle.Unpickler):
    """Reads a compiled kernel without importing the modules of numba whose functions are compiled into it."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a class or function by name; `_environment` in place of numba's function that imports modules."""
        if (module, name) == ("numba.core.environment", "_rebuild_env"):
            return _environment
        return super().find_class(module, name)


def _environment(module: str, constants: Sequence[object], name: str) -> Environment:
    """Return the environment of a compiled function: the globals of its module, if that is imported, and constants.

    Machine code that needs no Python objects does not read the globals.
    """
    environment = lookup_environment(name)
    if environment is None:
        module_globals = vars(sys.modules[module]) if module in sys.modules else {"__name__": module}
        environment = Environment(module_globals)
        environment.consts[:] = constants
        environment.env_name = name
        Environment._memo[name] = environment
    return environment
