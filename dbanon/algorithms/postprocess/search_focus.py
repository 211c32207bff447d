"""The classes that a search works on: those that lose something, and their neighbours.

Where most classes lose nothing, the others are set aside, since a sweep over them takes time and changes nothing.
"""

from typing import Any

import numpy as np

from dbanon.algorithms.base.kernel_inputs import Layout
from dbanon.algorithms.base.packed_classes import Classes
from dbanon.encoding.encoded_table import Bools, Ints, concatenated_ranges

N_LINES = 4
"""Random lines along which neighbours are looked for."""

REACH = 2
"""Neighbours on each side of a record, along each line."""


def focused(
    problem: Layout, classes: Classes, blocks: Ints, draws: np.random.Generator
) -> tuple[Classes, Classes | None]:
    """Return the classes to search, and those set aside.

    A class is searched if it loses something, or if it is a neighbour of a record of such a class: it may give records
    to it, or take them. None is set aside where these are more than half of all, so that a search of an ordinary table
    is that of all its classes.

    Args:
        problem: The layout of the space.
        classes: All classes.
        blocks: The block of each item, empty if there is one.
        draws: Chooses the lines.

    O(entries + classes log classes).
    """
    from dbanon.kernels.local_search import class_losses

    number = classes.number
    lossy = class_losses(classes.items, classes.starts, classes.sizes, number, problem.measure) > 0
    if 2 * np.count_nonzero(lossy) >= number:
        return classes, None
    searched = _with_neighbours(problem, classes, lossy, blocks, draws)
    if 2 * np.count_nonzero(searched) >= number:
        return classes, None
    return _some(problem, classes, searched), _some(problem, classes, ~searched)


def united(problem: Layout, searched: Classes, aside: Classes | None) -> Classes:
    """Return the classes that were searched, followed by those set aside. O(entries)."""
    if aside is None:
        return searched
    entries, others = int(searched.starts[searched.number]), int(aside.starts[aside.number])
    number = searched.number + aside.number
    whole = Classes.room(len(searched.items) + len(aside.items), problem.least, number)
    whole.items[: entries + others] = np.concatenate((searched.items[:entries], aside.items[:others]))
    whole.counts[: entries + others] = np.concatenate((searched.counts[:entries], aside.counts[:others]))
    whole.starts[: number + 1] = np.concatenate(
        (searched.starts[: searched.number], aside.starts[: aside.number + 1] + entries)
    )
    whole.sizes[:number] = np.concatenate((searched.sizes[: searched.number], aside.sizes[: aside.number]))
    whole.number = number
    return whole


def _with_neighbours(
    problem: Layout, classes: Classes, lossy: Bools, blocks: Ints, draws: np.random.Generator
) -> Bools:
    """Return the classes that lose something and, for each record of theirs, the nearest others along a few lines."""
    starts, number = classes.starts, classes.number
    searched = lossy.copy()
    others = np.flatnonzero(~lossy)
    ends = classes.items[starts[others]]
    own = np.flatnonzero(lossy)
    records = np.unique(classes.items[concatenated_ranges(starts[own], np.diff(starts[: number + 1])[own])])
    items = np.concatenate((ends, records))
    for _ in range(N_LINES):
        keys: list[Any] = [problem.codes[items, j] for j in draws.permutation(problem.codes.shape[1])]
        if len(blocks):
            keys.append(blocks[items])
        order = np.lexsort(keys)
        is_other = order < len(others)
        line = others[order[is_other]]
        place = np.cumsum(is_other)[~is_other]
        for step in range(-REACH, REACH):
            near = place + step
            searched[line[near[(near >= 0) & (near < len(line))]]] = True
    return searched


def _some(problem: Layout, classes: Classes, chosen: Bools) -> Classes:
    """Return some of the classes, in their order."""
    which = np.flatnonzero(chosen)
    entries = np.diff(classes.starts[: classes.number + 1])[which]
    at = concatenated_ranges(classes.starts[which], entries)
    sizes = classes.sizes[which]
    some = Classes.room(int(sizes.sum()), problem.least, len(which))
    some.items[: len(at)], some.counts[: len(at)] = classes.items[at], classes.counts[at]
    some.starts[1 : len(which) + 1] = np.cumsum(entries)
    some.sizes[: len(which)] = sizes
    some.number = len(which)
    return some
