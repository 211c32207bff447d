"""Groups (clusters that are being formed) of a seed and its nearest records; leftovers join the nearest seed.

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
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.kernels.index_arrays import SumQuery
from dbanon.privacy_models.constraint import Constraint

FARTHEST_STEP_COST = 3
"""Cost of a step, in those of dbanon.algorithms.base.progress, if the greatest sum is searched for."""


FARTHEST_COST_FACTOR = 1.5
"""Average cost of such queries as a multiple of that of the first ones: sums of ever more distances differ less and
less (measured: 0.7 on tables whose tuples repeat, 3.6 on 50,000 records of four continuous columns)."""


class SeedRule(Protocol):
    """The choice of the groups' seeds.

    With sign 1 or -1, `next_seed` chooses the first seed; later ones have the least or greatest summed distance to all
    earlier seeds. With sign 0, `next_seed` chooses all of them.
    """

    @property
    def sign(self) -> int:
        """1: later seeds have the least summed distance to all earlier seeds; -1: the greatest; 0: neither."""

    def next_seed(self, index: TupleIndex, sums: SumQuery, n_groups: int) -> int:
        """Return the tuple of the next seed.

        Args:
            index: The index of the remaining records.
            sums: The query for the summed distances to all earlier seeds.
            n_groups: Number of groups so far.
        """


class SeedsInOrder:
    """Seeds from a list of records (canonical rows): always the next one that still remains.

    Of a tuple, the last records remain. At the end of the list the search begins again, since equal records may have
    been taken in place of each other.
    """

    sign = 0

    def __init__(self, rows: Ints, tuple_of: Ints) -> None:
        """Store the listed records (canonical rows) and their tuples.

        `tuple_of` is the tuple of every row of the table.
        """
        self._tuples, self._rows, self._position = tuple_of[rows].tolist(), rows.tolist(), 0

    def next_seed(self, index: TupleIndex, sums: SumQuery, n_groups: int) -> int:
        """Return the tuple of the next listed record that still remains in the index; at least one must."""
        space = index.space
        while True:
            row, t = self._rows[self._position], self._tuples[self._position]
            self._position = (self._position + 1) % len(self._rows)
            if row >= space.starts[t] + space.counts[t] - index.remaining[t]:
                return int(t)


AssignLeftovers = Callable[[RunLengthLabels, Ints], Ints]
"""Function of the labels so far and the tuple of each leftover record that returns the groups that these join."""


class NearestGroups(grow_clusters.GrowthRules):
    """Growth rules for groups of a seed and its nearest records.

    Attributes:
        index: The index of the remaining records.
        seeds: The tuples of the seeds chosen so far.
        sums: The query for the summed distances to all seeds so far.
        seeding: The choice of seeds.
        leftovers: Chooses the groups of the last records; None: the group with the nearest seed.
    """

    n_queries, sparse_cost_factor = 2, 8.0

    def __init__(
        self, constraint: Constraint, index: TupleIndex, seeding: SeedRule, leftovers: AssignLeftovers | None = None
    ) -> None:
        """Start with all records of the index remaining and no seed.

        Args:
            constraint: The constraint.
            index: The index of the remaining records.
            seeding: The choice of seeds.
            leftovers: Chooses the groups of the last records; None: the group with the nearest seed.
        """
        self.space, self.constraint, self.index, self.seeding = index.space, constraint, index, seeding
        self.k, self.leftovers = constraint.min_records, leftovers
        self.dense_cost_factor = FARTHEST_COST_FACTOR if seeding.sign < 0 else progress.DENSE_COST_FACTOR
        self.sums = index.distance_sum_query()
        self.seeds: list[int] = []

    @property
    def steps(self) -> int:
        """Number of values and nodes that searches have visited, weighted if seeds have the greatest sum."""
        return super().steps * (FARTHEST_STEP_COST if self.seeding.sign < 0 else 1)

    def next_seed(self) -> int:
        """Return the tuple of the next seed, as the seeding rule chooses it."""
        return self.seeding.next_seed(self.index, self.sums, len(self.seeds))

    def first_seed(self) -> int:
        """Return the tuple of the first seed; -1 if there is a seed already: kernels find later ones."""
        return -1 if self.seeds else self.next_seed()

    def nearest_seeds(self, tuples: Ints, check: Check) -> Ints:
        """Return the index of the nearest seed of each of some tuples, the first one in a tie. O(tuples * seeds).

        `check` is called before each tuple; it raises if the run was interrupted.
        """
        nearest = np.empty(len(tuples), np.int64)
        for i, t in enumerate(tuples.tolist()):
            check()
            nearest[i] = int(np.argmin(self.distances_to_seeds(t)))
        return nearest

    def distances_to_seeds(self, t: int) -> Ints:
        """Return the (seeds,) distances of tuple `t` to all seeds."""
        return distance.distances_to_tuples(self.index.tables, self.space.codes[t], self.space.codes[self.seeds])


class FixedSize(NearestGroups):
    """Growth rules for groups of k records, in compiled code; seeds after the first are found by the sums."""

    def __init__(
        self, constraint: Constraint, index: TupleIndex, seeding: SeedRule, leftovers: AssignLeftovers | None = None
    ) -> None:
        """Prepare the gatherer of clusters and the log; the arguments are those of `NearestGroups`."""
        super().__init__(constraint, index, seeding, leftovers)
        self.gathering = ClusterGatherer(index, self.sums, seeding.sign)
        self.log = AssignmentLog()
        if self.gathering.searches_blocks:  # every cluster examines all blocks
            self.sparse_cost_factor = self.dense_cost_factor = 1.0

    @property
    def steps(self) -> int:
        """Number of values, nodes, blocks and tuples visited by searches, weighted if seeds have the greatest sum."""
        return super().steps + self.gathering.steps

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` groups of k records, log them from `first_number` on, and return how many."""
        n_groups = grow_clusters.limit_batch(max_groups, self.k)
        members, seeds = self.gathering.gather_clusters(self.k, self.first_seed(), n_groups)
        self.seeds += seeds.tolist()
        return self.log.add_groups(members, first_number)

    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        """Assign the remaining records to the groups that `leftovers` chooses, or to those with the nearest seeds."""
        if self.leftovers is None:
            tuples = np.flatnonzero(self.index.remaining)
            self.log.add(tuples, self.index.remaining[tuples], self.nearest_seeds(tuples, check))
        else:
            self.log.assign_remaining(self.index.remaining, self.leftovers)


