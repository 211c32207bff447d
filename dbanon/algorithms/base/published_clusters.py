"""Clusters with what they publish, from which metrics are computed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.class_bounds import Extents, classes, published_nodes
from dbanon.algorithms.base.loss import shares
from dbanon.algorithms.base.registry import PublishedEnds
from dbanon.algorithms.base.standardize import varies, within, z_scores
from dbanon.encoding.encoded_table import Bools, CategoricalAttribute, EncodedTable, Floats, Ints, NumericAttribute


@dataclass(frozen=True)
class Gaps:
    """Distances between neighbouring values of a number, by code.

    `step` and `place_step` are from the value before, in the units of `Number.positions` and of `Interval.place`;
    `below` and `above` are from the value to its published ends.
    """

    step: Floats
    place_step: Floats
    below: Floats
    above: Floats


@dataclass(frozen=True)
class Interval:
    """How a number is published: places of the values and of the lower and the upper end by code, in one unit, and the
    ranks of the ends."""

    place: Floats
    below: Floats
    above: Floats
    low: Ints
    high: Ints
    gaps: Gaps

    def measured_from(self, code: int) -> Interval:
        """Return the same interval ends as distances from the value of a code; those below it are not meant.

        Distances from a far smaller value, which may be suppressed, are equal as doubles.
        """
        place = _sums_from(code, self.gaps.place_step)
        return replace(self, place=place, below=place - self.gaps.below, above=place + self.gaps.above)


class Questions(Protocol):
    """Questions about a release, of which the error can be computed."""

    def error(self, of: Published) -> float:
        """Return the mean relative error of the answers from a release."""


@dataclass(frozen=True)
class Published:
    """Clusters and what they publish.

    `runs` are the clusters, numbered without gaps (-1: left out); `wide` those that are published with more than their
    records span: numbers, codes and nodes; `intervals` has an entry a number among the attributes. So many
    records `came`, those too that were not to be clustered. `questions` are what can be asked of the release.
    """

    space: EncodedTable
    k: int
    runs: Runs
    wide: tuple[Ints, PublishedEnds] | None
    intervals: Sequence[Interval]
    heights: str
    came: int
    questions: Questions | None = None

    @property
    def attributes(self) -> int:
        """Number of quasi-identifiers."""
        return len(self.space.attributes)

    @cached_property
    def extents(self) -> Extents:
        """Codes that clusters are published with."""
        found = Extents.of_runs(self.space, self.runs)
        if self.wide is not None:
            clusters, ends = self.wide
            found.low[clusters], found.high[clusters] = ends.low, ends.high
        return found

    @cached_property
    def raised_nodes(self) -> Ints:
        """Nodes that clusters publish in place of what covers their codes, or -1 (clusters, attributes)."""
        nodes = np.full(self.extents.low.shape, -1, np.int64)
        if self.wide is not None:
            clusters, ends = self.wide
            nodes[clusters] = ends.raised_nodes
        return nodes

    @cached_property
    def released_numbers(self) -> Mapping[int, tuple[Interval, NumericAttribute]]:
        """Each number among the attributes, by its place there, as the released records show it: how it is published,
        and its positions. Both are distances from the least released value."""
        found, intervals = {}, iter(self.intervals)
        for j, attribute in enumerate(self.space.attributes):
            if isinstance(attribute, NumericAttribute):
                interval, code = next(intervals), int(self.extents.low[:, j].min())
                if 0 < code < attribute.values:
                    attribute = replace(attribute, positions=_sums_from(code, interval.gaps.step))
                    interval = interval.measured_from(code)
                found[j] = interval, attribute
        return found

    @cached_property
    def sizes(self) -> Ints:
        """Records of each cluster."""
        return self.extents.sizes.astype(np.int64)

    @cached_property
    def class_of(self) -> Ints:
        """The class of each cluster: clusters that publish the same are one."""
        numbers = iter(self.intervals)
        low, high = self.extents.low.copy(), self.extents.high.copy()
        for j, attribute in enumerate(self.space.attributes):
            if isinstance(attribute, NumericAttribute):
                of = next(numbers)
                known = high[:, j] < attribute.values
                low[known, j], high[known, j] = of.low[low[known, j]], of.high[high[known, j]]
        return classes(self.space, low, high, are_ends=True, raised_nodes=self.raised_nodes)

    @cached_property
    def class_sizes(self) -> Ints:
        """Records of each class."""
        return _sums(self.class_of, self.sizes)

    @cached_property
    def units(self) -> Ints:
        """Persons of each class where these are counted, else its records."""
        if self.space.persons is None:
            return self.class_sizes
        labels = self.runs.labels()
        known = (labels >= 0) & (self.space.persons >= 0)
        persons = self.space.persons[known].astype(np.int64)
        pairs = np.unique(np.stack((self.class_of[labels[known]], persons)), axis=1)
        return np.bincount(pairs[0], minlength=len(self.class_sizes))

    @cached_property
    def released(self) -> int:
        """Records that are in a class."""
        return int(self.sizes.sum())

    @cached_property
    def left_out(self) -> int:
        """Records that are in none."""
        return self.space.rows - self.released

    def lost(self, heights: str, *, categories: bool = True) -> float:
        """What all records lose, numbers and (by `heights` of inner nodes) categories."""
        total = np.zeros(len(self.sizes))
        for j, attribute in enumerate(self.space.attributes):
            low, high = self.extents.low[:, j], self.extents.high[:, j]
            none, mixed = low == attribute.values, (high == attribute.values) & (low < attribute.values)
            if isinstance(attribute, NumericAttribute):
                own = _widths(self.released_numbers[j][0], low, high, ~none & ~mixed)
                own[none] = float(attribute.with_bare_null)
            elif categories:
                own = shares(attribute, heights)[published_nodes(attribute, low, high, self.raised_nodes[:, j])]
                own[none] = 0.0
            else:
                continue
            own[mixed] = 1.0
            total += own
        return math.fsum((total * self.sizes).tolist())

    def square_error(self, group_of: Ints) -> float:
        """Summed square distances of records to the middle of their group of clusters: of numbers to the mean, over the
        range; of categories 1 where it is not the mode."""
        kept = self.runs.kept()
        group, counts = group_of[kept.clusters], kept.counts.astype(np.float64)
        sizes = _weighed(group, counts, 0)
        total = 0.0
        for j, attribute in enumerate(self.space.attributes):
            codes = self.space.codes[kept.tuples, j]
            known = codes < attribute.values
            filled = _weighed(group[known], counts[known], len(sizes))
            if isinstance(attribute, CategoricalAttribute):
                own = filled - _most(group[known], codes[known], counts[known], len(sizes))
            else:
                positions = self.released_numbers[j][1].positions
                own = _deviations(group[known], positions[codes[known]], counts[known], filled)
            total += math.fsum(np.where(filled == 0, 0.0, np.where(filled < sizes, sizes, own)).tolist())
        return total

    def sse_share(self) -> float:
        """100 SSE / SST of the z-scores of the numbers, where a NULL lies at the mean and, on an axis of its own, one
        standard deviation off; columns of one value do not count."""
        kept = self.runs.kept()
        group, counts = self.class_of[kept.clusters], kept.counts.astype(np.float64)
        shares = []
        for j, (_, attribute) in self.released_numbers.items():
            codes = self.space.codes[kept.tuples, j]
            if varies(attribute, codes):
                at = np.stack(z_scores(attribute, codes, counts), axis=1)
                shares.append(within(at, group, counts) / within(at, np.zeros_like(group), counts))
        return 100 * math.fsum(shares) / len(shares) if shares else 0.0

    def homogeneous(self) -> float:
        """Share of the records whose class has one value of a sensitive column; NaN where there is no such column."""
        if not self.space.sensitive:
            return math.nan
        labels = self.runs.labels()
        kept = labels >= 0
        of = self.class_of[labels[kept]]
        alike = np.zeros(len(self.class_sizes), bool)
        for column in self.space.sensitive:
            codes = column.codes[kept]
            least, greatest = np.full(len(alike), column.values), np.zeros(len(alike), np.int64)
            np.minimum.at(least, of, codes)
            np.maximum.at(greatest, of, codes)
            alike |= least == greatest
        return float(self.class_sizes[alike].sum() / self.released)


def _sums_from(code: int, steps: Floats) -> Floats:
    """Return the sum of the steps after a code up to each code; 0 for the code and those below it."""
    sums = np.zeros(len(steps))
    sums[code + 1 :] = np.cumsum(steps[code + 1 :])
    return sums


def _sums(group_of: Ints, sizes: Ints) -> Ints:
    """Return summed sizes of each group, as whole numbers."""
    return np.bincount(group_of, sizes).astype(np.int64)


def _widths(of: Interval, low: Ints, high: Ints, seen: Bools) -> Floats:
    """Return widths of intervals over that of all that is seen; 0 where nothing is."""
    widths = np.zeros(len(low))
    if seen.any():
        first, last = of.below[low[seen]], of.above[high[seen]]
        reach = float(last.max() - first.min())
        if reach > 0:
            widths[seen] = (last - first) / reach
    return widths


def _most(group: Ints, codes: Ints, counts: Floats, groups: int) -> Floats:
    """Return records of the most frequent value of each group."""
    pairs, of = np.unique(np.stack((group, codes.astype(np.int64))), axis=1, return_inverse=True)
    most = np.zeros(groups)
    np.maximum.at(most, pairs[0], _weighed(np.asarray(of, np.int64).reshape(-1), counts, pairs.shape[1]))
    return most


def _deviations(group: Ints, places: Floats, counts: Floats, filled: Floats) -> Floats:
    """Return summed square distances to the mean of each group, over the range of all."""
    reach = float(np.ptp(places)) if len(places) else 0.0
    if reach == 0:
        return np.zeros(len(filled))
    scaled = (places - places.min()) / reach
    mean = _weighed(group, scaled * counts, len(filled)) / np.maximum(filled, 1)
    return _weighed(group, counts * (scaled - mean[group]) ** 2, len(filled))


def _weighed(group: Ints, weights: Floats, groups: int) -> Floats:
    """Return summed weights of each group."""
    return np.asarray(np.bincount(group, weights=weights, minlength=groups), np.float64)
