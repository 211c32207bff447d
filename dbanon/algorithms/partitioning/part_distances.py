"""Distances of the records of a part to points: to a record or to an average."""

import numpy as np

from dbanon.algorithms.base.loss import Heights, Loss, LossTerm, PairLosses
from dbanon.encoding.encoded_table import AnyInts, Codes, EncodedTable, Ints, NumericAttribute

Point = list[int | None]
"""An entry for each attribute: the position of a number (None for NULL) or the code of a category."""


class PartDistances:
    """Distances between tuples, and to averages, by the loss of two records, as exact integers.

    `heights` is the kind of loss: edges or leaves. Sums over all records stay below 2^62. `unit` is the greatest
    distance on an attribute of weight 1. A point has an entry per attribute: position of a number (None for NULL) or
    code of a category.
    """

    def __init__(self, space: EncodedTable, heights: Heights) -> None:
        """Prepare the distances of each attribute; `heights` is the kind of loss: "edges" or "leaves"."""
        loss = Loss(space, 1, heights)
        self.unit = loss.unit
        self._codes = np.ascontiguousarray(space.codes.T)
        self.columns: list[_NumberDistances | _CategoryDistances] = [
            _NumberDistances(term, bool((codes == term.attribute.values).any()))
            if isinstance(term.attribute, NumericAttribute)
            else _CategoryDistances(term)
            for term, codes in zip(loss.terms, self._codes, strict=True)
        ]

    def codes(self, tuples: AnyInts) -> Codes:
        """Return the (attributes, tuples) codes of some tuples."""
        return self._codes[:, tuples]

    def point(self, codes: Codes) -> Point:
        """Return a tuple, given by its (attributes,) codes, as a point.

        A point has an entry per attribute: position of a number (None for NULL) or code of a category.
        """
        return [column.point(int(code)) for column, code in zip(self.columns, codes, strict=True)]

    def average(self, codes: Codes, counts: Ints) -> Point:
        """Return the average of records as a point: means of numbers and most frequent values of categories.

        NULLs do not count in means, which are rounded to whole positions; a number with only NULLs gives None. Ties of
        categories go to the first in leaf order, NULL last.

        Args:
            codes: (attributes, tuples) codes.
            counts: (tuples,) number of records of each tuple.
        """
        return [column.average(column_codes, counts) for column, column_codes in zip(self.columns, codes, strict=True)]

    def distances_to(self, point: Point, codes: Codes) -> Ints:
        """Return the (tuples,) distances, summed over attributes, of tuples to a point (a record or an average).

        `codes` is (attributes, tuples). `point` has an entry per attribute: position of a number (None for NULL) or
        code of a category.
        """
        return sum(
            (
                column.distances_to(position, column_codes)
                for column, position, column_codes in zip(self.columns, point, codes, strict=True)
            ),
            np.zeros(codes.shape[1], np.int64),
        )

    def point_distance(self, one: Point, other: Point) -> int:
        """Return the distance of two points (an entry per attribute), summed over attributes."""
        return sum(column.point_distance(a, b) for column, a, b in zip(self.columns, one, other, strict=True))

    def pair_distances(self, one: Codes, other: Codes) -> Ints:
        """Return the (pairs,) distances of pairs of tuples, given by two (attributes, pairs) arrays of codes."""
        return sum(
            (
                np.where(a == b, 0, column.cluster_losses(np.minimum(a, b), np.maximum(a, b)))
                for column, a, b in zip(self.columns, one, other, strict=True)
            ),
            np.zeros(one.shape[1], np.int64),
        )

    def cluster_losses(self, low: Codes, high: Codes) -> Ints:
        """Return the (clusters,) loss of one record in clusters with the given least and greatest codes.

        Both arrays are (attributes, clusters).
        """
        return sum(
            (column.cluster_losses(first, last) for column, first, last in zip(self.columns, low, high, strict=True)),
            np.zeros(low.shape[1], np.int64),
        )


class _NumberDistances:
    """Distances on a numeric attribute; a point is a position, or None for NULL."""

    def __init__(self, term: LossTerm, has_null: bool) -> None:
        """Store the positions and the greatest loss; `has_null` says whether NULL occurs in the column."""
        self.null, self.unit, self.has_null = term.attribute.values, term.unit, has_null
        self.places = np.append(term.places, 0)

    def point(self, code: int) -> int | None:
        """Return the position of a code; None for NULL."""
        return None if code == self.null else int(self.places[code])

    def average(self, codes: Codes, counts: Ints) -> int | None:
        """Return the mean position of records, rounded; None if all are NULL.

        NULL does not count. `codes` and `counts` have one entry per tuple.
        """
        if self.has_null:
            counts = np.where(codes == self.null, 0, counts)
        n_values = int(counts.sum())
        return (2 * int((self.places[codes] * counts).sum()) + n_values) // (2 * n_values) if n_values else None

    def distances_to(self, position: int | None, codes: Codes) -> Ints:
        """Return the distance of each code to a position: the difference.

        It is `unit` between NULL (position None) and a value, and 0 between two NULLs.
        """
        if position is None:
            return np.where(codes == self.null, 0, self.unit)
        distances = np.abs(self.places[codes] - position)
        return np.where(codes == self.null, self.unit, distances) if self.has_null else distances

    def point_distance(self, one: int | None, other: int | None) -> int:
        """Return the distance of two positions; `unit` if exactly one of them is None (NULL)."""
        if one is None or other is None:
            return 0 if one == other else self.unit
        return abs(one - other)

    def cluster_losses(self, low: Codes, high: Codes) -> Ints:
        """Return the width of clusters from `low` to `high`; `unit` with NULL and values, 0 with NULLs alone."""
        width = np.asarray(self.places[high] - self.places[low])
        if not self.has_null:
            return width
        return np.where(high < self.null, width, np.where(low < self.null, self.unit, 0))


class _CategoryDistances:
    """Distances on a categorical attribute, by the loss of two values; a point is a code."""

    def __init__(self, term: LossTerm) -> None:
        """Store the loss term, and tabulate the losses of all pairs of codes if there are few values."""
        self.term, self.rows = term, PairLosses(term)
        self.table = term.pair_losses()

    def point(self, code: int) -> int | None:
        """Return the code itself, as the point."""
        return code

    def average(self, codes: Codes, counts: Ints) -> int | None:
        """Return the most frequent code, the least one in a tie; NULL counts as a value."""
        return int(np.bincount(codes, weights=counts).argmax())

    def distances_to(self, position: int | None, codes: Codes) -> Ints:
        """Return the distance of each code to the code `position` (not None); rows of distances are cached."""
        return self.rows.row(-1 if position is None else position)[codes]

    def point_distance(self, one: int | None, other: int | None) -> int:
        """Return the distance of two codes."""
        return int(self.distances_to(one, np.array([other], np.int32))[0])

    def cluster_losses(self, low: Codes, high: Codes) -> Ints:
        """Return the loss of one record in clusters with the given least and greatest codes."""
        if self.table is None:
            return self.term.losses(low, high)
        return np.asarray(self.table[low, high])
