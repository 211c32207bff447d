"""The tuples that are left: which of them have the least (or greatest) separable sum.

A question is a sum over attributes of one function each: the distance to a record, the summed distances to all earlier
centroids, a loss increase. Attributes with few values ask by table, numbers with many values by a convex function of
the place on their axis. The tuples stand in a trie over the first kind, widest spread first, and below each of its
paths in a tree of boxes over the second; every node knows how many records are left below it. A search goes
depth-first, best child first, and leaves out what cannot win: sums are exact integers and a node also knows its first
tuple, so no tie is ever lost. Memory is linear in the tuples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from dbanon.encoding.distance import DistanceTable, NumericDistances
from dbanon.encoding.encoded_table import AnyInts, Codes, EncodedTable, Ints
from dbanon.encoding.tuple_trie import build_blocks, build_trie
from dbanon.kernels.arrays import BlockArrays, IndexArrays

MAX_TABULAR_VALUES = 256
"""Numbers with at most so many distinct values are asked by table."""

LONG_ATTRIBUTE = 1024
"""Of attributes of more values, of which none has many records, few are asked."""


def empty_ints() -> Ints:
    return np.zeros(0, np.int64)


@dataclass(frozen=True)
class SumQuery:
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


class TupleIndex:
    """Remaining counts of a space's tuples, and questions about them.

    left (tuples,): records that are left, `records` all of them; `tabular`: the attributes that are asked by table, in
    the index's order, and `sizes` of their tables.
    """

    def __init__(self, space: EncodedTable, tables: Sequence[DistanceTable]) -> None:
        from dbanon.kernels.axis_sums import CHUNK

        self.left = space.counts.copy()
        self.records = int(self.left.sum())
        self.tables = tables
        self._axes = [
            j for j, t in enumerate(tables) if isinstance(t, NumericDistances) and len(t.places) > MAX_TABULAR_VALUES
        ]
        tabular = [j for j in range(len(tables)) if j not in self._axes]
        self.tabular = sorted(tabular, key=lambda j: -_dispersion(space, j, tables[j]))
        self.sizes = [space.attributes[j].values + 1 for j in self.tabular]
        axes = [t for j in self._axes if isinstance(t := tables[j], NumericDistances)]
        lengths = np.array([len(a.places) for a in axes], np.int64)
        places = np.concatenate([empty_ints(), *(np.append(a.places, 0) for a in axes)])
        chunks = (lengths >> CHUNK) + 1
        self.axis = (
            places,
            np.cumsum(lengths + 1) - (lengths + 1),
            lengths,
            np.array([a.null for a in axes], np.int64),
            np.cumsum(chunks) - chunks,
        )
        self._chunks = int(chunks.sum())
        self.axis_codes = np.ascontiguousarray(space.codes[:, self._axes])
        offsets = np.cumsum([0, *self.sizes])[:-1].astype(np.int64)
        present = np.concatenate(
            [
                np.zeros(0),
                *(
                    np.bincount(space.codes[:, j], space.counts, n)
                    for j, n in zip(self.tabular, self.sizes, strict=True)
                ),
            ]
        )
        self.by_table = (np.ascontiguousarray(space.codes[:, self.tabular]), offsets, present.astype(np.int64))
        self.space = space
        self._has_answered = False

    @cached_property
    def tree(self) -> tuple[Any, ...]:
        return build_trie(self.space, self.tabular, self.axis_codes, self.axis, self.left)

    @cached_property
    def blocks(self) -> BlockArrays:
        """The tuples in blocks of neighbours, as the kernels take them; counted when they are first asked for."""
        return build_blocks(self.space, self.tabular, self.axis_codes, self.axis, self.left)

    @property
    def arrays(self) -> IndexArrays:
        """The tree, the codes by table, the axes and the codes on them, as the kernels take them."""
        return IndexArrays(self.tree, self.by_table, self.axis if self._axes else None, self.axis_codes)

    @property
    def steps(self) -> int:
        """Values and nodes that searches of the tree have looked at."""
        return int(self.tree[11][0]) if "tree" in self.__dict__ else 0

    @cached_property
    def apart(self) -> bool:
        """Whether no two values that occur have the distance 0."""
        for a, j in enumerate(self._axes):
            table, has_null = self.tables[j], bool((self.axis_codes[:, a] == self.axis[2][a]).any())
            if isinstance(table, NumericDistances) and (
                (has_null and table.null == 0) or (np.diff(table.places) == 0).any()
            ):
                return False
        begins = [*self.by_table[1], len(self.by_table[2])]
        for j, (begin, end) in zip(self.tabular, pairwise(begins), strict=True):
            present = np.flatnonzero(self.by_table[2][begin:end])
            if any((self.tables[j].row(c)[present] == 0).sum() > 1 for c in present.tolist()):
                return False
        return True

    # --- questions -------------------------------------------------------------------------------------

    def to(self, codes: Sequence[int] | Codes) -> SumQuery:
        """Return the distance to a record."""
        return self.question(
            [self.tables[j].row(int(codes[j])) for j in range(len(codes)) if j in self.tabular], codes, codes
        )

    def question(self, rows: Sequence[Ints], low: Sequence[int] | Codes, high: Sequence[int] | Codes) -> SumQuery:
        """Any separable sum: a table for each attribute with few values, in the space's order, and on axes the
        distance to the interval between two codes."""
        row_of = dict(zip(sorted(self.tabular), rows, strict=True))
        flat = np.concatenate([empty_ints(), *(row_of[j] for j in self.tabular)])
        places, starts, lengths = self.axis[:3]
        bounds, missing = np.zeros((2, len(lengths)), np.int64), np.zeros(2 * len(lengths), np.int64)
        for a, j in enumerate(self._axes):
            missing[2 * a] = int(low[j] == lengths[a])
            bounds[0, a], bounds[1, a] = places[starts[a] + low[j]], places[starts[a] + high[j]]
        return SumQuery(flat, bounds[0], bounds[1], missing, empty_ints(), empty_ints(), empty_ints(), empty_ints())

    def blank(self) -> SumQuery:
        """Return a question of zeros, for kernels to fill."""
        sizes, nowhere = dict(zip(self.tabular, self.sizes, strict=True)), [0] * len(self.tables)
        return self.question([np.zeros(sizes[j], np.int64) for j in sorted(self.tabular)], nowhere, nowhere)

    def sums(self) -> SumQuery:
        """Return summed distances to records; none yet (see `add`)."""
        axes = len(self._axes)
        value_sums, chunk_sums = (
            np.zeros((2, max(len(self.axis[0]), 1)), np.int64),
            np.zeros((2, max(self._chunks, 1)), np.int64),
        )
        zeros = np.zeros(axes, np.int64)
        flat = np.zeros(sum(self.sizes), np.int64)
        return SumQuery(flat, zeros, zeros, np.zeros(2 * axes, np.int64), *value_sums, *chunk_sums)

    def add(self, sums: SumQuery, codes: Sequence[int] | Codes) -> None:
        """Add the distances to one record to a question of sums. O(values) for tables, O(log values) for axes."""
        from dbanon.kernels.axis_sums import add_place

        for (begin, end), j in zip(pairwise([*self.by_table[1], len(sums.flat)]), self.tabular, strict=True):
            sums.flat[begin:end] += self.tables[j].row(int(codes[j]))
        for a, j in enumerate(self._axes):
            if codes[j] == self.axis[2][a]:
                sums.missing[2 * a] += 1
            else:
                sums.missing[2 * a + 1] += 1
                add_place(self.axis, sums.axes, a, int(codes[j]), 1)

    # --- answers ---------------------------------------------------------------------------------------

    def least(self, question: SumQuery) -> int:
        """Return the first tuple, among those left, with the least sum."""
        return self._one(question, 1)

    def greatest(self, question: SumQuery) -> int:
        """Return the first tuple, among those left, with the greatest sum."""
        return self._one(question, -1)

    def nearest(self, question: SumQuery, records: int) -> tuple[Ints, Ints]:
        """Return the next `records` records by sum, ties to the first: their tuples and how many of each."""
        return self._search(question, records, 1)

    def _one(self, question: SumQuery, sign: int) -> int:
        """Return the first question is answered by a pass over all tuples, which costs less than the tree."""
        if self._has_answered:
            return int(self._search(question, 1, sign)[0][0])
        self._has_answered = True
        tuples = np.flatnonzero(self.left)
        total = np.zeros(len(tuples), np.int64)
        for j, offset in enumerate(self.by_table[1].tolist()):
            total += question.flat[offset + self.by_table[0][tuples, j]]
        for a in range(len(self._axes)):
            total += self._on_axis(question, a)[self.axis_codes[tuples, a]]
        return int(tuples[np.argmin(total) if sign > 0 else np.argmax(total)])

    def _on_axis(self, question: SumQuery, a: int) -> Ints:
        """What a question says of each value of an axis, and of NULL."""
        from dbanon.kernels.axis_sums import CHUNK

        begin, length, null = (int(self.axis[i][a]) for i in (1, 2, 3))
        places, chunk = self.axis[0][begin : begin + length], self.axis[4][a] + (np.arange(length) >> CHUNK)
        n_missing, n_present = question.missing[2 * a : 2 * a + 2].tolist()
        if len(question.counts) == 0:
            if n_missing:
                return np.append(np.full(length, null, np.int64), 0)
            distance = np.maximum(question.low[a] - places, places - question.high[a])
            return np.append(np.maximum(distance, 0), null)
        counts = question.counts[begin : begin + length] + question.count_chunks[chunk]
        totals = question.totals[begin : begin + length] + question.total_chunks[chunk]
        return np.append(
            places * (2 * counts - n_present) - 2 * totals + totals[-1] + n_missing * null, n_present * null
        )

    def _search(self, question: SumQuery, records: int, sign: int) -> tuple[Ints, Ints]:
        from dbanon.kernels.tree_search import search

        records = min(records, self.records)
        tuples, counts = np.empty(records + 1, np.int64), np.empty(records + 1, np.int64)
        if records == 0:
            return tuples[:0], counts[:0]
        size = search(*self.arrays[:3], question.flat, question.axes, sign, records, tuples, counts)
        return tuples[:size], counts[:size]

    def count(self) -> None:
        """Count anew what is left, after kernels took records."""
        self.records = int(self.tree[2][0])

    # --- taking ----------------------------------------------------------------------------------------

    def take(self, tuples: AnyInts, counts: AnyInts) -> None:
        """Remove records; each tuple at most once a call."""
        self._add(np.asarray(tuples, np.int64), -np.asarray(counts, np.int64))

    def put_back(self, tuples: AnyInts, counts: AnyInts) -> None:
        """Add records that were taken."""
        self._add(np.asarray(tuples, np.int64), np.asarray(counts, np.int64))

    def _add(self, tuples: Ints, counts: Ints) -> None:
        from dbanon.kernels.index_tree import add_records

        self.records += int(counts.sum())
        add_records(self.tree, self.by_table, tuples, counts)


def _dispersion(space: EncodedTable, j: int, table: DistanceTable) -> float:
    """Mean distance of two records on an attribute, by its most frequent values: what a first cut tells apart."""
    records = np.bincount(space.codes[:, j], weights=space.counts, minlength=space.attributes[j].values + 1)
    share = records / max(float(records.sum()), 1.0)
    frequent = np.argsort(-share, kind="stable")[: 64 if len(share) <= LONG_ATTRIBUTE else 16]
    return float(sum(share[c] * (table.row(int(c)) * share).sum() for c in frequent.tolist() if share[c] > 0))
