"""Groups that must meet models of their sensitive values: the seed and its nearest records, as long as the group can
still meet them; what is left joins the nearest group that still does."""

import numpy as np

from dbanon.algorithms.base.model_arrays import model_rules, scratch
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.nearest_neighbour.nearest_groups import Nearest, Seeding
from dbanon.encoding.encoded_table import Ints
from dbanon.encoding.nearest_queries import ClusterGatherer, RecordLists
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.privacy_models.constraint import Constraint

NEAR = 4
"""What is left joins one of so many nearest groups, or waits for the repair."""


class Diverse(Nearest):
    """Groups that meet models of sensitive values, in compiled code."""

    def __init__(self, constraint: Constraint, index: TupleIndex, seeding: Seeding) -> None:
        super().__init__(constraint, index, seeding)
        self.gathering = ClusterGatherer(index, self.sums, seeding.sign)
        space = index.space
        self.models = model_rules(space, constraint.models)
        self.judged = (self.models, *scratch(self.models))
        self.values = np.ascontiguousarray(np.stack([s.codes for s in space.sensitive]))
        following = np.arange(1, space.rows + 1)
        following[space.starts + space.counts - 1] = -1
        self.chains = RecordLists(space.starts.copy(), following, space.tuple_of, self.values)
        self.labels = np.full(space.rows, -1, np.int64)
        self.stuck = False

    def can_go_on(self) -> bool:
        return super().can_go_on() and not self.stuck

    def form(self, first: int, most: int) -> int:
        least, begin = self.constraint.least, self.given_seed()
        seeds, self.stuck = self.gathering.gather_constrained_clusters(
            least, begin, self.chains, self.judged, self.labels, first, most
        )
        self.seeds += seeds.tolist()
        return len(seeds)

    def found(self) -> Ints:
        return self.labels

    def place(self, groups: int, check: Check) -> None:
        """Put records into the nearest group that meets the models with them, or into one for the repair."""
        from dbanon.kernels.model_gathering import first_fit

        labels, at = self.labels, self.models[0]
        rows = np.flatnonzero(labels < 0)
        counts = np.zeros((groups, int(at[-1])), np.int64)
        grouped = labels >= 0
        for s, codes in enumerate(self.values):
            np.add.at(counts, (labels[grouped], at[s] + codes[grouped]), 1)
        sizes = np.bincount(labels[grouped], minlength=groups)
        before, order = -1, np.empty(0, np.int64)
        for row, t in zip(rows.tolist(), self.space.tuple_of[rows].tolist(), strict=True):
            check()
            if t != before:
                before, order = t, np.argsort(self.to_seeds(t), kind="stable")[:NEAR]
            group = first_fit(order, row, self.values, counts, sizes, self.models, self.judged[2])
            labels[row] = group if group >= 0 else groups
