"""From tuples and counts to labels: which records of a tuple are meant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dbanon.space.index import Index
from dbanon.space.space import Ints, Space


class Dealer:
    """Deals the rows of each tuple in the canonical order."""

    def __init__(self, space: Space, index: Index) -> None:
        self.space, self.index = space, index

    def rows(self, tuples: Sequence[int] | Ints, counts: Sequence[int] | Ints) -> Ints:
        """The next rows of each tuple."""
        first = self.space.starts[tuples] + self.space.counts[tuples] - self.index.left[tuples]
        counts = np.asarray(counts)
        ends = np.cumsum(counts)
        return np.arange(int(counts.sum())) - np.repeat(ends - counts, counts) + np.repeat(first, counts)


def dealt(space: Space, groups: Ints) -> Ints:
    """Labels of all records; -1 where they are in no group.

    groups (rows, 2): tuple and count of each member, groups one after another, each ending with a row of -1. Records
    of a tuple are dealt in canonical order to its groups in the order in which they were made.
    """
    labels = np.full(space.rows, -1, np.int64)
    ends = groups[:, 0] < 0
    cluster: Ints = np.cumsum(ends) - ends
    tuples, counts, cluster = groups[~ends, 0], groups[~ends, 1], cluster[~ends]
    by_tuple = np.argsort(tuples, kind="stable")
    tuples, counts, cluster = tuples[by_tuple], counts[by_tuple], cluster[by_tuple]
    before = np.cumsum(counts) - counts
    first_of = np.searchsorted(tuples, tuples)
    start = space.starts[tuples] + before - before[first_of]
    ends_at = np.cumsum(counts)
    where = np.arange(int(counts.sum())) - np.repeat(ends_at - counts, counts) + np.repeat(start, counts)
    labels[where] = np.repeat(cluster, counts)
    return labels
