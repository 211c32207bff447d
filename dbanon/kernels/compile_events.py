"""Reports on which kernels are being compiled. This module does not import numba."""

import contextlib
from collections.abc import Callable, Iterator

_LISTENERS: list[Callable[[str], None]] = []
"""Kernels are compiled once for the whole process, so these belong to no session."""


@contextlib.contextmanager
def listen(on_compile: Callable[[str], None]) -> Iterator[None]:
    """Call `on_compile` with the name of every kernel or part compiled while the block runs, on the compiling thread.

    A kernel that is loaded from disk is not compiled.
    """
    _LISTENERS.append(on_compile)
    try:
        yield
    finally:
        _LISTENERS.remove(on_compile)


def report(kernel: str) -> None:
    """Call all callbacks registered by `listen` with the name of a kernel that is being compiled."""
    for on_compile in list(_LISTENERS):
        on_compile(kernel)
