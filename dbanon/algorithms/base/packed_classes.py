"""Classes as entries side by side, (item, count) with the entries of a class together: what the search works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.kernel_inputs import Layout
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import ClassEntries


@dataclass
class Classes:
    """Class c has the entries starts[c]:starts[c + 1] and sizes[c] records; there are `number` classes."""

    items: Any
    counts: Any
    starts: Ints
    sizes: Ints
    number: int

    @classmethod
    def room(cls, rows: int, least: int, number: int) -> Classes:
        """Return room for all classes that so many rows can have, or for `number`.

        What is not written takes no memory.
        """
        starts, sizes = np.zeros((2, max(rows // max(least, 1), number) + 3), np.int64)
        return cls(np.zeros(rows, np.int32), np.zeros(rows, np.int32), starts, sizes, 0)

    @classmethod
    def of(cls, problem: Layout, runs: Runs) -> Classes:
        """Return the clusters of runs, but for what they leave out.

        O(n log n) time for n runs, or records where a model looks at each.
        """
        items, clusters, counts = problem.entries(runs)
        order = np.lexsort((items, clusters))
        of, cluster, records = items[order], clusters[order], counts[order]
        first = np.flatnonzero(np.append(True, (of[1:] != of[:-1]) | (cluster[1:] != cluster[:-1])))
        number = int(cluster[-1]) + 1
        classes = cls.room(int(records.sum(dtype=np.int64)), problem.least, number)
        classes.items[: len(first)] = of[first]
        classes.counts[: len(first)] = np.add.reduceat(records, first)
        starts = np.searchsorted(cluster[first], np.arange(number + 1))
        classes.starts[: number + 1] = starts
        ends = np.append(0, np.cumsum(classes.counts[: len(first)], dtype=np.int64))
        classes.sizes[:number] = np.diff(ends[starts])
        classes.number = number
        return classes

    @property
    def arrays(self) -> ClassEntries:
        """As the kernels take them."""
        return ClassEntries(self.items, self.counts, self.starts, self.sizes)

    def loss(self, problem: Layout) -> int:
        """Return summed loss of all records."""
        from dbanon.kernels.local_search import class_losses

        return int(class_losses(self.items, self.starts, self.sizes, self.number, problem.measure).sum())

    def runs(self, problem: Layout, space: EncodedTable, before: Runs) -> Runs:
        """Return the classes as runs; `before` says who is left out.

        The records of an item are dealt in canonical order to its classes in their order.
        """
        entries = int(self.starts[self.number])
        cluster = np.repeat(np.arange(self.number, dtype=np.int32), np.diff(self.starts[: self.number + 1]))
        items = self.items[:entries]
        by_item = np.argsort(items, kind="stable")  # the classes ascend
        return problem.dealt(space, before, items[by_item], cluster[by_item], self.counts[:entries][by_item])
