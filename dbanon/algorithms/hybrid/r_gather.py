"""r-gather: clusters of at least k records with the least greatest radius, up to a factor of two."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import Runs, heads
from dbanon.algorithms.base.registry import (
    LARGE,
    MOST_LEFT_OUT,
    Assignment,
    Check,
    Options,
    Suppression,
    one_cluster_below_2k,
    register,
)
from dbanon.algorithms.centroid.moving_centers import NONE, Work
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import RecordTree
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Float
from dbanon.table_functions.parameters import Parameter

STEPS = 2**19
"""Boxes that are looked at, some 50 ms, after which kernels come back to look for interrupts."""

EACH = 2.5
"""What a box costs in steps of dbanon.algorithms.base.progress."""

TESTS = 12
"""Limits that are tried, about."""

BEFORE = 0.3
"""Share of the work, about, that goes before the first limit is tried."""


@one_cluster_below_2k
def r_gather(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """r-gather (Aggarwal et al. 2006): the greatest distance of a record to the center of its cluster is at most twice
    the least that clusters of k records around records can have.

    The least limit is looked for by bisection of the whole numbers that distances are, from the one within which all
    records have k - 1 others. A limit is tried so: the first record that is not marked is a center and marks all that
    are within the limit; a flow then gives each center k records within the limit, if that can be. In the end each
    center keeps of its records the k nearest, and all others join the nearest center. Distance: that of the k-member
    papers, which is a metric.

    With `eps` at most that share of the records is left out, (r, eps)-gather: centers have k records within the limit
    and lie more than two limits apart, and those farther than three from any are left out, so that the radius is at
    most three times the least. Under persons or models a cluster has at least as many records as any of them needs, and
    the shared repair follows. O(n^2) time a limit without the tree of boxes, O(n) memory.
    """
    share = float(str(options["eps"]))
    spare = min(int(share * space.rows + 1e-9), int(str(options.get(MOST_LEFT_OUT, space.rows))))
    work = Limits(space, constraint.least, spare, check)
    return work.least(work.spread_apart if spare > 0 else work.flowing)


@dataclass(frozen=True)
class Tried:
    """A limit that was tried: any from `first` up to, but without, `end` has the same answer, `found` (None: none)."""

    first: int
    end: int
    found: Runs | None


class Limits:
    """A table, and what clusters of at least k records a limit allows."""

    def __init__(self, space: EncodedTable, k: int, spare: int, check: Check) -> None:
        from dbanon.kernels.centers import build_center_tree

        self.space, self.k, self.spare, self.check = space, k, spare, progress.work(check)
        each = np.arange(len(space.counts))
        self.work = Work(space, k, space.starts, each, True, 1, check)
        build_center_tree(each.copy(), self.work.tree)
        self.seen, self.pauses = np.array([0, 0, NONE]), progress.Pauses(self.check)
        self.tree = RecordTree(*self.work.tree, space.counts, self.seen)
        parent, node = self.work.boxes[2], self.work.boxes[4]
        self.open = np.zeros(len(parent), np.int64)  # tuples below each node
        while len(node):
            np.add.at(self.open, node, 1)
            node = parent[node]
            node = node[node >= 0]
        self.all = np.ones(len(parent), np.int64)

    def least(self, tried: Callable[[int], Tried]) -> Runs:
        """What the least limit that bisection finds allows."""
        low = self._reach() - 1 if self.spare == 0 else -1
        high = self._widest()
        best: Runs | None = None
        feasible_from, missed_until, limit, whole = high + 1, low, low + 1, high - low
        while True:
            if limit >= feasible_from:
                high = limit
            elif limit < missed_until:
                low = limit
            else:
                self.check.come(1 - (1 - BEFORE) * np.log2(1 + high - low) / np.log2(1 + whole))
                now = tried(limit)
                if now.found is None:
                    low, missed_until = limit, now.end
                else:
                    high, feasible_from, best = limit, now.first, now.found
            if best is not None and high <= low + 1:
                return best
            limit = (low + high + 1) // 2

    def flowing(self, limit: int) -> Tried:
        """Return clusters of records within a limit of their centers, if there are any."""
        from dbanon.kernels.r_gather import balance_loads

        self.seen[1:] = 0, NONE
        center_of, centers = self._spread(limit, 1, 0)
        counts = self.space.counts
        load = np.bincount(center_of, weights=counts, minlength=len(centers)).astype(np.int64)
        of, number, following = np.zeros((3, self.space.rows), np.int64)
        of[: len(counts)], number[: len(counts)], following[:] = center_of, counts, -1
        used = np.array([len(counts)])
        c = 0
        while 0 <= c < len(centers):
            c = self._step(c, len(centers), lambda begin: balance_loads(
                begin, STEPS, limit, self.k, self.tree, self.all, centers, load, (of, number, following, used),
            ))  # fmt: skip
        if c < 0:
            return self._tried(None)
        entries = int(used[0])
        tuple_of, there = heads(following[:entries]), np.flatnonzero(number[:entries])
        return self._tried(self._settled(tuple_of[there], of[there], number[there], centers))

    def spread_apart(self, limit: int) -> Tried:
        """Return clusters around centers more than two limits apart, with few left out, if there are any."""
        from dbanon.kernels.centers import center_distances

        self.seen[1:] = 0, NONE
        _, centers = self._spread(limit, 2, self.k)
        if len(centers) == 0:
            return self._tried(None)
        tuples = np.arange(len(self.space.counts))
        near = self._nearest(tuples, centers)
        allows = (center_distances(self.tree.points, centers[near], self.tree.points, self.tree.axes) + 2) // 3
        out = allows > limit
        self.seen[1] = max(self.seen[1], allows[~out].max())
        self.seen[2] = min(self.seen[2], allows[out].min(initial=NONE))
        if int(self.space.counts[out].sum()) > self.spare:
            return self._tried(None)
        return self._tried(Runs.of_tuples(self.space, np.where(out, -1, near)))

    # --- steps -------------------------------------------------------------------------------------------

    def _widest(self) -> int:
        """Return no two records are farther apart than this."""
        points, null = self.work.points, self.work.axes[1]
        places = np.where(points < NONE, points, 0).max(axis=0)
        return int(np.where(self.work.axes[0] > 0, null, np.maximum(null, places)).sum())

    def _reach(self) -> int:
        """Return the greatest distance within which any record has k - 1 others."""
        from dbanon.kernels.r_gather import update_max_radius

        most, t, tuples = np.zeros(1, np.int64), 0, len(self.space.counts)
        while t < tuples:
            t = self._step(t, tuples, lambda begin: update_max_radius(begin, STEPS, self.k, self.tree, most), BEFORE)
            self.check.come(BEFORE * t / tuples)
        return int(most[0])

    def _spread(self, limit: int, times: int, need: int) -> tuple[Ints, Ints]:
        """Return the center that marked each tuple, and the centers."""
        from dbanon.kernels.r_gather import select_centers

        tuples = len(self.space.counts)
        open_, center_of, centers = self.open.copy(), np.full(tuples, -1, np.int64), np.empty(tuples, np.int64)
        t, number = 0, 0
        while t < tuples:

            def on(begin: int) -> int:
                nonlocal number
                begin, number = select_centers(
                    begin, STEPS, limit, times, need, self.tree, open_, center_of, centers, number
                )
                return begin

            t = self._step(t, tuples, on)
        return center_of, centers[:number]

    def _step(self, begin: int, end: int, kernel: Callable[[int], int], whole: float = (1 - BEFORE) / TESTS) -> int:
        """Return a kernel goes on until it comes back; gives where.

        `whole`: about what share of all work this kind is. By the second time it is judged how long all takes: kernels
        may be compiled for the first.
        """
        self.check()
        clock, before = progress.clock(), int(self.seen[0])
        now = kernel(begin)
        if begin < now < end:
            steps = float(self.seen[0] - before) * EACH
            self.pauses.paused(progress.Sample((now - begin) / end * whole, steps, progress.clock() - clock))
        return now

    def _tried(self, found: Runs | None) -> Tried:
        return Tried(int(self.seen[1]), int(self.seen[2]), found)

    def _settled(self, tuples: Ints, of: Ints, counts: Ints, centers: Ints) -> Runs:
        """Of the records that a flow gave a center the k nearest stay, the others go to the nearest center."""
        from dbanon.kernels.centers import center_distances

        away = center_distances(self.tree.points[tuples], centers[of], self.tree.points, self.tree.axes)
        order = np.lexsort((tuples, away, of))
        tuples, of, counts = tuples[order], of[order], counts[order]
        until = np.cumsum(counts)
        begins = np.flatnonzero(np.append(True, of[1:] != of[:-1]))
        before = until - counts - np.repeat((until - counts)[begins], np.diff(np.append(begins, len(of))))
        stay = np.clip(self.k - before, 0, counts)
        others = np.flatnonzero(counts > stay)
        near = self._nearest(np.unique(tuples[others]), centers)[tuples[others]]
        tuples, of = np.concatenate((tuples, tuples[others])), np.concatenate((of, near))
        counts = np.concatenate((stay, (counts - stay)[others]))
        order = np.lexsort((of, tuples))
        order = order[counts[order] > 0]
        return Runs.of(tuples[order], of[order], counts[order])

    def _nearest(self, tuples: Ints, centers: Ints) -> Ints:
        """Return the first of the nearest centers of some tuples; 0 for the others."""
        work = Work(self.space, self.k, self.space.starts[centers], tuples, True, 1, self.check)
        near = np.zeros(len(self.space.counts), np.int64)
        work.build(np.arange(len(centers)))
        work.place(tuples, near, known=False)
        return near


def _most(options: Mapping[str, Any], k: int) -> int | None:
    return None if float(str(options["eps"])) > 0 else 0


register(
    r_gather,
    title="r-gather: clusters of the least greatest radius",
    summary=(
        "clusters whose records are as near to their center as they can be, up to a factor of two: centers "
        "that lie apart, and a flow that gives each k records; with `eps` outliers are left out, and the "
        "factor is three"
    ),
    source="Aggarwal et al. 2006, as the review of clustering methods describes it",
    evidence="LIT-m",
    complexity="O(n^2) time a limit without the index, O(n) memory",
    own=(Parameter("eps", Float(0, 1), "Share of the records that may be left out as outliers.", 0.0), LARGE),
    defaults={"suppress": 1.0},
    abilities=(
        Suppression("those farther than three times the radius from all centers, the share eps at most", _most),
    ),
)
