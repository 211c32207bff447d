"""The algorithms that the papers only name, implemented plainly, record by record or set by set."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from dbanon.encoding.encoded_table import EncodedTable, NumericAttribute
from oracle.greedy import LossTable
from oracle.merge import Path, path_loss, value_path

Clusters = list[list[int]]


def r_cellular(table: LossTable, k: int) -> Clusters:
    """Take the smallest ball of k remaining records, again and again; leftovers join where size * radius grows."""
    everybody = range(len(table.rows))
    apart = [[table.distance(a, b) for b in everybody] for a in everybody]
    remaining, balls = list(everybody), []
    while len(remaining) >= k:
        best = min((sorted((apart[c][r], r) for r in remaining)[k - 1][0], c) for c in remaining)
        members = [r for _, r in sorted((apart[best[1]][r], r) for r in remaining)[:k]]
        balls.append([best[0], best[1], members])
        remaining = [r for r in remaining if r not in members]
    for r in remaining:
        growth = [(len(members) + 1) * max(radius, apart[c][r]) - len(members) * radius for radius, c, members in balls]
        ball = balls[growth.index(min(growth))]
        ball[0] = max(ball[0], apart[ball[1]][r])
        ball[2].append(r)
    return [members for _, _, members in balls]


def kl_member(table: LossTable, values: Sequence[int], k: int, l: int) -> Clusters:  # noqa: E741
    """Take the cheapest record with a new value while some of `l` are lacking, then the cheapest one until k."""
    remaining, clusters, reference = list(range(len(table.rows))), [], 0
    while len(remaining) >= k:
        seed = max(remaining, key=lambda r: (table.distance(reference, r), -r))
        cluster = [seed]
        while len(cluster) < k or len({values[r] for r in cluster}) < l:
            candidates = [r for r in remaining if r not in cluster]
            if len({values[r] for r in cluster}) < l:
                candidates = [r for r in candidates if values[r] not in {values[c] for c in cluster}]
            if not candidates:
                break
            cluster.append(min(candidates, key=lambda r: (table.loss([*cluster, r]), r)))
        else:
            reference = seed
            clusters.append(cluster)
            remaining = [r for r in remaining if r not in cluster]
            continue
        break
    for r in remaining if clusters else []:
        growth = [(len(c) + 1) * table.loss([*c, r]) - len(c) * table.loss(c) for c in clusters]
        clusters[growth.index(min(growth))].append(r)
    return clusters or [remaining]


def k_similar(table: LossTable, k: int) -> Clusters:
    """Cut the longest edges of the shortest tree over all different records while both sides have k records."""
    first = {row: r for r, row in reversed(list(enumerate(table.rows)))}
    points = sorted(first.values())
    connected, edges = [points[0]], []
    while len(connected) < len(points):
        outside = [p for p in points if p not in connected]
        nearest = {p: min(table.distance(c, p) for c in connected) for p in outside}
        added = min(outside, key=lambda p: (nearest[p], p))
        above = next(c for c in connected if table.distance(c, added) == nearest[added])
        edges.append((above, added))
        connected.append(added)

    def side(start: int, kept: Sequence[tuple[int, int]]) -> set[int]:
        found = {start}
        while more := {b for a, b in [*kept, *((b, a) for a, b in kept)] if a in found} - found:
            found |= more
        return {r for r, row in enumerate(table.rows) if first[row] in found}

    kept_edges = list(edges)
    for edge in sorted(edges, key=lambda e: (-table.distance(*e), edges.index(e))):
        others = [e for e in kept_edges if e != edge]
        if all(len(side(end, others)) >= k for end in edge):
            kept_edges = others
    return [list(c) for c in {tuple(sorted(side(p, kept_edges))) for p in points}]


def fmdav(space: EncodedTable, table: LossTable, k: int, bits: int) -> Clusters:
    """Cluster as MDAV, on vectors of numbers and indicators, with exact averages."""
    vectors = [_vector(space, table, r, bits) for r in range(len(table.rows))]

    def distance(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
        weights = _weights(space, table, bits)
        return sum((w * (x - y) ** 2 for w, x, y in zip(weights, a, b, strict=True)), Fraction(0))

    remaining, clusters = list(range(len(vectors))), []

    def take(center: int) -> None:
        nonlocal remaining
        near = sorted(remaining, key=lambda r: (distance(vectors[center], vectors[r]), r))
        clusters.append(near[:k])
        remaining = sorted(near[k:])

    def farthest(vector: Sequence[Fraction]) -> int:
        return max(remaining, key=lambda r: (distance(vector, vectors[r]), -r))

    while len(remaining) >= 2 * k:
        average = [sum(column) / len(remaining) for column in zip(*(vectors[r] for r in remaining), strict=True)]
        seed = farthest(average)
        take(seed)
        if len(remaining) >= 2 * k:
            take(farthest(vectors[seed]))
    return [*clusters, remaining]


def _weights(space: EncodedTable, table: LossTable, bits: int) -> list[Fraction]:
    """Return the weight of each coordinate of `_vector`: 1 for numbers, half of the unit for indicators."""
    weights: list[Fraction] = []
    for j, a in enumerate(space.attributes):
        half = Fraction(round(a.weight * 2.0 ** (2 * bits - 1)))
        column = {row[j] for row in table.rows}
        if isinstance(a, NumericAttribute):
            weights += [Fraction(1)] + [half] * 2 * (a.values in column)
        else:
            weights += [half] * (a.values + 1)
    return weights


def _vector(space: EncodedTable, table: LossTable, r: int, bits: int) -> list[Fraction]:
    """Return the coordinates of a record: scaled numbers, and indicators of categories and of NULL."""
    vector: list[Fraction] = []
    for j, a in enumerate(space.attributes):
        code, column = table.rows[r][j], [row[j] for row in table.rows]
        if not isinstance(a, NumericAttribute):
            vector += [Fraction(int(code == c)) for c in range(a.values + 1)]
            continue

        def place(code: int, a: NumericAttribute = a) -> int:
            width = float(a.positions[-1])
            return round(float(a.positions[code]) / width * (math.sqrt(a.weight) * 2.0**bits)) if width > 0 else 0

        known = [place(c) for c in column if c < a.values]
        vector.append(Fraction(place(code) if code < a.values else sum(known) // max(len(known), 1)))
        if a.values in column:
            vector += [Fraction(int(code == a.values)), Fraction(int(code < a.values))]
    return vector


class Paths:
    """The values of each record as paths from the root, for recodings that publish a part of each path."""

    def __init__(self, space: EncodedTable, table: LossTable) -> None:
        self.space, self.n_records = space, len(table.rows)
        self.paths = [[value_path(a, row[j]) for row in table.rows] for j, a in enumerate(space.attributes)]
        self.first: list[dict[Path, int]] = []
        for a in space.attributes:
            first: dict[Path, int] = {}
            for code in range(a.values + 1):
                path = value_path(a, code)
                for length in range(1, len(path) + 1):
                    first.setdefault(path[:length], code)
            self.first.append(first)

    def order(self, j: int, node: Path) -> tuple[int, int]:
        """Return the position of a node in preorder."""
        return self.first[j][node], len(node)

    def saved(self, j: int, node: Path) -> int:
        """Return what a record saves with this node in place of the root."""
        return path_loss(self.space, j, node, 0.0)

    def classes(self, nodes: list[list[Path]]) -> list[tuple[Path, ...]]:
        """Return the class of every record."""
        return list(zip(*nodes, strict=True))

    def partition(self, nodes: list[list[Path]]) -> Clusters:
        """Return the records of each class."""
        classes = self.classes(nodes)
        return [[r for r, c in enumerate(classes) if c == one] for one in dict.fromkeys(classes)]

    def least(self, nodes: list[list[Path]]) -> int:
        """Return the size of the smallest class."""
        return min(Counter(self.classes(nodes)).values())


def bottom_up_generalization(space: EncodedTable, table: LossTable, k: int) -> Clusters:
    """Replace present children by their parent where loss over gained records is least, until all classes have k."""
    paths = Paths(space, table)
    nodes = [list(column) for column in paths.paths]
    while paths.least(nodes) < k:
        costs = []
        for j, column in enumerate(nodes):
            for parent in {n[:-1] for n in column if len(n) > 1}:
                below = [n for n in column if n[: len(parent)] == parent and n != parent]
                if any(n[:-1] != parent for n in below):
                    continue
                after = [*nodes[:j], [parent if n[: len(parent)] == parent else n for n in column], *nodes[j + 1 :]]
                loss = sum(paths.saved(j, n) - paths.saved(j, parent) for n in below)
                gain = paths.least(after) - paths.least(nodes)
                costs.append((loss / gain if gain > 0 else float(loss), j, paths.order(j, parent), after))
        if not costs:
            return [list(range(paths.n_records))]
        nodes = min(costs, key=lambda c: c[:3])[3]
    return paths.partition(nodes)


def tds(space: EncodedTable, table: LossTable, k: int) -> Clusters:
    """Replace nodes by their children where saved loss over lost records is greatest, while all classes have k."""
    paths = Paths(space, table)
    nodes = [[("*",)] * paths.n_records for _ in space.attributes]
    while True:
        best, best_key = None, None
        for j, column in enumerate(nodes):
            for node in set(column):
                children = [p[: len(node) + 1] if n == node else n for n, p in zip(column, paths.paths[j], strict=True)]
                after = [*nodes[:j], children, *nodes[j + 1 :]]
                if children == column or paths.least(after) < k:
                    continue
                saved = sum(paths.saved(j, c) - paths.saved(j, node) for c, n in zip(children, column, strict=True)
                            if n == node and c != n)  # fmt: skip
                score = float(saved) / (1 + paths.least(nodes) - paths.least(after))
                key = (-score, j, paths.order(j, node))
                if best_key is None or key < best_key:
                    best, best_key = after, key
        if best is None:
            return paths.partition(nodes)
        nodes = best


def least_discernibility(table: LossTable, k: int, max_suppressed: int) -> int:
    """Return the least cost of all sets of cuts between neighbouring values."""
    columns = [sorted({row[j] for row in table.rows}) for j in range(len(table.rows[0]))]
    cuts = [(j, value) for j, column in enumerate(columns) for value in column[1:]]
    n, costs = len(table.rows), []
    for size in range(len(cuts) + 1):
        for chosen in itertools.combinations(cuts, size):
            classes = Counter(tuple(row[j] >= value for j, value in chosen) for row in table.rows)
            if sum(size for size in classes.values() if size < k) <= max_suppressed:
                costs.append(sum(size * (size if size >= k else n) for size in classes.values()))
    return min(costs)
