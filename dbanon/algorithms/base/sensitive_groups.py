"""Records grouped by their sensitive values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.assignments import inverse_permutation
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import RecordPools


@dataclass(frozen=True)
class SensitiveGroups:
    """Records grouped by equal sensitive values; the records of one group and one tuple are an item.

    Items are sorted by group, then by tuple.

    Attributes:
        group_of: (n,) group of every record.
        values: (columns, groups) codes of the sensitive values of each group.
        rows: (n,) the records in the order of items, canonical within an item.
        item_of: (n,) item of every record.
        item_starts: (items + 1,) position in `rows` of the first record of each item.
        tuples: (items,) tuple of each item.
        item_groups: (items,) group of each item.
        group_starts: (groups + 1,) first item of each group.
    """

    group_of: Ints
    values: Ints
    rows: Ints
    item_of: Ints
    item_starts: Ints
    tuples: Ints
    item_groups: Ints
    group_starts: Ints

    @classmethod
    def from_codes(cls, space: EncodedTable, codes: Ints) -> SensitiveGroups:
        """Group the records by equal codes, and within each group by tuple; return the groups.

        `codes` (columns, rows) are the sensitive values of every record, or groups of these. O(n log n) time, O(n)
        memory.
        """
        values, group_of = np.unique(codes, axis=1, return_inverse=True)
        group_of = np.asarray(group_of, np.int64).reshape(-1)
        tuple_of = space.tuple_of
        rows = np.lexsort((tuple_of, group_of))
        is_first = (group_of[rows[1:]] != group_of[rows[:-1]]) | (tuple_of[rows[1:]] != tuple_of[rows[:-1]])
        starts = np.flatnonzero(np.append(True, is_first))
        item_of = np.empty(len(rows), np.int64)
        item_of[rows] = np.cumsum(np.append(True, is_first)) - 1
        kinds = group_of[rows[starts]]
        return cls(
            group_of,
            np.asarray(values, np.int64),
            rows,
            item_of,
            np.append(starts, len(rows)),
            tuple_of[rows[starts]],
            kinds,
            np.searchsorted(kinds, np.arange(values.shape[1] + 1)),
        )

    @property
    def first_records(self) -> Ints:
        """The first record (canonical row) of each item, the records of one tuple with equal sensitive values."""
        return self.rows[self.item_starts[:-1]]

    @property
    def pools(self) -> RecordPools:
        """The items as pools for kernels, with all their records remaining; the kind of an item is its group."""
        return RecordPools(
            self.tuples, self.item_groups, self.item_of, self.rows, self.item_starts[1:], np.diff(self.item_starts)
        )

    def pools_in_record_order(self) -> RecordPools:
        """Return the items as pools that are numbered in the order of their first records."""
        order = np.argsort(self.first_records)
        tuples, groups, item_of, rows, ends, sizes = self.pools
        return RecordPools(
            tuples[order], groups[order], inverse_permutation(order)[item_of], rows, ends[order], sizes[order]
        )


def sensitive_codes(space: EncodedTable) -> Ints:
    """Return the codes of all sensitive columns as one (columns, rows) array."""
    return np.stack([s.codes.astype(np.int64) for s in space.sensitive])
