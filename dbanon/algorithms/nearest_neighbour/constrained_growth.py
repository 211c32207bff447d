"""Clusters of nearest records that must meet models of their sensitive values.

A group begins with a seed and takes its nearest records, as long as it can still meet the models. The remaining records
join the nearest group that still meets them then.
"""

import numpy as np

from dbanon.algorithms.base.model_arrays import model_rules, model_scratch
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.nearest_neighbour.nearest_groups import NearestGroups, SeedRule
from dbanon.encoding.encoded_table import Ints
from dbanon.encoding.nearest_queries import ClusterGatherer, RecordLists
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.privacy_models.constraint import Constraint

MAX_NEAREST_GROUPS = 4
"""A leftover record joins one of this many nearest groups, or is assigned by the repair."""


class ConstrainedGroups(NearestGroups):
    """Growth rules in compiled code: nearest records join a seed's group as long as it can still meet the models."""

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
