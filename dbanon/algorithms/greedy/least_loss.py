"""Clusters that take the record that costs least. A seeding rule says where one begins, a loss what a record costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dbanon.algorithms.base.assignments import AssignmentLog, RunLengthLabels
from dbanon.algorithms.base.class_bounds import ClassBounds
from dbanon.algorithms.base.grow_clusters import GrowthRules, grow_groups, limit_batch
from dbanon.algorithms.base.loss import Heights, Loss, LossTerm
from dbanon.algorithms.base.random_seeds import generator, random_tuple
from dbanon.algorithms.base.registry import Assignment, Check, Options
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints, NumericAttribute
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.kernels.index_arrays import GrowthTerms
from dbanon.privacy_models.constraint import Constraint

FARTHEST_SEED, RANDOM_SEED, FIRST_SEED = 0, 1, 2
"""Seeding rules: the record farthest from the seed before, a random one, the first remaining one."""


class LeastLossGroups(GrowthRules):
    """Growth rules of k-member: groups of k records, each the one with which a record of the group loses least.

    With persons or models of sensitive values a group has at least as many records as any of them needs; groups for
    which that is not enough are merged afterwards. Ties go to the first record in canonical order.

    Records in `preassigned` are taken by no group. Those in a cluster stay there, and its clusters are numbered before
    the groups. Those with -1 are assigned at the end, together with the remaining records.
    """

    def __init__(
        self,
        space: EncodedTable,
        constraint: Constraint,
        heights: Heights,
        rule: int,
        options: Options,
        preassigned: RunLengthLabels | None = None,
    ) -> None:
        """Build the index of the records that groups may take: all but those in `preassigned`.

        Args:
            space: The encoded table.
            constraint: The constraint; a group has its lower bound of records.
            heights: The kind of loss that is kept low, see `Loss`.
            rule: The choice of the groups' first records: FARTHEST_SEED (farthest from the seed before) or RANDOM_SEED.
            options: The options of the algorithm. If `mode` is deterministic, the first record is used wherever a
                random one is meant.
            preassigned: Records in no group: in a cluster already, or -1 to be assigned at the end. None if there are
                none.
        """
        self.space, self.k, self.n_queries = space, constraint.min_records, constraint.min_records
        self.draws = generator(options)
        self.reference = random_tuple(space, options, self.draws) if rule == FARTHEST_SEED else 0
        self.rule = FIRST_SEED if rule == RANDOM_SEED and options["mode"] == "deterministic" else rule
        self.sparse_cost_factor = 5.0 if rule == FARTHEST_SEED else 1.0
        self.loss = Loss(space, constraint.min_records, heights)
        self.index = TupleIndex(space, self.loss.pair_tables(space))
        self.log = AssignmentLog()
        self.n_preassigned, self.n_set_aside = 0, np.zeros(len(space.counts), np.int64)
        if preassigned is not None:
            self._exclude_preassigned(preassigned)
        self.terms = growth_terms([self.loss.terms[j] for j in self.index.tabular])
        self.query = self.index.zero_query()

    def _exclude_preassigned(self, preassigned: RunLengthLabels) -> None:
        """Remove the preassigned records from the index, log those that have a cluster, and count those with -1."""
        n_taken = np.bincount(preassigned.tuples, weights=preassigned.counts, minlength=len(self.n_set_aside)).astype(
            np.int64
        )
        self.index.remove_records(np.flatnonzero(n_taken), n_taken[n_taken > 0])
        has_cluster, is_unassigned = preassigned.clusters >= 0, preassigned.clusters < 0
        self.log.add(
            preassigned.tuples[has_cluster], preassigned.counts[has_cluster], preassigned.clusters[has_cluster]
        )
        np.add.at(self.n_set_aside, preassigned.tuples[is_unassigned], preassigned.counts[is_unassigned])
        self.n_preassigned = preassigned.next_cluster_number

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` groups, log them after the preassigned clusters, and return how many were formed."""
        from dbanon.kernels.greedy import greedy_steps

        groups = limit_batch(max_groups, self.k)
        members = np.empty((groups * (self.k + 1), 2), np.int64)
        used, self.reference = greedy_steps(
            self.index.arrays, self.terms, self.query, self.k, self.rule, self.reference, self.draws.random(groups),
            groups, members,
        )  # fmt: skip
        self.index.recount_records()
        return self.log.add_groups(members[:used], first_number + self.n_preassigned)

    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        """Assign each remaining record, and those preassigned with -1, to the cluster whose whole loss grows least."""
        self.log.assign_remaining(
            self.index.remaining + self.n_set_aside,
            lambda groups, tuples: assign_by_least_growth(self.space, self.loss, groups, tuples, check),
        )


