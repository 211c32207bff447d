"""The tuples that are left: which of them have the least (or greatest) separable sum.

A question is a sum over attributes of one function each: the distance to a record, the summed distances to all earlier
centroids, a loss increase. Attributes with few values ask by table, numbers with many values by a convex function of
the place on their axis. The tuples stand in a trie over the first kind, widest spread first, and below each of its
paths in a tree of boxes over the second; every node knows how many records are left below it. A search goes
depth-first, best child first, and leaves out what cannot win: sums are exact integers and a node also knows its first
tuple, so no tie is ever lost. Memory is linear in the tuples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from dbanon.space.distance import Axis, Table
from dbanon.space.space import Codes, Ints, Space, Whole

FEW = 256
"""Numbers with at most so many distinct values are asked by table."""

EFFORT = 8
"""A group of n records is looked for among the n * EFFORT records nearest to its seed, then a greater one is."""

DENSE = 2**24
"""All tables of one space are kept whole while they have at most so many entries together."""


def _none() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class Question:
    """A separable sum: the tables of the attributes with few values in one array, and one convex function an axis.

    On axis a: the distance to the interval of places [low[a], high[a]], or to NULL where missing[2a] is 1. If `counts`
    is not empty: the sum of distances to all places added so far, by prefix sums of their counts and places (within
    chunks of values, and over chunks); missing[2a] counts the NULLs among them and missing[2a + 1] the places.
    """

    flat: Ints
    low: Ints
    high: Ints
    missing: Ints
    counts: Ints
    totals: Ints
    count_chunks: Ints
    total_chunks: Ints

    @property
    def axes(self) -> tuple[Ints, ...]:
        """The part about axes, as the kernels take it."""
        return (
            self.low, self.high, self.missing, self.counts, self.totals, self.count_chunks, self.total_chunks,
        )  # fmt: skip


class Index:
    """Remaining counts of a space's tuples, and questions about them."""

    def __init__(self, space: Space, tables: Sequence[Table]) -> None:
        self.left = space.counts.copy()
        self.records = int(self.left.sum())
        self._tables = tables
        self._axes = [j for j, t in enumerate(tables) if isinstance(t, Axis) and len(t.places) > FEW]
        few = [j for j in range(len(tables)) if j not in self._axes]
        self._few = sorted(few, key=lambda j: -_spread(space, j, tables[j]))
        self._sizes = [space.attributes[j].values + 1 for j in self._few]
        axes = [t for j in self._axes if isinstance(t := tables[j], Axis)]
        lengths = np.array([len(a.places) for a in axes], np.int64)
        places = np.concatenate([_none(), *(np.append(a.places, 0) for a in axes)])
        chunks = (lengths >> 9) + 1
        self._axis = (
            places,
            np.cumsum(lengths + 1) - (lengths + 1),
            lengths,
            np.array([a.null for a in axes], np.int64),
            np.cumsum(chunks) - chunks,
        )
        self._chunks = int(chunks.sum())
        self._axis_codes = np.ascontiguousarray(space.codes[:, self._axes])
        offsets = np.cumsum([0, *self._sizes])[:-1].astype(np.int64)
        present = np.concatenate(
            [
                np.zeros(0),
                *(np.bincount(space.codes[:, j], space.counts, n) for j, n in zip(self._few, self._sizes, strict=True)),
            ]
        )
        self._by_table = (np.ascontiguousarray(space.codes[:, self._few]), offsets, present.astype(np.int64))
        self._space = space
        self._blocks: Any = None
        self._asked = False

    @cached_property
    def _tree(self) -> tuple[Any, ...]:
        return _tree(self._space, self._few, self._axis_codes, self._axis, self.left)

    @property
    def few(self) -> list[int]:
        """Attributes that are asked by table, in the index's order."""
        return self._few

    @property
    def arrays(self) -> tuple[Any, ...]:
        """The tree, the codes by table, the axes and the codes on them, as the kernels take them."""
        return self._tree, self._by_table, self._axis, self._axis_codes

    @cached_property
    def _apart(self) -> bool:
        """Whether no two values that occur have the distance 0."""
        for a, j in enumerate(self._axes):
            table, missing = self._tables[j], bool((self._axis_codes[:, a] == self._axis[2][a]).any())
            if isinstance(table, Axis) and ((missing and table.null == 0) or (np.diff(table.places) == 0).any()):
                return False
        begins = [*self._by_table[1], len(self._by_table[2])]
        for j, (begin, end) in zip(self._few, pairwise(begins), strict=True):
            there = np.flatnonzero(self._by_table[2][begin:end])
            if any((self._tables[j].row(c)[there] == 0).sum() > 1 for c in there.tolist()):
                return False
        return True

    # --- questions -------------------------------------------------------------------------------------

    def to(self, codes: Sequence[int] | Codes) -> Question:
        """The distance to a record."""
        return self.question(
            [self._tables[j].row(int(codes[j])) for j in range(len(codes)) if j in self._few], codes, codes
        )

    def question(self, rows: Sequence[Ints], low: Sequence[int] | Codes, high: Sequence[int] | Codes) -> Question:
        """Any separable sum: a table for each attribute with few values, in the space's order, and on axes the
        distance to the interval between two codes."""
        place = dict(zip(sorted(self._few), rows, strict=True))
        flat = np.concatenate([_none(), *(place[j] for j in self._few)])
        places, starts, lengths = self._axis[:3]
        ends, missing = np.zeros((2, len(lengths)), np.int64), np.zeros(2 * len(lengths), np.int64)
        for a, j in enumerate(self._axes):
            missing[2 * a] = int(low[j] == lengths[a])
            ends[0, a], ends[1, a] = places[starts[a] + low[j]], places[starts[a] + high[j]]
        return Question(flat, ends[0], ends[1], missing, _none(), _none(), _none(), _none())

    def sums(self) -> Question:
        """Summed distances to records; none yet (see `add`)."""
        axes = len(self._axes)
        within, over = (
            np.zeros((2, max(len(self._axis[0]), 1)), np.int64),
            np.zeros((2, max(self._chunks, 1)), np.int64),
        )
        nothing = np.zeros(axes, np.int64)
        flat = np.zeros(sum(self._sizes), np.int64)
        return Question(flat, nothing, nothing, np.zeros(2 * axes, np.int64), *within, *over)

    def add(self, sums: Question, codes: Sequence[int] | Codes) -> None:
        """Adds the distances to one record to a question of sums. O(values) for tables, O(log values) for axes."""
        from dbanon import kernels

        for (begin, end), j in zip(pairwise([*self._by_table[1], len(sums.flat)]), self._few, strict=True):
            sums.flat[begin:end] += self._tables[j].row(int(codes[j]))
        for a, j in enumerate(self._axes):
            if codes[j] == self._axis[2][a]:
                sums.missing[2 * a] += 1
            else:
                sums.missing[2 * a + 1] += 1
                kernels.add_place(self._axis, sums.axes, a, int(codes[j]), 1)

    # --- answers ---------------------------------------------------------------------------------------

    def least(self, question: Question) -> int:
        """The first tuple, among those left, with the least sum."""
        return self._one(question, 1)

    def greatest(self, question: Question) -> int:
        """The first tuple, among those left, with the greatest sum."""
        return self._one(question, -1)

    def nearest(self, question: Question, records: int) -> tuple[Ints, Ints]:
        """The next `records` records by sum, ties to the first: their tuples and how many of each."""
        return self._search(question, records, 1)

    def _one(self, question: Question, sign: int) -> int:
        """The first question is answered by a pass over all tuples, which costs less than the tree."""
        from dbanon import kernels

        if self._asked:
            return int(self._search(question, 1, sign)[0][0])
        self._asked = True
        return int(
            kernels.scan(self._by_table, self._axis, self._axis_codes, question.flat, question.axes, sign, self.left)
        )

    def _search(self, question: Question, records: int, sign: int) -> tuple[Ints, Ints]:
        from dbanon import kernels

        records = min(records, self.records)
        found, taken = np.empty(records + 1, np.int64), np.empty(records + 1, np.int64)
        if records == 0:
            return found[:0], taken[:0]
        size = kernels.search(
            self._tree, self._by_table, self._axis, question.flat, question.axes, sign, records, found, taken
        )
        return found[:size], taken[:size]

    def remaining(self) -> Ints:
        """Tuples that have records left, in canonical order."""
        return np.flatnonzero(self.left)

    def count(self) -> None:
        """Counts anew what is left, after kernels took records."""
        self.records = int(self._tree[2][0])

    # --- taking ----------------------------------------------------------------------------------------

    def take(self, tuples: Whole, counts: Whole) -> None:
        """Removes records; each tuple at most once a call."""
        self._add(np.asarray(tuples, np.int64), -np.asarray(counts, np.int64))

    def put_back(self, tuples: Whole, counts: Whole) -> None:
        """Adds records that were taken."""
        self._add(np.asarray(tuples, np.int64), np.asarray(counts, np.int64))

    def _add(self, tuples: Ints, counts: Ints) -> None:
        from dbanon import kernels

        self.records += int(counts.sum())
        kernels.add_records(self._tree, self._by_table, tuples, counts)

    # --- whole clusterings -----------------------------------------------------------------------------

    def dense(self) -> tuple[Ints, Ints] | None:
        """All rows of all tables in one array and where each attribute's begin; None where that is too much."""
        if sum(n * n for n in self._sizes) > DENSE:
            return None
        whole = [self._tables[j].row(c) for j, n in zip(self._few, self._sizes, strict=True) for c in range(n)]
        starts = np.cumsum([0, *(n * n for n in self._sizes)])[:-1].astype(np.int64)
        return np.concatenate([_none(), *whole]), starts

    def gather(
        self, dense: tuple[Ints, Ints], sums: Question, sign: int, k: int, begin: int, steps: int
    ) -> tuple[Ints, Ints]:
        """Makes up to `steps` clusters: the record of least (sign 1) or greatest (-1) sum, and the k - 1 nearest to it.

        `begin` is the first seed, or -1. Every seed is added to `sums`. Gives members (rows, 2), the tuple and count of
        each, every cluster ending with a row of -1, and the seeds. The same as asking `least`, `take`, `nearest`,
        `take`, `add` in turn, on a question of sums that only this method adds to.
        """
        from dbanon import kernels

        members, seeds = np.empty((steps * (k + 2), 2), np.int64), np.empty(steps, np.int64)
        if self._axes and sign > 0:
            if self._blocks is None:
                self._blocks = _cut(self._space, self._few, self._axis_codes, self._axis, self.left)
            blocks, codes_of, lower, fresh, best = self._blocks
            used, made = kernels.gather_blocks(
                blocks, codes_of, lower, fresh, best, self._by_table, self._axis, self._axis_codes, dense[0], dense[1],
                self.left, sums.flat, sums.axes, k, begin, steps, members, seeds,
            )  # fmt: skip
            self.records = int(self.left.sum())
            return members[:used], seeds[:made]
        near = self.question([np.zeros(n, np.int64) for n in self._natural_sizes()], *self._nowhere())
        used, made = kernels.gather_steps(
            self._tree, self._by_table, self._axis, self._axis_codes, dense[0], dense[1],
            near.flat, near.axes, sums.flat, sums.axes, sign, k, begin, self._apart, steps, members, seeds,
        )  # fmt: skip
        self.records = int(self._tree[2][0])
        return members[:used], seeds[:made]

    def gather_models(
        self, dense: tuple[Ints, Ints], sums: Question, sign: int, least: int, begin: int, chains: tuple[Any, ...],
        rules: tuple[Any, ...], labels: Ints, label: int, steps: int,
    ) -> tuple[Ints, bool]:  # fmt: skip
        """Makes up to `steps` groups of at least `least` records that meet models of sensitive values, and labels
        their records from `label` on; gives the seeds, and whether the last seed found no group.

        chains: head (first record left) by tuple, following (next record left), tuple and sensitive codes by record;
        rules: see `dbanon.kernels.models`.
        """
        from dbanon import kernels

        seeds = np.empty(steps, np.int64)
        near = self.question([np.zeros(n, np.int64) for n in self._natural_sizes()], *self._nowhere())
        made, stuck = kernels.gather_models(
            self._tree, self._by_table, self._axis, self._axis_codes, dense[0], dense[1], near.flat, near.axes,
            sums.flat, sums.axes, sign, least, begin, *chains, rules, labels, label, steps, seeds, EFFORT,
        )  # fmt: skip
        self.records = int(self._tree[2][0])
        return seeds[:made], bool(stuck)

    def _natural_sizes(self) -> list[int]:
        """Table sizes in the space's order of attributes."""
        return [n for _, n in sorted(zip(self._few, self._sizes, strict=True))]

    def _nowhere(self) -> tuple[list[int], list[int]]:
        """Codes of a question that is filled in later."""
        return [0] * len(self._tables), [0] * len(self._tables)


