"""Information loss as exact integers: the loss of one record in a cluster, and the increase when a record joins.

The loss of a record is a sum over attributes. A number loses the range of the cluster over the range of the whole
table. A category loses the height of the published node (the lowest common ancestor, raised where `coarsen` asks) over
that of the root. The heights are those of k-member ("edges": down to the deepest leaf), shares of leaves ("leaves":
NCP) or of the values that occur ("used"), those of KACPC ("top": levels from the root down, 0 for a leaf), or a
weighted mean of several. A cluster that mixes NULL and values loses all of an attribute, one of NULLs nothing. Every
term is rounded once to a multiple of 2^-s, so that equal losses are equal.
"""

import math
from dataclasses import dataclass

import numpy as np

from dbanon.encoding.distance import CachedRows, DistanceTable, NumericDistances, rounded_positions, subtree_end_codes
from dbanon.encoding.encoded_table import (
    AnyInts,
    Attribute,
    CategoricalAttribute,
    Codes,
    EncodedTable,
    Floats,
    Ints,
    NumericAttribute,
)

Heights = str | tuple[tuple[str, float], ...]
"""How the height of a hierarchy node is measured: "edges", "leaves", "used" or "top", or several of them with weights
that sum to 1."""

MAX_TABLE_VALUES = 256
"""A hierarchy of at most so many values has a table of the losses of all pairs."""


def leaf_heights(leaves: str) -> str:
    """Return how NCP measures the height of hierarchy nodes; `leaves` is the parameter: all or used."""
    return "used" if leaves == "used" else "leaves"


@dataclass(frozen=True)
class LossTerm:
    """The loss on one attribute, as integers.

    Attributes:
        attribute: The attribute.
        unit: The greatest loss.
        places: (values,) positions of a number's codes; empty for a category.
        height: (nodes,) loss of a cluster with each node as its lowest common ancestor; empty for a number.
        last: (nodes,) the code after the last value in the subtree of each node; empty for a number.
    """

    attribute: Attribute
    unit: int
    places: Ints
    height: Ints
    last: Ints

    def losses(self, low: AnyInts, high: AnyInts) -> Ints:
        """Return the (clusters,) loss of one record in clusters with these least and greatest codes.

        A cluster of NULLs alone loses 0, one with NULL and values `unit`.
        """
        values = self.attribute.values
        none, mixed = low == values, (high == values) & (low < values)
        if isinstance(self.attribute, CategoricalAttribute):
            node = np.append(self.attribute.node, 0)
            losses = self.height[lowest_common_ancestors(self.attribute, node[low], node[high])]
        else:
            positions = np.append(self.places, 0)
            losses = positions[high] - positions[low]
        return np.where(none, 0, np.where(mixed, self.unit, losses))

    def pair_losses(self) -> Ints | None:
        """Return a (values + 1, values + 1) table of the losses of clusters of two codes, NULL last.

        It is None if there are more than MAX_TABLE_VALUES values.
        """
        if self.attribute.values > MAX_TABLE_VALUES:
            return None
        low, high = np.meshgrid(*[np.arange(self.attribute.values + 1)] * 2, indexing="ij")
        return self.losses(np.minimum(low, high).ravel(), np.maximum(low, high).ravel()).reshape(low.shape)


