"""Adaptive k: clusters that continue to grow while records cost no more than the average so far."""

import numpy as np

from dbanon.algorithms.base.assignments import AssignmentLog, RunLengthLabels
from dbanon.algorithms.base.grow_clusters import KernelCountedRules, grow_groups
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import LARGE, MODE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.centroid.sorted_seeds import CLUSTER_COST, every_kth_record
from dbanon.algorithms.greedy.least_loss import assign_by_least_growth
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import NEXT_SEED
from dbanon.privacy_models.constraint import Constraint


def adaptive_k(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with adaptive k (Arava), reconstructed from the review of clustering methods.

    Seeds are those of systematic clustering. One after another, each seed that no cluster took yet begins a cluster. It
    takes the record with which the whole loss of the cluster grows least, k - 1 times; then it takes more as long as
    the loss grows by no more than it did, on average, for all records that joined any cluster so far. When fewer than k
    records remain, they join the cluster whose whole loss grows least. The loss is that of the k-member papers. O(n^2)
    time, O(n) memory.
    """
    seeds = space.tuple_of[every_kth_record(space, constraint.min_records, options)]
    return grow_groups(space, SeededGroups(space, constraint.min_records, seeds), check)


class SeededGroups(KernelCountedRules):
    """Growth rules of adaptive k: clusters begin at given seeds and grow while records are cheap.

    Attributes:
        seeds: Tuple of each seed.
        n_remaining_of: (tuples,) number of records that are in no cluster.
        log: The clusters formed so far.
    """

    step_cost = CLUSTER_COST

    def __init__(self, space: EncodedTable, k: int, seeds: Ints) -> None:
        """Prepare the kernel's arrays; `seeds` is the tuple of each seed, in the order of the clusters."""
        super().__init__(space, k, np.array([0, space.rows, 0, 0], np.float64), k)
        self.n_remaining_of, self.seeds = space.counts.astype(np.int64), seeds
        self.log = AssignmentLog()

    def can_form_group(self) -> bool:
        """Return whether at least k records remain, and a seed that was not tried yet."""
        return super().can_form_group() and bool(self.state[NEXT_SEED] < len(self.seeds))

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` groups, log them from number `first_number` on, and return how many were formed."""
        members = np.empty((self.n_remaining + min(max_groups, self.n_remaining) + 1, 2), np.int64)
        return self.grow(self.seeds, max_groups, members, first_number)

    def grow(self, seeds: Ints, max_groups: int, members: Ints, first_number: int) -> int:
        """Form up to `max_groups` groups at the next of `seeds`, and return how many were formed.

        They are logged from number `first_number` on; `members` is room for their members.
        """
        from dbanon.kernels.min_loss_assignment import adaptive_steps

        inputs = (self.kernel_inputs.loss_arrays, self.n_remaining_of, self.code_offsets)
        used = self.count_examined(*adaptive_steps(seeds, self.state, max_groups, self.k, *inputs, members))
        return self.log.add_groups(members[:used], first_number)

    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        """Assign each remaining record, in canonical order, to the group whose whole loss grows least."""
        loss = Loss(self.space, 1, "edges")
        self.log.assign_remaining(
            self.n_remaining_of, lambda groups, tuples: assign_by_least_growth(self.space, loss, groups, tuples, check)
        )

    def assignment(self) -> RunLengthLabels:
        """Return the group of every record, from the log."""
        return self.log.to_labels()


register(
    adaptive_k,
    title="Clusters of adaptive size",
    summary=(
        "Starts clusters at the seeds of `systematic` and adds the k - 1 records of least cost, and more as long as "
        "each costs no more than the average so far."
    ),
    source="Arava, as the review of clustering methods describes it",
    evidence="description",
    own_parameters=(SEED, MODE, LARGE),
)
