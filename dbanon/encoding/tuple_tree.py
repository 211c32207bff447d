"""The remaining tuples as points in a tree of boxes (see `dbanon.kernels.kd_tree`)."""

import math

import numpy as np

from dbanon.encoding.encoded_table import EncodedTable, Floats, Ints, NumericAttribute
from dbanon.kernels.arrays import AverageTotals


class TuplePoints:
    """The remaining records of each tuple of a table, as points of a k-d tree.

    Args:
        space: The encoded table.
        positions: Scaled positions of the values of each numeric attribute, by code (read for numeric attributes only).
        units: For each attribute, the weight of a difference of 1 between positions, or of two different categories.

    O(n log n) time, O(n) memory. `remaining` (tuples,): remaining records.
    """

    def __init__(self, space: EncodedTable, positions: list[Floats], units: Ints) -> None:
        """Build the tree over all tuples, with all records remaining.

        Coordinates are the positions of numbers (NaN for NULL) and the codes of categories.

        Args:
            space: The encoded table.
            positions: For each attribute, the scaled positions of its values by code; read for numeric attributes only.
            units: (attributes,) weight of a difference of 1 between positions, or of two different categories.
        """
        from dbanon.kernels.kd_tree import MAX_LEAF_TUPLES, PointTree, build_kd_tree

        self.space, self.remaining = space, space.counts.copy()
        tuples, axes = space.codes.shape
        numeric = np.array([isinstance(a, NumericAttribute) for a in space.attributes])
        coordinates = np.empty((tuples, axes))
        for j in range(axes):
            codes = space.codes[:, j]
            coordinates[:, j] = np.append(positions[j], np.nan)[codes] if numeric[j] else codes
        size = 2 * (2 * tuples // MAX_LEAF_TUPLES + 1) + 1
        begins, ends, kids, parents, records, first = np.zeros((6, size), np.int64)
        self.tree = PointTree(
            np.arange(tuples),
            np.empty((tuples, 2), np.int64),
            coordinates,
            self.remaining,
            np.zeros(1, np.int64),
            begins,
            ends,
            kids,
            parents,
            records,
            first,
            np.zeros((size, axes)),
            np.zeros((size, axes)),
            np.zeros((size, axes), bool),
            numeric,
            units,
        )
        build_kd_tree(space.codes, self.tree)

    @property
    def records(self) -> int:
        """Number of remaining records in the tree."""
        return int(self.tree.records[0])

    @property
    def steps(self) -> int:
        """Number of boxes and points that searches have visited."""
        return int(self.tree.n_steps[0])

    def totals(self) -> AverageTotals:
        """Return the totals over the remaining records from which their average is computed.

        For categories these are the number of records by code; for numbers the sum of the positions (the scaled values)
        that are not NULL, and their count. Each position is rounded once to a multiple of 2^-s, with s the largest for
        which all positions together stay below 2^62: so sums are exact, whatever was removed before.
        """
        space = self.space
        numeric, axes = self.tree.numeric, len(space.attributes)
        scale, sums, n_known = np.ones(axes), np.zeros(axes, np.int64), np.zeros(axes, np.int64)
        sizes = [0 if numeric[j] else a.values + 1 for j, a in enumerate(space.attributes)]
        begins, present = np.cumsum([0, *sizes]), [np.zeros(0, np.int64)]
        order, coordinates = self.tree.order, self.tree.coordinates
        for j in range(axes):
            counts = self.remaining[order]
            if not numeric[j]:
                present.append(np.bincount(coordinates[:, j].astype(np.int64), counts, sizes[j]).astype(np.int64))
                continue
            is_known = ~np.isnan(coordinates[:, j])
            known_positions = coordinates[is_known, j]
            greatest = float(np.abs(known_positions).max(initial=0.0)) * space.total
            scale[j] = 2.0 ** min(62 - math.frexp(greatest)[1], 1000) if greatest > 0 else 1.0
            sums[j] = (np.rint(known_positions * scale[j]).astype(np.int64) * counts[is_known]).sum()
            n_known[j] = counts[is_known].sum()
        return AverageTotals(scale, sums, n_known, begins, np.concatenate(present))
