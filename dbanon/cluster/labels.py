"""From tuples and counts to labels: which records of a tuple are meant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dbanon.space.index import Index
from dbanon.space.points import Points
from dbanon.space.space import Ints, ranges


class Dealer:
    """Deals the records of each tuple, in canonical order, to the groups that take them from an index."""

    def __init__(self, index: Index | Points) -> None:
        self.space, self.index = index.space, index

    def rows(self, tuples: Sequence[int] | Ints, counts: Sequence[int] | Ints) -> Ints:
        """The next rows of each tuple, which are still in the index."""
        return ranges(self._next(np.asarray(tuples)), np.asarray(counts))

    def deal(self, members: Ints, labels: Ints, first: int) -> int:
        """Labels the records of groups that were just taken from the index, from the number `first` on; gives how many
        groups they are.

        members (rows, 2): tuple and count of each member, groups one after another, each ending with a row of -1.
        O(rows log rows) time.
        """
        ends = members[:, 0] < 0
        group: Ints = first + np.cumsum(ends) - ends
        tuples, counts, group = members[~ends, 0], members[~ends, 1], group[~ends]
        by_tuple = np.argsort(tuples, kind="stable")
        tuples, counts, group = tuples[by_tuple], counts[by_tuple], group[by_tuple]
        total = np.append(0, np.cumsum(counts))
        until = total[np.searchsorted(tuples, tuples, side="right")]  # records of this tuple and of those before it
        labels[ranges(self._next(tuples) - (until - total[:-1]), counts)] = np.repeat(group, counts)
        return int(ends.sum())

    def _next(self, tuples: Ints) -> Ints:
        return self.space.starts[tuples] + self.space.counts[tuples] - self.index.left[tuples]
