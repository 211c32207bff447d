"""Records of frequent tuples that need no clustering: they are set aside as classes without a loss.

A tuple is a distinct combination of codes. Records of one tuple lose nothing as a class. If a tuple has many more
records than classes of its neighbours could need, only some of them take part in the search.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.encoding.encoded_table import Bools, EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

SEARCHED_FACTOR = 1024
"""At most so many times the least number of records of a class take part in the search, of each frequent tuple."""

SEARCHED_FACTOR_WITH_MODELS = 8
"""The same if other models than k are checked: a class of the search has at most so many times the least number."""

FREQUENT_FACTOR = 2
"""A tuple is frequent if it has more than so many times these records."""

MAX_CHECKED_TUPLES = 10_000
"""With models other than k, at most so many of the most frequent tuples are checked, one by one."""


@dataclass(frozen=True)
class SetAsideRecords:
    """The records of frequent tuples that are classes of their own, and the table of all others.

    Attributes:
        rest: The table without the records that are set aside; it has the same tuples.
        is_set_aside: (rows,) whether each record is set aside; None if only their number per tuple matters.
        counts: (tuples,) number of records that are set aside.
    """

    rest: EncodedTable
    is_set_aside: Bools | None
    counts: Ints

    def cluster_rest(self, space: EncodedTable, cluster: Callable[[EncodedTable], RunLengthLabels]) -> RunLengthLabels:
        """Return the labels of all records: those of `cluster(rest)`, and one class per frequent tuple after them.

        `space` is the whole table.
        """
        runs = cluster(self.rest)
        tuples = np.flatnonzero(self.counts)
        numbers = runs.next_cluster_number + np.arange(len(tuples))
        if self.is_set_aside is None:
            return RunLengthLabels.from_runs(
                np.concatenate((runs.tuples, tuples)),
                np.concatenate((runs.clusters, numbers)),
                np.concatenate((runs.counts, self.counts[tuples])),
            )
        labels = np.empty(space.rows, np.int64)
        labels[~self.is_set_aside] = runs.labels()
        labels[self.is_set_aside] = np.repeat(numbers, self.counts[tuples])
        return RunLengthLabels.from_labels(space, labels)


def set_records_aside(space: EncodedTable, constraint: Constraint) -> SetAsideRecords | None:
    """Set aside most records of frequent tuples; None if there are no frequent tuples, or if persons count.

    Of each frequent tuple, SEARCHED_FACTOR (or SEARCHED_FACTOR_WITH_MODELS) times the least number of records stay in
    the search, spread evenly over its records in canonical order. The others must meet the constraint as one class.
    O(tuples) without models, otherwise O(rows).

    Args:
        space: The encoded table.
        constraint: The constraint.
    """
    has_no_models = constraint.counts_only_records(space)
    n_searched = (SEARCHED_FACTOR if has_no_models else SEARCHED_FACTOR_WITH_MODELS) * constraint.min_records
    frequent = np.flatnonzero(space.counts > FREQUENT_FACTOR * n_searched)
    if len(frequent) == 0 or space.persons is not None:
        return None
    counts = np.zeros(len(space.counts), np.int64)
    counts[frequent] = space.counts[frequent] - n_searched
    if has_no_models:
        return SetAsideRecords(replace(space, counts=space.counts - counts), None, counts)
    is_set_aside = np.zeros(space.rows, bool)
    for t in frequent[np.argsort(-space.counts[frequent], kind="stable")][:MAX_CHECKED_TUPLES].tolist():
        is_own = np.ones(int(space.counts[t]), bool)
        is_own[(np.arange(n_searched) * len(is_own) + len(is_own) // 2) // n_searched] = False
        rows = space.starts[t] + np.flatnonzero(is_own)
        if constraint.is_met_by_records(space, rows):
            is_set_aside[rows] = True
    counts = np.add.reduceat(is_set_aside, space.starts, dtype=np.int64)
    if not counts.any():
        return None
    sensitive = tuple(replace(s, codes=s.codes[~is_set_aside]) for s in space.sensitive)
    rest = replace(space, counts=space.counts - counts, sensitive=sensitive)
    return SetAsideRecords(rest, is_set_aside, counts)