def _spread(space: Space, j: int, table: Table) -> float:
    """Mean distance of two records on an attribute, by its 64 most frequent values: what a first cut tells apart."""
    records = np.bincount(space.codes[:, j], weights=space.counts, minlength=space.attributes[j].values + 1)
    share = records / max(float(records.sum()), 1.0)
    frequent = np.argsort(-share, kind="stable")[:64]
    return float(sum(share[c] * (table.row(int(c)) * share).sum() for c in frequent.tolist() if share[c] > 0))


def _tree(
    space: Space, few: Sequence[int], axis_codes: Codes, axis: tuple[Ints, ...], left_of: Ints
) -> tuple[Any, ...]:
    """The nodes, in arrays: leaf (node of a tuple), parent, left (records below), left of each tuple, kid and kids
    (first child and how many; children are neighbours), code and level of trie nodes, tuple of a leaf or -1, first
    (least tuple below), boxes (least and greatest code below on each axis). O(n log^2 n) time."""
    from dbanon import kernels

    codes, tuples, axes = space.codes, len(space.codes), axis_codes.shape[1]
    order = np.lexsort([codes[:, j] for j in reversed(few)]) if few else np.arange(tuples)
    begins, change = [np.zeros(1, np.int64)], np.zeros(tuples, bool)
    change[:1] = True
    for j in few:
        column = codes[order, j]
        change[1:] |= column[1:] != column[:-1]
        begins.append(np.flatnonzero(change))
    base = np.cumsum([0, *(len(b) for b in begins)])
    trie, size = int(base[-1]), int(base[-1]) + (2 * tuples if axes else 0)
    kid, kids, code, level = np.zeros((4, size), np.int32)
    parent, tuple_ = np.full((2, size), -1, np.int32)
    boxes = np.zeros((size, 2 * axes), np.int32)
    for depth, (above, below) in enumerate(pairwise(begins)):
        of = np.searchsorted(above, below, side="right") - 1
        here, next_ = slice(base[depth], base[depth + 1]), slice(base[depth + 1], base[depth + 2])
        parent[next_], level[next_] = base[depth] + of, depth + 1
        kids[here] = np.bincount(of, minlength=len(above))
        kid[here] = base[depth + 1] + np.searchsorted(of, np.arange(len(above)))
        code[next_] = codes[order[below], few[depth]]
    last = slice(base[-2], base[-1])
    if axes:
        level[trie:] = len(few)
        ends = np.append(begins[-1][1:], tuples)
        used = kernels.build_boxes(
            order.astype(np.int64), begins[-1], ends, int(base[-2]), trie, axis_codes, axis[0], axis[1],
            kid, kids, parent, tuple_, boxes,
        )  # fmt: skip
        kid, kids, code, level, parent, tuple_, boxes = (
            a[:used].copy() for a in (kid, kids, code, level, parent, tuple_, boxes)
        )
        boxes[0, 0::2], boxes[0, 1::2] = axis_codes.min(axis=0), axis_codes.max(axis=0)
    else:
        tuple_[last] = order
    leaf = np.zeros(tuples, np.int32)
    nodes = np.flatnonzero(tuple_ >= 0)
    leaf[tuple_[nodes]] = nodes
    first, left = np.full(len(parent), tuples, np.int32), np.zeros(len(parent), np.int64)
    first[nodes], left[nodes] = tuple_[nodes], left_of[tuple_[nodes]]
    kernels.gather_up(parent, first, left)
    return leaf, parent, left, left_of, kid, kids, code, level, tuple_, first, boxes


