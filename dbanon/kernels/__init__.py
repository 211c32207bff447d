"""Compiled loops of the index: building it, searching it, gathering clusters from it.

Import this package when a kernel is about to run: it imports numba. Kernels are compiled on their first call and cached
on disk where a cache can be written; they release the GIL. Arrays are those of `dbanon.space.index`.
"""

from dbanon.kernels.average import mdav_steps
from dbanon.kernels.axes import add_place
from dbanon.kernels.blocks import cut_blocks, fit_blocks, gather_blocks
from dbanon.kernels.greedy import greedy_steps
from dbanon.kernels.models import first_fit, gather_models
from dbanon.kernels.parts import gather_parts
from dbanon.kernels.path import cut_all
from dbanon.kernels.rebuild import class_losses, sweep
from dbanon.kernels.search import gather_steps, search
from dbanon.kernels.tree import add_records, build_boxes, gather_up

__all__ = [
    "add_place",
    "add_records",
    "build_boxes",
    "class_losses",
    "cut_all",
    "cut_blocks",
    "first_fit",
    "fit_blocks",
    "gather_blocks",
    "gather_models",
    "gather_parts",
    "gather_steps",
    "gather_up",
    "greedy_steps",
    "mdav_steps",
    "search",
    "sweep",
]
