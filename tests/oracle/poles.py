"""Dissimilarity trees and DHkmeans, implemented plainly, record by record."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dbanon.encoding.distance import rounded_positions
from dbanon.encoding.encoded_table import EncodedTable, NumericAttribute
from oracle.greedy import LossTable

Point = list[int | None]
"""By attribute: the position of a number, None for NULL; the code of a category."""

Enough = Callable[[list[int]], bool]


class Points:
    """Records of a table without persons as points.

    `pairs` are the same records, `unit` is the loss of an attribute of weight 1.
    """

    def __init__(self, space: EncodedTable, pairs: LossTable, unit: float) -> None:
        self.space, self.pairs, self.unit = space, pairs, unit

    def point(self, record: int) -> Point:
        return self.average([record])

    def average(self, members: Sequence[int]) -> Point:
        """Return means, rounded, and modes."""
        result: Point = []
        for j, attribute in enumerate(self.space.attributes):
            column = [self.pairs.rows[r][j] for r in members]
            if isinstance(attribute, NumericAttribute):
                values = rounded_positions(attribute, self.unit * attribute.weight).tolist()
                known_values = [values[code] for code in column if code < attribute.values]
                result.append(
                    (2 * sum(known_values) + len(known_values)) // (2 * len(known_values)) if known_values else None
                )
            else:
                result.append(max(sorted(set(column)), key=column.count))
        return result

    def distance(self, record: int, point: Point) -> int:
        """Return the integer distance of a record to a point."""
        total = 0
        for j, (attribute, position) in enumerate(zip(self.space.attributes, point, strict=True)):
            code = self.pairs.rows[record][j]
            if isinstance(attribute, NumericAttribute):
                null = code == attribute.values
                if null or position is None:
                    total += 0 if null and position is None else round(self.unit * attribute.weight)
                else:
                    total += abs(int(rounded_positions(attribute, self.unit * attribute.weight)[code]) - position)
            elif code != position:
                total += self.pairs.losses[j]({code, int(str(position))})
        return total


def dissimilarity_tree(points: Points, k: int) -> list[list[int]]:
    """Return the clusters, after swaps."""
    return _tree(points, k, list(range(len(points.pairs.rows))))


def _tree(points: Points, k: int, members: list[int]) -> list[list[int]]:
    """Return the clusters of the members, halved by poles while they have 2k records or more."""
    sides = _poles(points, k, members) if len(members) >= 2 * k else []
    if not sides:
        return [members]
    below = [_tree(points, k, sorted(side)) for side in sides]
    if [len(groups) for groups in below] == [1, 1] and max(len(groups[0]) for groups in below) < 2 * k:
        _swap_records(points.pairs, below[0][0], below[1][0])
    return below[0] + below[1]


def _poles(points: Points, k: int, members: list[int]) -> list[list[int]]:
    """Return the records nearer to either of two far records, with at least k on both sides; [] if all are equal."""

    def pole_distance(record: int, pole: int) -> int:
        return points.pairs.distance(record, pole)

    average = points.average(members)
    center = min(members, key=lambda r: points.distance(r, average))
    one = max(members, key=lambda r: pole_distance(r, center))
    if pole_distance(one, center) == 0:
        return []
    other = max(members, key=lambda r: pole_distance(r, one))
    sides = [[r for r in members if pole_distance(r, one) <= pole_distance(r, other)], []]
    sides[1] = [r for r in members if r not in sides[0]]
    for short, long in (sides, sides[::-1]):
        for r in sorted(long, key=lambda r: abs(pole_distance(r, one) - pole_distance(r, other))):
            if len(short) < k:
                long.remove(r)
                short.append(r)
    return sides


def _swap_records(pairs: LossTable, one: list[int], other: list[int]) -> None:
    """Swap records of two clusters in place while their summed loss falls."""

    def total_loss(first: list[int], second: list[int]) -> int:
        return len(first) * pairs.loss(first) + len(second) * pairs.loss(second)

    if min(len(one), len(other)) < 2:
        return
    for _ in range(min(len(one), len(other))):
        n_attempts = {}
        for a in range(len(one)):
            for b in range(len(other)):
                n_attempts[a, b] = total_loss(
                    [*one[:a], other[b], *one[a + 1 :]], [*other[:b], one[a], *other[b + 1 :]]
                )
        a, b = min(n_attempts, key=lambda swap: (n_attempts[swap], swap))
        if n_attempts[a, b] >= total_loss(one, other):
            return
        one[a], other[b] = other[b], one[a]


def dhkmeans(
    points: Points, k: int, enough: Enough, sensitive: Sequence[Sequence[int]], pairs: int, rounds: int
) -> list[list[int]]:
    """Return the clusters in the deterministic mode; `sensitive`: columns by record."""
    actual_members, queue = [], [list(range(len(points.pairs.rows)))]
    while queue:
        members = queue.pop(0)
        sides = _halves(points, members, sensitive, pairs, rounds) if len(members) >= 2 * k else []
        if sides and all(enough(side) for side in sides):
            queue += sides
        else:
            actual_members.append(members)
    return actual_members


def _halves(
    points: Points, members: list[int], sensitive: Sequence[Sequence[int]], pairs: int, rounds: int
) -> list[list[int]]:
    """Return the two clusters of k-means from the most distant of at most `pairs` pairs."""

    def score(pair: tuple[int, int]) -> float:
        equal_values = [column[pair[0]] == column[pair[1]] for column in sensitive]
        return points.pairs.distance(*pair) / points.unit + (
            sum(equal_values) / len(equal_values) if equal_values else 0.0
        )

    n = len(members)
    tried_values = [(members[i], members[j]) for i in range(n) for j in range(i + 1, n)]
    if len(tried_values) > pairs:
        first = [i * n // pairs for i in range(pairs)]
        tried_values = [(members[i], members[(i + n // 2) % n]) for i in first]
    centers = [points.point(r) for r in max(tried_values, key=score)]
    sides: list[list[int]] = []
    for _ in range(rounds):
        near = [points.distance(r, centers[1]) < points.distance(r, centers[0]) for r in members]
        current_values = [
            [r for r, is_second in zip(members, near, strict=True) if is_second == side] for side in (False, True)
        ]
        if current_values == sides:
            break
        sides = current_values
        centers = [points.average(side) if side else position for side, position in zip(sides, centers, strict=True)]
    return sides
