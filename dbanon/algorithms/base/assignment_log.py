"""From tuples and counts to records: which records of a tuple a group took."""

from collections.abc import Callable, Sequence

import numpy as np

from dbanon.algorithms.base.assignments import Numbers, RunLengthLabels
from dbanon.encoding.encoded_table import AnyInts, Ints, concatenated_ranges
from dbanon.encoding.tuple_index import TupleIndex


class AssignmentLog:
    """Records of tuples that groups took, each from what the groups before it left."""

    def __init__(self) -> None:
        self._assigned: list[tuple[AnyInts, AnyInts, AnyInts]] = []

    def add_groups(self, members: Ints, first_number: int) -> int:
        """Return groups from the number `first_number` on took records; gives how many groups they are.

        members (rows, 2): tuple and count of each member, groups one after another, each ending with a row of -1.
        """
        ends = members[:, 0] < 0
        group = first_number + np.cumsum(ends) - ends
        self.add(members[~ends, 0], members[~ends, 1], group[~ends])
        return int(ends.sum())

    def add(self, tuples: Numbers, counts: Numbers, groups: Numbers) -> None:
        """The next so many records of each tuple are in a group."""
        self._assigned.append((tuples.astype(np.int32), groups.astype(np.int32), counts.astype(np.int64)))

    def assign_remaining(self, n_remaining: Ints, groups_of: Callable[[RunLengthLabels, Ints], Ints]) -> None:
        """Deals the records that are left of every tuple, each to the group that it joins; these are asked with the
        groups so far and the tuple of every record."""
        tuples = np.repeat(np.arange(len(n_remaining)), n_remaining)
        if len(tuples):
            self.add(tuples, np.ones(len(tuples), np.int64), groups_of(self.to_labels(), tuples))

    def to_labels(self) -> RunLengthLabels:
        """Return all that was taken."""
        tuples, groups, counts = (np.concatenate(column) for column in zip(*self._assigned, strict=True))
        return RunLengthLabels.from_runs(tuples, groups, counts)


def next_rows(index: TupleIndex, tuples: Sequence[int] | Ints, counts: Sequence[int] | Ints) -> Ints:
    """Return the next rows of each tuple, in canonical order, which are still in the index."""
    space, tuple_numbers = index.space, np.asarray(tuples)
    return concatenated_ranges(
        space.starts[tuple_numbers] + space.counts[tuple_numbers] - index.remaining[tuple_numbers], np.asarray(counts)
    )
