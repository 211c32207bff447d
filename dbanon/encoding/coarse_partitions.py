"""Coarse cells of a space: halves of halves, for tables that are too large to be clustered as one."""

from collections.abc import Callable, Sequence

import numpy as np

from dbanon.encoding.encoded_table import Attribute, Ints, Number, Space, Whole

UNEVEN = 8
"""A cut after which one side has fewer than this part of the tuples is made only where there is no other."""


def cells(space: Space, most: int, enough: Callable[[Ints], bool]) -> list[Ints]:
    """Return the tuples of cells of at most `most` tuples, as far as both sides of a cut are `enough`.

    A cell is cut between the two values of an attribute that are nearest to its median tuple; of a category between two
    subtrees of the lowest common ancestor; where there is NULL beside values, before NULL. It is cut at the attribute
    that this narrows most: width, less the average width of the sides (numbers: share of the range; categories: share
    of the leaves below the lowest common ancestor; NULL beside values: all; times the weight). A flat hierarchy is
    narrowed by cuts that leave one value only, so it is cut last. Cells go by first codes, ties to the earlier
    attribute and the earlier cut: nothing but codes decides, and what `enough` says. O(n log n) time, O(n) memory.
    """
    done, waiting = [], [np.arange(len(space.codes))]
    while waiting:
        tuples = waiting.pop()
        sides = _cut(space, tuples, enough) if len(tuples) > most else []
        if sides:
            waiting += reversed(sides)
        else:
            done.append(tuples)
    return done


def _cut(space: Space, tuples: Ints, enough: Callable[[Ints], bool]) -> list[Ints]:
    """Return the sides of the best cut whose sides are enough; none if there is none."""
    codes = space.codes[tuples]
    for j, begin in cuts(space.attributes, [_values(codes[:, j]) for j in range(codes.shape[1])]):
        before = codes[:, j] < begin
        sides = [tuples[before], tuples[~before]]
        if all(enough(side) for side in sides):
            return sides
    return []


def cuts(attributes: Sequence[Attribute], values: Sequence[tuple[Ints, Ints]]) -> list[tuple[int, int]]:
    """Where a cell can be cut, the best first: an attribute, and the code that begins the second side.

    `values` are the codes of each attribute in the cell, ascending, and how many tuples have them.
    """
    ways: list[tuple[bool, float, int, int]] = []
    for j, (attribute, (codes, counts)) in enumerate(zip(attributes, values, strict=True)):
        if len(codes) < 2:
            continue
        i = _middle(attribute, codes, counts)
        share = int(counts[:i].sum()) / int(counts.sum())
        first, second = (_width(attribute, int(v[0]), int(v[-1])) for v in (codes[:i], codes[i:]))
        less = _width(attribute, int(codes[0]), int(codes[-1])) - share * first - (1 - share) * second
        ways.append((min(share, 1 - share) * UNEVEN < 1, -less * attribute.weight, j, int(codes[i])))
    return [(j, begin) for _, _, j, begin in sorted(ways)]


def _values(codes: Whole) -> tuple[Ints, Ints]:
    """Return the different codes, ascending, and how often each occurs."""
    low = int(codes.min())
    if int(codes.max()) - low > 4 * len(codes):
        values, counts = np.unique(codes, return_counts=True)
        return values.astype(np.int64), counts
    counts = np.bincount(codes - low)
    there = np.flatnonzero(counts)
    return there + low, counts[there]


def _width(attribute: Attribute, low: int, high: int) -> float:
    """Return the share of the attribute between two codes."""
    if low == high:
        return 0.0
    if high == attribute.values:
        return 1.0
    if isinstance(attribute, Number):
        width = float(attribute.positions[-1])
        return float(attribute.positions[high] - attribute.positions[low]) / width if width > 0 else 0.0
    above = attribute.lowest_common_ancestor(int(attribute.node[low]), int(attribute.node[high]))
    return float(attribute.leaves[above] / attribute.leaves[0])


def _middle(attribute: Attribute, values: Ints, counts: Ints) -> int:
    """Which of the values begins the second side."""
    if values[-1] == attribute.values:
        return len(values) - 1
    away = np.abs(2 * np.cumsum(counts)[:-1] - counts.sum())
    if not isinstance(attribute, Number):
        above = attribute.lowest_common_ancestor(int(attribute.node[values[0]]), int(attribute.node[values[-1]]))
        child = attribute.node[values].astype(np.int64)
        while True:
            below = (child != above) & (attribute.parent[child] != above)
            if not below.any():
                break
            child[below] = attribute.parent[child[below]]
        away = np.where(child[1:] != child[:-1], away, 2 * counts.sum())
    return int(np.argmin(away)) + 1
