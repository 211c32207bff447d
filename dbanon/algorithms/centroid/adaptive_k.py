"""Adaptive k: clusters that go on growing while records cost no more than they did so far."""

import numpy as np

from dbanon.algorithms.base.assignment_log import Dealt
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.grow_clusters import CountedRules, grow
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import LARGE, MODE, SEED, Assignment, Check, Options, register
from dbanon.algorithms.centroid.sorted_seeds import EACH, HEIGHTS, every_kth
from dbanon.algorithms.greedy.least_loss import least_growth
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def adaptive_k(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Adaptive k (Arava), reconstructed from the review of clustering methods.

    Seeds are those of systematic clustering. One after another, unless it was taken, takes the record with which the
    whole loss of its cluster grows least, k - 1 times; and then as long as it grows by no more than it did, on average,
    for all records that joined any cluster so far. When fewer than k records are left, they join the cluster whose
    whole loss grows least. The loss is that of the k-member papers. O(n^2) time, O(n) memory.
    """
    return grow(space, Adaptive(space, constraint.least, options), check)


class Adaptive(CountedRules):
    """Clusters that begin at told seeds and grow while records are cheap."""

    step_cost = EACH

    def __init__(self, space: EncodedTable, k: int, options: Options) -> None:
        super().__init__(space, k, np.array([0, space.rows, 0, 0], np.float64), k)
        self.left = space.counts.astype(np.int64)
        self.seeds = space.tuple_of[every_kth(space, k, options)]
        self.dealt = Dealt()

    def can_go_on(self) -> bool:
        return self.records >= self.k and self.state[0] < len(self.seeds)

    def form(self, first: int, most: int) -> int:
        from dbanon.kernels import min_loss_assignment

        members = np.empty((self.records + min(most, self.records) + 1, 2), np.int64)
        used, looked = min_loss_assignment.adaptive_steps(
            self.seeds, self.state, most, self.k, self.problem.measure, self.left, self.codes_of, members
        )
        self.looked += int(looked)
        return self.dealt.take(members[:used], first)

    def place(self, groups: int, check: Check) -> None:
        loss = Loss(self.space, 1, HEIGHTS)
        self.dealt.place(self.left, lambda groups, tuples: least_growth(self.space, loss, groups, tuples, check))

    def found(self) -> Runs:
        return self.dealt.runs()


register(
    adaptive_k,
    title="Clusters of adaptive size",
    summary=(
        "seeds of `systematic` take the cheapest records: k, and more while these cost no more than on average so far"
    ),
    source="Arava, as the review of clustering methods describes it",
    evidence="RECON",
    own=(SEED, MODE, LARGE),
)