def grow_least_loss_groups(
    space: EncodedTable, constraint: Constraint, options: Options, check: Check, rule: int, heights: str
) -> Assignment:
    """Form clusters greedily, each taking the record with which its records lose least; return the assignment.

    Args:
        space: The encoded table.
        constraint: The constraint.
        options: The options `seed` and `mode`.
        check: Called from time to time; raises if the run was interrupted.
        rule: FARTHEST_SEED or RANDOM_SEED.
        heights: The kind of loss, see `Loss`.
    """
    return grow_groups(space, LeastLossGroups(space, constraint, heights, rule, options), check)


def assign_by_least_growth(
    space: EncodedTable, loss: Loss, groups: RunLengthLabels, tuples: Ints, check: Check
) -> Ints:
    """Return the group that each leftover record joins, one after another.

    It is the group whose whole loss, size times the loss of a record, grows least (MINIL). Each record is added before
    the next one is assigned. Ties go to the earlier group.

    Args:
        space: The encoded table.
        loss: The loss.
        groups: The groups so far; not changed.
        tuples: Tuple of each leftover record.
        check: Called before every record.
    """
    bounds = ClassBounds.from_labels(space, groups)
    low, high, sizes = bounds.low, bounds.high, bounds.sizes.astype(np.int64)
    losses = loss.record_losses(low, high)
    joined_groups = np.empty(len(tuples), np.int64)
    for i, t in enumerate(tuples.tolist()):
        check()
        code = space.codes[t]
        grown_losses = loss.record_losses(np.minimum(low, code), np.maximum(high, code))
        best = int(np.argmin(grown_losses * (sizes + 1) - losses * sizes))
        joined_groups[i] = best
        low[best], high[best], sizes[best], losses[best] = (
            np.minimum(low[best], code),
            np.maximum(high[best], code),
            sizes[best] + 1,
            grown_losses[best],
        )
    return joined_groups


def growth_terms(terms: Sequence[LossTerm]) -> GrowthTerms:
    """Return the loss terms of attributes with few values as arrays, for the kernels."""
    attributes = [t.attribute for t in terms]
    trees = [a for a in attributes if isinstance(a, CategoricalAttribute)]
    nodes = [len(a.parent) if isinstance(a, CategoricalAttribute) else 0 for a in attributes]
    code_nodes = [
        a.node if isinstance(a, CategoricalAttribute) else t.places for t, a in zip(terms, attributes, strict=True)
    ]

    def concatenate(parts: Iterable[Any]) -> Ints:
        """Return the concatenated arrays as int64; empty if there are none."""
        return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)

    return GrowthTerms(
        np.array([isinstance(a, NumericAttribute) for a in attributes], np.int64),
        np.array([t.unit for t in terms], np.int64),
        np.cumsum([0, *nodes]), np.cumsum([0, *(a.values for a in attributes)]), concatenate(a.parent for a in trees),
        concatenate(t.height for t in terms), concatenate(t.last for t in terms),
        concatenate(np.searchsorted(a.node, np.arange(len(a.parent))) for a in trees), concatenate(code_nodes),
    )  # fmt: skip
