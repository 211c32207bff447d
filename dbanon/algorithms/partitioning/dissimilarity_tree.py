"""Dissimilarity tree: parts are cut in two by two records that are far from each other."""

from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.registry import ALL_MODELS, LARGE, Check, Options, register
from dbanon.algorithms.partitioning.part_distances import PartDistances
from dbanon.algorithms.partitioning.partition_tree import TablePart, cut_after, split_by_level
from dbanon.encoding.encoded_table import Bools, Codes, EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

TUPLE_COST = 10.0
"""Cost of a tuple of a part, in steps of dbanon.algorithms.base.progress."""


def dissimilarity_tree(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Ints:
    """Cluster with a dissimilarity tree, reconstructed from the review of clustering methods.

    A part of at least 2k records is cut by two poles: the record farthest from the one that is nearest to the average
    (means, and most frequent values), and the record farthest from that. Records go to the nearer pole (ties: the
    first). A side that violates the constraint takes from the other the records whose distances to the poles differ
    least, until it meets it; if the other side then violates it, the part is a class. So is a part of equal records.

    At the end, two classes of fewer than 2k records that were cut from one part swap the two records by which the loss
    of both falls most. They swap while that lowers the loss and the constraint is met, at most as often as the smaller
    class has records. Distances and loss are by shares of leaves (NCP). O(n log n) time for balanced cuts, O(n^2 / k)
    at worst; O(n) memory.
    """
    tree = _DissimilarityTree(space, constraint, PartDistances(space, "leaves"))
    classes = split_by_level(space, constraint.min_records, tree.cut_part, check, TUPLE_COST)
    rows = [part.rows() for part, _ in classes]
    by_parent: dict[int, list[int]] = {}
    for number, (_, parent) in enumerate(classes):
        by_parent.setdefault(parent, []).append(number)
    labels = np.empty(space.rows, np.int64)
    for siblings in by_parent.values():
        if len(siblings) == 2 and max(len(rows[c]) for c in siblings) < 2 * constraint.min_records:
            check()
            one, other = siblings
            tree.swap_records(rows[one], rows[other])
        for number in siblings:
            labels[rows[number]] = number
    return labels


@dataclass(frozen=True)
class _DissimilarityTree:
    """The cuts and swaps of a dissimilarity tree on one encoded table."""

    space: EncodedTable
    constraint: Constraint
    distances: PartDistances

    def cut_part(self, part: TablePart) -> list[TablePart]:
        """Return the two sides of a part, cut by two poles; an empty list if the part is a class."""
        if int(part.counts.sum()) < 2 * self.constraint.min_records or len(part.tuples) == 1:
            return []
        distances, codes = self.distances, self.distances.codes(part.tuples)
        center = distances.distances_to(distances.average(codes, part.counts), codes).argmin()
        center_distances = distances.distances_to(distances.point(codes[:, center]), codes)
        if not center_distances.any():
            return []
        to_one = distances.distances_to(distances.point(codes[:, center_distances.argmax()]), codes)
        to_other = distances.distances_to(distances.point(codes[:, to_one.argmax()]), codes)
        of_other = to_other < to_one
        sides = [part.subset(~of_other), part.subset(of_other)]
        failing_sides = [i for i, side in enumerate(sides) if not side.meets(self.space, self.constraint)]
        if len(failing_sides) != 1:
            return [] if failing_sides else sides
        order = np.lexsort((np.abs(to_one - to_other), of_other != bool(failing_sides[0])))
        return self._fill_side(part, order, int(sides[failing_sides[0]].counts.sum()))

    def _fill_side(self, part: TablePart, order: Ints, n_own: int) -> list[TablePart]:
        """Cut the part after the first number of records of an order with which both sides meet the constraint.

        The numbers tried are above `n_own`: every one below 16, then numbers that grow by an eighth. Return the two
        sides; an empty list if no number that was tried suffices.

        Args:
            part: The part.
            order: Its tuples, those of the failing side first, then the others by how little their distances differ.
            n_own: Number of records of the failing side.
        """
        min_records, records = self.constraint.min_records, int(part.counts.sum())
        size = max(n_own + 1, min_records)
        while records - size >= min_records:
            sides = cut_after(part, order, size)
            if all(side.meets(self.space, self.constraint) for side in sides):
                return sides
            size += max(size // 8, 1)  # every size below 16 is tried, then sizes that grow by an eighth
        return []

    def swap_records(self, one: Ints, other: Ints) -> None:
        """Swap records between two clusters, in place, while that lowers their loss and the constraint is met.

        `one` and `other` are the canonical row numbers of the clusters.
        """
        tuple_of = self.tuple_of
        by_records = self.constraint.counts_only_records(self.space)
        if min(len(one), len(other)) < 2:
            return
        for _ in range(min(len(one), len(other))):
            swap = self._best_swap(*[self.distances.codes(tuple_of(rows)) for rows in (one, other)])
            if swap is None:
                return
            a, b = swap
            one[a], other[b] = other[b], one[a]
            if not by_records and not all(self.constraint.is_met_by_records(self.space, rows) for rows in (one, other)):
                one[a], other[b] = other[b], one[a]
                return

    def tuple_of(self, rows: Ints) -> Ints:
        """Return the tuple number of each of some canonical rows."""
        return np.searchsorted(self.space.starts, rows, side="right") - 1

    def _best_swap(self, one: Codes, other: Codes) -> tuple[int, int] | None:
        """Return the indices of the two records whose swap lowers the loss of two clusters most.

        Return None if no swap lowers it. `one` and `other` are the (attributes, records) codes of the clusters. Only
        pairs with a record without which its cluster would span less are examined, since no other swap lowers the loss.
        """
        low_one, high_one, ends_one = _bounds_without_each(one)
        low_other, high_other, ends_other = _bounds_without_each(other)
        a, b = np.nonzero(ends_one[:, None] | ends_other[None, :])
        if len(a) == 0:
            return None
        losses = self.distances.cluster_losses
        current_loss = one.shape[1] * losses(one.min(1, keepdims=True), one.max(1, keepdims=True))
        current_loss += other.shape[1] * losses(other.min(1, keepdims=True), other.max(1, keepdims=True))
        swapped_loss = one.shape[1] * losses(
            np.minimum(low_one[:, a], other[:, b]), np.maximum(high_one[:, a], other[:, b])
        )
        swapped_loss += other.shape[1] * losses(
            np.minimum(low_other[:, b], one[:, a]), np.maximum(high_other[:, b], one[:, a])
        )
        best = int(swapped_loss.argmin())
        return (int(a[best]), int(b[best])) if swapped_loss[best] < current_loss[0] else None


def _bounds_without_each(codes: Codes) -> tuple[Codes, Codes, Bools]:
    """Return the least and greatest codes of a cluster without each of its records in turn.

    `codes` is (attributes, records), and so are both results. The third result says for which records the cluster would
    span less.
    """
    ascending = np.sort(codes, axis=1)
    min_codes, max_codes = ascending[:, :1], ascending[:, -1:]
    low = np.where(codes == min_codes, ascending[:, 1:2], min_codes)
    high = np.where(codes == max_codes, ascending[:, -2:-1], max_codes)
    return low, high, np.asarray(((low > min_codes) | (high < max_codes)).any(axis=0))


register(
    dissimilarity_tree,
    title="Dissimilarity tree",
    summary=(
        "Cuts parts in two around two records that are far from each other. A side that violates the model takes "
        "records from the other side; classes cut from one part exchange records."
    ),
    source="dissimilarity-tree clustering, as the review of clustering methods describes it",
    evidence="description",
    complexity="O(n log n) time for balanced cuts, O(n^2 / k) at worst, O(n) memory",
    own_parameters=(LARGE,),
    meets=ALL_MODELS,
)
