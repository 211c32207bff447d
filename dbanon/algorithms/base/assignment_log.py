"""From tuples and counts to records: which records of a tuple a group (cluster that is being formed) took."""

from collections.abc import Callable, Sequence

import numpy as np

from dbanon.algorithms.base.assignments import Numbers, RunLengthLabels
from dbanon.encoding.encoded_table import AnyInts, Ints, concatenated_ranges
from dbanon.encoding.tuple_index import TupleIndex


class AssignmentLog:
    """A log of which groups took how many records of each tuple.

    The records of a tuple are assigned in canonical order, in the order in which groups took them.
    """

    def __init__(self) -> None:
        """Begin an empty log."""
        self._assigned: list[tuple[AnyInts, AnyInts, AnyInts]] = []

    def add_groups(self, members: Ints, first_number: int) -> int:
        """Log the groups in `members`, numbered from `first_number`, and return how many groups they are.

        `members` (rows, 2) has the tuple and number of records of each member, groups one after another, each ending
        with a row of -1.
        """
        ends = members[:, 0] < 0
        group = first_number + np.cumsum(ends) - ends
        self.add(members[~ends, 0], members[~ends, 1], group[~ends])
        return int(ends.sum())

    def add(self, tuples: Numbers, counts: Numbers, groups: Numbers) -> None:
        """Log that the group (cluster) groups[i] took the next counts[i] records of tuple tuples[i], for each i."""
        self._assigned.append((tuples.astype(np.int32), groups.astype(np.int32), counts.astype(np.int64)))

    def assign_remaining(self, n_remaining: Ints, groups_of: Callable[[RunLengthLabels, Ints], Ints]) -> None:
        """Log the remaining records, each in the group that `groups_of` chooses for it.

        Args:
            n_remaining: (tuples,) number of remaining records of each tuple.
            groups_of: Called once, with the labels so far and the tuple of every remaining record; returns their
                groups. Not called if no record remains.
        """
        tuples = np.repeat(np.arange(len(n_remaining)), n_remaining)
        if len(tuples):
            self.add(tuples, np.ones(len(tuples), np.int64), groups_of(self.to_labels(), tuples))

    def to_labels(self) -> RunLengthLabels:
        """Return the group (cluster) of every logged record as runs.

        Raises:
            ValueError: If nothing has been logged.
        """
        tuples, groups, counts = (np.concatenate(column) for column in zip(*self._assigned, strict=True))
        return RunLengthLabels.from_runs(tuples, groups, counts)


def next_rows(index: TupleIndex, tuples: Sequence[int] | Ints, counts: Sequence[int] | Ints) -> Ints:
    """Return the next counts[i] rows of each tuple tuples[i] that are still in the index, in canonical order.

    The index removes the records of a tuple from the first on.
    """
    space, tuple_numbers = index.space, np.asarray(tuples)
    return concatenated_ranges(
        space.starts[tuple_numbers] + space.counts[tuple_numbers] - index.remaining[tuple_numbers], np.asarray(counts)
    )
