"""Distances of the records of a part to points: to one of them, or to their average."""

import numpy as np

from dbanon.algorithms.base.kernel_inputs import PAIRS
from dbanon.algorithms.base.loss import Loss, Pairs, Term
from dbanon.encoding.distance import MAX_CACHED_ENTRIES
from dbanon.encoding.encoded_table import AnyInts, Codes, EncodedTable, Ints, NumericAttribute

Point = list[int | None]
"""By attribute: the place of a number, None for NULL; the code of a category."""


class Distances:
    """Distances of the tuples of a space by the loss of two records (`heights`: edges, leaves); exact integers, whose
    sums over all records stay below 2^62. `unit`: what an attribute of weight 1 counts."""

    def __init__(self, space: EncodedTable, heights: str) -> None:
        loss = Loss(space, 1, heights)
        self.unit = loss.unit
        self._codes = np.ascontiguousarray(space.codes.T)
        self.columns = [_column(term, codes) for term, codes in zip(loss.terms, self._codes, strict=True)]

    def codes(self, tuples: AnyInts) -> Codes:
        """Return codes of some tuples (attributes, tuples)."""
        return self._codes[:, tuples]

    def point(self, codes: Codes) -> Point:
        """Return a record (attributes,) as a point."""
        return [column.point(int(code)) for column, code in zip(self.columns, codes, strict=True)]

    def average(self, codes: Codes, counts: Ints) -> Point:
        """The mean of each number, rounded to a place, and the most frequent value of each category (ties: the first in
        leaf order, NULL last)."""
        return [column.average(of, counts) for column, of in zip(self.columns, codes, strict=True)]

    def to(self, point: Point, codes: Codes) -> Ints:
        """Return the distances of tuples (attributes, tuples) to a point."""
        away = (column.to(at, of) for column, at, of in zip(self.columns, point, codes, strict=True))
        return sum(away, np.zeros(codes.shape[1], np.int64))

    def apart(self, one: Point, other: Point) -> int:
        """Return the distance of two points."""
        return sum(column.apart(a, b) for column, a, b in zip(self.columns, one, other, strict=True))

    def between(self, one: Codes, other: Codes) -> Ints:
        """Return the distances of pairs of tuples (attributes, pairs)."""
        away = (
            np.where(a == b, 0, column.lost(np.minimum(a, b), np.maximum(a, b)))
            for column, a, b in zip(self.columns, one, other, strict=True)
        )
        return sum(away, np.zeros(one.shape[1], np.int64))

    def lost(self, low: Codes, high: Codes) -> Ints:
        """Return the loss of a record in clusters of the codes low to high (attributes, clusters)."""
        own = (column.lost(first, last) for column, first, last in zip(self.columns, low, high, strict=True))
        return sum(own, np.zeros(low.shape[1], np.int64))


class _Numbers:
    def __init__(self, term: Term, has_null: bool) -> None:
        self.null, self.unit, self.has_null = term.attribute.values, term.unit, has_null
        self.places = np.append(term.places, 0)

    def point(self, code: int) -> int | None:
        return None if code == self.null else int(self.places[code])

    def average(self, codes: Codes, counts: Ints) -> int | None:
        if self.has_null:
            counts = np.where(codes == self.null, 0, counts)
        known = int(counts.sum())
        return (2 * int((self.places[codes] * counts).sum()) + known) // (2 * known) if known else None

    def to(self, at: int | None, codes: Codes) -> Ints:
        if at is None:
            return np.where(codes == self.null, 0, self.unit)
        away = np.abs(self.places[codes] - at)
        return np.where(codes == self.null, self.unit, away) if self.has_null else away

    def apart(self, one: int | None, other: int | None) -> int:
        if one is None or other is None:
            return 0 if one == other else self.unit
        return abs(one - other)

    def lost(self, low: Codes, high: Codes) -> Ints:
        width = np.asarray(self.places[high] - self.places[low])
        if not self.has_null:
            return width
        return np.where(high < self.null, width, np.where(low < self.null, self.unit, 0))


class _Categories:
    def __init__(self, term: Term) -> None:
        self.term, self.rows, self.width = term, Pairs(term), term.attribute.values + 1
        self.kept: dict[int, Ints] = {}
        self.table = None
        if self.width <= PAIRS:
            low, high = (m.ravel() for m in np.meshgrid(*[np.arange(self.width)] * 2, indexing="ij"))
            self.table = term.losses(np.minimum(low, high), np.maximum(low, high))

    def point(self, code: int) -> int | None:
        return code

    def average(self, codes: Codes, counts: Ints) -> int | None:
        return int(np.bincount(codes, weights=counts).argmax())

    def to(self, at: int | None, codes: Codes) -> Ints:
        code = -1 if at is None else at
        if code not in self.kept:
            if len(self.kept) * self.width > MAX_CACHED_ENTRIES:
                self.kept.clear()
            self.kept[code] = self.rows.row(code)
        return self.kept[code][codes]

    def apart(self, one: int | None, other: int | None) -> int:
        return int(self.to(one, np.array([other], np.int32))[0])

    def lost(self, low: Codes, high: Codes) -> Ints:
        if self.table is None:
            return self.term.losses(low, high)
        return np.asarray(self.table[low.astype(np.int64) * self.width + high])


def _column(term: Term, codes: Codes) -> _Numbers | _Categories:
    if isinstance(term.attribute, NumericAttribute):
        return _Numbers(term, bool((codes == term.attribute.values).any()))
    return _Categories(term)
