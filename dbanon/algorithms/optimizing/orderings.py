"""Lines: orders of all records, which are cut into classes where the whole loss is least."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.assignments import Runs, met
from dbanon.algorithms.base.kernel_inputs import Layout
from dbanon.encoding.encoded_table import Codes, EncodedTable, Ints

Line = tuple[tuple[int, int], ...]
"""Attributes, the first matters most, and by how many bits each is coarsened."""


def ordered(problem: Layout, line: Line) -> Codes:
    """Return the items along a line.

    Of the last attribute every other run goes down, so that what meets at the end of a run is alike.
    """
    keys = [problem.codes[:, j].astype(np.int64) >> bits for j, bits in line]
    runs = _packed(keys[:-1])
    front = np.lexsort(runs[::-1]) if runs else np.arange(len(problem.codes))
    new = np.zeros(len(front), bool)
    for key in runs:
        new[1:] |= key[front[1:]] != key[front[:-1]]
    run = np.empty(len(front), np.int64)
    run[front] = np.cumsum(new)
    last = np.where(run % 2 == 0, keys[-1], -keys[-1])
    return np.lexsort(_packed([run, last - last.min()])[::-1]).astype(np.int32)


def _packed(keys: Sequence[Ints]) -> list[Ints]:
    """Return keys of whole numbers from 0 on in fewer keys of the same order."""
    packed: list[Ints] = []
    room = 0
    for key in keys:
        size = int(key.max(initial=0)) + 1
        if size > room:
            packed.append(key)
            room = 2**62
        else:
            packed[-1] = packed[-1] * size + key
        room //= size
    return packed


def cut(problem: Layout, order: Codes) -> tuple[int, Ints]:
    """Return the loss and the sizes of the classes that lose least of all that an order can be cut into."""
    from dbanon.kernels.optimal_cut import cut_all_records

    records = np.repeat(order, problem.sizes[order])
    labels = np.empty(len(records), np.int32)
    penalty = int(problem.terms[:, 2].sum())
    _, loss = cut_all_records(
        records, problem.least, problem.most, penalty, problem.measure, *problem.model, problem.scratch, labels
    )
    ends = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    return int(loss), np.diff(ends, prepend=0, append=len(labels))


def along(problem: Layout, space: EncodedTable, order: Codes, classes: Ints) -> Runs:
    """Return classes of so many records each along an order of the items; the last has the number 0."""
    counts, place, which = met(problem.sizes[order], classes)
    items = order[place]
    by_item = np.argsort(items, kind="stable")
    clusters = (len(classes) - 1 - which)[by_item]
    return problem.dealt(space, Runs.one(space), items[by_item], clusters, counts[by_item])


@dataclass
class Best:
    """The classes of the orders so far that lose least; `loss` is -1 before the first."""

    problem: Layout
    space: EncodedTable
    runs: Runs
    loss: int = -1

    def offered(self, order: Codes) -> int:
        """Return the loss along another order."""
        loss, classes = cut(self.problem, order)
        if self.loss < 0 or loss < self.loss:
            self.loss, self.runs = loss, along(self.problem, self.space, order, classes)
        return loss
