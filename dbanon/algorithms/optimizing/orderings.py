"""Lines: orders of all records, which are cut into classes with the least whole loss."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels, intersect_partitions
from dbanon.algorithms.base.kernel_inputs import KernelInputs
from dbanon.encoding.encoded_table import Codes, EncodedTable, Ints
from dbanon.kernels.arrays import FULL_LOSS

Line = tuple[tuple[int, int], ...]
"""Attributes, the most significant one first, and the number of bits by which each is coarsened."""


def items_along(kernel_inputs: KernelInputs, line: Line) -> Codes:
    """Return the numbers of the items in the order of a line; an item is a set of records that no model distinguishes.

    They are sorted by the line's attributes, the first one first, with codes coarsened by the given bits. In the last
    attribute every other run is descending, so that items at the ends of adjacent runs are similar.

    Args:
        kernel_inputs: The arrays of the table and the constraint.
        line: Attributes, each with the number of bits by which its codes are coarsened.
    """
    keys = [kernel_inputs.codes[:, j].astype(np.int64) >> bits for j, bits in line]
    runs = _combine_keys(keys[:-1])
    front = np.lexsort(runs[::-1]) if runs else np.arange(len(kernel_inputs.codes))
    is_first = np.zeros(len(front), bool)
    for key in runs:
        is_first[1:] |= key[front[1:]] != key[front[:-1]]
    run = np.empty(len(front), np.int64)
    run[front] = np.cumsum(is_first)
    last = np.where(run % 2 == 0, keys[-1], -keys[-1])
    return np.lexsort(_combine_keys([run, last - last.min()])[::-1]).astype(np.int32)


def _combine_keys(keys: Sequence[Ints]) -> list[Ints]:
    """Combine sort keys (arrays of integers from 0) into fewer keys that sort in the same order."""
    combined: list[Ints] = []
    max_factor = 0
    for key in keys:
        size = int(key.max(initial=0)) + 1
        if size > max_factor:
            combined.append(key)
            max_factor = 2**62
        else:
            combined[-1] = combined[-1] * size + key
        max_factor //= size
    return combined


def optimal_cut_sizes(kernel_inputs: KernelInputs, order: Codes) -> tuple[int, Ints]:
    """Cut the records in an order of the items into consecutive classes that meet the constraint with the least loss.

    An item is a set of records that no model distinguishes, such as a tuple; `order` has each item once.

    Returns:
        The whole loss, and the sizes of the classes in this order.
    """
    from dbanon.kernels.optimal_cut import cut_all_records

    records = np.repeat(order, kernel_inputs.sizes[order])
    labels = np.empty(len(records), np.int32)
    # At least 1: if nothing can lose, a class may still miss a model.
    penalty = max(int(kernel_inputs.terms[:, FULL_LOSS].sum()), 1)
    _, loss = cut_all_records(
        records,
        kernel_inputs.min_records,
        kernel_inputs.max_class_size,
        penalty,
        kernel_inputs.loss_arrays,
        *kernel_inputs.model,
        kernel_inputs.scratch,
        labels,
    )
    return int(loss), np.diff(np.flatnonzero(labels[1:] != labels[:-1]) + 1, prepend=0, append=len(labels))


def classes_along(kernel_inputs: KernelInputs, space: EncodedTable, order: Codes, class_sizes: Ints) -> RunLengthLabels:
    """Return the labels of consecutive classes of the given sizes along an order of the items.

    An item is a set of records that no model distinguishes. The last class has the number 0, the first the greatest
    number.

    Args:
        kernel_inputs: The arrays of the table and the constraint.
        space: The encoded table.
        order: The items, each once.
        class_sizes: Number of records of each class.
    """
    counts, place, class_numbers = intersect_partitions(kernel_inputs.sizes[order], class_sizes)
    ordered_items = order[place]
    by_item = np.argsort(ordered_items, kind="stable")
    clusters = (len(class_sizes) - 1 - class_numbers)[by_item]
    return kernel_inputs.reassigned(
        space, RunLengthLabels.single_cluster(space), ordered_items[by_item], clusters, counts[by_item]
    )


@dataclass
class BestOrder:
    """The classes with the least loss among the orders tried so far.

    Attributes:
        kernel_inputs: The arrays of the table and the constraint.
        space: The encoded table.
        runs: The classes of the best order; before the first order, the given ones.
        loss: Their loss; -1 before the first order.
    """

    kernel_inputs: KernelInputs
    space: EncodedTable
    runs: RunLengthLabels
    loss: int = -1

    def try_order(self, order: Codes) -> int:
        """Return the loss of the best cut of an order of the items; keep its classes if they lose least so far.

        An item is a set of records that no model distinguishes; `order` has each item once.
        """
        loss, classes = optimal_cut_sizes(self.kernel_inputs, order)
        if self.loss < 0 or loss < self.loss:
            self.loss, self.runs = loss, classes_along(self.kernel_inputs, self.space, order, classes)
        return loss