class Loss:
    """The information loss of the records of an encoded table, as integers.

    `heights` says how the height of a hierarchy node is measured (see `Heights`). `unit` is the greatest loss on an
    attribute of weight 1. Sums of 2k + 1 losses, and of n / k losses, stay below 2^62.
    """

    def __init__(self, space: EncodedTable, k: int, heights: Heights) -> None:
        """Scale the losses so that sums of 2k + 1 of them, and of n / k, stay below 2^62.

        Args:
            space: The encoded table.
            k: Least number of records of a cluster.
            heights: How the height of a hierarchy node is measured.
        """
        total = sum(a.weight for a in space.attributes) * max(2 * k + 1, space.total // k)
        shift = 62 - math.frexp(total)[1] if total > 0 else 0
        self.unit = 2.0**shift
        self.terms = [_loss_term(a, self.unit, heights) for a in space.attributes]

    def record_losses(self, low: Ints, high: Ints) -> Ints:
        """Return the (clusters,) loss of one record, summed over attributes, in clusters with given bounds.

        `low` and `high` are (clusters, attributes) least and greatest codes. Losses are integers.
        """
        return sum(
            (term.losses(low[:, j], high[:, j]) for j, term in enumerate(self.terms)), np.zeros(len(low), np.int64)
        )

    def pair_tables(self, space: EncodedTable) -> list[DistanceTable]:
        """Return, for each attribute, the loss of a cluster of two records as a distance of their codes.

        A numeric attribute without NULL gives distances along an axis; others give tables, since what a cluster of NULL
        and values loses is no distance to an interval.
        """
        return [
            NumericDistances(term.places, term.unit)
            if isinstance(term.attribute, NumericAttribute) and (codes < term.attribute.values).all()
            else PairLosses(term)
            for term, codes in zip(self.terms, space.codes.T, strict=True)
        ]


class PairLosses(CachedRows):
    """Distances on one attribute: the loss of a cluster of two values."""

    def __init__(self, term: LossTerm) -> None:
        """Store the loss on the attribute."""
        super().__init__()
        self.term = term

    def _compute_row(self, code: int) -> Ints:
        """Compute the (values + 1,) loss of the value with every value by code and, last, with NULL.

        It is 0 with itself and the greatest loss for NULL with a value.
        """
        values = self.term.attribute.values
        row = np.full(values + 1, self.term.unit)
        if code < values:
            row[:-1] = self._to_values(code)
        row[code] = 0
        return row

    def _to_values(self, code: int) -> Ints:
        """Return the (values,) loss of the value with every value by code, without NULL."""
        term, tree = self.term, self.term.attribute
        if isinstance(tree, NumericAttribute):
            return np.asarray(np.abs(term.places - term.places[code]), np.int64)
        # Lower ancestors are written later, so each value gets its lowest common ancestor.
        row = np.empty(tree.values, np.int64)
        for node in reversed(tree.path_to_root(int(tree.node[code]))):
            row[np.searchsorted(tree.node, node) : term.last[node]] = term.height[node]
        return row


def _loss_term(attribute: Attribute, scale: float, heights: Heights) -> LossTerm:
    """Return the loss on one attribute, whose greatest loss is its weight times `scale`, rounded.

    `heights` says how the height of a hierarchy node is measured.
    """
    unit = attribute.weight * scale
    nothing = np.zeros(0, np.int64)
    if isinstance(attribute, NumericAttribute):
        return LossTerm(attribute, round(unit), rounded_positions(attribute, unit), nothing, nothing)
    height = np.rint(height_shares(attribute, heights)[attribute.published_node] * unit).astype(np.int64)
    return LossTerm(attribute, round(unit), nothing, height, subtree_end_codes(attribute))


def height_shares(tree: CategoricalAttribute, heights: Heights) -> Floats:
    """Return the height of each node over that of the root, by node; leaves have 0.

    `heights` is "leaves" (share of all leaves below), "used" (share of the values below), "top" (1 - depth / greatest
    depth) or "edges" (edges down to the deepest leaf; also for any other text), or some of these with their weights.
    """
    if not isinstance(heights, str):
        return np.asarray(sum(weight * height_shares(tree, kind) for kind, weight in heights))
    if heights == "leaves":
        return np.where(tree.is_inner, tree.leaves / tree.leaves[0], 0.0)
    if heights == "used":
        return np.where(tree.is_inner, tree.used_leaves / max(int(tree.used_leaves[0]), 1), 0.0)
    if heights == "top":
        return np.where(tree.is_inner, 1 - tree.depth / max(int(tree.depth.max()), 1), 0.0)
    return np.asarray(tree.height / max(int(tree.height[0]), 1))


def lowest_common_ancestors(tree: CategoricalAttribute, first: Codes, last: Codes) -> Ints:
    """Return the lowest common ancestor in the hierarchy of each pair first[i], last[i] of nodes. O(pairs * depth)."""
    parent, depth = tree.parent, tree.depth
    first_node, last_node = first.astype(np.int64), last.astype(np.int64)
    for _ in range(2 * int(depth.max()) + 1):
        differs = first_node != last_node
        if not differs.any():
            break
        raise_first = differs & (depth[first_node] >= depth[last_node])
        raise_last = differs & ~raise_first
        first_node = np.where(raise_first, parent[first_node], first_node)
        last_node = np.where(raise_last, parent[last_node], last_node)
    return first_node


def distance_sums_to_all(space: EncodedTable) -> Ints:
    """Return the distance of each tuple to all records of the table together, as exact integers.

    It is the weighted distance of the k-member paper, in units of the loss of `Loss(space, 1, "edges")`. O(tuples *
    attributes + nodes * levels) time.
    """
    total = np.zeros(len(space.counts), np.int64)
    for j, term in enumerate(Loss(space, 1, "edges").terms):
        codes = space.codes[:, j]
        records = np.bincount(codes, weights=space.counts, minlength=term.attribute.values + 1).astype(np.int64)
        attribute, null = term.attribute, int(records[-1])
        value_sums = (
            _tree_sums(term, attribute, records[:-1])
            if isinstance(attribute, CategoricalAttribute)
            else _axis_sums(term, records[:-1])
        )
        total += np.append(value_sums + null * term.unit, (space.rows - null) * term.unit)[codes]
    return total


def _axis_sums(term: LossTerm, records: Ints) -> Ints:
    """Return, for each value of a number, the sum of |a - b| to all records with a value.

    Args:
        term: The loss on the attribute, whose `places` are the positions a and b.
        records: (values,) number of records with each value, without NULL.
    """
    n_before, sum_below = np.cumsum(records) - records, np.cumsum(records * term.places) - records * term.places
    n_from_here = int(records.sum()) - n_before
    sum_from_here = int((records * term.places).sum()) - sum_below
    return np.asarray(term.places * (n_before - n_from_here) + sum_from_here - sum_below, np.int64)


def _tree_sums(term: LossTerm, tree: CategoricalAttribute, records: Ints) -> Ints:
    """Return, for each category, the summed heights of the lowest common ancestors with all records with a value.

    The height is the loss of a cluster that has the node as its lowest common ancestor.

    Args:
        term: The loss on the attribute, with the height of each node.
        tree: The hierarchy of the attribute.
        records: (values,) number of records with each value, without NULL.
    """
    node_records = np.zeros(len(tree.parent), np.int64)
    node_records[tree.node] = records
    cumulative = np.cumsum(node_records)
    subtree_records = cumulative[tree.last] - cumulative + node_records
    sum_outside = np.zeros(len(tree.parent), np.int64)
    for nodes in tree.levels[1:]:
        parents = tree.parent[nodes]
        sum_outside[nodes] = sum_outside[parents] + term.height[parents] * (
            subtree_records[parents] - subtree_records[nodes]
        )
    node = tree.node
    return np.asarray(sum_outside[node] + term.height[node] * (subtree_records[node] - node_records[node]), np.int64)
