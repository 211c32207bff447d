"""The arguments of kernels: named tuples of arrays. Compiled code reads and writes these arrays in place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class LossArrays(NamedTuple):
    """What tells the loss of a class (see `loss`).

    Attributes:
        codes: (items, attributes) int32: codes of each item; NULL has the code after the last value.
        terms: (attributes, 6) int64: kind, values, greatest loss, loss of NULL, and where its arrays begin in data.
        data: int64: the arrays of all attributes, one after another.
    """

    codes: npt.NDArray[np.int32]
    terms: Ints
    data: Ints


class LossTables(NamedTuple):
    """A question for what each code loses with one class (see `nearest.distances`).

    Attributes:
        span: (attributes, 4) int64: the class (see `loss`).
        codes_of: (attributes + 1,) int64: where the codes of each attribute begin in table.
        table: (codes,) int64: what a record loses on one attribute with each code.
    """

    span: Ints
    codes_of: Ints
    table: Ints


class ModelScratch(NamedTuple):
    """Scratch for judging groups by the privacy model (see `groups`).

    Attributes:
        counts: int64: counts of values, 0 between two groups.
        extra: Scratch of models that need more; None if none does.
    """

    counts: Ints
    extra: Any


class PathArrays(NamedTuple):
    """Scratch and results of cutting a line of records (see `path.cut`).

    Attributes:
        span, ahead: (attributes, 4) int64: classes (see `loss`).
        kept: (rows, 4) int64: the classes that are kept.
        total: (n + 1,) int64: the least loss of the first records.
        back: (n + 1,) int32: where the last of their runs begins.
    """

    span: Ints
    ahead: Ints
    kept: Ints
    total: Ints
    back: npt.NDArray[np.int32]


class ClassEntries(NamedTuple):
    """Classes as entries side by side (see `rebuild`).

    Attributes:
        items: (entries,) int32: item of each entry.
        counts: (entries,) int32: records of each entry.
        starts: (classes + 1,) int64: where the entries of each class begin.
        sizes: (classes,) int64: records of each class.
    """

    items: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    starts: Ints
    sizes: Ints


class SweepOptions(NamedTuple):
    """Options of `rebuild.sweep`: int64.

    Attributes:
        classes: Number of classes.
        width: How many classes a set has.
        near: Of 100 sets, how many are cut along a line around one of their records.
        first_set: Place of the class at which to begin.
        moves: How many sets are rebuilt at most.
        least, most: Records of a class.
        largest: Sets of more records are left as they are.
    """

    classes: int
    width: int
    near: int
    first_set: int
    moves: int
    least: int
    most: int
    largest: int


class CappedItems(NamedTuple):
    """Items of `capped_steps`.

    Attributes:
        tuples: (items,) int64: tuple of each item.
        ends: (items,) int64: where the records of each item end in rows.
        rows: (n,) int64: records by item; the last ones of each item are left.
        left: (items,) int64: how many records of each item are left.
    """

    tuples: Ints
    ends: Ints
    rows: Ints
    left: Ints


class ValueCaps(NamedTuple):
    """How many records of one sensitive value a cluster may have (see `capped`).

    Attributes:
        values: (columns, items) int64: sensitive values of each item, -1 for NULL.
        least: (columns,) int64: how many values each column needs.
        counts: (columns, values) int64: records of the cluster by value, 0 between two clusters.
        over: (columns,) int64: values that have one more, 0 between two clusters.
    """

    values: Ints
    least: Ints
    counts: Ints
    over: Ints


class LossClusters(NamedTuple):
    """Clusters and what they lose.

    Attributes:
        spans: (clusters, attributes, 4) int64: see `loss`.
        sizes: (clusters,) int64: records.
        losses: (clusters,) int64: what a record loses.
    """

    spans: Ints
    sizes: Ints
    losses: Ints


class ClusterMembers(NamedTuple):
    """The members of clusters as chains.

    Attributes:
        before: (n,) int64: the member before each record, -1 for the first.
        last: (clusters,) int64: the last member of each cluster.
        labels: (n,) int64: cluster of each record, -1 for none.
    """

    before: Ints
    last: Ints
    labels: Ints


class MergedClusters(NamedTuple):
    """Clusters of `merge_steps`, by their first record; n records.

    Attributes:
        alive: (n,) int64: the clusters; their number is in `state`.
        spans: (n, attributes, 3) int64: least and greatest code, and what a record loses.
        sizes, losses: (n,) int64: records, and what each of them loses.
        head, tail: (n,) int64: first and last member of the chain of each cluster.
        following: (n,) int64: the next member, -1 at the end.
        marks: (columns, values) int64, 0 between two merges.
    """

    alive: Ints
    spans: Ints
    sizes: Ints
    losses: Ints
    head: Ints
    tail: Ints
    following: Ints
    marks: Ints


class GroupItems(NamedTuple):
    """Items of `group_steps`.

    Attributes:
        order: (n,) int64: the records in the order in which they are seeds.
        item_of: (n,) int64: item of each record.
        tuples, kinds: (items,) int64: tuple and kind of each item.
        ends: (items,) int64: where the records of each item end in rows.
        rows: (n,) int64: records by item; the last ones of each item are left.
        place: (n,) int64: where each record is in rows.
        left: (items,) int64: how many records of each item are left.
        left_of: (kinds,) int64: how many records of each kind are left.
    """

    order: Ints
    item_of: Ints
    tuples: Ints
    kinds: Ints
    ends: Ints
    rows: Ints
    place: Ints
    left: Ints
    left_of: Ints


class BucketItems(NamedTuple):
    """Items of `bucket_steps`, sorted by kind, and kinds by part.

    Attributes:
        parts: (parts + 1,) int64: the first kind of each part.
        begins: (kinds + 1,) int64: the first item of each kind.
        first_of: (kinds,) int64: the first record of each kind.
        tuples: (items,) int64: tuple of each item.
        ends: (items,) int64: where the records of each item end in rows.
        rows: (n,) int64: records by item; the last ones of each item are left.
        left, left_of, left_in: (items,), (kinds,), (parts,) int64: how many records are left.
        away: (items,) int64: distance of each item to the center of its part.
    """

    parts: Ints
    begins: Ints
    first_of: Ints
    tuples: Ints
    ends: Ints
    rows: Ints
    left: Ints
    left_of: Ints
    left_in: Ints
    away: Ints


class ThresholdOptions(NamedTuple):
    """Options of `threshold_steps`: float64.

    Attributes:
        threshold: Greatest loss of a cluster.
        weight: Of diversity against loss, 0 to 1.
        whole: All that a record can lose.
    """

    threshold: float
    weight: float
    whole: float


class ThresholdItems(NamedTuple):
    """Items of `threshold_steps`, sorted by kind, then by tuple.

    Attributes:
        order: (n,) int64: the records in the order in which they begin clusters.
        item_of: (n,) int64: item of each record.
        ends: (items,) int64: where the records of each item end in rows.
        first: (items,) int64: the first record of each item.
        rows: (n,) int64: records by item; the last ones of each item are left.
        place: (n,) int64: where each record is in rows.
        tuples, kinds: (items,) int64: tuple and kind of each item.
        values: (columns, kinds) int64: sensitive values of each kind.
        begins: (kinds + 1,) int64: the first item of each kind.
        left: (items,) int64: how many records of each item are left.
        number_of: (columns,) int64: different values of each column.
    """

    order: Ints
    item_of: Ints
    ends: Ints
    first: Ints
    rows: Ints
    place: Ints
    tuples: Ints
    kinds: Ints
    values: Ints
    begins: Ints
    left: Ints
    number_of: Ints


class ThresholdGrowth(NamedTuple):
    """What is known of the last cluster of `threshold_steps`.

    Attributes:
        span: (attributes, 4) int64: see `loss`.
        counts: (columns, values) int64: records by value.
        logs: (columns, 1) float64: sum of c log c of these counts.
        sums: (items,) int64: what a record loses once an item has joined.
        candidates: (kinds,) int64: the best item of each kind, -1 for none.
    """

    span: Ints
    counts: Ints
    logs: Floats
    sums: Ints
    candidates: Ints
