"""Coarse partitions of an encoded table, by repeated halving, for tables too large to be clustered as one."""

from collections.abc import Callable, Sequence

import numpy as np

from dbanon.encoding.encoded_table import AnyInts, Attribute, EncodedTable, Ints, NumericAttribute

MIN_SIDE_FRACTION = 8
"""A cut that leaves less than 1/8 of the tuples on one side is made only if no other cut is possible."""


def coarse_partitions(space: EncodedTable, max_tuples: int, is_large_enough: Callable[[Ints], bool]) -> list[Ints]:
    """Return the tuples of each partition, at most `max_tuples` per partition as far as cuts are possible.

    Args:
        space: The encoded table.
        max_tuples: A partition of more tuples is cut if it can be.
        is_large_enough: Whether tuples may form a partition; a cut needs it of both sides.

    An attribute is cut between the two values nearest to the median tuple; a category between two subtrees of the
    lowest common ancestor; an attribute with NULL and values before NULL. The attribute is the one that the cut narrows
    most: its width less the average width of the sides, times its weight (numbers: share of the range; categories:
    share of the leaves below the lowest common ancestor; NULL and values together: all). A flat hierarchy is narrowed
    only by cuts that leave one value, so it is cut last. Partitions are in the order of their first codes, and ties go
    to the earlier attribute and the earlier cut, so the result depends on codes and `is_large_enough` alone. O(n log n)
    time, O(n) memory.
    """
    finished, pending = [], [np.arange(len(space.codes))]
    while pending:
        tuples = pending.pop()
        sides = _split(space, tuples, is_large_enough) if len(tuples) > max_tuples else []
        if sides:
            pending += reversed(sides)
        else:
            finished.append(tuples)
    return finished


def _split(space: EncodedTable, tuples: Ints, is_large_enough: Callable[[Ints], bool]) -> list[Ints]:
    """Return the sides of the best cut whose sides are both large enough; an empty list if there is none."""
    codes = space.codes[tuples]
    for j, second_begin in ranked_cuts(space.attributes, [_distinct_codes(codes[:, j]) for j in range(codes.shape[1])]):
        is_first_side = codes[:, j] < second_begin
        sides = [tuples[is_first_side], tuples[~is_first_side]]
        if all(is_large_enough(side) for side in sides):
            return sides
    return []


def ranked_cuts(attributes: Sequence[Attribute], values: Sequence[tuple[Ints, Ints]]) -> list[tuple[int, int]]:
    """Return the possible cuts of a partition, best first: attribute, and the code that begins the second side.

    `values` are, for each attribute, the codes that occur in the partition, ascending, and how many tuples have them.
    """
    ranked: list[tuple[bool, float, int, int]] = []
    for j, (attribute, (codes, counts)) in enumerate(zip(attributes, values, strict=True)):
        if len(codes) < 2:
            continue
        i = _median_cut(attribute, codes, counts)
        first_share = int(counts[:i].sum()) / int(counts.sum())
        first, second = (_relative_width(attribute, int(v[0]), int(v[-1])) for v in (codes[:i], codes[i:]))
        narrowing = (
            _relative_width(attribute, int(codes[0]), int(codes[-1])) - first_share * first - (1 - first_share) * second
        )
        ranked.append(
            (min(first_share, 1 - first_share) * MIN_SIDE_FRACTION < 1, -narrowing * attribute.weight, j, int(codes[i]))
        )
    return [(j, begin) for _, _, j, begin in sorted(ranked)]


def _distinct_codes(codes: AnyInts) -> tuple[Ints, Ints]:
    """Return the distinct codes, ascending, and how often each occurs."""
    low = int(codes.min())
    if int(codes.max()) - low > 4 * len(codes):
        values, counts = np.unique(codes, return_counts=True)
        return values.astype(np.int64), counts
    counts = np.bincount(codes - low)
    present = np.flatnonzero(counts)
    return present + low, counts[present]


def _relative_width(attribute: Attribute, low: int, high: int) -> float:
    """Return the share of an attribute's range (or leaves) between two codes, from 0 to 1."""
    if low == high:
        return 0.0
    if high == attribute.values:
        return 1.0
    if isinstance(attribute, NumericAttribute):
        width = float(attribute.positions[-1])
        return float(attribute.positions[high] - attribute.positions[low]) / width if width > 0 else 0.0
    ancestor = attribute.lowest_common_ancestor(int(attribute.node[low]), int(attribute.node[high]))
    return float(attribute.leaves[ancestor] / attribute.leaves[0])


def _median_cut(attribute: Attribute, values: Ints, counts: Ints) -> int:
    """Return the index of the value that begins the second side."""
    if values[-1] == attribute.values:
        return len(values) - 1
    imbalance = np.abs(2 * np.cumsum(counts)[:-1] - counts.sum())
    if not isinstance(attribute, NumericAttribute):
        ancestor = attribute.lowest_common_ancestor(int(attribute.node[values[0]]), int(attribute.node[values[-1]]))
        child = attribute.node[values].astype(np.int64)
        while True:
            is_deeper = (child != ancestor) & (attribute.parent[child] != ancestor)
            if not is_deeper.any():
                break
            child[is_deeper] = attribute.parent[child[is_deeper]]
        imbalance = np.where(child[1:] != child[:-1], imbalance, 2 * counts.sum())
    return int(np.argmin(imbalance)) + 1
