"""An index of the remaining tuples that finds those with the least (or greatest) separable sum.

A tuple is a distinct combination of codes. A query is a sum over attributes of one function each: the distance to a
record, the summed distances to all earlier centroids, a loss increase. The function of an attribute with few values is
a table; that of a number with many values is a convex function of the position on its axis.

The tuples are leaves of a trie over the attributes with few values, widest spread first. The trie's paths end in trees
of boxes over the other attributes, and every node knows how many records remain below it. A search is depth-first, best
child first, and skips nodes that cannot win: sums are exact integers and a node also knows its first tuple, so no tie
is ever lost. Memory is linear in the tuples.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from dbanon.encoding.distance import DistanceTable, NumericDistances
from dbanon.encoding.encoded_table import AnyInts, Codes, EncodedTable, Ints
from dbanon.encoding.tuple_trie import build_blocks, build_trie
from dbanon.kernels.index_arrays import CHUNK, Axes, BlockArrays, IndexArrays, SumQuery, TabularAttributes, TupleTree

MAX_TABULAR_VALUES = 256
"""Attributes with at most this many distinct values are queried by table."""

LONG_ATTRIBUTE = 1024
"""For an attribute with more values than this, the dispersion is estimated from fewer of its values."""


def empty_ints() -> Ints:
    """Return an empty int64 array."""
    return np.zeros(0, np.int64)


class TupleIndex:
    """The remaining records of each tuple of a table, and searches for tuples by separable sums.

    Attributes:
        remaining: (tuples,) remaining records of each tuple.
        records: Number of remaining records.
        tabular: The attributes with few values, which are queried by table, in the order in which tables are
            concatenated.
        sizes: The sizes of their tables.
    """

    def __init__(self, space: EncodedTable, tables: Sequence[DistanceTable]) -> None:
        """Prepare the index with all records of `space` remaining; trees and blocks are built on first use.

        `tables` are the distances of each attribute. A numeric attribute with more than MAX_TABULAR_VALUES positions
        becomes an axis, every other attribute a table; tables are ordered by dispersion, greatest first.
        """
        self.remaining = space.counts.copy()
        self.records = int(self.remaining.sum())
        self.tables = tables
        self._axis_attributes = [
            j for j, t in enumerate(tables) if isinstance(t, NumericDistances) and len(t.positions) > MAX_TABULAR_VALUES
        ]
        self.tabular = sorted(
            (j for j in range(len(tables)) if j not in self._axis_attributes),
            key=lambda j: -_dispersion(space, j, tables[j]),
        )
        self.sizes = [space.attributes[j].values + 1 for j in self.tabular]
        distances = [t for j in self._axis_attributes if isinstance(t := tables[j], NumericDistances)]
        lengths = np.array([len(t.positions) for t in distances], np.int64)
        places = np.concatenate([empty_ints(), *(np.append(t.positions, 0) for t in distances)])
        chunks = (lengths >> CHUNK) + 1
        self.axes = Axes(
            places,
            np.cumsum(lengths + 1) - (lengths + 1),
            lengths,
            np.array([t.null for t in distances], np.int64),
            np.cumsum(chunks) - chunks,
        )
        self._chunks = int(chunks.sum())
        self.axis_codes = np.ascontiguousarray(space.codes[:, self._axis_attributes])
        starts = np.cumsum([0, *self.sizes])[:-1].astype(np.int64)
        value_remaining = np.concatenate(
            [
                np.zeros(0),
                *(
                    np.bincount(space.codes[:, j], space.counts, n)
                    for j, n in zip(self.tabular, self.sizes, strict=True)
                ),
            ]
        )
        self.tabular_arrays = TabularAttributes(
            np.ascontiguousarray(space.codes[:, self.tabular]), starts, value_remaining.astype(np.int64)
        )
        self.space = space
        self._has_answered = False

    @cached_property
    def tree(self) -> TupleTree:
        """The tuples as nodes of a trie with trees of boxes below (see `build_trie`); built on first use."""
        return build_trie(self.space, self.tabular, self.axis_codes, self.axes, self.remaining)

    @cached_property
    def blocks(self) -> BlockArrays:
        """The tuples in blocks of neighbouring tuples (see `build_blocks`), for kernels; built on first use."""
        return build_blocks(self.space, self.tabular, self.axis_codes, self.axes, self.remaining)

    @property
    def arrays(self) -> IndexArrays:
        """The tree, the codes of tabular attributes, the axes and the codes on axes, as the kernels take them.

        The axes are None if there are none.
        """
        return IndexArrays(
            self.tree, self.tabular_arrays, self.axes if self._axis_attributes else None, self.axis_codes
        )

    @property
    def steps(self) -> int:
        """Number of values and nodes that searches of the tree have visited; 0 while the tree is not built."""
        return int(self.tree.n_steps[0]) if "tree" in self.__dict__ else 0

    @cached_property
    def has_no_zero_distances(self) -> bool:
        """Whether the distance of any two different values that occur (NULL included) is above 0, in every attribute.

        Then only records of one tuple are at distance 0 from each other.
        """
        for a, j in enumerate(self._axis_attributes):
            table, has_null = self.tables[j], bool((self.axis_codes[:, a] == self.axes.lengths[a]).any())
            if isinstance(table, NumericDistances) and (
                (has_null and table.null == 0) or (np.diff(table.positions) == 0).any()
            ):
                return False
        n_by_value = self.tabular_arrays.value_remaining
        spans = pairwise([*self.tabular_arrays.starts, len(n_by_value)])
        for j, (begin, end) in zip(self.tabular, spans, strict=True):
            present = np.flatnonzero(n_by_value[begin:end])
            if any((self.tables[j].row(c)[present] == 0).sum() > 1 for c in present.tolist()):
                return False
        return True

    # --- queries ---------------------------------------------------------------------------------------

    def distance_query(self, codes: Sequence[int] | Codes) -> SumQuery:
        """Return a query for the distance to a record with these codes, one per attribute, summed over attributes."""
        return self.interval_query(
            [self.tables[j].row(int(codes[j])) for j in range(len(codes)) if j in self.tabular], codes, codes
        )

    def interval_query(self, rows: Sequence[Ints], low: Sequence[int] | Codes, high: Sequence[int] | Codes) -> SumQuery:
        """Return a query: the sum of one table per tabular attribute and, per axis, the distance to an interval.

        Args:
            rows: The tables of the attributes with few values, in the order of the encoded table's attributes.
            low: Code at the lower end of the interval, for every attribute (read for axes only); the code of NULL for
                the distance to NULL.
            high: Code at the upper end, likewise.
        """
        row_of = dict(zip(sorted(self.tabular), rows, strict=True))
        flat = np.concatenate([empty_ints(), *(row_of[j] for j in self.tabular)])
        places, starts, lengths = self.axes.places, self.axes.starts, self.axes.lengths
        low_places, high_places, n_nulls, n_places = np.zeros((4, len(lengths)), np.int64)
        for a, j in enumerate(self._axis_attributes):
            n_nulls[a] = int(low[j] == lengths[a])
            low_places[a], high_places[a] = places[starts[a] + low[j]], places[starts[a] + high[j]]
        no_sums = empty_ints()
        return SumQuery(flat, low_places, high_places, n_nulls, n_places, no_sums, no_sums, no_sums, no_sums)

    def zero_query(self) -> SumQuery:
        """Return a query whose tables are 0 and whose intervals are the first position, for kernels to fill."""
        sizes, nowhere = dict(zip(self.tabular, self.sizes, strict=True)), [0] * len(self.tables)
        return self.interval_query([np.zeros(sizes[j], np.int64) for j in sorted(self.tabular)], nowhere, nowhere)

    def distance_sum_query(self) -> SumQuery:
        """Return a query for the sum of a tuple's distances to all records that `add_record` adds to it; 0 at first."""
        by_value, by_chunk = (np.zeros((2, max(n, 1)), np.int64) for n in (len(self.axes.places), self._chunks))
        by_axis = np.zeros((4, len(self._axis_attributes)), np.int64)
        return SumQuery(np.zeros(sum(self.sizes), np.int64), *by_axis, *by_value, *by_chunk)

    def add_record(self, query: SumQuery, codes: Sequence[int] | Codes) -> None:
        """Add the distances to a record with these codes to `query`, in place.

        The query must come from `distance_sum_query`. O(values) per table, O(log values) per axis.
        """
        from dbanon.kernels.axis_sums import add_axis_value

        for (begin, end), j in zip(
            pairwise([*self.tabular_arrays.starts, len(query.table_sums)]), self.tabular, strict=True
        ):
            query.table_sums[begin:end] += self.tables[j].row(int(codes[j]))
        for a, j in enumerate(self._axis_attributes):
            if codes[j] == self.axes.lengths[a]:
                query.n_nulls[a] += 1
            else:
                query.n_places[a] += 1
                add_axis_value(self.axes, query, a, int(codes[j]), 1)

    # --- searches --------------------------------------------------------------------------------------

    def least_tuple(self, query: SumQuery) -> int:
        """Return the tuple with the least value of the query, the first one in a tie.

        Only tuples with remaining records are considered; at least one must have some.
        """
        return self._extreme_tuple(query, 1)

    def greatest_tuple(self, query: SumQuery) -> int:
        """Return the tuple with the greatest value of the query, the first one in a tie.

        Only tuples with remaining records are considered; at least one must have some.
        """
        return self._extreme_tuple(query, -1)

    def nearest(self, query: SumQuery, records: int) -> tuple[Ints, Ints]:
        """Return the remaining records with the least values of the query, `records` of them or all if fewer remain.

        Records are ordered by value, ties by tuple.

        Returns:
            The tuples, and how many records of each.
        """
        return self._search(query, records, 1)

    def _extreme_tuple(self, query: SumQuery, sign: int) -> int:
        """Return the first remaining tuple with the least (`sign` 1) or greatest (`sign` -1) value of the query.

        The first call scans all tuples, which costs less than building the tree; later calls search the tree.
        """
        if self._has_answered:
            return int(self._search(query, 1, sign)[0][0])
        self._has_answered = True
        tuples = np.flatnonzero(self.remaining)
        total = np.zeros(len(tuples), np.int64)
        for j, start in enumerate(self.tabular_arrays.starts.tolist()):
            total += query.table_sums[start + self.tabular_arrays.codes[tuples, j]]
        for a in range(len(self._axis_attributes)):
            total += self._axis_sums(query, a)[self.axis_codes[tuples, a]]
        return int(tuples[np.argmin(total) if sign > 0 else np.argmax(total)])

    def _axis_sums(self, query: SumQuery, axis: int) -> Ints:
        """Return a query's value on one axis (numeric attribute with many values) for each code and, last, for NULL.

        `axis` is the number of the axis.
        """
        axes = self.axes
        begin, length, null = (int(a[axis]) for a in (axes.starts, axes.lengths, axes.null_distances))
        places, chunk = axes.places[begin : begin + length], axes.chunk_starts[axis] + (np.arange(length) >> CHUNK)
        n_nulls, n_places = int(query.n_nulls[axis]), int(query.n_places[axis])
        if len(query.counts) == 0:
            if n_nulls:
                return np.append(np.full(length, null, np.int64), 0)
            distance = np.maximum(query.low[axis] - places, places - query.high[axis])
            return np.append(np.maximum(distance, 0), null)
        counts = query.counts[begin : begin + length] + query.count_chunks[chunk]
        totals = query.totals[begin : begin + length] + query.total_chunks[chunk]
        return np.append(places * (2 * counts - n_places) - 2 * totals + totals[-1] + n_nulls * null, n_places * null)

    def _search(self, query: SumQuery, records: int, sign: int) -> tuple[Ints, Ints]:
        """Return the `records` remaining records with the least values of the query, or all if fewer remain.

        With `sign` -1 they are those with the greatest values.

        Returns:
            The tuples, and how many records of each.
        """
        from dbanon.kernels.tree_search import search_records

        records = min(records, self.records)
        tuples, counts = np.empty(records + 1, np.int64), np.empty(records + 1, np.int64)
        if records == 0:
            return tuples[:0], counts[:0]
        size = search_records(*self.arrays[:3], query, sign, records, tuples, counts)
        return tuples[:size], counts[:size]

    def recount_records(self) -> None:
        """Set `records`, the number of remaining records, from the tree, after kernels removed records there."""
        self.records = int(self.tree.n_remaining[0])

    # --- changes ---------------------------------------------------------------------------------------

    def remove_records(self, tuples: AnyInts, counts: AnyInts) -> None:
        """Remove counts[i] records of each tuple tuples[i] from the index; a tuple may occur once per call."""
        self.restore_records(tuples, -np.asarray(counts, np.int64))

    def restore_records(self, tuples: AnyInts, counts: AnyInts) -> None:
        """Add counts[i] records of each tuple tuples[i] that were removed before; a negative count removes records.

        The remaining records in the tree and by tuple are changed, and `records`.
        """
        from dbanon.kernels.index_tree import add_records

        changes = np.asarray(counts, np.int64)
        self.records += int(changes.sum())
        add_records(self.tree, self.tabular_arrays, np.asarray(tuples, np.int64), changes)


def _dispersion(space: EncodedTable, j: int, table: DistanceTable) -> float:
    """Return the mean distance of two records on attribute `j`, estimated from its most frequent values.

    At most 64 values are used, 16 if the attribute has more than LONG_ATTRIBUTE. The trie begins with the attribute of
    greatest dispersion, which separates tuples most.
    """
    records = np.bincount(space.codes[:, j], weights=space.counts, minlength=space.attributes[j].values + 1)
    share = records / max(float(records.sum()), 1.0)
    frequent = np.argsort(-share, kind="stable")[: 64 if len(share) <= LONG_ATTRIBUTE else 16]
    return float(sum(share[c] * (table.row(int(c)) * share).sum() for c in frequent.tolist() if share[c] > 0))
