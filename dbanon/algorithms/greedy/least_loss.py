"""Clusters that let in the record that costs least. A rule says where one begins, a loss what a record costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dbanon.algorithms.base.assignment_log import Dealt
from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.class_bounds import Extents
from dbanon.algorithms.base.grow_clusters import Rules, grow, within_room
from dbanon.algorithms.base.loss import Loss, Term
from dbanon.algorithms.base.random_seeds import generator, random_tuple
from dbanon.algorithms.base.registry import Assignment, Check, Options
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints, NumericAttribute
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.privacy_models.constraint import Constraint

FAR, RANDOM, FIRST = 0, 1, 2
"""Seeds: the record farthest from the seed before, a random one, the first one left."""


@dataclass(frozen=True)
class Seeding:
    """Where groups begin: FAR, RANDOM or FIRST; the first FAR seed is the farthest from the tuple `reference`."""

    rule: int
    draws: np.random.Generator
    reference: int

    @classmethod
    def of(cls, space: EncodedTable, rule: int, options: Options) -> Seeding:
        """Return the rule of a call. In the deterministic mode a random record is the first one."""
        draws = generator(options)
        reference = random_tuple(space, options, draws) if rule == FAR else 0
        if rule == RANDOM and options["mode"] == "deterministic":
            rule = FIRST
        return cls(rule, draws, reference)


class LeastLoss(Rules):
    """Groups of k records, each of which is the one with which a record of the group loses least.

    Under persons or models of sensitive values a group has at least as many records as any of them needs; where that
    was not enough, the shared repair follows. Ties go to the first record in canonical order.

    `before` are records that no group takes: those of its clusters, which are kept and numbered before the groups, and
    those of -1, which are placed at the end with what is left.
    """

    def __init__(
        self, space: EncodedTable, constraint: Constraint, loss: Loss, seeding: Seeding, before: Runs | None = None
    ) -> None:
        self.space, self.least, self.loss, self.seeding = space, constraint.least, loss, seeding
        self.reference, self.questions = seeding.reference, self.least
        self.harder = 5.0 if seeding.rule == FAR else 1.0
        self.index = TupleIndex(space, loss.tables(space))
        self.dealt = Dealt()
        self.kept, self.aside = 0, np.zeros(len(space.counts), np.int64)
        if before is not None:
            self._stand_aside(before)
        self.terms = arrays([loss.terms[j] for j in self.index.tabular])
        self.question = self.index.zero_query()

    def _stand_aside(self, before: Runs) -> None:
        taken = np.bincount(before.tuples, weights=before.counts, minlength=len(self.aside)).astype(np.int64)
        self.index.remove_records(np.flatnonzero(taken), taken[taken > 0])
        kept, out = before.clusters >= 0, before.clusters < 0
        self.dealt.put(before.tuples[kept], before.counts[kept], before.clusters[kept])
        np.add.at(self.aside, before.tuples[out], before.counts[out])
        self.kept = before.clusters_most

    def can_go_on(self) -> bool:
        return self.records >= self.least

    def form(self, first: int, most: int) -> int:
        from dbanon.kernels.greedy import greedy_steps

        groups = within_room(most, self.least)
        members = np.empty((groups * (self.least + 1), 2), np.int64)
        used, self.reference = greedy_steps(
            self.index.arrays, self.terms, self.question.table_sums, self.question.axis_arrays, self.least,
            self.seeding.rule,
            self.reference, self.seeding.draws.random(groups), groups, members,
        )  # fmt: skip
        self.index.recount_records()
        return self.dealt.take(members[:used], first + self.kept)

    def place(self, groups: int, check: Check) -> None:
        self.dealt.place(
            self.index.remaining + self.aside,
            lambda groups, tuples: least_growth(self.space, self.loss, groups, tuples, check),
        )


def greedy(
    space: EncodedTable, constraint: Constraint, options: Options, check: Check, rule: int, heights: str
) -> Assignment:
    """Return groups of records that lose least together. `rule`: FAR, RANDOM or FIRST; `heights`: see `Loss`."""
    loss = Loss(space, constraint.least, heights)
    return grow(space, LeastLoss(space, constraint, loss, Seeding.of(space, rule, options)), check)


def least_growth(space: EncodedTable, loss: Loss, groups: Runs, tuples: Ints, check: Check) -> Ints:
    """The groups that leftovers, a tuple each, join in their order: where (size + 1) times the loss with them exceeds
    size times the loss without them least (MINIL). Ties go to the earlier group."""
    extents = Extents.of_runs(space, groups)
    low, high, sizes = extents.low, extents.high, extents.sizes.astype(np.int64)
    own = loss.of(low, high)
    joined = np.empty(len(tuples), np.int64)
    for i, t in enumerate(tuples.tolist()):
        check()
        code = space.codes[t]
        grown = loss.of(np.minimum(low, code), np.maximum(high, code))
        c = int(np.argmin(grown * (sizes + 1) - own * sizes))
        joined[i] = c
        low[c], high[c], sizes[c], own[c] = np.minimum(low[c], code), np.maximum(high[c], code), sizes[c] + 1, grown[c]
    return joined


def arrays(terms: Sequence[Term]) -> tuple[Any, ...]:
    """Terms of attributes that are asked by table, for the kernels (see `dbanon.kernels.greedy`)."""
    attributes = [t.attribute for t in terms]
    trees = [a for a in attributes if isinstance(a, CategoricalAttribute)]
    nodes = [len(a.parent) if isinstance(a, CategoricalAttribute) else 0 for a in attributes]
    of = [a.node if isinstance(a, CategoricalAttribute) else t.places for t, a in zip(terms, attributes, strict=True)]

    def whole(parts: Iterable[Any]) -> Ints:
        return np.concatenate([np.zeros(0, np.int64), *parts]).astype(np.int64)

    return (
        np.array([isinstance(a, NumericAttribute) for a in attributes], np.int64),
        np.array([t.unit for t in terms], np.int64),
        np.cumsum([0, *nodes]), np.cumsum([0, *(a.values for a in attributes)]), whole(a.parent for a in trees),
        whole(t.height for t in terms), whole(t.last for t in terms),
        whole(np.searchsorted(a.node, np.arange(len(a.parent))) for a in trees), whole(of),
    )  # fmt: skip
