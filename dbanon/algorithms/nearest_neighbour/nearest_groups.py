"""Groups of a seed and the records nearest to it; what is left joins the nearest seed.

Ties go to the first record in canonical order, and to the earlier group.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dbanon.algorithms.base import grow_clusters, progress
from dbanon.algorithms.base.assignment_log import Dealt, next_rows
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.registry import Check
from dbanon.encoding import distance
from dbanon.encoding.encoded_table import Ints
from dbanon.encoding.nearest_queries import ClusterGatherer
from dbanon.encoding.tuple_index import SumQuery, TupleIndex
from dbanon.privacy_models.constraint import Constraint

FARTHEST = 3
"""What a step costs in dbanon.algorithms.base.progress where the greatest sum is looked for."""


FLATTER = 1.5
"""How many times as hard questions are there, on average, as the first ones: sums of ever more distances differ less
and less (measured: 0.7 on tables whose tuples repeat, 3.6 on 50,000 of four continuous columns)."""


class Seeding(Protocol):
    """Where the next group begins: the first one anywhere, later ones at the least or greatest sum of distances; or all
    where `next` says (sign 0)."""

    @property
    def sign(self) -> int:
        """1: later seeds have the least summed distance to all earlier seeds; -1: the greatest; 0: neither."""

    def next(self, index: TupleIndex, sums: SumQuery, groups: int) -> int:
        """Return the tuple of the next seed after so many groups."""


class InOrder:
    """Of the records of a list (canonical rows) the next that is left.

    The records that are left of a tuple are its last ones. Where the list ends while records are left (equal ones stood
    in for each other) it begins again.
    """

    sign = 0

    def __init__(self, rows: Ints, tuple_of: Ints) -> None:
        self._tuples, self._rows, self._next = tuple_of[rows].tolist(), rows.tolist(), 0

    def next(self, index: TupleIndex, sums: SumQuery, groups: int) -> int:
        space = index.space
        while True:
            row, t = self._rows[self._next], self._tuples[self._next]
            self._next = (self._next + 1) % len(self._rows)
            if row >= space.starts[t] + space.counts[t] - index.remaining[t]:
                return int(t)


Leftovers = Callable[[Runs, Ints], Ints]
"""The groups that records in none, a tuple each in their order, join; from the groups that were made."""


class Nearest(grow_clusters.Rules):
    """What is left of a space, and the seeds of the groups that are made; `sums` are the distances to all seeds."""

    questions, harder = 2, 8.0

    def __init__(
        self, constraint: Constraint, index: TupleIndex, seeding: Seeding, leftovers: Leftovers | None = None
    ) -> None:
        self.space, self.constraint, self.index, self.seeding = index.space, constraint, index, seeding
        self.leftovers, self.fewer = leftovers, FLATTER if seeding.sign < 0 else progress.FEWER
        self.sums = index.distance_sum_query()
        self.seeds: list[int] = []

    @property
    def steps(self) -> int:
        return super().steps * (FARTHEST if self.seeding.sign < 0 else 1)

    def can_go_on(self) -> bool:
        return self.records >= self.constraint.least

    def seed(self) -> int:
        """Return the tuple of the next seed."""
        return self.seeding.next(self.index, self.sums, len(self.seeds))

    def given_seed(self) -> int:
        """Return the first seed; -1 for later ones, which kernels find by the sums."""
        return -1 if self.seeds else self.seed()

    def nearest(self, tuples: Ints, check: Check) -> Ints:
        """Return the first of the nearest seeds of some tuples. O(tuples * seeds)."""
        nearest = np.empty(len(tuples), np.int64)
        for i, t in enumerate(tuples.tolist()):
            check()
            nearest[i] = int(np.argmin(self.to_seeds(t)))
        return nearest

    def to_seeds(self, t: int) -> Ints:
        """Return the distances of a tuple to all seeds."""
        return distance.distances_to_tuples(self.index.tables, self.space.codes[t], self.space.codes[self.seeds])


class FixedSize(Nearest):
    """Groups of k records, in compiled code."""

    def __init__(
        self, constraint: Constraint, index: TupleIndex, seeding: Seeding, leftovers: Leftovers | None = None
    ) -> None:
        super().__init__(constraint, index, seeding, leftovers)
        self.gathering = ClusterGatherer(index, self.sums, seeding.sign)
        self.dealt = Dealt()

    def form(self, first: int, most: int) -> int:
        k = self.constraint.least
        members, seeds = self.gathering.gather_clusters(k, self.given_seed(), grow_clusters.within_room(most, k))
        self.seeds += seeds.tolist()
        return self.dealt.take(members, first)

    def place(self, groups: int, check: Check) -> None:
        if self.leftovers is None:
            tuples = np.flatnonzero(self.index.remaining)
            self.dealt.put(tuples, self.index.remaining[tuples], self.nearest(tuples, check))
        else:
            self.dealt.place(self.index.remaining, self.leftovers)


class FixedSizeAt(FixedSize):
    """Groups of k records, each made where its seed is told."""

    def form(self, first: int, most: int) -> int:
        groups = 0
        while groups < most and self.can_go_on():
            members, seeds = self.gathering.gather_clusters(self.constraint.least, self.seed(), 1)
            self.seeds += seeds.tolist()
            groups += self.dealt.take(members, first + groups)
        return groups


class UntilEnough(Nearest):
    """Groups that grow until any model is met, one question after another."""

    def __init__(
        self, constraint: Constraint, index: TupleIndex, seeding: Seeding, leftovers: Leftovers | None = None
    ) -> None:
        super().__init__(constraint, index, seeding, leftovers)
        self.left = constraint.left(index.space)
        self.labels = np.full(index.space.rows, -1, np.int64)

    def can_go_on(self) -> bool:
        return self.left.enough()

    def form(self, first: int, most: int) -> int:
        seed = self.seed()
        rows = self._group(seed)
        if rows is None:
            return 0
        self.labels[rows] = first
        self.left.take(rows)
        self.seeds.append(seed)
        self.index.add_record(self.sums, self.space.codes[seed])
        return 1

    def place(self, groups: int, check: Check) -> None:
        rows = np.flatnonzero(self.labels < 0)
        if self.leftovers is not None:
            groups_made = Runs.from_labels(self.space, self.labels)
            self.labels[rows] = self.leftovers(groups_made, self.space.tuple_of[rows])
        else:
            tuples, of = np.unique(self.space.tuple_of[rows], return_inverse=True)
            self.labels[rows] = self.nearest(tuples, check)[of]

    def found(self) -> Ints:
        return self.labels

    def _group(self, seed: int) -> Ints | None:
        """Take the seed and as many of the nearest records as the model needs; None if all that is left miss it."""
        index = self.index
        own = self.taken(seed)
        near = index.distance_query(self.space.codes[seed])
        reach = self.constraint.least - 1
        while True:
            tuples, counts = index.nearest(near, reach)
            rows = np.concatenate((own, next_rows(index, tuples, counts)))
            needed = self.constraint.needed(self.space, rows)
            if needed is not None or len(rows) > index.records:
                break
            reach = 2 * reach + 1
        if needed is None:
            self.put_back(seed)
            return None
        before = np.cumsum(counts) - counts
        index.remove_records(tuples, np.clip(needed - 1 - before, 0, counts))
        return rows[:needed]

    def taken(self, seed: int) -> Ints:
        """Take a record of a tuple, as a seed."""
        one = np.ones(1, np.int64)
        own = next_rows(self.index, [seed], one)
        self.index.remove_records(np.array([seed]), one)
        return own

    def put_back(self, seed: int) -> None:
        """A seed that found no group is no seed."""
        self.index.restore_records(np.array([seed]), np.ones(1, np.int64))
