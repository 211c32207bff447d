"""Classes as entries side by side, (item, count) with the entries of a class together: what the search works on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dbanon.cluster.layout import Layout
from dbanon.space.space import Ints


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
        """Room for all classes that so many rows can have, or for `number`."""
        starts, sizes = np.zeros((2, max(rows // max(least, 1), number) + 3), np.int64)
        return cls(np.zeros(rows, np.int32), np.zeros(rows, np.int32), starts, sizes, 0)

    @classmethod
    def of(cls, problem: Layout, labels: Ints, kept: Ints) -> Classes:
        """Classes of the kept rows by label. O(n log n) time."""
        items = problem.item_of[kept]
        order = np.lexsort((items, labels[kept]))
        of, cluster = items[order], labels[kept][order]
        first = np.flatnonzero(np.append(True, (of[1:] != of[:-1]) | (cluster[1:] != cluster[:-1])))
        number = int(cluster[-1]) + 1
        classes = cls.room(len(kept), problem.least, number)
        classes.items[: len(first)] = of[first]
        classes.counts[: len(first)] = np.diff(np.append(first, len(of)))
        classes.starts[: number + 1] = np.searchsorted(cluster[first], np.arange(number + 1))
        classes.sizes[:number] = np.bincount(cluster, minlength=number)
        classes.number = number
        return classes

    @property
    def arrays(self) -> tuple[Any, ...]:
        """As the kernels take them."""
        return self.items, self.counts, self.starts, self.sizes

    def loss(self, problem: Layout) -> int:
        """Summed loss of all records."""
        from dbanon import kernels

        return int(kernels.class_losses(self.items, self.starts, self.sizes, self.number, *problem.measure).sum())

    def labels(self, problem: Layout, kept: Ints, rows: int) -> Ints:
        """Labels of all rows, -1 for those that are not kept: the records of an item are dealt in canonical order to
        its classes in their order."""
        entries = int(self.starts[self.number])
        cluster = np.repeat(np.arange(self.number), np.diff(self.starts[: self.number + 1]))
        by_item = np.lexsort((cluster, self.items[:entries]))
        labels = np.full(rows, -1, np.int64)
        labels[kept[np.argsort(problem.item_of[kept], kind="stable")]] = np.repeat(
            cluster[by_item], self.counts[:entries][by_item]
        )
        return labels
