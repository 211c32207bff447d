"""ELD: k-member whose clusters grow until they have l different sensitive values."""

import numpy as np

from dbanon.algorithms.base.grow_clusters import grow_groups
from dbanon.algorithms.base.registry import LARGE, MODE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.greedy.least_loss import FARTHEST_SEED, LeastLossGroups
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.kernels.arrays import DiverseRecords
from dbanon.privacy_models.constraint import Constraint


def eld(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with ELD, effective l-diversity by clustering, reconstructed from its abstract.

    The first cluster begins at a random record, later ones at the record farthest from the seed before. Each takes the
    record that raises the information loss least, whatever its sensitive value, until it has k records and `l`
    different values; leftovers join the cluster whose whole loss grows least. Clusters become large if sensitive values
    are skewed. Other models and forms of l, and persons, are met afterwards, by merging clusters that violate them.
    O(n^2) without the index, O(n) memory.
    """
    return grow_groups(space, DiverseLeastLoss(space, constraint, options), check)


class DiverseLeastLoss(LeastLossGroups):
    """Growth rules of ELD: groups as in k-member that also grow until they have `l` different sensitive values."""

    def __init__(self, space: EncodedTable, constraint: Constraint, options: Options) -> None:
        """Prepare the least-loss growth, the numbers of different values that are required, and room for members.

        Args:
            space: The encoded table.
            constraint: The constraint; of its models those that require a number of different values are used.
            options: The options of the algorithm.
        """
        super().__init__(space, constraint, "edges", FARTHEST_SEED, options)
        self.required_values = required_values(space, constraint)
        self.members = np.empty((len(space.counts) + 2 + 2**18, 2), np.int64)

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` groups, log them from number `first_number` on, and return how many were formed."""
        from dbanon.kernels.greedy import eld_steps

        used, self.reference, _ = eld_steps(
            self.index.arrays,
            self.terms,
            self.query,
            self.k,
            self.required_values,
            self.reference,
            first_number == 0,
            max_groups,
            self.members,
        )
        self.index.recount_records()
        return self.log.add_groups(self.members[:used], first_number)


def required_values(space: EncodedTable, constraint: Constraint) -> DiverseRecords:
    """Return how many different values of each sensitive column clusters need, and the records' values, for the kernel.

    Only models that require a number of different values count. NULL has code -1.
    """
    columns = max(len(space.sensitive), 1)
    width = max([s.values for s in space.sensitive], default=0) + 1
    min_values, n_remaining = np.zeros(columns, np.int64), np.zeros((columns, width), np.int64)
    codes = np.full((columns, space.rows), -1, np.int64)
    for model in constraint.models:
        if model.form_definition.is_distinct_count:
            min_values[model.sensitive] = max(min_values[model.sensitive], int(model.bound))
    for s, sensitive in enumerate(space.sensitive):
        codes[s] = np.where(sensitive.codes == sensitive.values, -1, sensitive.codes)
        n_remaining[s, : sensitive.values] = np.bincount(sensitive.codes, minlength=sensitive.values + 1)[:-1]
    return DiverseRecords(min_values, codes, space.starts, space.counts, n_remaining)


register(
    eld,
    title="ELD: effective l-diversity by clustering",
    summary="Grows clusters greedily until they have k records and `l` (default 2) sensitive values.",
    source="Zheng et al. 2019, its abstract",
    evidence="abstract",
    complexity="O(n^2) time without the index, O(n) memory",
    own_parameters=(SEED, MODE, LARGE),
    defaults={"l": 2},
    meets=("k", "l", "p"),
)
