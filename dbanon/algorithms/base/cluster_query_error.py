"""Relative errors of random counting queries on a release, computed from codes: query_error() for clusters.

Queries, answers and errors are those of sql/audit/query_error/query_error.sql if values are clustered unchanged.
Values beyond top or bottom, and values raised by min_level, count as the values that they are clustered as.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.class_bounds import published_nodes
from dbanon.algorithms.base.published_clusters import PublishedClusters, PublishedIntervals
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Floats, Ints, NumericAttribute

MAX_PREDICATES = 3
"""Greatest number of predicates of a query."""

SELECTIVITY = 0.1
SANITY_BOUND = 0.001
SEED = 1
"""Selectivity, sanity bound and seed are the defaults of query_error()."""


@dataclass(frozen=True)
class RangeQueries:
    """Counting queries on a table, with the exact answers: how many records have values in a range, for some columns.

    Attributes:
        queries: Of each query, the columns with a predicate (by index) with least and greatest position of the range.
        answers: (queries,) number of records of the table that match each query.
        records: Number of records of the table.
        steps: For each column, the distance of neighbouring values: 1 for whole numbers and categories, 0 for measured
            numbers.
    """

    queries: tuple[dict[int, tuple[float, float]], ...]
    answers: Floats
    records: int
    steps: Sequence[float]

    @classmethod
    def draw(
        cls, space: EncodedTable, intervals: Sequence[PublishedIntervals], steps: Sequence[float], n_queries: int
    ) -> RangeQueries:
        """Draw the queries that query_error() draws with its default seed, and answer them on the table.

        Args:
            space: The encoded table.
            intervals: The published intervals of each numeric attribute.
            steps: See `RangeQueries`.
            n_queries: Number of queries.

        O(queries * tuples) time.
        """
        places = _value_positions(space, intervals)
        domains = [_ColumnDomain.from_column(space, j, places[j]) for j in range(len(places))]
        queries = tuple(_draw_query(number, domains) for number in range(1, n_queries + 1))
        tuple_positions = [np.append(p, -np.inf)[space.codes[:, j]] for j, p in enumerate(places)]
        answers = np.empty(n_queries)
        for i, ranges in enumerate(queries):
            is_matched = np.ones(len(space.codes), bool)
            for j, (low, high) in ranges.items():
                is_matched &= (tuple_positions[j] >= low) & (tuple_positions[j] <= high)
            answers[i] = space.counts[is_matched].sum()
        return cls(queries, answers, space.rows, steps)

    def error(self, published_clusters: PublishedClusters) -> float:
        """Return the relative error of the answers that follow from published clusters.

        A cluster counts with the share of its intervals that a query covers. The errors are summarized by the median
        over queries with the same number of predicates, and then by the mean over these numbers. O(queries * clusters).
        """
        low, high = _published_ranges(published_clusters)
        errors: dict[int, list[float]] = {}
        for ranges, answer in zip(self.queries, self.answers.tolist(), strict=True):
            share = published_clusters.sizes.astype(np.float64)
            for j, (first, last) in ranges.items():
                share *= _overlap_shares(low[j], high[j], first, last, self.steps[j])
            error = abs(math.fsum(share.tolist()) - answer) / max(answer, SANITY_BOUND * self.records)
            errors.setdefault(len(ranges), []).append(round(error, 9))
        return math.fsum(float(np.median(found)) for found in errors.values()) / len(errors)


def _overlap_shares(low: Floats, high: Floats, first: float, last: float, step: float) -> Floats:
    """Return the share of each published interval [low, high] that is within the range [first, last].

    All values of an interval, `step` apart (0: continuous), are equally likely. An interval of one value gives 0 or 1.
    """
    inside = (low == high) | ((first <= low) & (high <= last))
    with np.errstate(invalid="ignore", divide="ignore"):
        part = (np.minimum(high, last) - np.maximum(low, first) + step) / (high - low + step)
    return np.where((high < first) | (low > last), 0.0, np.where(inside, 1.0, part))


@dataclass(frozen=True)
class _ColumnDomain:
    """The values of a column that occur, in order, with counts; NULL is not among them.

    Attributes:
        positions: Positions of the values, ascending.
        n_before: Number of records with a smaller value.
        n_filled: Number of records with a value.
    """

    positions: Floats
    n_before: Ints
    n_filled: int

    @classmethod
    def from_column(cls, space: EncodedTable, j: int, places: Floats) -> _ColumnDomain:
        """Return the values of attribute `j` that occur, with counts; `places` has the position of each code."""
        records = np.bincount(space.codes[:, j], space.counts, minlength=len(places) + 1).astype(np.int64)
        occupied = np.flatnonzero(records[:-1])
        counts = records[occupied]
        return cls(places[occupied], np.cumsum(counts) - counts, int(counts.sum()))

    def position_of(self, record: int) -> float:
        """Return the position of record number `record`.

        Records with a value are numbered from 0 in ascending order of their values.
        """
        return float(self.positions[np.searchsorted(self.n_before, record, side="right") - 1])


def _draw_query(number: int, domains: Sequence[_ColumnDomain]) -> dict[int, tuple[float, float]]:
    """Return query `number`, drawn by hashes of the number: 1 to MAX_PREDICATES columns and a range for each.

    The ranges are chosen so that, if columns are independent, about SELECTIVITY of the records match.
    """
    predicates = 1 + (number - 1) % min(MAX_PREDICATES, len(domains))
    order = sorted(range(len(domains)), key=lambda j: (_hash(number, "column", j), j))
    share = SELECTIVITY ** (1 / predicates)
    ranges = {}
    for j in order[:predicates]:
        domain = domains[j]
        width = max(1, math.floor(share * domain.n_filled + 0.5))
        start_fraction = (_hash(number, "range", j) >> 11) / 2**53
        first = math.floor(start_fraction * (domain.n_filled - width))
        ranges[j] = (domain.position_of(first), domain.position_of(first + width - 1))
    return ranges


def _hash(number: int, purpose: str, column: int) -> int:
    """Return the lower 64 bits of the MD5 hash of the text SEED:number:purpose:column.

    DuckDB's md5_number_lower gives the same number.
    """
    digest = hashlib.md5(f"{SEED}:{number}:{purpose}:{column}".encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little")


def _value_positions(space: EncodedTable, intervals: Sequence[PublishedIntervals]) -> list[Floats]:
    """Return the position of each column's values by code.

    Numbers are in the unit of their interval ends. A category's position is the number of leaves before it.
    """
    remaining_intervals = iter(intervals)
    return [
        next(remaining_intervals).position
        if isinstance(a, NumericAttribute)
        else _leaves_before(a)[a.node].astype(np.float64)
        for a in space.attributes
    ]


def _leaves_before(tree: CategoricalAttribute) -> Ints:
    """Return the number of leaves of a hierarchy that precede each node in preorder, by node.

    For an inner node these are the leaves before its first leaf.
    """
    leaf = ~tree.is_inner
    return np.cumsum(leaf) - leaf


def _published_ranges(published: PublishedClusters) -> tuple[list[Floats], list[Floats]]:
    """Return the lower and upper ends of the intervals that each cluster publishes, one array per column.

    A cluster with NULL and values has the whole range of the column. One with NULLs alone has -infinity as both ends;
    but if the attribute publishes NULL for both, it has the whole range, too.
    """
    low, high = [], []
    for j, (attribute, (first, last)) in enumerate(
        zip(published.space.attributes, _value_ranges(published), strict=True)
    ):
        values = attribute.values
        codes_low, codes_high = published.bounds.low[:, j], published.bounds.high[:, j]
        none, mixed = codes_low == values, (codes_high == values) & (codes_low < values)
        if isinstance(attribute, CategoricalAttribute):
            is_full_range = mixed
            full_range = 0.0, float(attribute.leaves[0] - 1)
        else:
            is_full_range = mixed | none if attribute.with_bare_null else mixed
            has_range = ~none & ~mixed
            full_range = float(first[has_range].min(initial=np.inf)), float(last[has_range].max(initial=-np.inf))
        first, last = np.where(is_full_range, full_range[0], first), np.where(is_full_range, full_range[1], last)
        low.append(np.where(none & ~is_full_range, -np.inf, first))
        high.append(np.where(none & ~is_full_range, -np.inf, last))
    return low, high


def _value_ranges(published: PublishedClusters) -> Iterator[tuple[Floats, Floats]]:
    """Yield, for each column, the lower and upper ends of what each cluster's values span.

    Numbers give published interval ends, categories the first and last leaf of the published node. The entries of
    clusters that contain NULL in the column are meaningless.
    """
    intervals = iter(published.intervals)
    for j, attribute in enumerate(published.space.attributes):
        low = np.minimum(published.bounds.low[:, j], attribute.values - 1)
        high = np.minimum(published.bounds.high[:, j], attribute.values - 1)
        if isinstance(attribute, NumericAttribute):
            interval = next(intervals)
            yield interval.low_end[low], interval.high_end[high]
        else:
            node = published_nodes(attribute, low, high, published.raised_nodes[:, j])
            first = _leaves_before(attribute)[node]
            yield first.astype(np.float64), (first + attribute.leaves[node] - 1).astype(np.float64)
