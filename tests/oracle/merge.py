"""KACA and KAPP, implemented plainly, class by class."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import reduce
from itertools import count
from operator import add
from typing import TypeAlias

from dbanon.encoding.encoded_table import Attribute, EncodedTable, NumericAttribute
from oracle.greedy import LossTable

Path: TypeAlias = tuple[object, ...]
"""A value as the path of its generalizations, from the root down."""


def kaca(space: EncodedTable, k: int, beta: float, stub: bool = False) -> list[list[int]]:
    """Return the rows of each class; the smallest class below k (ties: the first) is united with the nearest."""
    row = count()
    rows = [[next(row) for _ in range(n)] for n in space.counts.tolist()]
    values = [
        [value_path(a, int(code)) for a, code in zip(space.attributes, codes, strict=True)]
        for codes in space.codes.tolist()
    ]
    classes = dict(enumerate(zip(rows, values, strict=True)))

    def total_loss(value: list[Path]) -> int:
        return sum(path_loss(space, j, path, beta) for j, path in enumerate(value))

    def cost(one: int, other: int) -> int:
        together = total_loss(_common(classes[one][1], classes[other][1]))
        return sum(len(classes[c][0]) * (total_loss(classes[c][1]) - together) for c in (one, other))

    while True:
        small = [c for c in classes if len(classes[c][0]) < k]
        if not small or len(classes) == 1:
            return [sorted(rows) for _, (rows, _) in sorted(classes.items())]
        c = min(small, key=lambda c: (len(classes[c][0]), c))
        other = min((o for o in classes if o != c), key=lambda o: (cost(c, o), o))
        both = _common(classes[c][1], classes[other][1])
        own_part, others = classes[c][0], sorted(classes[other][0])
        if stub and len(others) >= 2 * k - len(own_part):
            needed = k - len(own_part)
            classes[c] = own_part + others[-needed:], both
            classes[other] = others[:-needed], classes[other][1]
        else:
            del classes[max(c, other)]
            classes[min(c, other)] = own_part + others, both


def path_loss(space: EncodedTable, j: int, path: Path, beta: float) -> int:
    """Return what a value saves if it is published as the last node of a path, in place of the root."""
    scale = 2.0 ** (62 - math.frexp(space.total * sum(a.weight for a in space.attributes))[1])
    attribute = space.attributes[j]
    if path[-1] == "NULL":
        return round(attribute.weight * scale)
    levels = max(len(value_path(attribute, c)) for c in range(attribute.values)) if attribute.values else 1
    if not isinstance(attribute, NumericAttribute):
        levels = int(attribute.depth.max()) + 1
    edges = [1 / float(level) ** beta for level in range(1, levels)]
    return round(sum(edges[: len(path) - 1]) / (sum(edges) or 1.0) * (attribute.weight * scale))


def value_path(attribute: Attribute, code: int) -> Path:
    """Return the path of a code from the root; numbers are in blocks of 2^level codes."""
    if code == attribute.values:
        return "*", "NULL"
    if isinstance(attribute, NumericAttribute):
        height = 0
        while 2**height < attribute.values:
            height += 1
        return tuple("*" if level == height else (level, code // 2**level) for level in range(height, -1, -1))
    line = attribute.path_to_root(int(attribute.node[code]))[::-1]
    return "*", *line[1:]


def _common(one: list[Path], other: list[Path]) -> list[Path]:
    """Return the common part of two paths in every attribute."""
    result = []
    for a, b in zip(one, other, strict=True):
        same = [x for x, y in zip(a, b, strict=False) if x == y]
        result.append(a[: len(same)])
    return result


def kapp(
    table: LossTable, values: Sequence[Sequence[int]], k: int, number: int, rounds: int, t: float | None
) -> list[list[int]]:
    """Return the rows of each class.

    `values`: sensitive codes by column and row. Fuzzy centers begin at the first values and those farthest from all
    before.
    """
    everybody = range(len(table.rows))
    points = sorted({tuple(column[r] for column in values) for r in everybody})
    maximums = [max(max(point[s] for point in points), 1) for s in range(len(values))]
    scaled = [[point[s] / maximums[s] for s in range(len(values))] for point in points]
    of_row = [points.index(tuple(column[r] for column in values)) for r in everybody]
    centers = _fuzzy_centers(scaled, [of_row.count(i) for i in range(len(points))], min(number, len(points)), rounds)
    distance_squares = [[_squared_distance(point, center) for center in centers] for point in scaled]
    cluster = [distance_squares[i].index(min(distance_squares[i])) for i in of_row]
    remaining_people, classes = set(everybody), []
    whole_counts = [cluster.count(c) for c in range(len(centers))]
    taken_counts = [0] * len(centers)
    while len(remaining_people) >= k:
        begins = max(range(len(centers)), key=lambda c: (sum(cluster[r] == c for r in remaining_people), -c))
        seed = min(
            (r for r in remaining_people if cluster[r] == begins),
            key=lambda r: (min(distance_squares[of_row[r]]), r),
        )
        remaining_people.remove(seed)
        taken_counts[begins] += 1
        actual_values = [seed]
        while len(actual_values) < k:
            present_values = {cluster[r] for r in remaining_people}
            behind = min(present_values, key=lambda c: (Fraction(2 * taken_counts[c] + 1, whole_counts[c]), c))
            sample_values = [r for r in remaining_people if cluster[r] == behind]
            actual_values.append(min(sample_values, key=lambda r: (table.distance(seed, r), r)))
            remaining_people.remove(actual_values[-1])
            taken_counts[behind] += 1
        classes.append(actual_values)
    for r in sorted(remaining_people):
        growth = [(len(c) + 1) * table.loss([*c, r]) - len(c) * table.loss(c) for c in classes]
        classes[growth.index(min(growth))].append(r)
    if t is not None:
        _merge_until_close(table, values, classes, t)
    return [sorted(c) for c in classes if c]


def _merge_until_close(table: LossTable, values: Sequence[Sequence[int]], classes: list[list[int]], t: float) -> None:
    """Merge classes farther than t from the table, in place, each with the one of least joint loss that helps."""

    def deviation(rows: Sequence[int]) -> float:
        total = 0.0
        for column in values:
            for v in set(column):
                share = sum(column[r] == v for r in rows) / len(rows)
                total += abs(share - column.count(v) / len(column)) / 2
        return total

    for c, rows in enumerate(classes):
        while rows and deviation(rows) > t + 1e-12:
            others = [o for o, other in enumerate(classes) if other and o != c]
            if not others:
                break
            after = {o: deviation([*rows, *classes[o]]) for o in others}
            helpful = [o for o in others if after[o] < deviation(rows) - 1e-12]
            helpful = helpful or [o for o in others if after[o] <= min(after.values()) + 1e-12]
            nearest = min(helpful, key=lambda o: (table.loss([*rows, *classes[o]]), o))
            rows += classes[nearest]
            classes[nearest].clear()


def _sum_in_order(numbers: Iterable[float]) -> float:
    """Add one after another: `sum` compensates for rounding from some version of Python on."""
    return reduce(add, numbers, 0.0)


def _squared_distance(point: Sequence[float], center: Sequence[float]) -> float:
    """Return the squared distance."""
    return _sum_in_order((a - b) * (a - b) for a, b in zip(point, center, strict=True))


def _fuzzy_centers(points: list[list[float]], counts: list[int], number: int, rounds: int) -> list[list[float]]:
    """Return the centers of fuzzy c-means of weighted points."""
    centers = [points[0]]
    while len(centers) < number:
        distance_minimums = [min(_squared_distance(point, center) for center in centers) for point in points]
        centers.append(points[distance_minimums.index(max(distance_minimums))])
    for _ in range(rounds):
        near = [[1 / max(_squared_distance(point, center), 2.0**-60) for center in centers] for point in points]
        moved_values = []
        for c in range(number):
            weights = []
            for parts, n in zip(near, counts, strict=True):
                share = parts[c] / _sum_in_order(parts)
                weights.append(n * (share * share))
            axes = [[p[s] * w for p, w in zip(points, weights, strict=True)] for s in range(len(points[0]))]
            moved_values.append([_sum_in_order(axis) / _sum_in_order(weights) for axis in axes])
        pairs = [p for one, other in zip(moved_values, centers, strict=True) for p in zip(one, other, strict=True)]
        still = all(abs(a - b) <= 2.0**-20 for a, b in pairs)
        centers = moved_values
        if still:
            break
    return centers
