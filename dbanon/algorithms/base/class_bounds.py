"""The least and greatest codes of clusters, and the loss of a record in them, for merging and suppressing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.loss import lowest_common_ancestors
from dbanon.encoding.encoded_table import AnyInts, CategoricalAttribute, EncodedTable, Floats, Ints, NumericAttribute


@dataclass(frozen=True)
class ClassBounds:
    """The least and greatest codes of clusters, and their sizes; the code of NULL is greater than that of every value.

    Attributes:
        low: (clusters, attributes) least codes.
        high: (clusters, attributes) greatest codes.
        sizes: (clusters,) number of records.
    """

    low: Ints
    high: Ints
    sizes: Floats

    @classmethod
    def from_members(cls, space: EncodedTable, members: list[Ints]) -> ClassBounds:
        """Return the bounds of clusters, given the canonical row numbers of each. O(rows * attributes)."""
        rows = np.concatenate(members)
        sizes = np.array([len(m) for m in members], np.int64)
        return cls._from_sorted_tuples(space, space.tuple_of[rows], np.cumsum(sizes) - sizes, sizes)

    @classmethod
    def from_labels(cls, space: EncodedTable, runs: RunLengthLabels) -> ClassBounds:
        """Return the bounds of the clusters of runs, ascending by cluster number; suppressed records do not count.

        Numbers that no record has are skipped. O(runs * attributes).
        """
        published = runs.without_suppressed()
        order = np.argsort(published.clusters, kind="stable")
        clusters = published.clusters[order]
        starts = np.flatnonzero(np.append(True, clusters[1:] != clusters[:-1])[: len(clusters)])
        sizes = np.add.reduceat(published.counts[order], starts, dtype=np.int64)
        return cls._from_sorted_tuples(space, published.tuples[order], starts, sizes)

    @classmethod
    def _from_sorted_tuples(cls, space: EncodedTable, tuples: AnyInts, starts: Ints, sizes: Ints) -> ClassBounds:
        """Return the bounds of clusters whose tuples are one after another in `tuples`.

        `starts` is where each cluster begins there, `sizes` its number of records.
        """
        low, high = np.empty((2, len(starts), len(space.attributes)), np.int64)
        for j in range(len(space.attributes)):
            codes = space.codes[:, j][tuples]
            low[:, j], high[:, j] = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
        return cls(low, high, sizes.astype(np.float64))

    def record_losses(self, space: EncodedTable) -> Floats:
        """Return the (clusters,) loss of one record of each cluster, from 0 to the number of attributes.

        Weights do not count (see the function `record_losses`).
        """
        return record_losses(space, self.low, self.high)


def cluster_members(labels: Ints) -> list[Ints]:
    """Return the row numbers of each non-empty cluster, ascending by label; rows with label -1 are in none."""
    order = np.argsort(labels, kind="stable")[int((labels < 0).sum()) :]
    sizes = np.bincount(labels[order]) if len(order) else np.empty(0, np.int64)
    return [m for m in np.split(order, np.cumsum(sizes)[:-1]) if len(m)]


def code_ranges(groups: Ints, codes: AnyInts, n_groups: int) -> tuple[Ints, Ints]:
    """Return the least and the greatest code of each of `n_groups` groups; those of an empty group are meaningless.

    `groups` is the group of each of `codes`.
    """
    low, high = np.full(n_groups, np.iinfo(np.int64).max), np.full(n_groups, -1)
    np.minimum.at(low, groups, codes)
    np.maximum.at(high, groups, codes)
    return low, high


def record_losses(space: EncodedTable, low_codes: Ints, high_codes: Ints) -> Floats:
    """Return the loss of one record in each cluster, from 0 to the number of attributes.

    It is that of the KACPC paper, Eq. 1, without weights. In each attribute a cluster of NULLs alone loses 0, one with
    NULL and values 1. Numbers lose the share of the range; categories the level of the published node over that of the
    root.

    Args:
        space: The encoded table.
        low_codes: (clusters, attributes) least codes.
        high_codes: (clusters, attributes) greatest codes.
    """
    total = np.zeros(len(low_codes))
    for j, attribute in enumerate(space.attributes):
        low, high = low_codes[:, j], high_codes[:, j]
        mixed = (high == attribute.values) & (low < attribute.values)
        none = low == attribute.values
        if isinstance(attribute, NumericAttribute):
            positions = np.append(attribute.positions, 0.0)
            width = attribute.positions[-1] if len(attribute.positions) else 0.0
            loss = (positions[high] - positions[low]) / width if width > 0 else np.zeros(len(low))
        else:
            levels = int(attribute.depth.max()) + 1
            node = np.append(attribute.node, 0)
            depth = attribute.depth[attribute.published_node[lowest_common_ancestors(attribute, node[low], node[high])]]
            leaf = (low == high) & ~attribute.is_inner[node[low]]
            loss = np.where(leaf | (levels == 1), 0.0, (levels - depth - 1) / max(levels - 1, 1))
        total += np.where(none, 0.0, np.where(mixed, 1.0, loss))
    return total


def published_nodes(attribute: CategoricalAttribute, low: Ints, high: Ints, raised_nodes: Ints | None = None) -> Ints:
    """Return the hierarchy node that each cluster publishes for an attribute.

    It is the lowest node that covers the codes from low to high, or the node in `raised_nodes` where that is not -1. A
    node that the attribute's `published_depth_step` does not allow is then replaced by its nearest ancestor that is
    allowed. A code of NULL counts as the root.

    Args:
        attribute: The attribute.
        low: (clusters,) least codes.
        high: (clusters,) greatest codes.
        raised_nodes: (clusters,) node to publish instead, -1 for none; None if there are none at all.
    """
    node = np.append(attribute.node, 0)
    covering = lowest_common_ancestors(attribute, node[low], node[high])
    if raised_nodes is not None:
        covering = np.where(raised_nodes >= 0, raised_nodes, covering)
    return np.asarray(attribute.published_node[covering], np.int64)


def unite_equal_classes(space: EncodedTable, labels: Ints) -> Ints:
    """Return the labels with clusters that publish the same values merged into one; label -1 stays.

    The classes are renumbered from 0.
    """
    bounds = ClassBounds.from_members(space, cluster_members(labels))
    number = class_numbers(space, bounds.low, bounds.high)
    assigned = labels >= 0
    class_labels = labels.copy()
    _, dense = np.unique(labels[assigned], return_inverse=True)
    class_labels[assigned] = number[dense]
    return class_labels


def class_numbers(
    space: EncodedTable, low_codes: Ints, high_codes: Ints, *, are_ends: bool = False, raised_nodes: Ints | None = None
) -> Ints:
    """Return a number for each cluster; clusters that publish the same values have the same number.

    Args:
        space: The encoded table.
        low_codes: (clusters, attributes) the least code of each cluster.
        high_codes: (clusters, attributes) its greatest code.
        are_ends: Whether codes of numeric attributes are already the ranks of published interval ends.
        raised_nodes: (clusters, attributes) the node to publish, if not the lowest that covers the codes; else -1.
    """
    low, high = low_codes.copy(), high_codes.copy()
    for j, attribute in enumerate(space.attributes):
        has_value = low[:, j] < attribute.values
        mixed = has_value & (high[:, j] == attribute.values)
        if isinstance(attribute, CategoricalAttribute):
            nodes = published_nodes(
                attribute, low[:, j], high[:, j], None if raised_nodes is None else raised_nodes[:, j]
            )
            low[has_value, j] = nodes[has_value]
            high[has_value, j] = -1
        elif attribute.ends is not None and not are_ends:
            is_range = has_value & ~mixed
            low[is_range, j], high[is_range, j] = (
                attribute.ends.lower_rank[low[is_range, j]],
                attribute.ends.upper_rank[high[is_range, j]],
            )
        low[~has_value, j], high[~has_value, j] = -2, -2
        star_code = -2 if isinstance(attribute, NumericAttribute) and attribute.with_bare_null else -1
        # NULL among values is published as *, like the root of most hierarchies.
        low[mixed, j], high[mixed, j] = (
            (0, -1) if isinstance(attribute, CategoricalAttribute) else (star_code, star_code)
        )
    _, number = np.unique(np.concatenate((low, high), axis=1), axis=0, return_inverse=True)
    return np.asarray(number, np.int64).reshape(-1)
