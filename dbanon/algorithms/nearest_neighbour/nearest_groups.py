"""Groups of a seed and the records nearest to it; the remaining records join the nearest seed.

Ties go to the first record in canonical order, and to the earlier group.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dbanon.algorithms.base import grow_clusters, progress
from dbanon.algorithms.base.assignment_log import AssignmentLog, next_rows
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.registry import Check
from dbanon.encoding import distance
from dbanon.encoding.encoded_table import Ints
from dbanon.encoding.nearest_queries import ClusterGatherer
from dbanon.encoding.tuple_index import SumQuery, TupleIndex
from dbanon.privacy_models.constraint import Constraint

FARTHEST_STEP_COST = 3
"""What a step costs in dbanon.algorithms.base.progress where the greatest sum is looked for."""


FARTHEST_COST_FACTOR = 1.5
"""How many times as hard questions are there, on average, as the first ones: sums of ever more distances differ less
and less (measured: 0.7 on tables whose tuples repeat, 3.6 on 50,000 of four continuous columns)."""


class SeedRule(Protocol):
    """The choice of a group's seed: the first one anywhere, later ones at the least or greatest sum of distances.

    With sign 0 `next_seed` chooses all of them.
    """

    @property
    def sign(self) -> int:
        """1: later seeds have the least summed distance to all earlier seeds; -1: the greatest; 0: neither."""

    def next_seed(self, index: TupleIndex, sums: SumQuery, n_groups: int) -> int:
        """Return the tuple of the next seed after so many groups."""


class SeedsInOrder:
    """Of the records of a list (canonical rows) the next that is left.

    The records that are left of a tuple are its last ones. Where the list ends while records are left (equal ones stood
    in for each other) it begins again.
    """

    sign = 0

    def __init__(self, rows: Ints, tuple_of: Ints) -> None:
        self._tuples, self._rows, self._position = tuple_of[rows].tolist(), rows.tolist(), 0

    def next_seed(self, index: TupleIndex, sums: SumQuery, n_groups: int) -> int:
        space = index.space
        while True:
            row, t = self._rows[self._position], self._tuples[self._position]
            self._position = (self._position + 1) % len(self._rows)
            if row >= space.starts[t] + space.counts[t] - index.remaining[t]:
                return int(t)


AssignLeftovers = Callable[[RunLengthLabels, Ints], Ints]
"""The groups that records in none, a tuple each in their order, join; from the groups that were made."""


class NearestGroups(grow_clusters.GrowthRules):
    """The records not assigned yet, and the seeds chosen so far; `sums` are the distances to all seeds."""

    n_queries, sparse_cost_factor = 2, 8.0

    def __init__(
        self, constraint: Constraint, index: TupleIndex, seeding: SeedRule, leftovers: AssignLeftovers | None = None
    ) -> None:
        self.space, self.constraint, self.index, self.seeding = index.space, constraint, index, seeding
        self.leftovers, self.dense_cost_factor = (
            leftovers,
            FARTHEST_COST_FACTOR if seeding.sign < 0 else progress.DENSE_COST_FACTOR,
        )
        self.sums = index.distance_sum_query()
        self.seeds: list[int] = []

    @property
    def steps(self) -> int:
        return super().steps * (FARTHEST_STEP_COST if self.seeding.sign < 0 else 1)

    def can_form_group(self) -> bool:
        return self.n_remaining >= self.constraint.min_records

    def next_seed(self) -> int:
        """Return the tuple of the next seed."""
        return self.seeding.next_seed(self.index, self.sums, len(self.seeds))

    def first_seed(self) -> int:
        """Return the first seed; -1 for later ones, which kernels find by the sums."""
        return -1 if self.seeds else self.next_seed()

    def nearest_seeds(self, tuples: Ints, check: Check) -> Ints:
        """Return the first of the nearest seeds of some tuples. O(tuples * seeds)."""
        nearest = np.empty(len(tuples), np.int64)
        for i, t in enumerate(tuples.tolist()):
            check()
            nearest[i] = int(np.argmin(self.distances_to_seeds(t)))
        return nearest

    def distances_to_seeds(self, t: int) -> Ints:
        """Return the distances of a tuple to all seeds."""
        return distance.distances_to_tuples(self.index.tables, self.space.codes[t], self.space.codes[self.seeds])


class FixedSize(NearestGroups):
    """Groups of k records, in compiled code."""

    def __init__(
        self, constraint: Constraint, index: TupleIndex, seeding: SeedRule, leftovers: AssignLeftovers | None = None
    ) -> None:
        super().__init__(constraint, index, seeding, leftovers)
        self.gathering = ClusterGatherer(index, self.sums, seeding.sign)
        self.log = AssignmentLog()

    def form_groups(self, first_number: int, max_groups: int) -> int:
        k = self.constraint.min_records
        members, seeds = self.gathering.gather_clusters(k, self.first_seed(), grow_clusters.limit_batch(max_groups, k))
        self.seeds += seeds.tolist()
        return self.log.add_groups(members, first_number)

    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        if self.leftovers is None:
            tuples = np.flatnonzero(self.index.remaining)
            self.log.add(tuples, self.index.remaining[tuples], self.nearest_seeds(tuples, check))
        else:
            self.log.assign_remaining(self.index.remaining, self.leftovers)


class FixedSizeWithSeeds(FixedSize):
    """Groups of k records, each made where its seed is told."""

    def form_groups(self, first_number: int, max_groups: int) -> int:
        n_groups = 0
        while n_groups < max_groups and self.can_form_group():
            members, seeds = self.gathering.gather_clusters(self.constraint.min_records, self.next_seed(), 1)
            self.seeds += seeds.tolist()
            n_groups += self.log.add_groups(members, first_number + n_groups)
        return n_groups


class GrowUntilMet(NearestGroups):
    """Groups that grow until any model is met, one question after another."""

    def __init__(
        self, constraint: Constraint, index: TupleIndex, seeding: SeedRule, leftovers: AssignLeftovers | None = None
    ) -> None:
        super().__init__(constraint, index, seeding, leftovers)
        self.remaining = constraint.remaining(index.space)
        self.labels = np.full(index.space.rows, -1, np.int64)

    def can_form_group(self) -> bool:
        return self.remaining.can_form_class()

    def form_groups(self, first_number: int, max_groups: int) -> int:
        seed = self.next_seed()
        rows = self._take_group(seed)
        if rows is None:
            return 0
        self.labels[rows] = first_number
        self.remaining.remove(rows)
        self.seeds.append(seed)
        self.index.add_record(self.sums, self.space.codes[seed])
        return 1

    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        rows = np.flatnonzero(self.labels < 0)
        if self.leftovers is not None:
            groups_made = RunLengthLabels.from_labels(self.space, self.labels)
            self.labels[rows] = self.leftovers(groups_made, self.space.tuple_of[rows])
        else:
            tuples, tuple_index = np.unique(self.space.tuple_of[rows], return_inverse=True)
            self.labels[rows] = self.nearest_seeds(tuples, check)[tuple_index]

    def assignment(self) -> Ints:
        return self.labels

    def _take_group(self, seed: int) -> Ints | None:
        """Take the seed and as many of the nearest records as the model needs; None if all that is left miss it."""
        index = self.index
        seed_rows = self.take_seed(seed)
        distances = index.distance_query(self.space.codes[seed])
        n_nearest = self.constraint.min_records - 1
        while True:
            tuples, counts = index.nearest(distances, n_nearest)
            rows = np.concatenate((seed_rows, next_rows(index, tuples, counts)))
            n_needed = self.constraint.n_records_needed(self.space, rows)
            if n_needed is not None or len(rows) > index.records:
                break
            n_nearest = 2 * n_nearest + 1
        if n_needed is None:
            self.return_seed(seed)
            return None
        n_before = np.cumsum(counts) - counts
        index.remove_records(tuples, np.clip(n_needed - 1 - n_before, 0, counts))
        return rows[:n_needed]

    def take_seed(self, seed: int) -> Ints:
        """Take a record of a tuple, as a seed."""
        one = np.ones(1, np.int64)
        rows = next_rows(self.index, [seed], one)
        self.index.remove_records(np.array([seed]), one)
        return rows

    def return_seed(self, seed: int) -> None:
        """A seed that found no group is no seed."""
        self.index.restore_records(np.array([seed]), np.ones(1, np.int64))
