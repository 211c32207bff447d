"""Clusters with what they publish, from which metrics are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import ClassBounds, class_numbers, published_nodes
from dbanon.algorithms.base.loss import height_shares
from dbanon.algorithms.base.registry import PublishedEnds
from dbanon.algorithms.base.standardize import has_several_values, sum_of_squares_within, z_scores
from dbanon.encoding.encoded_table import Bools, CategoricalAttribute, EncodedTable, Floats, Ints, NumericAttribute


@dataclass(frozen=True)
class ValueGaps:
    """Distances between neighbouring values of a number, by code.

    Attributes:
        step: Distance from the value before, in the unit of `NumericAttribute.positions`.
        position_step: The same distance in the unit of `PublishedIntervals.position`.
        to_low_end: Distance to the lower published end.
        to_high_end: Distance to the upper published end.
    """

    step: Floats
    position_step: Floats
    to_low_end: Floats
    to_high_end: Floats


@dataclass(frozen=True)
class PublishedIntervals:
    """The published intervals of a number, by code and in one unit.

    Attributes:
        position: Positions of the values.
        low_end: Positions of the lower ends.
        high_end: Positions of the upper ends.
        low_rank: Ranks of the lower ends.
        high_rank: Ranks of the upper ends.
        gaps: Distances between neighbouring values.
    """

    position: Floats
    low_end: Floats
    high_end: Floats
    low_rank: Ints
    high_rank: Ints
    gaps: ValueGaps

    def relative_to(self, code: int) -> PublishedIntervals:
        """Return the same interval ends as distances from the value of a code; those below it are not meant.

        Distances from a far smaller value, which may be suppressed, are equal as doubles.
        """
        place = _sums_from(code, self.gaps.position_step)
        return replace(
            self, position=place, low_end=place - self.gaps.to_low_end, high_end=place + self.gaps.to_high_end
        )


class ReleaseQueries(Protocol):
    """Questions about a release, of which the error can be computed."""

    def error(self, published_clusters: PublishedClusters) -> float:
        """Return the mean relative error of the answers from a release."""


@dataclass(frozen=True)
class PublishedClusters:
    """Clusters and what is published of them.

    Attributes:
        space: The encoded table.
        k: The parameter k.
        runs: The clusters, numbered without gaps; -1 for suppressed records.
        widened: Numbers of the clusters that publish more than the span of their records, and what they publish.
        intervals: One entry for each number among the attributes.
        heights: Loss of inner nodes: edges, leaves or top.
        n_input_records: Number of records of the input, with those that were not to be clustered.
        queries: The queries of query_error() about the release, if they are computed.
    """

    space: EncodedTable
    k: int
    runs: RunLengthLabels
    widened: tuple[Ints, PublishedEnds] | None
    intervals: Sequence[PublishedIntervals]
    heights: str
    n_input_records: int
    queries: ReleaseQueries | None = None

    @property
    def n_attributes(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.space.attributes)

    @cached_property
    def bounds(self) -> ClassBounds:
        """Codes that clusters are published with."""
        bounds = ClassBounds.from_labels(self.space, self.runs)
        if self.widened is not None:
            clusters, ends = self.widened
            bounds.low[clusters], bounds.high[clusters] = ends.low, ends.high
        return bounds

    @cached_property
    def raised_nodes(self) -> Ints:
        """Nodes that clusters publish in place of what covers their codes, or -1 (clusters, attributes)."""
        nodes = np.full(self.bounds.low.shape, -1, np.int64)
        if self.widened is not None:
            clusters, ends = self.widened
            nodes[clusters] = ends.raised_nodes
        return nodes

    @cached_property
    def published_numbers(self) -> Mapping[int, tuple[PublishedIntervals, NumericAttribute]]:
        """Each number among the attributes, by its place there, as the released records show it: how it is published,
        and its positions. Both are distances from the least released value."""
        numbers, intervals = {}, iter(self.intervals)
        for j, attribute in enumerate(self.space.attributes):
            if isinstance(attribute, NumericAttribute):
                interval, code = next(intervals), int(self.bounds.low[:, j].min())
                if 0 < code < attribute.values:
                    attribute = replace(attribute, positions=_sums_from(code, interval.gaps.step))
                    interval = interval.relative_to(code)
                numbers[j] = interval, attribute
        return numbers

    @cached_property
    def sizes(self) -> Ints:
        """Records of each cluster."""
        return self.bounds.sizes.astype(np.int64)

    @cached_property
    def class_of(self) -> Ints:
        """The class of each cluster: clusters that publish the same are one."""
        numbers = iter(self.intervals)
        low, high = self.bounds.low.copy(), self.bounds.high.copy()
        for j, attribute in enumerate(self.space.attributes):
            if isinstance(attribute, NumericAttribute):
                interval = next(numbers)
                is_number = high[:, j] < attribute.values
                low[is_number, j], high[is_number, j] = (
                    interval.low_rank[low[is_number, j]],
                    interval.high_rank[high[is_number, j]],
                )
        return class_numbers(self.space, low, high, are_ends=True, raised_nodes=self.raised_nodes)

    @cached_property
    def class_sizes(self) -> Ints:
        """Records of each class."""
        return _group_sums(self.class_of, self.sizes)

    @cached_property
    def class_risk_sizes(self) -> Ints:
        """Persons of each class where these are counted, else its records."""
        if self.space.persons is None:
            return self.class_sizes
        labels = self.runs.labels()
        is_counted = (labels >= 0) & (self.space.persons >= 0)
        persons = self.space.persons[is_counted].astype(np.int64)
        pairs = np.unique(np.stack((self.class_of[labels[is_counted]], persons)), axis=1)
        return np.bincount(pairs[0], minlength=len(self.class_sizes))

    @cached_property
    def n_published(self) -> int:
        """Records that are in a class."""
        return int(self.sizes.sum())

    @cached_property
    def n_suppressed(self) -> int:
        """Records that are in none."""
        return self.space.rows - self.n_published

    def total_loss(self, heights: str, *, categories: bool = True) -> float:
        """Return the loss of all records, of numbers and (with `heights` of inner nodes) of categories."""
        total = np.zeros(len(self.sizes))
        for j, attribute in enumerate(self.space.attributes):
            low, high = self.bounds.low[:, j], self.bounds.high[:, j]
            none, mixed = low == attribute.values, (high == attribute.values) & (low < attribute.values)
            if isinstance(attribute, NumericAttribute):
                losses = _relative_widths(self.published_numbers[j][0], low, high, ~none & ~mixed)
                losses[none] = float(attribute.with_bare_null)
            elif categories:
                losses = height_shares(attribute, heights)[
                    published_nodes(attribute, low, high, self.raised_nodes[:, j])
                ]
                losses[none] = 0.0
            else:
                continue
            losses[mixed] = 1.0
            total += losses
        return math.fsum((total * self.sizes).tolist())

    def square_error(self, group_of: Ints) -> float:
        """Summed square distances of records to the middle of their group of clusters: of numbers to the mean, over the
        range; of categories 1 where it is not the mode."""
        published = self.runs.without_suppressed()
        group, counts = group_of[published.clusters], published.counts.astype(np.float64)
        sizes = _group_weights(group, counts, 0)
        total = 0.0
        for j, attribute in enumerate(self.space.attributes):
            codes = self.space.codes[published.tuples, j]
            has_value = codes < attribute.values
            n_values = _group_weights(group[has_value], counts[has_value], len(sizes))
            if isinstance(attribute, CategoricalAttribute):
                errors = n_values - _mode_counts(group[has_value], codes[has_value], counts[has_value], len(sizes))
            else:
                positions = self.published_numbers[j][1].positions
                errors = _square_deviations(group[has_value], positions[codes[has_value]], counts[has_value], n_values)
            total += math.fsum(np.where(n_values == 0, 0.0, np.where(n_values < sizes, sizes, errors)).tolist())
        return total

    def sse_share(self) -> float:
        """100 SSE / SST of the z-scores of the numbers, where a NULL lies at the mean and, on an axis of its own, one
        standard deviation off; columns of one value do not count."""
        published = self.runs.without_suppressed()
        group, counts = self.class_of[published.clusters], published.counts.astype(np.float64)
        shares = []
        for j, (_, attribute) in self.published_numbers.items():
            codes = self.space.codes[published.tuples, j]
            if has_several_values(attribute, codes):
                points = np.stack(z_scores(attribute, codes, counts), axis=1)
                shares.append(
                    sum_of_squares_within(points, group, counts)
                    / sum_of_squares_within(points, np.zeros_like(group), counts)
                )
        return 100 * math.fsum(shares) / len(shares) if shares else 0.0

    def homogeneous_share(self) -> float:
        """Share of the records whose class has one value of a sensitive column; NaN where there is no such column."""
        if not self.space.sensitive:
            return math.nan
        labels = self.runs.labels()
        is_published = labels >= 0
        record_class = self.class_of[labels[is_published]]
        is_homogeneous = np.zeros(len(self.class_sizes), bool)
        for column in self.space.sensitive:
            codes = column.codes[is_published]
            min_code, max_code = np.full(len(is_homogeneous), column.values), np.zeros(len(is_homogeneous), np.int64)
            np.minimum.at(min_code, record_class, codes)
            np.maximum.at(max_code, record_class, codes)
            is_homogeneous |= min_code == max_code
        return float(self.class_sizes[is_homogeneous].sum() / self.n_published)


def _sums_from(code: int, steps: Floats) -> Floats:
    """Return the sum of the steps after a code up to each code; 0 for the code and those below it."""
    sums = np.zeros(len(steps))
    sums[code + 1 :] = np.cumsum(steps[code + 1 :])
    return sums


def _group_sums(group_of: Ints, sizes: Ints) -> Ints:
    """Return summed sizes of each group, as whole numbers."""
    return np.bincount(group_of, sizes).astype(np.int64)


def _relative_widths(intervals: PublishedIntervals, low: Ints, high: Ints, has_range: Bools) -> Floats:
    """Return widths of intervals over that of all that is seen; 0 where nothing is."""
    widths = np.zeros(len(low))
    if has_range.any():
        first, last = intervals.low_end[low[has_range]], intervals.high_end[high[has_range]]
        reach = float(last.max() - first.min())
        if reach > 0:
            widths[has_range] = (last - first) / reach
    return widths


def _mode_counts(group: Ints, codes: Ints, counts: Floats, n_groups: int) -> Floats:
    """Return records of the most frequent value of each group."""
    pairs, pair_of = np.unique(np.stack((group, codes.astype(np.int64))), axis=1, return_inverse=True)
    max_counts = np.zeros(n_groups)
    np.maximum.at(
        max_counts, pairs[0], _group_weights(np.asarray(pair_of, np.int64).reshape(-1), counts, pairs.shape[1])
    )
    return max_counts


def _square_deviations(group: Ints, places: Floats, counts: Floats, n_values: Floats) -> Floats:
    """Return summed square distances to the mean of each group, over the range of all."""
    reach = float(np.ptp(places)) if len(places) else 0.0
    if reach == 0:
        return np.zeros(len(n_values))
    relative = (places - places.min()) / reach
    mean = _group_weights(group, relative * counts, len(n_values)) / np.maximum(n_values, 1)
    return _group_weights(group, counts * (relative - mean[group]) ** 2, len(n_values))


def _group_weights(group: Ints, weights: Floats, n_groups: int) -> Floats:
    """Return summed weights of each group."""
    return np.asarray(np.bincount(group, weights=weights, minlength=n_groups), np.float64)
