"""Groups (clusters that are being formed) of a seed and its nearest records; leftovers join the nearest seed.

The growth rules depend on the constraint: `form_nearest_groups` chooses those that fit it. Ties go to the first record
in canonical order, and to the earlier group.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from dbanon.algorithms.base import grow_clusters, progress
from dbanon.algorithms.base.assignments import AssignmentLog, RunLengthLabels
from dbanon.algorithms.base.kernel_inputs import model_rules, model_scratch
from dbanon.algorithms.base.registry import Assignment, Check
from dbanon.encoding import distance
from dbanon.encoding.encoded_table import EncodedTable, Ints, concatenated_ranges
from dbanon.encoding.nearest_queries import ClusterGatherer, RecordLists
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.kernels.index_arrays import SumQuery
from dbanon.privacy_models.constraint import Constraint

FARTHEST_STEP_COST = 3
"""Cost of a step, in those of dbanon.algorithms.base.progress, if the greatest sum is searched for."""


FARTHEST_COST_FACTOR = 1.5
"""Average cost of such queries as a multiple of that of the first ones: sums of ever more distances differ less and
less (measured: 0.7 on tables whose tuples repeat, 3.6 on 50,000 records of four continuous columns)."""

MAX_NEAREST_GROUPS = 4
"""A leftover record joins one of this many nearest groups, or is assigned by the repair."""


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


def next_rows(index: TupleIndex, tuples: Sequence[int] | Ints, counts: Sequence[int] | Ints) -> Ints:
    """Return the next counts[i] rows of each tuple tuples[i] that are still in the index, in canonical order.

    The index removes the records of a tuple from the first on.
    """
    space, tuple_numbers = index.space, np.asarray(tuples)
    return concatenated_ranges(
        space.starts[tuple_numbers] + space.counts[tuple_numbers] - index.remaining[tuple_numbers], np.asarray(counts)
    )


class ConstrainedGroups(NearestGroups):
    """Growth rules in compiled code: nearest records join a seed's group as long as it can still meet the models.

    The remaining records join the nearest group that still meets the models then.
    """

    def __init__(self, constraint: Constraint, index: TupleIndex, seeding: SeedRule) -> None:
        """Prepare the arrays of the models and the lists of remaining records; all records remain.

        Args:
            constraint: The constraint, with models that compiled code checks exactly.
            index: The index of the remaining records.
            seeding: The choice of seeds.
        """
        super().__init__(constraint, index, seeding)
        self.gathering = ClusterGatherer(index, self.sums, seeding.sign)
        space = index.space
        self.models = model_rules(space, constraint.models)
        self.model_inputs = (self.models, *model_scratch(self.models))
        self.values = np.ascontiguousarray(np.stack([s.codes for s in space.sensitive]))
        following = np.arange(1, space.rows + 1)
        following[space.starts + space.counts - 1] = -1
        self.chains = RecordLists(space.starts.copy(), following, space.tuple_of, self.values)
        self.labels = np.full(space.rows, -1, np.int64)
        self.is_stuck = False

    def can_form_group(self) -> bool:
        """Return whether enough records remain and the last attempt to form a group succeeded."""
        return super().can_form_group() and not self.is_stuck

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` groups, label their records from `first_number` on, and return how many."""
        seeds, self.is_stuck = self.gathering.gather_constrained_clusters(
            self.k, self.first_seed(), self.chains, self.model_inputs, self.labels, first_number, max_groups
        )
        self.seeds += seeds.tolist()
        return len(seeds)

    def assignment(self) -> Ints:
        """Return the (n,) group of every record."""
        return self.labels

    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        """Assign each remaining record to the nearest group that meets the models with it.

        Only the MAX_NEAREST_GROUPS groups with the nearest seeds are tried. Records that fit in none form one
        additional group, number `n_groups`, which is merged with others later.
        """
        from dbanon.kernels.model_gathering import first_fit

        labels, value_starts = self.labels, self.models.value_starts
        rows = np.flatnonzero(labels < 0)
        counts = np.zeros((n_groups, int(value_starts[-1])), np.int64)
        grouped = labels >= 0
        for s, codes in enumerate(self.values):
            np.add.at(counts, (labels[grouped], value_starts[s] + codes[grouped]), 1)
        sizes = np.bincount(labels[grouped], minlength=n_groups)
        previous_tuple, order = -1, np.empty(0, np.int64)
        for row, t in zip(rows.tolist(), self.space.tuple_of[rows].tolist(), strict=True):
            check()
            if t != previous_tuple:
                previous_tuple, order = t, np.argsort(self.distances_to_seeds(t), kind="stable")[:MAX_NEAREST_GROUPS]
            group = first_fit(order, row, self.values, counts, sizes, self.models, self.model_inputs[2])
            labels[row] = group if group >= 0 else n_groups


def form_nearest_groups(
    space: EncodedTable,
    constraint: Constraint,
    tables: Sequence[distance.DistanceTable],
    seeding: SeedRule,
    check: Check,
    *,
    leftovers: AssignLeftovers | None = None,
) -> Assignment:
    """Form groups of one seed and its nearest records each, and return the assignment of all records.

    The remaining records join the groups that `leftovers` chooses. By default that is the group with the nearest seed;
    with models that compiled code checks exactly, the nearest group that still meets them.

    Args:
        space: The encoded table.
        constraint: The constraint; a group takes nearest records until it is met.
        tables: The distances of each attribute.
        seeding: The choice of seeds.
        check: Called from time to time; raises if the run was interrupted.
        leftovers: Chooses the groups of the remaining records, see `AssignLeftovers`.
    """
    index = TupleIndex(space, tables)
    rules: type[FixedSize | GrowUntilMet] = GrowUntilMet
    has_kernel_rules = constraint.models and all(
        m.kernel_rules(space.sensitive[m.sensitive]).is_exact for m in constraint.models
    )
    if constraint.counts_only_records(space):
        if ClusterGatherer.can_keep_tables(index) or ClusterGatherer.uses_partitions(index, seeding.sign):
            rules = FixedSize if seeding.sign else FixedSizeWithSeeds
    elif (
        seeding.sign
        and leftovers is None
        and ClusterGatherer.can_keep_tables(index)
        and space.persons is None
        and not constraint.joint
        and has_kernel_rules
    ):
        return grow_clusters.grow_groups(space, ConstrainedGroups(constraint, index, seeding), check)
    return grow_clusters.grow_groups(space, rules(constraint, index, seeding, leftovers), check)
