"""MCKL: clusters of the nearest records in which no sensitive value is too frequent."""

import numpy as np

from dbanon.algorithms.base.grow_clusters import CountedRules, grow
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import LARGE, MOST_LEFT_OUT, Assignment, Check, Options, Suppression, register
from dbanon.algorithms.base.sensitive_groups import Kinds, sensitive_codes
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import CappedPools, ClusterMembers, LossClusters, ValueCaps
from dbanon.privacy_models.constraint import Constraint

STEPS = 2**22
"""Clusters that are looked at between two looks for interrupts."""


def mckl(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """MCKL, the (k, l)-anonymity of multi-attribute clustering and generalization constraints, reconstructed from its
    abstract and the review of clustering methods.

    Columns are sorted by their width, what a class of all records would lose on them, the widest first. Each cluster
    begins at the record that is left of the smallest value on the widest column (of equal ones, on the next), and takes
    the nearest records (the distance of the k-member papers), none of a sensitive value that it has k/l times, until it
    has k; where l does not divide k, as many values as are records over may occur once more. So it has l different
    values. The first that cannot be made is dissolved and ends this. What is left joins, in canonical order, the
    cluster whose whole loss grows least among those where no value has more than 1/l of the records then, rounded up;
    where there is none, it is left out, as far as `suppress` allows, and else joins any. A NULL is no value: such
    records are not among the first k.

    Other models and forms of l, and persons, are met by the shared repair. The published value of a class is what just
    covers it; the paper's tree of cuts at medians orders nothing here. O(n^2 / k) time, O(n) memory.
    """
    return grow(space, _Capped(space, constraint, int(str(options.get(MOST_LEFT_OUT, 0)))), check)


def by_width(space: EncodedTable) -> list[int]:
    """Return the attributes, that on which a class of all records loses most first."""
    terms = Loss(space, 1, "edges").terms
    low, high = space.codes.min(axis=0, keepdims=True), space.codes.max(axis=0, keepdims=True)
    widths = [int(term.losses(low[:, j], high[:, j])[0]) for j, term in enumerate(terms)]
    return sorted(range(len(widths)), key=lambda j: -widths[j])


class _Capped(CountedRules):
    """Clusters of k records, in compiled code."""

    def __init__(self, space: EncodedTable, constraint: Constraint, spare: int) -> None:
        super().__init__(space, constraint.least, np.array([0, space.rows, 0], np.int64))
        self.spare = spare
        self.codes = sensitive_codes(space) if space.sensitive else np.zeros((1, space.rows), np.int64)
        self.least = np.ones(len(self.codes), np.int64)
        for model in constraint.models:
            if model.rule.counts_values:
                self.least[model.sensitive] = max(self.least[model.sensitive], int(model.bound))
        for s, sensitive in enumerate(space.sensitive):
            self.codes[s, self.codes[s] == sensitive.values] = -1
        kinds = Kinds.by(space, self.codes)
        self.items = kinds.in_order()
        self.values = np.ascontiguousarray(kinds.values[:, self.items.kinds])
        self.order = np.lexsort(tuple(space.codes[self.items.tuples, j] for j in reversed(by_width(space))))
        self.counts = np.zeros((len(self.codes), int(self.codes.max()) + 1), np.int64)

    def can_go_on(self) -> bool:
        return self.records >= self.k and self.state[0] < len(self.order) and self.state[2] == 0

    def form(self, first: int, most: int) -> int:
        from dbanon.kernels.value_caps import grow_capped_clusters

        items = self.items
        arrays = CappedPools(items.tuples, items.ends, items.rows, items.left)
        caps = ValueCaps(self.values, self.least, self.counts, np.zeros(len(self.least), np.int64))
        made, looked = grow_capped_clusters(
            self.state, most, first, self.k, self.order, arrays, caps, self.problem.measure, self.codes_of, self.labels
        )
        self.looked += int(looked)
        return int(made)

    def place(self, groups: int, check: Check) -> None:
        from dbanon.kernels import min_loss_assignment, value_caps

        spans = np.zeros((groups, len(self.problem.terms), 4), np.int64)
        sizes, losses = np.zeros((2, groups), np.int64)
        tuple_of = self.space.tuple_of
        min_loss_assignment.add_labelled_tuples(tuple_of, self.labels, self.problem.measure, spans, sizes, losses)
        clusters, members = LossClusters(spans, sizes, losses), ClusterMembers(*_members(self.labels), self.labels)
        rows, begin, spare = np.flatnonzero(self.labels < 0), 0, self.spare
        while begin < len(rows):
            check()
            given = (self.least, tuple_of, self.codes, members, self.problem.measure, clusters)
            begin, spare, _ = value_caps.join_capped_clusters(begin, STEPS, rows, spare, *given)


def _members(labels: Ints) -> tuple[Ints, Ints]:
    """The members of each cluster as a chain: the one before each, -1 for the first, and the last one by cluster."""
    rows = np.argsort(labels, kind="stable")[int((labels < 0).sum()) :]
    of = labels[rows]
    before = np.full(len(labels), -1, np.int64)
    same = of[1:] == of[:-1]
    before[rows[1:][same]] = rows[:-1][same]
    return before, rows[np.append(np.flatnonzero(~same), len(rows) - 1)]


register(
    mckl,
    title="MCKL: multi-attribute clustering, (k, l)-anonymity",
    summary=(
        "begins at the smallest value of the widest column and takes the nearest records but those whose "
        "sensitive value is in the cluster k/`l` times (default 2; reconstructed)"
    ),
    source="Fan et al. 2023, its abstract, and the review of clustering methods",
    evidence="RECON",
    own=(LARGE,),
    defaults={"l": 2},
    meets=("k", "l", "p"),
    abilities=(Suppression("those with which every class would have too many records of one sensitive value"),),
)
