"""The choice of the classes that a local search works on: those with a loss, and their neighbours.

If most classes lose nothing, the others are set aside, since a sweep over them takes time and changes nothing.
"""

from typing import Any

import numpy as np

from dbanon.algorithms.base.kernel_inputs import KernelInputs
from dbanon.algorithms.base.packed_classes import PackedClasses
from dbanon.encoding.encoded_table import Bools, Ints, concatenated_ranges

N_LINES = 4
"""Number of random lines along which neighbours are searched for."""

N_NEIGHBOURS = 2
"""Number of neighbours on each side of a record, along each line."""


def focus_classes(
    kernel_inputs: KernelInputs, classes: PackedClasses, blocks: Ints, draws: np.random.Generator
) -> tuple[PackedClasses, PackedClasses | None]:
    """Return the classes to search and those set aside (None if all classes are to be searched).

    A class is searched if it has a loss, or if it is a neighbour of a record of such a class: it may give records to
    it, or take them. No class is set aside if at least half of all classes would be searched, so that the search of an
    ordinary table covers all its classes.

    Args:
        kernel_inputs: The arrays of the table and the constraint.
        classes: All classes.
        blocks: The block of each item, empty if there are no blocks.
        draws: Chooses the random lines along which neighbours are found.

    O(entries + classes log classes).
    """
    n_classes = classes.n_classes
    lossy = classes.losses(kernel_inputs) > 0
    if 2 * np.count_nonzero(lossy) >= n_classes:
        return classes, None
    searched = _classes_to_search(kernel_inputs, classes, lossy, blocks, draws)
    if 2 * np.count_nonzero(searched) >= n_classes:
        return classes, None
    return _select_classes(kernel_inputs, classes, searched), _select_classes(kernel_inputs, classes, ~searched)


def reunite_classes(
    kernel_inputs: KernelInputs, searched: PackedClasses, set_aside: PackedClasses | None
) -> PackedClasses:
    """Return the classes that were searched, followed by those set aside, as new arrays.

    If `set_aside` is None, `searched` itself is returned. `kernel_inputs` has the arrays of the table and the
    constraint. O(entries).
    """
    if set_aside is None:
        return searched
    entries, others = int(searched.starts[searched.n_classes]), int(set_aside.starts[set_aside.n_classes])
    return PackedClasses.from_entries(
        np.concatenate((searched.items[:entries], set_aside.items[:others])),
        np.concatenate((searched.counts[:entries], set_aside.counts[:others])),
        np.concatenate((searched.starts[: searched.n_classes], set_aside.starts[: set_aside.n_classes + 1] + entries)),
        kernel_inputs.min_records,
    )


def _classes_to_search(
    kernel_inputs: KernelInputs, classes: PackedClasses, lossy: Bools, blocks: Ints, draws: np.random.Generator
) -> Bools:
    """Return which classes are to be searched: those with a loss, and the classes nearest to their records.

    Nearest classes are found along N_LINES random orders of the records, N_NEIGHBOURS on each side. Of a class without
    a loss, only its first item is considered.

    Args:
        kernel_inputs: The arrays of the table and the constraint.
        classes: All classes.
        lossy: Whether each class has a loss.
        blocks: The block of each item, empty if there are no blocks.
        draws: Chooses the orders.
    """
    starts, n_classes = classes.starts, classes.n_classes
    searched = lossy.copy()
    others = np.flatnonzero(~lossy)
    ends = classes.items[starts[others]]
    lossy_classes = np.flatnonzero(lossy)
    records = np.unique(
        classes.items[concatenated_ranges(starts[lossy_classes], np.diff(starts[: n_classes + 1])[lossy_classes])]
    )
    items = np.concatenate((ends, records))
    for _ in range(N_LINES):
        keys: list[Any] = [kernel_inputs.codes[items, j] for j in draws.permutation(kernel_inputs.codes.shape[1])]
        if len(blocks):
            keys.append(blocks[items])
        order = np.lexsort(keys)
        is_other = order < len(others)
        line = others[order[is_other]]
        place = np.cumsum(is_other)[~is_other]
        for step in range(-N_NEIGHBOURS, N_NEIGHBOURS):
            neighbours = place + step
            searched[line[neighbours[(neighbours >= 0) & (neighbours < len(line))]]] = True
    return searched


def _select_classes(kernel_inputs: KernelInputs, classes: PackedClasses, is_selected: Bools) -> PackedClasses:
    """Return the classes for which `is_selected` is true, in their order and renumbered from 0, as new arrays.

    `kernel_inputs` has the arrays of the table and the constraint.
    """
    numbers = np.flatnonzero(is_selected)
    entries = np.diff(classes.starts[: classes.n_classes + 1])[numbers]
    places = concatenated_ranges(classes.starts[numbers], entries)
    starts = np.append(0, np.cumsum(entries))
    return PackedClasses.from_entries(classes.items[places], classes.counts[places], starts, kernel_inputs.min_records)
