"""Slow reference implementations of the assign family: every distance and center is recomputed for every record.

Nothing here is shared with the package. Records are in canonical order; the first centers (`seeds`) and the order in
which moved records are dealt are arguments. Centers are lists of one entry per attribute: a position (an integer) of a
number, a node of a tree, None for NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeAlias

from oracle.reference import Attribute, Category, Node, Number, Record, places

Spot: TypeAlias = "int | Node | None"
Center: TypeAlias = list[Spot]

ROUNDS = 30


class SpotTable:
    """Records as positions of numbers and leaves of trees, in units of 2^-s.

    By a project rule, s is the largest for which records * sum of weights * 2^s stays below 2^62.
    """

    def __init__(self, records: Sequence[Record], attributes: Sequence[Attribute], modes: bool) -> None:
        self.attributes, self.modes = attributes, modes
        s = 62 - math.frexp(len(records) * sum(a.weight for a in attributes))[1]
        self.units = [a.weight * 2.0**s for a in attributes]
        columns = []
        for j, attribute in enumerate(attributes):
            column = [record[j] for record in records]
            if isinstance(attribute, Number):
                place = {**places(column, attribute.weight, s), None: None}
                columns.append([place[value] for value in column])
            else:
                columns.append([None if value is None else attribute.tree.leaf(str(value)) for value in column])
        self.spots: list[Center] = [[column[r] for column in columns] for r in range(len(records))]

    def distance(self, record: int, center: Center) -> int:
        """Return the distance of k-member; a NULL is at distance 1 from every value and 0 from a NULL."""
        return self.apart(self.spots[record], center)

    def apart(self, one: Center, other: Center) -> int:
        """Return the distance of two centers."""
        total = 0
        for a, b, unit, attribute in zip(one, other, self.units, self.attributes, strict=True):
            if a == b:
                continue
            if a is None or b is None:
                total += round(unit)
            elif isinstance(attribute, Category):
                height = attribute.tree.hsub(attribute.tree.lca(a, b))  # type: ignore[arg-type]
                total += round(height / attribute.tree.hsub(attribute.tree.root) * unit)
            else:
                total += abs(a - b)  # type: ignore[operator]
        return total

    def center(self, members: Sequence[int]) -> Center:
        """Return means, rounded; modes (ties: the first in leaf order, NULL last) or lowest common ancestors."""
        result: Center = []
        for j, attribute in enumerate(self.attributes):
            column = [self.spots[r][j] for r in members]
            known_spots = [spot for spot in column if spot is not None]
            if isinstance(attribute, Number):
                result.append(
                    (2 * sum(known_spots) + len(known_spots)) // (2 * len(known_spots)) if known_spots else None
                )  # type: ignore[arg-type]
            elif self.modes:
                order: list[Spot] = [attribute.tree.leaf(label) for label in attribute.tree.leaf_order()]
                result.append(max([*order, None], key=column.count))
            elif not known_spots:
                result.append(None)
            elif len(known_spots) < len(column):
                result.append(attribute.tree.root)
            else:
                node = known_spots[0]
                for other in known_spots:
                    node = attribute.tree.lca(node, other)  # type: ignore[arg-type]
                result.append(node)
        return result

    def nearest(self, record: int, centers: Sequence[Center], candidates: Sequence[int]) -> int:
        return min(candidates, key=lambda c: (self.distance(record, centers[c]), c))


def adjust(
    table: SpotTable, clusters: list[list[int]], centers: Sequence[Center], k: int, order: Sequence[int]
) -> None:
    """Apply ADJUST (three-variants paper, Figure 4); of tied farthest records the first is removed."""
    moved_values = set()
    for c, cluster in enumerate(clusters):
        while len(cluster) > k:
            far = max(cluster, key=lambda r: (table.distance(r, centers[c]), -r))
            cluster.remove(far)
            moved_values.add(far)
    for r in order:
        if r in moved_values:
            few_values = [c for c, cluster in enumerate(clusters) if len(cluster) < k]
            clusters[table.nearest(r, centers, few_values or range(len(clusters)))].append(r)


def one_pass_clusters(table: SpotTable, seeds: Sequence[int]) -> tuple[list[list[int]], list[Center]]:
    """Return the clusters of OKA before it adjusts them, and their centers."""
    clusters = [[seed] for seed in seeds]
    centers = [table.center(cluster) for cluster in clusters]
    for r in range(len(table.spots)):
        if r not in seeds:
            c = table.nearest(r, centers, range(len(centers)))
            clusters[c].append(r)
            centers[c] = table.center(clusters[c])
    return clusters, centers


def oka(table: SpotTable, k: int, seeds: Sequence[int], order: Sequence[int]) -> list[list[int]]:
    """Return the clusters of OKA."""
    clusters, centers = one_pass_clusters(table, seeds)
    adjust(table, clusters, centers, k, order)
    return clusters


Assign: TypeAlias = Callable[[list[Center]], list[list[int]]]


def _rounds(
    table: SpotTable, seeds: Sequence[int], assign: Assign, rounds: int = ROUNDS
) -> tuple[list[list[int]], list[Center]]:
    """Repeat until no center changes, the centers recur, or `rounds` rounds are done (Figure 1)."""
    centers = [table.center([seed]) for seed in seeds]
    earlier = [centers]
    while True:
        clusters = assign(centers)
        new = [table.center(cluster) if cluster else old for cluster, old in zip(clusters, centers, strict=True)]
        if new in earlier or len(earlier) == rounds:
            return clusters, centers
        earlier.append(new)
        centers = new


def _to_nearest(table: SpotTable, centers: list[Center]) -> list[list[int]]:
    clusters: list[list[int]] = [[] for _ in centers]
    for r in range(len(table.spots)):
        clusters[table.nearest(r, centers, range(len(centers)))].append(r)
    return clusters


def no1(table: SpotTable, k: int, seeds: Sequence[int], order: Sequence[int]) -> list[list[int]]:
    """Return the clusters of Algorithm No. 1 (three-variants paper, Figure 4)."""

    def assign(centers: list[Center]) -> list[list[int]]:
        clusters = _to_nearest(table, centers)
        adjust(table, clusters, centers, k, order)
        return clusters

    return _rounds(table, seeds, assign)[0]


def no2(table: SpotTable, k: int, seeds: Sequence[int], order: Sequence[int]) -> list[list[int]]:
    """Return the clusters of Algorithm No. 2 (three-variants paper, Figure 3)."""

    def assign(centers: list[Center]) -> list[list[int]]:
        clusters: list[list[int]] = [[] for _ in centers]
        for r in range(len(table.spots)):
            few_values = [c for c, cluster in enumerate(clusters) if len(cluster) < k]
            clusters[table.nearest(r, centers, few_values or range(len(clusters)))].append(r)
        return clusters

    return _rounds(table, seeds, assign)[0]


def kmeans(table: SpotTable, seeds: Sequence[int], rounds: int = ROUNDS) -> tuple[list[list[int]], list[Center]]:
    """Return the clusters of k-means without any adjustment, and the centers that they were formed with."""
    return _rounds(table, seeds, lambda centers: _to_nearest(table, centers), rounds)


def no3(table: SpotTable, k: int, seeds: Sequence[int], order: Sequence[int], rounds: int = ROUNDS) -> list[list[int]]:
    """Return the clusters of Algorithm No. 3 (three-variants paper, Figure 2)."""
    clusters, centers = kmeans(table, seeds, rounds)
    adjust(table, clusters, centers, k, order)
    return clusters


def plus_plus_seeds(table: SpotTable, number: int, draw: Callable[[list[int]], int]) -> list[int]:
    """Return the seeds of k-means++, after a first one that is drawn with equal chances.

    `draw` takes the chances of all records. Once all records lie on seeds, the others are spread evenly over the table.
    """
    everybody = range(len(table.spots))
    seeds = [draw([1 for _ in everybody])]
    while len(seeds) < number:
        near = [min(table.distance(r, table.center([s])) for s in seeds) for r in everybody]
        if not any(near):
            rest = number - len(seeds)
            return seeds + [i * len(near) // rest for i in range(rest)]
        seeds.append(draw([d * d for d in near]))
    return seeds
