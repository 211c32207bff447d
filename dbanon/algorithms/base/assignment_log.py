"""From tuples and counts to records: which records of a tuple a group took."""

from collections.abc import Callable, Sequence

import numpy as np

from dbanon.algorithms.base.assignments import Numbers, Runs
from dbanon.encoding.encoded_table import AnyInts, Ints, concatenated_ranges
from dbanon.encoding.tuple_index import TupleIndex


class Dealt:
    """Records of tuples that groups took, each from what the groups before it left."""

    def __init__(self) -> None:
        self._taken: list[tuple[AnyInts, AnyInts, AnyInts]] = []

    def take(self, members: Ints, first: int) -> int:
        """Return groups from the number `first` on took records; gives how many groups they are.

        members (rows, 2): tuple and count of each member, groups one after another, each ending with a row of -1.
        """
        ends = members[:, 0] < 0
        group = first + np.cumsum(ends) - ends
        self.put(members[~ends, 0], members[~ends, 1], group[~ends])
        return int(ends.sum())

    def put(self, tuples: Numbers, counts: Numbers, groups: Numbers) -> None:
        """The next so many records of each tuple are in a group."""
        self._taken.append((tuples.astype(np.int32), groups.astype(np.int32), counts.astype(np.int64)))

    def place(self, left: Ints, groups_of: Callable[[Runs, Ints], Ints]) -> None:
        """Deals the records that are left of every tuple, each to the group that it joins; these are asked with the
        groups so far and the tuple of every record."""
        tuples = np.repeat(np.arange(len(left)), left)
        if len(tuples):
            self.put(tuples, np.ones(len(tuples), np.int64), groups_of(self.runs(), tuples))

    def runs(self) -> Runs:
        """Return all that was taken."""
        tuples, groups, counts = (np.concatenate(column) for column in zip(*self._taken, strict=True))
        return Runs.of(tuples, groups, counts)


def next_rows(index: TupleIndex, tuples: Sequence[int] | Ints, counts: Sequence[int] | Ints) -> Ints:
    """Return the next rows of each tuple, in canonical order, which are still in the index."""
    space, taken = index.space, np.asarray(tuples)
    return concatenated_ranges(space.starts[taken] + space.counts[taken] - index.remaining[taken], np.asarray(counts))
