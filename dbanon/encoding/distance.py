"""Distances as exact integers, in one row of a table per attribute and value.

Each attribute's distance is rounded once to a multiple of 2^-s, with s the largest for which floor(n/k) times the sum
of the greatest distances stays below 2^62. Sums of distances are then exact, equal sums are equal, and ties go to the
first. Numbers are rounded so that distances add up along the axis: |a - b| whole steps of one rounded length where the
steps are long enough, else the difference of two rounded positions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dbanon.encoding.encoded_table import Attribute, CategoricalAttribute, Codes, EncodedTable, Ints, NumericAttribute

MIN_UNIFORM_STEP = 2**24
"""A step of a numeric attribute that is rounded to fewer units than this is not kept uniform.

Rounding a step relatively by more than 2^-25 would cost more than uneven steps do.
"""


class DistanceTable(Protocol):
    """The distances of one attribute, as integers."""

    def row(self, code: int) -> Ints:
        """Return the (values + 1,) distances of the value with this code to every value by code and, last, to NULL."""


def kacpc_distances(space: EncodedTable, k: int, prune_unused: bool) -> list[DistanceTable]:
    """Return the weighted distances DistN and DistC of the KACPC paper as exact integers, one table per attribute.

    See Wang et al. 2022, Eq. 3-5; their sum over attributes is DistR (Eq. 6). NULL is at distance 1 (before weight and
    scale) from every number, and at the attribute's greatest distance from every category. Building costs O(nodes) per
    attribute, a row O(values).

    Args:
        space: The encoded table.
        k: Least cluster size; the integers are as large as floor(n / k) summed distances below 2^62 allow.
        prune_unused: Whether leaves that do not occur are removed from hierarchies first.
    """
    factories = [_kacpc_factory(a, prune_unused) for a in space.attributes]
    has_null = [bool((space.codes[:, j] == a.values).any()) for j, a in enumerate(space.attributes)]
    total = 0.0
    for attribute, factory, with_null in zip(space.attributes, factories, has_null, strict=True):
        total += factory.max_distance(with_null) * attribute.weight
    total *= space.total // k
    shift = 62 - math.frexp(total)[1] if total > 0 else 0
    return [f.scaled(2.0**shift, with_null) for f, with_null in zip(factories, has_null, strict=True)]


def _kacpc_factory(attribute: Attribute, prune_unused: bool) -> _UnscaledNumeric | _UnscaledCategorical:
    """Return the unscaled distances of an attribute: numeric, or by its hierarchy.

    With `prune_unused`, hierarchy leaves that do not occur are removed first.
    """
    if isinstance(attribute, NumericAttribute):
        return _UnscaledNumeric(attribute)
    return _UnscaledCategorical(attribute.pruned if prune_unused else attribute)


@dataclass(frozen=True)
class _UnscaledNumeric:
    """The distances |a - b| / D of a numeric attribute with range D (Wang et al. 2022, Eq. 3)."""

    attribute: NumericAttribute

    def max_distance(self, with_null: bool) -> float:
        """Return the largest distance that occurs: 1, or 0 if there is only one position and no NULL.

        `with_null` says whether NULL occurs.
        """
        positions = self.attribute.positions
        return 1.0 if with_null or (len(positions) > 1 and positions[-1] > 0) else 0.0

    def scaled(self, scale: float, with_null: bool) -> DistanceTable:
        """Return the distances as integers: multiplied by the attribute's weight and by `scale`, and rounded.

        `with_null` says whether NULL occurs; if not, the distance of NULL is 0.
        """
        unit = self.attribute.weight * scale
        return NumericDistances(rounded_positions(self.attribute, unit), round(unit) if with_null else 0)


def rounded_positions(attribute: NumericAttribute, unit: float) -> Ints:
    """Return the positions of an attribute's values by code, as integers scaled to a range from 0 to about `unit`.

    If positions are whole numbers and steps are long enough (MIN_UNIFORM_STEP), every step has the same rounded length;
    otherwise each position is rounded by itself. All are 0 if there is only one position.
    """
    positions = attribute.positions
    greatest = float(positions[-1]) if len(positions) else 0.0
    if greatest == 0.0:
        return np.zeros(len(positions), np.int64)
    if attribute.integral and greatest < 2**63:
        steps = positions.astype(np.int64)
        divisor = int(np.gcd.reduce(steps))
        steps //= divisor
        step = round(unit / int(steps[-1]))
        if step >= MIN_UNIFORM_STEP:
            return steps * step
        return np.rint(steps / int(steps[-1]) * unit).astype(np.int64)
    return np.rint(positions / greatest * unit).astype(np.int64)


@dataclass(frozen=True)
class NumericDistances:
    """Distances along an axis.

    Attributes:
        positions: (values,) integer position of each code, ascending.
        null: Distance of NULL to any value.
    """

    positions: Ints
    null: int

    def row(self, code: int) -> Ints:
        """Return the (values + 1,) distances of the value with this code to every value by code and, last, to NULL.

        `code` may be the code of NULL, len(positions); NULL is at distance 0 from itself.
        """
        if code == len(self.positions):
            return _null_row(self.null, code)
        return np.append(np.abs(self.positions - self.positions[code]), self.null)


def _null_row(distance: int, values: int) -> Ints:
    """Return the distances of NULL to every value (`distance`) and, last, to NULL itself (0)."""
    return np.append(np.full(values, distance, np.int64), 0)


class _UnscaledCategorical:
    """The distances Dist(a, g) * Dist(b, g) with g the lowest common ancestor (Wang et al. 2022, Eq. 4-5).

    `distance_to_ancestor[g, i]` is Dist(v, g) of a value v whose depth is the i-th of the depths of values;
    `depth_index[code]` is the i of a value.
    """

    def __init__(self, tree: CategoricalAttribute) -> None:
        """Precompute the distance of a value from each of its ancestors, by ancestor and by the depth of the value.

        It is Dist(v, g) of Wang et al. 2022 (Eq. 4), in `distance_to_ancestor`.
        """
        self.tree = tree
        self.subtree_end = subtree_end_codes(tree)
        depths, depth_index = np.unique(tree.depth[tree.node], return_inverse=True)
        self.depths, self.depth_index = depths, np.asarray(depth_index, np.int64).reshape(-1)
        levels = int(tree.depth.max()) + 1
        # Scalar floats: powers of arrays may differ.
        by_depth = np.array(
            [[_unshared_distance(levels, g, depth) for depth in depths.tolist()] for g in range(levels)]
        )
        leaf_share = (tree.leaves / tree.leaves[0])[:, None]
        self.distance_to_ancestor = by_depth.reshape(levels, len(depths))[tree.depth] * leaf_share

    def max_distance(self, with_null: bool) -> float:
        """Return the largest distance of two values that occur.

        If that is 0 and `with_null` (NULL occurs), return 1.
        """
        deepest, second = self._two_deepest_branches()
        branching = np.flatnonzero(second >= 0)
        depth_indexes = (np.searchsorted(self.depths, depths[branching]) for depths in (deepest, second))
        deepest_distance, second_distance = (self.distance_to_ancestor[branching, step] for step in depth_indexes)
        largest = float((deepest_distance * second_distance).max(initial=0.0))
        return largest if largest > 0 or not with_null else 1.0

    def _two_deepest_branches(self) -> tuple[Ints, Ints]:
        """Return the depths of the deepest value below each node, and of the deepest in another branch.

        Both arrays are by node; -1 means none. A value at the node itself counts as a branch.
        """
        tree = self.tree
        deepest, second = np.full((2, len(tree.parent)), -1, np.int64)
        deepest[tree.node] = tree.depth[tree.node]
        for nodes in tree.levels[:0:-1]:
            occupied = nodes[deepest[nodes] >= 0]
            occupied = occupied[np.lexsort((deepest[occupied], tree.parent[occupied]))]
            last_children = np.flatnonzero(np.diff(tree.parent[occupied], append=-1))
            parents, has_others = tree.parent[occupied[last_children]], np.diff(last_children, prepend=-1) > 1
            second[parents] = np.where(has_others, deepest[occupied[last_children - 1]], deepest[parents])
            deepest[parents] = deepest[occupied[last_children]]
        return deepest, second

    def scaled(self, scale: float, with_null: bool) -> DistanceTable:
        """Return the distances as integers: multiplied by the attribute's weight and by `scale`, and rounded.

        `with_null` says whether NULL occurs; if not, the distance of NULL is 0.
        """
        return CategoricalDistances(self, self.tree.weight, scale, with_null)


def _unshared_distance(levels: int, ancestor: int, depth: int) -> float:
    """Return Dist(v, g) of a value v from its ancestor g, without the factor for the share of leaves below g (Eq. 4).

    Args:
        levels: Number of levels of the hierarchy.
        ancestor: Depth of g.
        depth: Depth of v; 0 is returned if it is not below g.
    """
    height = levels - ancestor
    return float(float(height * max(depth - ancestor, 0)) ** (height / levels))


def subtree_end_codes(tree: CategoricalAttribute) -> Ints:
    """Return, by node, the code after the last value in the node's subtree.

    The values of a subtree have consecutive codes.
    """
    return np.searchsorted(tree.node, tree.last, side="right").astype(np.int64)


MAX_CACHED_ENTRIES = 500_000
"""Maximum number of entries of cached rows per attribute."""


class CachedRows(ABC):
    """Distances on one attribute whose rows are computed on first use and cached."""

    def __init__(self) -> None:
        """Begin without cached rows."""
        self._cached_rows: dict[int, Ints] = {}

    def row(self, code: int) -> Ints:
        """Return the (values + 1,) distances of the value with this code to every value by code and, last, to NULL.

        The cached array itself is returned. The cache is emptied when it exceeds MAX_CACHED_ENTRIES entries.
        """
        if code not in self._cached_rows:
            row = self._compute_row(code)
            if len(self._cached_rows) * len(row) > MAX_CACHED_ENTRIES:
                self._cached_rows.clear()
            self._cached_rows[code] = row
        return self._cached_rows[code]

    @abstractmethod
    def _compute_row(self, code: int) -> Ints:
        """Compute the row of a code (see `row`)."""


class CategoricalDistances(CachedRows):
    """Integer distances of a categorical attribute.

    Attributes:
        unscaled: The distances before weight and scale.
        weight, scale: Factors of every distance.
        null: Distance of NULL to any value.
    """

    def __init__(self, unscaled: _UnscaledCategorical, weight: float, scale: float, with_null: bool) -> None:
        """Store the factors, and round the distance of NULL to any value; it is 0 if `with_null` is false."""
        super().__init__()
        self.unscaled = unscaled
        self.weight, self.scale = weight, scale
        self.null = round(unscaled.max_distance(with_null=True) * weight * scale) if with_null else 0

    def _compute_row(self, code: int) -> Ints:
        """Compute the distances of a value to every value by code and, last, to NULL.

        The row is filled along the path from the value to the root: every ancestor adds the values whose lowest common
        ancestor with `code` it is.
        """
        unscaled, tree = self.unscaled, self.unscaled.tree
        if code == tree.values:
            return _null_row(self.null, code)
        node, step = int(tree.node[code]), int(unscaled.depth_index[code])
        row = np.zeros(tree.values + 1, np.int64)
        row[-1] = self.null
        below_from = below_to = code
        for ancestor in tree.path_to_root(node):
            first = int(np.searchsorted(tree.node, ancestor))
            last = int(unscaled.subtree_end[ancestor])
            to_ancestor = unscaled.distance_to_ancestor[ancestor]
            scaled = to_ancestor[step] * to_ancestor * self.weight * self.scale
            row[first:below_from] = np.rint(scaled[unscaled.depth_index[first:below_from]])
            row[below_to:last] = np.rint(scaled[unscaled.depth_index[below_to:last]])
            below_from, below_to = first, last
        return row


def distances_to_tuples(tables: Sequence[DistanceTable], from_codes: Codes, codes: Codes) -> Ints:
    """Return the (n,) distances, summed over attributes, of one tuple to n others.

    Args:
        tables: The distances of each attribute.
        from_codes: (attributes,) codes of the one tuple.
        codes: (n, attributes) codes of the others.
    """
    return sum(
        (row[codes[:, j]] for j, row in enumerate(distance_rows(tables, from_codes))), np.zeros(len(codes), np.int64)
    )


def distance_rows(tables: Sequence[DistanceTable], codes: Sequence[int] | Codes) -> list[Ints]:
    """Return, for each attribute, the distances of one tuple's code to every value by code and, last, to NULL.

    Args:
        tables: The distances of each attribute.
        codes: (attributes,) codes of the tuple.
    """
    return [table.row(int(code)) for table, code in zip(tables, codes, strict=True)]
