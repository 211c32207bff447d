"""How wrong random counts on a release are, from codes: the questions of query_error(), asked of clusters.

Questions, answers and errors are those of sql/audit/query_error/query_error.sql, where values are clustered as they
are; values beyond top or bottom, and those that min_level raises, count as what they are clustered as.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.class_bounds import published_nodes
from dbanon.algorithms.base.published_clusters import Interval, Published
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Floats, Ints, NumericAttribute

MOST = 3
"""Predicates of a question, at most."""

SELECTIVITY = 0.1
SANITY = 0.001
SEED = 1
"""Those that query_error() has where a call does not say."""


@dataclass(frozen=True)
class Question:
    """The records between two ends of some columns: places from low to high by column."""

    number: int
    ranges: dict[int, tuple[float, float]]


@dataclass(frozen=True)
class Questions:
    """So many questions about a table, and how many records each is about."""

    every: tuple[Question, ...]
    answers: Floats
    records: int
    steps: Sequence[float]

    @classmethod
    def of(cls, space: EncodedTable, intervals: Sequence[Interval], steps: Sequence[float], count: int) -> Questions:
        """Return the questions that query_error() draws with its default seed. O(questions * tuples) time.

        `steps`: how far neighbouring values of a column are apart, 1 where they are counted, 0 where they are measured.
        """
        places = _places(space, intervals)
        domains = [_Domain.of(space, j, places[j]) for j in range(len(places))]
        every = tuple(_question(number, domains) for number in range(1, count + 1))
        own = [np.append(p, -np.inf)[space.codes[:, j]] for j, p in enumerate(places)]
        answers = np.empty(count)
        for i, question in enumerate(every):
            met = np.ones(len(space.codes), bool)
            for j, (low, high) in question.ranges.items():
                met &= (own[j] >= low) & (own[j] <= high)
            answers[i] = space.counts[met].sum()
        return cls(every, answers, space.rows, steps)

    def error(self, of: Published) -> float:
        """Median relative error of the counts, averaged over the numbers of predicates. O(questions * classes)."""
        low, high = _published(of)
        errors: dict[int, list[float]] = {}
        for question, answer in zip(self.every, self.answers.tolist(), strict=True):
            share = of.sizes.astype(np.float64)
            for j, (first, last) in question.ranges.items():
                share *= _within(low[j], high[j], first, last, self.steps[j])
            error = abs(math.fsum(share.tolist()) - answer) / max(answer, SANITY * self.records)
            errors.setdefault(len(question.ranges), []).append(round(error, 9))
        return math.fsum(float(np.median(found)) for found in errors.values()) / len(errors)


def _within(low: Floats, high: Floats, first: float, last: float, step: float) -> Floats:
    """Return the share of published intervals within a range: all values of one are equally likely."""
    inside = (low == high) | ((first <= low) & (high <= last))
    with np.errstate(invalid="ignore", divide="ignore"):
        part = (np.minimum(high, last) - np.maximum(low, first) + step) / (high - low + step)
    return np.where((high < first) | (low > last), 0.0, np.where(inside, 1.0, part))


@dataclass(frozen=True)
class _Domain:
    """Places of a column in their order, and how many records lie before each; `filled` have a value."""

    places: Floats
    before: Ints
    filled: int

    @classmethod
    def of(cls, space: EncodedTable, j: int, places: Floats) -> _Domain:
        records = np.zeros(len(places) + 1, np.int64)
        np.add.at(records, space.codes[:, j], space.counts)
        occupied = np.flatnonzero(records[:-1])
        own = records[occupied]
        return cls(places[occupied], np.cumsum(own) - own, int(own.sum()))

    def at(self, record: int) -> float:
        """Where a record lies."""
        return float(self.places[np.searchsorted(self.before, record, side="right") - 1])


def _question(number: int, domains: Sequence[_Domain]) -> Question:
    predicates = 1 + (number - 1) % min(MOST, len(domains))
    order = sorted(range(len(domains)), key=lambda j: (_hash(number, "column", j), j))
    share = SELECTIVITY ** (1 / predicates)
    ranges = {}
    for j in order[:predicates]:
        of = domains[j]
        width = max(1, math.floor(share * of.filled + 0.5))
        begins = (_hash(number, "range", j) >> 11) / 2**53
        first = math.floor(begins * (of.filled - width))
        ranges[j] = (of.at(first), of.at(first + width - 1))
    return Question(number, ranges)


def _hash(number: int, what: str, column: int) -> int:
    """Return the lower half of an MD5, as DuckDB's md5_number_lower gives it."""
    digest = hashlib.md5(f"{SEED}:{number}:{what}:{column}".encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little")


def _places(space: EncodedTable, intervals: Sequence[Interval]) -> list[Floats]:
    """Where the values of each column lie, by code: numbers in the unit of their ends, categories by their leaf."""
    of = iter(intervals)
    return [
        next(of).place if isinstance(a, NumericAttribute) else _leaves_before(a)[a.node].astype(np.float64)
        for a in space.attributes
    ]


def _leaves_before(tree: CategoricalAttribute) -> Ints:
    """Leave that come before each node, or its first one."""
    leaf = ~tree.is_inner
    return np.cumsum(leaf) - leaf


def _published(of: Published) -> tuple[list[Floats], list[Floats]]:
    """Ends of what each cluster publishes, by column; -infinity where that is NULL."""
    low, high = [], []
    for j, (attribute, (first, last)) in enumerate(zip(of.space.attributes, _ends(of), strict=True)):
        values = attribute.values
        codes_low, codes_high = of.extents.low[:, j], of.extents.high[:, j]
        none, mixed = codes_low == values, (codes_high == values) & (codes_low < values)
        if isinstance(attribute, CategoricalAttribute):
            everything = mixed
            whole = 0.0, float(attribute.leaves[0] - 1)
        else:
            everything = mixed | none if attribute.with_bare_null else mixed
            seen = ~none & ~mixed
            whole = float(first[seen].min(initial=np.inf)), float(last[seen].max(initial=-np.inf))
        first, last = np.where(everything, whole[0], first), np.where(everything, whole[1], last)
        low.append(np.where(none & ~everything, -np.inf, first))
        high.append(np.where(none & ~everything, -np.inf, last))
    return low, high


def _ends(of: Published) -> Iterator[tuple[Floats, Floats]]:
    """Ends of what each cluster's values span, by column; those of NULL mean nothing."""
    intervals = iter(of.intervals)
    for j, attribute in enumerate(of.space.attributes):
        low = np.minimum(of.extents.low[:, j], attribute.values - 1)
        high = np.minimum(of.extents.high[:, j], attribute.values - 1)
        if isinstance(attribute, NumericAttribute):
            interval = next(intervals)
            yield interval.below[low], interval.above[high]
        else:
            node = published_nodes(attribute, low, high, of.raised_nodes[:, j])
            first = _leaves_before(attribute)[node]
            yield first.astype(np.float64), (first + attribute.leaves[node] - 1).astype(np.float64)
