"""Clusters with the values that they publish, and their metrics under the names of a release's metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import ClassBounds, class_numbers, code_ranges, published_nodes
from dbanon.algorithms.base.loss import Heights, height_shares
from dbanon.algorithms.base.registry import PublishedEnds
from dbanon.algorithms.base.standardize import has_several_values, sum_of_squares_within, z_scores
from dbanon.encoding.encoded_table import Bools, CategoricalAttribute, EncodedTable, Floats, Ints, NumericAttribute


@dataclass(frozen=True)
class ValueGaps:
    """Distances of each value of a numeric attribute to the value before and to its published ends, by code.

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
    """The interval ends that each value of a numeric attribute can be published with, by code and in one unit.

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
        """Return a copy whose positions are distances from the value with this code.

        Entries of smaller codes are meaningless. Distances from a far smaller value, which may be suppressed, would be
        equal as doubles.
        """
        place = _sums_from(code, self.gaps.position_step)
        return replace(
            self, position=place, low_end=place - self.gaps.to_low_end, high_end=place + self.gaps.to_high_end
        )


class ReleaseQueries(Protocol):
    """Counting queries on a release, whose error can be computed."""

    def error(self, published_clusters: PublishedClusters) -> float:
        """Return the mean relative error of the answers that follow from the published clusters."""


@dataclass(frozen=True)
class PublishedClusters:
    """The clusters of an algorithm and the values that are published for them.

    Attributes:
        space: The encoded table.
        k: The parameter k.
        runs: The clusters, numbered without gaps; -1 for suppressed records.
        widened: Numbers of the clusters that publish more than the bounds of their records, and the published ends;
            None if there are none.
        intervals: The published intervals of each numeric attribute.
        heights: How the height of hierarchy nodes is measured in the loss: edges, leaves or top.
        n_input_records: Number of records of the input, with those that were not to be clustered.
        queries: The queries of query_error() about the release, if they are computed.
        leaf_heights: How NCP measures the height of hierarchy nodes: leaves or used.
    """

    space: EncodedTable
    k: int
    runs: RunLengthLabels
    widened: tuple[Ints, PublishedEnds] | None
    intervals: Sequence[PublishedIntervals]
    heights: str
    n_input_records: int
    queries: ReleaseQueries | None = None
    leaf_heights: str = "leaves"

    @property
    def n_attributes(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.space.attributes)

    @cached_property
    def bounds(self) -> ClassBounds:
        """Least and greatest codes that each cluster is published with, and cluster sizes, without suppressed records.

        Of widened clusters these are the wider published ends.
        """
        bounds = ClassBounds.from_labels(self.space, self.runs)
        if self.widened is not None:
            clusters, ends = self.widened
            bounds.low[clusters], bounds.high[clusters] = ends.low, ends.high
        return bounds

    @cached_property
    def raised_nodes(self) -> Ints:
        """(clusters, attributes) hierarchy node published in place of the lowest one that covers the codes.

        It is -1 where there is none.
        """
        nodes = np.full(self.bounds.low.shape, -1, np.int64)
        if self.widened is not None:
            clusters, ends = self.widened
            nodes[clusters] = ends.raised_nodes
        return nodes

    @cached_property
    def published_numbers(self) -> Mapping[int, tuple[PublishedIntervals, NumericAttribute]]:
        """The published intervals and the attribute of each numeric attribute, by its index among the attributes.

        The positions of both are distances from the least released value, so suppressed values do not affect rounding.
        """
        numbers, intervals = {}, iter(self.intervals)
        for j, attribute in enumerate(self.space.attributes):
            if isinstance(attribute, NumericAttribute):
                interval, low = next(intervals), self.bounds.low[:, j]
                code = int(low.min()) if len(low) > 0 else 0
                if 0 < code < attribute.values:
                    attribute = replace(attribute, positions=_sums_from(code, interval.gaps.step))
                    interval = interval.relative_to(code)
                numbers[j] = interval, attribute
        return numbers

    @cached_property
    def sizes(self) -> Ints:
        """Number of records of each cluster."""
        return self.bounds.sizes.astype(np.int64)

    @cached_property
    def class_of(self) -> Ints:
        """The equivalence class of each cluster, (clusters,): clusters that publish the same values are one class."""
        low, high = self.bounds.low.copy(), self.bounds.high.copy()
        for j, (interval, attribute) in self.published_numbers.items():
            is_number = high[:, j] < attribute.values
            low[is_number, j] = interval.low_rank[low[is_number, j]]
            high[is_number, j] = interval.high_rank[high[is_number, j]]
        return class_numbers(self.space, low, high, are_ends=True, raised_nodes=self.raised_nodes)

    @cached_property
    def class_sizes(self) -> Ints:
        """Number of records of each equivalence class."""
        return np.bincount(self.class_of, self.sizes).astype(np.int64)

    @cached_property
    def class_risk_sizes(self) -> Ints:
        """Number of distinct known persons of each equivalence class; its records if persons do not count."""
        if self.space.persons is None:
            return self.class_sizes
        labels = self.runs.labels()
        is_counted = (labels >= 0) & (self.space.persons >= 0)
        persons = self.space.persons[is_counted].astype(np.int64)
        pairs = np.unique(np.stack((self.class_of[labels[is_counted]], persons)), axis=1)
        return np.bincount(pairs[0], minlength=len(self.class_sizes))

    @cached_property
    def n_published(self) -> int:
        """Number of records that are not suppressed."""
        return int(self.sizes.sum())

    @cached_property
    def n_suppressed(self) -> int:
        """Number of suppressed records of the encoded table."""
        return self.space.rows - self.n_published

    def total_loss(self, heights: Heights, *, categories: bool = True) -> float:
        """Return the loss summed over all published records and all quasi-identifiers, without weights.

        A number loses the width of the published interval over that of all published intervals. A cluster of NULLs
        alone loses nothing (1 if the attribute publishes NULL for mixed clusters, too), one with NULL and values loses
        1.

        Args:
            heights: How the height of hierarchy nodes is measured.
            categories: Whether categorical attributes count.
        """
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
        """Return the squared error of published records within groups of clusters, summed over quasi-identifiers.

        A number counts its squared distance to the group's mean, over the range; a category counts 1 if it is not the
        group's most frequent value. In a group with NULL and values every record counts 1, in a group of NULLs none.

        `group_of` is the group of each cluster.
        """
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
        """Return 100 * SSE / SST of the z-scores of numeric quasi-identifiers, averaged over them; 0 if there are none.

        SSE is the sum of squares within equivalence classes, SST that of all published records. A NULL is at the mean
        and, on an axis of its own, one standard deviation off. Columns of one value do not count.
        """
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
        """Return the share of published records whose class has a single value of some sensitive column.

        NULL is a value. The result is NaN if there is no sensitive column.
        """
        if not self.space.sensitive:
            return math.nan
        labels = self.runs.labels()
        is_published = labels >= 0
        record_class = self.class_of[labels[is_published]]
        is_homogeneous = np.zeros(len(self.class_sizes), bool)
        for column in self.space.sensitive:
            min_code, max_code = code_ranges(record_class, column.codes[is_published], len(is_homogeneous))
            is_homogeneous |= min_code == max_code
        return float(self.class_sizes[is_homogeneous].sum() / self.n_published)


def _sums_from(code: int, steps: Floats) -> Floats:
    """Return, by code, the sum of the steps after `code` up to it; 0 for `code` and smaller codes."""
    sums = np.zeros(len(steps))
    sums[code + 1 :] = np.cumsum(steps[code + 1 :])
    return sums


def _relative_widths(intervals: PublishedIntervals, low: Ints, high: Ints, has_range: Bools) -> Floats:
    """Return the width of each cluster's published interval over the width of all of them together.

    Args:
        intervals: The published intervals by code.
        low: (clusters,) least code.
        high: (clusters,) greatest code.
        has_range: Whether each cluster publishes an interval; the result is 0 where not.
    """
    widths = np.zeros(len(low))
    if has_range.any():
        first, last = intervals.low_end[low[has_range]], intervals.high_end[high[has_range]]
        reach = float(last.max() - first.min())
        if reach > 0:
            widths[has_range] = (last - first) / reach
    return widths


def _mode_counts(group: Ints, codes: Ints, counts: Floats, n_groups: int) -> Floats:
    """Return, for each of `n_groups` groups, the number of records with its most frequent code; 0 for an empty group.

    `group`, `codes` and `counts` have one entry per run of records: group, code and number of records.
    """
    pairs, pair_of = np.unique(np.stack((group, codes.astype(np.int64))), axis=1, return_inverse=True)
    max_counts = np.zeros(n_groups)
    np.maximum.at(
        max_counts, pairs[0], _group_weights(np.asarray(pair_of, np.int64).reshape(-1), counts, pairs.shape[1])
    )
    return max_counts


def _square_deviations(group: Ints, places: Floats, counts: Floats, n_values: Floats) -> Floats:
    """Return, for each group, the summed squared distances to its mean, with positions scaled to a range of 1.

    `group`, `places` and `counts` have one entry per run of records; `n_values` is the number of records of each group.
    All are 0 if there is only one position.
    """
    reach = float(np.ptp(places)) if len(places) else 0.0
    if reach == 0:
        return np.zeros(len(n_values))
    relative = (places - places.min()) / reach
    mean = _group_weights(group, relative * counts, len(n_values)) / np.maximum(n_values, 1)
    return _group_weights(group, counts * (relative - mean[group]) ** 2, len(n_values))


def _group_weights(group: Ints, weights: Floats, n_groups: int) -> Floats:
    """Return the summed `weights` of each of `n_groups` groups, as floats; `group` is the group of each weight."""
    return np.asarray(np.bincount(group, weights=weights, minlength=n_groups), np.float64)


def _sum_of_squares(sizes: Ints) -> float:
    """Return the sum of the squared sizes, computed in whole numbers."""
    return float(sum(size * size for size in sizes.tolist()))


def _discernibility_with_suppression(clusters: PublishedClusters, sizes: Ints) -> float:
    """Return the sum of squared sizes, plus the number of all input records for each record that is not published."""
    n_unpublished = clusters.n_input_records - clusters.n_published
    return _sum_of_squares(sizes) + float(n_unpublished * clusters.n_input_records)


def _n_cells(clusters: PublishedClusters) -> int:
    """Return the number of published records times the number of quasi-identifiers."""
    return clusters.n_published * clusters.n_attributes


CLUSTER_METRICS: dict[str, Callable[[PublishedClusters], float]] = {
    "precision": lambda of: 1 - of.total_loss(of.heights) / _n_cells(of),
    "ncp": lambda of: of.total_loss(of.leaf_heights),
    "gcp": lambda of: of.total_loss(of.leaf_heights) / _n_cells(of),
    "information_loss": lambda of: of.total_loss(of.heights),
    "total_information_loss": lambda of: of.total_loss("edges"),
    "numeric_information_loss": lambda of: of.total_loss("edges", categories=False),
    "square_error": lambda of: of.square_error(of.class_of),
    "square_error_clusters": lambda of: of.square_error(np.arange(len(of.sizes))),
    "sse_share": PublishedClusters.sse_share,
    "discernibility": lambda of: _sum_of_squares(of.class_sizes),
    "discernibility_clusters": lambda of: _sum_of_squares(of.sizes),
    "discernibility_suppression": lambda of: _discernibility_with_suppression(of, of.class_sizes),
    "discernibility_suppression_clusters": lambda of: _discernibility_with_suppression(of, of.sizes),
    "c_avg": lambda of: of.n_published / len(of.class_sizes) / of.k,
    "c_avg_clusters": lambda of: of.n_published / len(of.sizes) / of.k,
    "records": lambda of: of.n_published,
    "suppressed": lambda of: of.n_suppressed,
    "k": lambda of: int(of.class_risk_sizes.min()),
    "classes": lambda of: len(of.class_sizes),
    "clusters": lambda of: len(of.sizes),
    "class_size_average": lambda of: of.n_published / len(of.class_sizes),
    "class_size_greatest": lambda of: int(of.class_sizes.max()),
    "risk_highest": lambda of: float((1 / of.class_risk_sizes).max()),
    "risk_average": lambda of: float((of.class_sizes / of.class_risk_sizes).sum() / of.n_published),
    "homogeneous_share": PublishedClusters.homogeneous_share,
    "query_error": lambda of: math.nan if of.queries is None else of.queries.error(of),
}
"""Metrics of clusters, computed from codes under the names of NAME_metrics.

Many runs on one encoded table can be compared without a release of each. The definitions are those of
sql/release/metrics/, where the papers are named; tests compare the two. Suppressed records do not count unless a
metric says so. query_error is the mean of query_error()'s medians of counts.
"""

STREAM_METRICS: dict[str, Callable[[PublishedClusters], float]] = {
    "average_loss": lambda of: (of.total_loss(of.leaf_heights) / of.n_attributes + of.n_suppressed) / of.space.rows,
    "suppression": lambda of: of.n_suppressed / of.space.rows,
    **dict.fromkeys(("average_delay", "delay", "reuse"), lambda of: math.nan),
}
"""Metrics that streams have in addition. A table is published at once, so delays and reuse are NaN."""