BLOCK = 64
"""Most tuples of a block."""


def _cut(space: Space, few: Sequence[int], axis_codes: Codes, axis: tuple[Ints, ...], left_of: Ints) -> tuple[Any, ...]:
    """Blocks of neighbouring tuples: their arrays, their codes of the attributes with few values, and a lower bound,
    freshness and best tuple of each."""
    from dbanon import kernels

    codes, tuples = space.codes, len(space.codes)
    order = np.lexsort([codes[:, j] for j in reversed(few)]) if few else np.arange(tuples)
    change = np.zeros(tuples, bool)
    change[:1] = True
    for j in few:
        column = codes[order, j]
        change[1:] |= column[1:] != column[:-1]
    begins = np.flatnonzero(change)
    order, out = order.astype(np.int64), np.empty(tuples, np.int64)
    made = kernels.cut_blocks(order, begins, np.append(begins[1:], tuples), BLOCK, axis_codes, axis[0], axis[1], out)
    edges = np.append(np.sort(out[:made]), tuples)
    block_of = np.empty(tuples, np.int64)
    block_of[order] = np.repeat(np.arange(made), np.diff(edges))
    numbers = np.zeros((2, made), np.int64)
    boxes = np.zeros((2, made, axis_codes.shape[1]), np.int64)
    blocks = (
        order, edges, numbers[0], numbers[1], boxes[0], boxes[1], np.zeros(boxes[0].shape, np.int64), edges[1:].copy(),
        block_of,
    )  # fmt: skip
    kernels.fit_blocks(blocks, axis_codes, axis, left_of)
    codes_of = np.ascontiguousarray(codes[order[edges[:-1]]][:, few])
    return blocks, codes_of, np.zeros(made, np.int64), np.zeros(made, np.int64), np.zeros(made, np.int64)
