"""Classes as packed entries (item, count), the entries of a class next to each other: the data of the local search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.kernel_inputs import KernelInputs
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import ClassEntries


@dataclass
class PackedClasses:
    """Classes in packed arrays: class c has the entries starts[c]:starts[c + 1] and sizes[c] records.

    Attributes:
        items: Item of each entry (a set of records that no model distinguishes, such as a tuple).
        counts: Number of the item's records in the class.
        starts: First entry of each class.
        sizes: Number of records of each class.
        n_classes: Number of classes; the arrays may be longer.
    """

    items: Any
    counts: Any
    starts: Ints
    sizes: Ints
    n_classes: int

    @classmethod
    def allocate(cls, n_rows: int, min_records: int, n_classes: int) -> PackedClasses:
        """Return zeroed arrays, without classes, with room for `n_rows` entries.

        There is room for `n_rows` / `min_records` classes or for `n_classes`, whichever is more. Memory that is not
        written is not used.
        """
        starts, sizes = np.zeros((2, max(n_rows // max(min_records, 1), n_classes) + 3), np.int64)
        return cls(np.zeros(n_rows, np.int32), np.zeros(n_rows, np.int32), starts, sizes, 0)

    @classmethod
    def from_entries(cls, items: Any, counts: Any, starts: Ints, min_records: int) -> PackedClasses:
        """Return the classes with these entries; those of a class are one after another.

        Args:
            items: Item of each entry.
            counts: Number of the item's records in the class.
            starts: (classes + 1,) first entry of each class and, last, the number of entries.
            min_records: Least number of records of a class, see `allocate`.
        """
        n_classes, ends = len(starts) - 1, np.append(0, np.cumsum(counts, dtype=np.int64))
        classes = cls.allocate(int(ends[-1]), min_records, n_classes)
        classes.items[: len(items)], classes.counts[: len(items)] = items, counts
        classes.starts[: len(starts)], classes.sizes[:n_classes] = starts, np.diff(ends[starts])
        classes.n_classes = n_classes
        return classes

    @classmethod
    def from_labels(cls, kernel_inputs: KernelInputs, runs: RunLengthLabels) -> PackedClasses:
        """Return the clusters of `runs` as packed classes; classes keep their cluster numbers.

        Suppressed records are omitted. O(n log n) time for n runs, or for n records if a model examines each.

        Args:
            kernel_inputs: The arrays of the table and the constraint.
            runs: The clusters.
        """
        items, clusters, counts = kernel_inputs.cluster_items(runs)
        order = np.lexsort((items, clusters))
        sorted_items, cluster, records = items[order], clusters[order], counts[order]
        first = np.flatnonzero(np.append(True, (sorted_items[1:] != sorted_items[:-1]) | (cluster[1:] != cluster[:-1])))
        starts = np.searchsorted(cluster[first], np.arange(int(cluster[-1]) + 2))
        return cls.from_entries(sorted_items[first], np.add.reduceat(records, first), starts, kernel_inputs.min_records)

    @property
    def arrays(self) -> ClassEntries:
        """The arrays of entries and classes, as the kernels take them."""
        return ClassEntries(self.items, self.counts, self.starts, self.sizes)

    def losses(self, kernel_inputs: KernelInputs) -> Ints:
        """Return the (classes,) loss summed over the records of each class, as exact integers.

        `kernel_inputs` has the arrays of the table and the constraint.
        """
        from dbanon.kernels.local_search import class_losses

        losses: Ints = class_losses(self.items, self.starts, self.sizes, self.n_classes, kernel_inputs.loss_arrays)
        return losses

    def total_loss(self, kernel_inputs: KernelInputs) -> int:
        """Return the loss summed over all records of the classes, as an exact integer (see `losses`)."""
        return int(self.losses(kernel_inputs).sum())

    def to_labels(
        self, kernel_inputs: KernelInputs, space: EncodedTable, old_labels: RunLengthLabels
    ) -> RunLengthLabels:
        """Return the classes as labels of records; records that are suppressed in `old_labels` stay suppressed.

        The records of an item (set of records that no model distinguishes) are assigned in canonical order to its
        classes, in ascending order of the classes.

        Args:
            kernel_inputs: The arrays of the table and the constraint.
            space: The encoded table.
            old_labels: The labels before the search.
        """
        n_entries = int(self.starts[self.n_classes])
        cluster = np.repeat(np.arange(self.n_classes, dtype=np.int32), np.diff(self.starts[: self.n_classes + 1]))
        items = self.items[:n_entries]
        by_item = np.argsort(items, kind="stable")  # the classes ascend
        return kernel_inputs.reassigned(
            space, old_labels, items[by_item], cluster[by_item], self.counts[:n_entries][by_item]
        )
