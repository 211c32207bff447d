"""Groups of records as arrays for the search (see dbanon.kernels.annealing_moves)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import Floats, Ints

BLOCK = 10_000
"""Records whose neighbours are looked for between two looks for interrupts."""


@dataclass(frozen=True)
class Groups:
    """`records`: points, group (-1: stays where it is), place in it and neighbours; `groups`: member, size, sums and
    gain; `free`: the number of free groups, and these."""

    records: tuple[Any, ...]
    groups: tuple[Any, ...]
    free: Ints

    @classmethod
    def of(cls, at: Floats, labels: Ints, limits: tuple[int, int], near: Any) -> Groups:
        """Return the groups that labels (-1: none) say. O(n * (axes + most / least)) memory."""
        least, most = limits
        inside = np.flatnonzero(labels >= 0)
        order = inside[np.argsort(labels[inside], kind="stable")]
        names, first, sizes = np.unique(labels[order], return_index=True, return_counts=True)
        room = max(len(inside) // least, len(names)) + 1
        group, place = np.full(len(at), -1, np.int32), np.zeros(len(at), np.int32)
        of = np.repeat(np.arange(len(names)), sizes)
        group[order], place[order] = of, np.arange(len(order)) - first[of]
        member, size = np.zeros((room, most), np.int32), np.zeros(room, np.int64)
        member[of, place[order]] = order
        size[: len(names)] = sizes
        sums, gain = np.zeros((room, at.shape[1])), np.zeros(room)
        for j, axis in enumerate(at.T):
            sums[: len(names), j] = np.bincount(of, axis[order], len(names))
        gain[: len(names)] = (sums[: len(names)] ** 2).sum(axis=1) / sizes
        unused = np.arange(room - 1, len(names) - 1, -1)
        free = np.concatenate(([len(unused)], unused, np.zeros(len(names), np.int64)))
        return cls((at, group, place, near), (member, size, sums, gain), free)


def neighbours(at: Floats, wanted: int, check: Check) -> Any:
    """Return the nearest of all others of each point (points, wanted): nearly always, where axes are many.

    O(n log n + n * 1024 * axes) time.
    """
    from dbanon.kernels.knn_tree import MAX_LEAF_POINTS, find_neighbours

    n, axes = at.shape
    size = 2 * (2 * n // MAX_LEAF_POINTS + 1) + 1
    nodes = tuple(np.zeros(size, np.int64) for _ in range(3))
    boxes = np.zeros((size, axes)), np.zeros((size, axes))
    order, near = np.arange(n), np.zeros((n, min(wanted, n - 1)), np.int32)
    for first in range(0, n, BLOCK):
        check()
        find_neighbours(first, min(first + BLOCK, n), at, order, nodes, boxes, near)
    return near


def halved(at: Floats, labels: Ints, limits: tuple[int, int]) -> Ints:
    """Groups of more than `most` records are halved along their widest axis until there is none: that only lowers
    squares, and where only their number counts, each half is a group."""
    least, most = limits
    sizes = np.bincount(labels[labels >= 0])
    if sizes.max(initial=0) <= most:
        return labels
    labels, next_one = labels.copy(), len(sizes)
    order = np.argsort(labels, kind="stable")
    ends = np.searchsorted(labels[order], np.arange(len(sizes)), side="right")
    for group in np.flatnonzero(sizes > most):
        halves = list(_halves(at, order[ends[group] - sizes[group] : ends[group]], least, most))
        for number, half in enumerate(halves[1:]):
            labels[half] = next_one + number
        next_one += len(halves) - 1
    return labels


def _halves(at: Floats, rows: Ints, least: int, most: int) -> Iterator[Ints]:
    waiting = [rows]
    while waiting:
        part = waiting.pop()
        if len(part) <= most:
            yield part
            continue
        axis = int(np.ptp(at[part], axis=0).argmax())
        ordered = part[np.argsort(at[part, axis], kind="stable")]
        middle = len(part) // 2 // least * least
        waiting += [ordered[middle:], ordered[:middle]]
