"""Groups of records as arrays for the search (see dbanon.kernels.annealing_moves)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import Floats, Ints
from dbanon.kernels.annealing_arrays import GroupedRecords, NeighbourTree, RecordGroups

RECORDS_PER_CALL = 10_000
"""Number of records whose neighbours are searched for between two checks for interrupts."""


@dataclass(frozen=True)
class GroupArrays:
    """Clusters (groups) of records as arrays for the search, which changes them in place.

    Attributes:
        records: The records.
        groups: The groups.
        free: The number of unused groups, followed by their numbers.
    """

    records: GroupedRecords
    groups: RecordGroups
    free: Ints

    @classmethod
    def from_labels(cls, points: Floats, labels: Ints, limits: tuple[int, int], neighbour_lists: Any) -> GroupArrays:
        """Return the groups as arrays, given the label of each record.

        O(n * (axes + greatest / least size)) memory.

        Args:
            points: (n, axes) points of the records.
            labels: (n,) group of each record; records with -1 are in none. Groups are renumbered from 0.
            limits: Least and greatest number of records of a group.
            neighbour_lists: (n, neighbours) nearest records of each record.
        """
        min_records, max_records = limits
        grouped_rows = np.flatnonzero(labels >= 0)
        order = grouped_rows[np.argsort(labels[grouped_rows], kind="stable")]
        names, first, sizes = np.unique(labels[order], return_index=True, return_counts=True)
        max_groups = max(len(grouped_rows) // min_records, len(names)) + 1
        group, place = np.full(len(points), -1, np.int32), np.zeros(len(points), np.int32)
        group_index = np.repeat(np.arange(len(names)), sizes)
        group[order], place[order] = group_index, np.arange(len(order)) - first[group_index]
        member, size = np.zeros((max_groups, max_records), np.int32), np.zeros(max_groups, np.int64)
        member[group_index, place[order]] = order
        size[: len(names)] = sizes
        sums, gain = np.zeros((max_groups, points.shape[1])), np.zeros(max_groups)
        for j, axis in enumerate(points.T):
            sums[: len(names), j] = np.bincount(group_index, axis[order], len(names))
        gain[: len(names)] = (sums[: len(names)] ** 2).sum(axis=1) / sizes
        unused = np.arange(max_groups - 1, len(names) - 1, -1)
        free = np.concatenate(([len(unused)], unused, np.zeros(len(names), np.int64)))
        return cls(GroupedRecords(points, group, place, neighbour_lists), RecordGroups(member, size, sums, gain), free)


def nearest_neighbours(points: Floats, n_neighbours: int, check: Check) -> Any:
    """Return the `n_neighbours` nearest other points of each point, as an array (points, neighbours).

    With many axes some of them may be missed. O(n log n + n * 1024 * axes) time.
    """
    from dbanon.kernels.knn_tree import MAX_LEAF_POINTS, find_neighbours

    n, axes = points.shape
    size = 2 * (2 * n // MAX_LEAF_POINTS + 1) + 1
    begins, ends, kids = np.zeros((3, size), np.int64)
    tree = NeighbourTree(np.arange(n), begins, ends, kids, np.zeros((size, axes)), np.zeros((size, axes)))
    neighbour_lists = np.zeros((n, min(n_neighbours, n - 1)), np.int32)
    for first in range(0, n, RECORDS_PER_CALL):
        check()
        find_neighbours(first, min(first + RECORDS_PER_CALL, n), points, tree, neighbour_lists)
    return neighbour_lists


def halve_large_groups(points: Floats, labels: Ints, limits: tuple[int, int]) -> Ints:
    """Halve groups of more than the greatest size along their widest axis until there are none; return the new labels.

    The argument is not changed; it is returned itself if no group is too large. Halving only lowers the squared error.
    It is valid if only the number of records counts.

    Args:
        points: (n, axes) points of the records.
        labels: (n,) group of each record; -1 stays.
        limits: Least and greatest number of records of a group.
    """
    min_records, max_records = limits
    sizes = np.bincount(labels[labels >= 0])
    if sizes.max(initial=0) <= max_records:
        return labels
    labels, next_label = labels.copy(), len(sizes)
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(len(sizes)), side="right")
    for group in np.flatnonzero(sizes > max_records):
        halves = list(_halves(points, order[ends[group] - sizes[group] : ends[group]], min_records, max_records))
        for number, half in enumerate(halves[1:]):
            labels[half] = next_label + number
        next_label += len(halves) - 1
    return labels


def _halves(points: Floats, rows: Ints, min_records: int, max_records: int) -> Iterator[Ints]:
    """Yield the parts of the rows of one group after repeated halving along the widest axis.

    Each part has at most `max_records` rows. Every cut is after a multiple of `min_records` rows. `points` are the (n,
    axes) points of all rows.
    """
    pending = [rows]
    while pending:
        part = pending.pop()
        if len(part) <= max_records:
            yield part
            continue
        axis = int(np.ptp(points[part], axis=0).argmax())
        sorted_rows = part[np.argsort(points[part, axis], kind="stable")]
        middle = len(part) // 2 // min_records * min_records
        pending += [sorted_rows[middle:], sorted_rows[:middle]]
