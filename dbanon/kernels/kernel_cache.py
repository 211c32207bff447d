"""Loading of compiled kernels from disk without what only a compilation needs, by inner classes of numba 0.68.

These classes are not public; `dbanon.kernels.jit` checks the version.
"""

from typing import Any

from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys


class KernelCache(FunctionCache):
    """The cache of one kernel on disk, which loads machine code without numba's declarations of functions.

    numba imports and installs all declarations (scipy's linear algebra included) before it loads cached code: half of
    the CPU time of the first call in a process. Machine code only needs numba's runtime. A compilation installs the
    declarations by itself, when the code is not in the cache.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled kernel for a signature; None if the cache does not have it."""
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)
