"""Clusters as extents of codes, and the loss of a record in them: what merging and leaving out are judged by."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.loss import common
from dbanon.encoding.encoded_table import AnyInts, CategoricalAttribute, EncodedTable, Floats, Ints, NumericAttribute


@dataclass(frozen=True)
class Extents:
    """Least and greatest codes of clusters (clusters, attributes), and their numbers of records (clusters,)."""

    low: Ints
    high: Ints
    sizes: Floats

    @classmethod
    def of(cls, space: EncodedTable, members: list[Ints]) -> Extents:
        """Return the extents of clusters of canonical rows. O(rows * attributes)."""
        rows = np.concatenate(members)
        sizes = np.array([len(m) for m in members], np.int64)
        return cls._of(space, space.tuple_of[rows], np.cumsum(sizes) - sizes, sizes)

    @classmethod
    def of_runs(cls, space: EncodedTable, runs: Runs) -> Extents:
        """Return the extents of the clusters of runs, by their numbers. O(runs * attributes)."""
        kept = runs.kept()
        order = np.argsort(kept.clusters, kind="stable")
        clusters = kept.clusters[order]
        starts = np.flatnonzero(np.append(True, clusters[1:] != clusters[:-1])[: len(clusters)])
        sizes = np.add.reduceat(kept.counts[order], starts, dtype=np.int64)
        return cls._of(space, kept.tuples[order], starts, sizes)

    @classmethod
    def _of(cls, space: EncodedTable, tuples: AnyInts, starts: Ints, sizes: Ints) -> Extents:
        """Return the extents of clusters of tuples, one after another."""
        low, high = np.empty((2, len(starts), len(space.attributes)), np.int64)
        for j in range(len(space.attributes)):
            codes = space.codes[:, j][tuples]
            low[:, j], high[:, j] = np.minimum.reduceat(codes, starts), np.maximum.reduceat(codes, starts)
        return cls(low, high, sizes.astype(np.float64))

    def losses(self, space: EncodedTable) -> Floats:
        """Return the loss of a record of each cluster: 0 to the number of attributes."""
        return losses(space, self.low, self.high)


def members(labels: Ints) -> list[Ints]:
    """Return rows of each cluster in the order of the labels; rows of label -1 are in none."""
    order = np.argsort(labels, kind="stable")[int((labels < 0).sum()) :]
    sizes = np.bincount(labels[order]) if len(order) else np.empty(0, np.int64)
    return [m for m in np.split(order, np.cumsum(sizes)[:-1]) if len(m)]


def losses(space: EncodedTable, first: Ints, last: Ints) -> Floats:
    """Loss of a record (KACPC paper, Eq. 1, weights aside) in clusters of the codes first to last (clusters,
    attributes)."""
    total = np.zeros(len(first))
    for j, attribute in enumerate(space.attributes):
        low, high = first[:, j], last[:, j]
        mixed = (high == attribute.values) & (low < attribute.values)
        none = low == attribute.values
        if isinstance(attribute, NumericAttribute):
            positions = np.append(attribute.positions, 0.0)
            width = attribute.positions[-1] if len(attribute.positions) else 0.0
            loss = (positions[high] - positions[low]) / width if width > 0 else np.zeros(len(low))
        else:
            levels = int(attribute.depth.max()) + 1
            node = np.append(attribute.node, 0)
            depth = attribute.depth[attribute.published_node[common(attribute, node[low], node[high])]]
            leaf = (low == high) & ~attribute.is_inner[node[low]]
            loss = np.where(leaf | (levels == 1), 0.0, (levels - depth - 1) / max(levels - 1, 1))
        total += np.where(none, 0.0, np.where(mixed, 1.0, loss))
    return total


def published_nodes(attribute: CategoricalAttribute, low: Ints, high: Ints, raised_nodes: Ints | None = None) -> Ints:
    """Return the node that each cluster of the codes low to high publishes: the lowest that covers these, or that in
    `raised_nodes` where it is not -1; of a code of NULL the root counts."""
    node = np.append(attribute.node, 0)
    covering = common(attribute, node[low], node[high])
    if raised_nodes is not None:
        covering = np.where(raised_nodes >= 0, raised_nodes, covering)
    return np.asarray(attribute.published_node[covering], np.int64)


def united(space: EncodedTable, labels: Ints) -> Ints:
    """Return the labels with clusters that publish the same values made one; label -1 stays."""
    extents = Extents.of(space, members(labels))
    number = classes(space, extents.low, extents.high)
    assigned = labels >= 0
    numbered = labels.copy()
    _, dense = np.unique(labels[assigned], return_inverse=True)
    numbered[assigned] = number[dense]
    return numbered


def classes(
    space: EncodedTable, first: Ints, last: Ints, *, are_ends: bool = False, raised_nodes: Ints | None = None
) -> Ints:
    """Return numbers of clusters of the codes first to last (clusters, attributes), equal where they publish the same.

    `are_ends`: of numbers these are ranks of published ends already; `raised_nodes`: what is published instead, or -1.
    """
    low, high = first.copy(), last.copy()
    for j, attribute in enumerate(space.attributes):
        known = low[:, j] < attribute.values
        mixed = known & (high[:, j] == attribute.values)
        if isinstance(attribute, CategoricalAttribute):
            nodes = published_nodes(
                attribute, low[:, j], high[:, j], None if raised_nodes is None else raised_nodes[:, j]
            )
            low[known, j] = nodes[known]
            high[known, j] = -1
        elif attribute.ends is not None and not are_ends:
            whole = known & ~mixed
            low[whole, j], high[whole, j] = (
                attribute.ends.lower_rank[low[whole, j]],
                attribute.ends.upper_rank[high[whole, j]],
            )
        low[~known, j], high[~known, j] = -2, -2
        shown = -2 if isinstance(attribute, NumericAttribute) and attribute.with_bare_null else -1
        # NULL among values is published as *, and so is the root of most hierarchies.
        low[mixed, j], high[mixed, j] = (0, -1) if isinstance(attribute, CategoricalAttribute) else (shown, shown)
    _, number = np.unique(np.concatenate((low, high), axis=1), axis=0, return_inverse=True)
    return np.asarray(number, np.int64).reshape(-1)
