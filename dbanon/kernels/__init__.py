"""Compiled loops, one file per algorithm or index.

Import a file of this package when a kernel is about to run: it imports numba. Kernels are compiled on their first call
and cached on disk where a cache can be written; they release the GIL. `arrays` and `streams.arrays` do not import
numba.
"""
