"""Lines: orders of all records, which are cut into classes where the whole loss is least."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dbanon.cluster.layout import Layout
from dbanon.cluster.runs import Runs, met
from dbanon.space.space import Codes, Ints, Space

Line = tuple[tuple[int, int], ...]
"""Attributes, the first matters most, and by how many bits each is coarsened."""


def ordered(problem: Layout, line: Line) -> Codes:
    """The items along a line. Of the last attribute every other run goes down, so that what meets at the end of a run
    is alike."""
    keys = [problem.codes[:, j] >> bits for j, bits in line]
    front = np.lexsort(keys[-2::-1]) if len(keys) > 1 else np.arange(len(problem.codes))
    new = np.zeros(len(front), bool)
    for key in keys[:-1]:
        new[1:] |= key[front[1:]] != key[front[:-1]]
    run = np.empty(len(front), np.int64)
    run[front] = np.cumsum(new)
    last = keys[-1].astype(np.int64)
    return np.lexsort((np.where(run % 2 == 0, last, -last), run)).astype(np.int32)


def cut(problem: Layout, order: Codes) -> tuple[int, Ints]:
    """The loss and the sizes of the classes that lose least of all that an order can be cut into."""
    from dbanon import kernels

    records = np.repeat(order, problem.sizes[order])
    labels = np.empty(len(records), np.int32)
    penalty = int(problem.terms[:, 2].sum())
    _, loss = kernels.cut_all(
        records, problem.least, problem.most, penalty, *problem.measure, *problem.model, *problem.scratch, labels
    )
    ends = np.flatnonzero(labels[1:] != labels[:-1]) + 1
    return int(loss), np.diff(ends, prepend=0, append=len(labels))


def along(problem: Layout, space: Space, order: Codes, classes: Ints) -> Runs:
    """Classes of so many records each along an order of the items; the last has the number 0."""
    counts, place, which = met(problem.sizes[order], classes)
    items = order[place]
    by_item = np.argsort(items, kind="stable")
    clusters = (len(classes) - 1 - which)[by_item]
    return problem.dealt(space, Runs.one(space), items[by_item], clusters, counts[by_item])


@dataclass
class Best:
    """The classes of the orders so far that lose least; `loss` is -1 before the first."""

    problem: Layout
    space: Space
    runs: Runs
    loss: int = -1

    def offered(self, order: Codes) -> int:
        """The loss along another order."""
        loss, classes = cut(self.problem, order)
        if self.loss < 0 or loss < self.loss:
            self.loss, self.runs = loss, along(self.problem, self.space, order, classes)
        return loss
