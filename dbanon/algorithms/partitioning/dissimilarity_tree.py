"""Dissimilarity tree: parts are cut in two by two records that are far from each other."""

from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.registry import EVERY_MODEL, LARGE, Check, Options, register
from dbanon.algorithms.partitioning.part_distances import Distances
from dbanon.algorithms.partitioning.partition_tree import Part, after, level_by_level
from dbanon.encoding.encoded_table import Bools, Codes, EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

EACH = 10.0
"""What a tuple of a part costs in dbanon.algorithms.base.progress."""


def dissimilarity_tree(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Ints:
    """Clustering by a dissimilarity tree, reconstructed from the review of clustering methods.

    A part of at least 2k records is cut by two poles: the record farthest from the one that is nearest to the average
    (means, and most frequent values), and the record farthest from that. Records go to the nearer pole (ties: the
    first). A side that misses the model takes from the other the records whose distances to the poles differ least,
    until it is enough; where the other then is not, the part is a class. So is a part of equal records. At the end two
    classes of fewer than 2k records that were cut from one part swap the two records by which the loss of both falls
    most, while it does and the model holds, at most as often as the smaller has records. Distances and loss are by
    shares of leaves (NCP). O(n log n) time for balanced cuts, O(n^2 / k) at worst; O(n) memory.
    """
    tree = _Tree(space, constraint, Distances(space, "leaves"))
    found = level_by_level(space, constraint.least, tree.cut, check, EACH)
    rows = [part.rows() for part, _ in found]
    by_parent: dict[int, list[int]] = {}
    for number, (_, parent) in enumerate(found):
        by_parent.setdefault(parent, []).append(number)
    labels = np.empty(space.rows, np.int64)
    for siblings in by_parent.values():
        if len(siblings) == 2 and max(len(rows[c]) for c in siblings) < 2 * constraint.least:
            check()
            one, other = siblings
            tree.refine(rows[one], rows[other])
        for number in siblings:
            labels[rows[number]] = number
    return labels


@dataclass(frozen=True)
class _Tree:
    space: EncodedTable
    constraint: Constraint
    distances: Distances

    def cut(self, part: Part) -> list[Part]:
        """Return the sides of the two poles; none where the part is a class."""
        least = self.constraint.least
        if int(part.counts.sum()) < 2 * least or len(part.tuples) == 1:
            return []
        distances, codes = self.distances, self.distances.codes(part.tuples)
        center = distances.to(distances.average(codes, part.counts), codes).argmin()
        away = distances.to(distances.point(codes[:, center]), codes)
        if not away.any():
            return []
        to_one = distances.to(distances.point(codes[:, away.argmax()]), codes)
        to_other = distances.to(distances.point(codes[:, to_one.argmax()]), codes)
        of_other = to_other < to_one
        sides = [part.some(~of_other), part.some(of_other)]
        short = [i for i, side in enumerate(sides) if not side.enough(self.space, self.constraint)]
        if len(short) != 1:
            return [] if short else sides
        order = np.lexsort((np.abs(to_one - to_other), of_other != bool(short[0])))
        return self._filled(part, order, int(sides[short[0]].counts.sum()))

    def _filled(self, part: Part, order: Ints, own: int) -> list[Part]:
        """Return the part cut where the first records in an order, the side's own and then more, are enough."""
        least, records = self.constraint.least, int(part.counts.sum())
        size = max(own + 1, least)
        while records - size >= least:
            sides = after(part, order, size)
            if all(side.enough(self.space, self.constraint) for side in sides):
                return sides
            size += max(size // 8, 1)  # every size is looked at while it is small, one of eight later
        return []

    def refine(self, one: Ints, other: Ints) -> None:
        """Swap records (canonical rows) of two clusters in place."""
        tuple_of = self.tuple_of
        by_records = self.constraint.counts_records(self.space)
        if min(len(one), len(other)) < 2:
            return
        for _ in range(min(len(one), len(other))):
            of = [self.distances.codes(tuple_of(rows)) for rows in (one, other)]
            found = self._best_swap(*of)
            if found is None:
                return
            a, b = found
            one[a], other[b] = other[b], one[a]
            if not by_records and not all(self.constraint.holds(self.space, rows) for rows in (one, other)):
                one[a], other[b] = other[b], one[a]
                return

    def tuple_of(self, rows: Ints) -> Ints:
        """Return the tuples of some rows."""
        return np.searchsorted(self.space.starts, rows, side="right") - 1

    def _best_swap(self, one: Codes, other: Codes) -> tuple[int, int] | None:
        """The records of two clusters (attributes, records), by place, whose swap lowers their loss most; None where
        none does. Only those without which a cluster spans less can lower it, with any of the other."""
        low_one, high_one, ends_one = _without(one)
        low_other, high_other, ends_other = _without(other)
        a, b = np.nonzero(ends_one[:, None] | ends_other[None, :])
        if len(a) == 0:
            return None
        lost = self.distances.lost
        whole = one.shape[1] * lost(one.min(1, keepdims=True), one.max(1, keepdims=True))
        whole += other.shape[1] * lost(other.min(1, keepdims=True), other.max(1, keepdims=True))
        after_ = one.shape[1] * lost(np.minimum(low_one[:, a], other[:, b]), np.maximum(high_one[:, a], other[:, b]))
        after_ += other.shape[1] * lost(np.minimum(low_other[:, b], one[:, a]), np.maximum(high_other[:, b], one[:, a]))
        best = int(after_.argmin())
        return (int(a[best]), int(b[best])) if after_[best] < whole[0] else None


def _without(codes: Codes) -> tuple[Codes, Codes, Bools]:
    """Least and greatest codes of a cluster (attributes, records) without each of its records, and where that is less
    than with it."""
    ascending = np.sort(codes, axis=1)
    least, greatest = ascending[:, :1], ascending[:, -1:]
    low = np.where(codes == least, ascending[:, 1:2], least)
    high = np.where(codes == greatest, ascending[:, -2:-1], greatest)
    return low, high, np.asarray(((low > least) | (high < greatest)).any(axis=0))


register(
    dissimilarity_tree,
    title="Dissimilarity tree",
    summary=(
        "cuts parts in two by two records that are far from each other; a side that misses the model takes "
        "some from the other; classes cut from one part swap records"
    ),
    source="dissimilarity-tree clustering, as the review of clustering methods describes it",
    evidence="RECON",
    complexity="O(n log n) time for balanced cuts, O(n^2 / k) at worst, O(n) memory",
    own=(LARGE,),
    meets=EVERY_MODEL,
)