class FixedSizeWithSeeds(FixedSize):
    """Growth rules for groups of k records whose seeds are all chosen by the seeding rule."""

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` groups one by one, log them from `first_number` on, and return how many."""
        n_groups = 0
        while n_groups < max_groups and self.can_form_group():
            members, seeds = self.gathering.gather_clusters(self.k, self.next_seed(), 1)
            self.seeds += seeds.tolist()
            n_groups += self.log.add_groups(members, first_number + n_groups)
        return n_groups


class GrowUntilMet(NearestGroups):
    """Growth rules for groups that take nearest records until any constraint is met, without compiled checks."""

    def __init__(
        self, constraint: Constraint, index: TupleIndex, seeding: SeedRule, leftovers: AssignLeftovers | None = None
    ) -> None:
        """Prepare the counter of remaining persons and the labels; the arguments are those of `NearestGroups`."""
        super().__init__(constraint, index, seeding, leftovers)
        self.remaining = constraint.remaining(index.space)
        self.labels = np.full(index.space.rows, -1, np.int64)

    def can_form_group(self) -> bool:
        """Return whether records of at least k persons remain (k records if persons do not count)."""
        return self.remaining.can_form_class()

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form one group, label its records `first_number`, and return 1; 0 if the seed finds no group.

        `max_groups` is not read.
        """
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
        """Assign the remaining records to the groups that `leftovers` chooses, or to those with the nearest seeds."""
        rows = np.flatnonzero(self.labels < 0)
        if self.leftovers is not None:
            groups = RunLengthLabels.from_labels(self.space, self.labels)
            self.labels[rows] = self.leftovers(groups, self.space.tuple_of[rows])
        else:
            tuples, tuple_index = np.unique(self.space.tuple_of[rows], return_inverse=True)
            self.labels[rows] = self.nearest_seeds(tuples, check)[tuple_index]

    def assignment(self) -> Ints:
        """Return the (n,) group of every record."""
        return self.labels

    def _take_group(self, seed: int) -> Ints | None:
        """Take the seed and as many nearest records as the constraint needs out of the index; return their rows.

        If even all remaining records violate the constraint, nothing is taken and None is returned. `seed` is the tuple
        of the seed.
        """
        index = self.index
        seed_rows = self.take_seed(seed)
        distances = index.distance_query(self.space.codes[seed])
        n_nearest = self.k - 1
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
        index.remove_records(tuples, np.clip(n_needed - 1 - (np.cumsum(counts) - counts), 0, counts))
        return rows[:n_needed]

    def take_seed(self, seed: int) -> Ints:
        """Remove the next record of tuple number `seed` from the index; return its row number, in an array of one."""
        one = np.ones(1, np.int64)
        rows = next_rows(self.index, [seed], one)
        self.index.remove_records(np.array([seed]), one)
        return rows

    def return_seed(self, seed: int) -> None:
        """Restore the record of tuple number `seed` in the index, which `take_seed` removed.

        Called if no group was found for the seed.
        """
        self.index.restore_records(np.array([seed]), np.ones(1, np.int64))
