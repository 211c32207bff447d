"""Coarse partitions of an encoded table, by repeated halving, for tables too large to be clustered as one."""

from collections.abc import Callable, Sequence

import numpy as np

from dbanon.encoding.encoded_table import AnyInts, Attribute, EncodedTable, Ints, NumericAttribute

MIN_SIDE_FRACTION = 8
"""A cut that leaves less than 1/8 of the tuples on one side is made only if no other cut is possible."""


def coarse_partitions(space: EncodedTable, max_tuples: int, is_large_enough: Callable[[Ints], bool]) -> list[Ints]:
    """Divide the tuples into partitions of at most `max_tuples` tuples, as far as cuts are possible.

    Args:
        space: The encoded table.
        max_tuples: A partition of more tuples is cut in two if a cut is possible.
        is_large_enough: Whether an array of tuples may form a partition; both sides of a cut must pass it.

    Returns:
        The tuple numbers of each partition, in the order of the partitions' codes.

    An attribute with NULL and values is cut between the values and NULL. Otherwise an attribute is cut between the two
    values nearest to the median tuple, and a category between two subtrees of the lowest common ancestor.

    The attribute chosen is the one that the cut narrows most: its width less the average width of the sides, times its
    weight. The width of numbers is the share of the range; that of categories is the share of the leaves below the
    lowest common ancestor; that of NULL and values together is all. A flat hierarchy is narrowed only by cuts that keep
    one value on a side, so it is cut last. Ties are broken by the earlier attribute, so the result depends on codes and
    `is_large_enough` alone. O(n log n) time, O(n) memory.
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
    """Cut the tuples in two by the best-ranked cut (see `ranked_cuts`) whose two sides are both large enough.

    Args:
        space: The encoded table.
        tuples: The tuples to cut.
        is_large_enough: Whether an array of tuples may form a partition.

    Returns:
        The two sides, the one with the lower codes first; an empty list if there is no such cut.
    """
    codes = space.codes[tuples]
    for j, second_begin in ranked_cuts(space.attributes, [_distinct_codes(codes[:, j]) for j in range(codes.shape[1])]):
        is_first_side = codes[:, j] < second_begin
        sides = [tuples[is_first_side], tuples[~is_first_side]]
        if all(is_large_enough(side) for side in sides):
            return sides
    return []


def ranked_cuts(attributes: Sequence[Attribute], values: Sequence[tuple[Ints, Ints]]) -> list[tuple[int, int]]:
    """Return one possible cut of a partition per attribute with at least two values, best first.

    Cuts that put less than 1/8 of the tuples on one side are last. Otherwise the cut that narrows its attribute most is
    first: width of the partition less the average width of the two sides, times the attribute's weight.

    Args:
        attributes: The attributes.
        values: For each attribute, the distinct codes in the partition, ascending, and the number of tuples with each
            code.

    Returns:
        For each cut, the index of the attribute and the code that begins the second side.
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
    """Return the distinct codes, ascending, and how often each occurs; `codes` must not be empty."""
    low = int(codes.min())
    if int(codes.max()) - low > 4 * len(codes):
        values, counts = np.unique(codes, return_counts=True)
        return values.astype(np.int64), counts
    counts = np.bincount(codes - low)
    present = np.flatnonzero(counts)
    return present + low, counts[present]


def _relative_width(attribute: Attribute, low: int, high: int) -> float:
    """Return the share of an attribute's range that two codes span, from 0 to 1.

    For a category it is the share of all leaves that are below the lowest common ancestor. Two equal codes give 0; a
    value and NULL (`high` is the code of NULL) give 1.
    """
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
    """Return where to cut the values of a partition in two, as the index in `values` that begins the second side.

    NULL is cut off from the values if both occur. Otherwise the two sides have as nearly equal numbers of tuples as
    possible; a hierarchy is cut only between two children of the values' lowest common ancestor.

    Args:
        attribute: The attribute.
        values: The distinct codes that occur, ascending; at least two.
        counts: The number of tuples with each of them.
    """
    if values[-1] == attribute.values:
        return len(values) - 1
    imbalance = np.abs(2 * np.cumsum(counts)[:-1] - counts.sum())
    if not isinstance(attribute, NumericAttribute):
        branch = attribute.branches(values)
        imbalance = np.where(branch[1:] != branch[:-1], imbalance, 2 * counts.sum())
    return int(np.argmin(imbalance)) + 1
