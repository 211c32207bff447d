"""Cluster numbers of records as runs, and the log from which they are made while clusters are formed.

If only k is required, the records of a tuple are interchangeable, so a table of 100 million records needs no array
of 100 million entries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dbanon.encoding.encoded_table import AnyInts, Bools, Codes, EncodedTable, Ints, smallest_int_type

Numbers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class RunLengthLabels:
    """The cluster of every record, as runs of records of one tuple that are in the same cluster.

    Attributes:
        tuples: (runs,) tuple of each run, ascending; the runs of a tuple contain all its records.
        clusters: (runs,) cluster of each run, -1 for suppressed records; neighbouring runs of one tuple differ.
        counts: (runs,) number of records of each run, in canonical order.
    """

    tuples: Codes
    clusters: Codes
    counts: AnyInts

    @classmethod
    def from_runs(cls, tuples: Numbers, clusters: Numbers, counts: Numbers) -> RunLengthLabels:
        """Return the labels for runs in any order of tuples; runs of one tuple keep their order.

        Neighbouring runs of one tuple with the same cluster are merged. O(n log n) time.

        Args:
            tuples: (runs,) tuple of each run.
            clusters: (runs,) cluster of each run, -1 for suppressed records.
            counts: (runs,) number of records of each run.
        """
        if len(tuples) and (tuples[1:] < tuples[:-1]).any():
            order = np.argsort(tuples, kind="stable")
            tuples, clusters, counts = tuples[order], clusters[order], counts[order]
        first = _run_starts((tuples[1:] != tuples[:-1]) | (clusters[1:] != clusters[:-1]), len(tuples))
        if len(first) < len(tuples):
            tuples, clusters = tuples[first], clusters[first]
            counts = np.add.reduceat(counts, first, dtype=np.int64)
        return cls(tuples.astype(np.int32), clusters.astype(np.int32), smallest_int_type(counts))

    @classmethod
    def from_assignment(cls, space: EncodedTable, assignment: RunLengthLabels | Ints) -> RunLengthLabels:
        """Return the result of an algorithm as runs.

        `assignment` is either runs already, returned unchanged, or the cluster of every record in canonical order.
        """
        return assignment if isinstance(assignment, RunLengthLabels) else cls.from_labels(space, assignment)

    @classmethod
    def concatenate(cls, parts: Iterable[tuple[Ints, RunLengthLabels]]) -> RunLengthLabels:
        """Return the labels of a whole table, given the labels of its parts.

        Each part is a pair: the numbers that its tuples have in the table, and its labels. The clusters of a part are
        numbered after those of the parts before it; -1 stays.
        """
        pairs = list(parts)
        firsts = np.cumsum([0, *(runs.next_cluster_number for _, runs in pairs)])[:-1]
        numbered = [np.where(r.clusters >= 0, r.clusters + f, -1) for (_, r), f in zip(pairs, firsts, strict=True)]
        tuples, counts = [own[runs.tuples] for own, runs in pairs], [runs.counts for _, runs in pairs]
        return cls.from_runs(np.concatenate(tuples), np.concatenate(numbered), np.concatenate(counts))

    @classmethod
    def from_tuple_clusters(cls, space: EncodedTable, clusters: Numbers) -> RunLengthLabels:
        """Return the labels given one cluster per tuple: all records of a tuple are in the same cluster."""
        return cls(
            np.arange(len(space.counts), dtype=np.int32), clusters.astype(np.int32), smallest_int_type(space.counts)
        )

    @classmethod
    def single_cluster(cls, space: EncodedTable) -> RunLengthLabels:
        """Return labels that put all records in cluster 0."""
        return cls.from_tuple_clusters(space, np.zeros(len(space.counts), np.int32))

    @classmethod
    def suppressed(cls, counts: Numbers) -> RunLengthLabels:
        """Return labels that suppress all records; `counts` is the number of records of each tuple."""
        return cls.from_runs(np.arange(len(counts)), np.full(len(counts), -1), counts)

    @classmethod
    def from_labels(cls, space: EncodedTable, labels: Numbers) -> RunLengthLabels:
        """Return the runs, given the cluster numbers of all records in canonical order (-1 for suppressed)."""
        changes = labels[1:] != labels[:-1]
        changes[space.starts[1:] - 1] = True
        begins = _run_starts(changes, len(labels))
        counts = np.diff(np.append(begins, len(labels)))
        tuples = np.searchsorted(space.starts, begins, side="right") - 1
        return cls(tuples.astype(np.int32), labels[begins].astype(np.int32), smallest_int_type(counts))

    def labels(self) -> Ints:
        """Return the cluster numbers of all records in canonical order, -1 for suppressed."""
        return np.repeat(self.clusters.astype(np.int64), self.counts)

    @property
    def nbytes(self) -> int:
        """Memory of the arrays in bytes."""
        return self.tuples.nbytes + self.clusters.nbytes + self.counts.nbytes

    @property
    def n_records(self) -> int:
        """Number of records, including suppressed ones."""
        return int(self.counts.sum(dtype=np.int64))

    @property
    def n_suppressed(self) -> int:
        """Number of suppressed records."""
        return int(self.counts[self.clusters < 0].sum())

    @property
    def next_cluster_number(self) -> int:
        """One more than the greatest cluster number; 0 if all records are suppressed."""
        return int(self.clusters.max(initial=-1)) + 1

    @property
    def has_no_suppressed(self) -> bool:
        """Whether no record is suppressed."""
        return bool((self.clusters >= 0).all())

    def without_suppressed(self) -> RunLengthLabels:
        """Return the runs of the records that are not suppressed."""
        if self.has_no_suppressed:
            return self
        is_published = self.clusters >= 0
        return RunLengthLabels(self.tuples[is_published], self.clusters[is_published], self.counts[is_published])

    def with_cluster_numbers(self, new_numbers: Numbers) -> RunLengthLabels:
        """Return the labels with cluster c renumbered to new_numbers[c]; -1 stays, and equal numbers merge clusters."""
        clusters = np.append(new_numbers, -1)[self.clusters].astype(np.int32)
        return RunLengthLabels.from_runs(self.tuples, clusters, self.counts)

    def subset(self, tuples: Ints, n_tuples: int) -> RunLengthLabels:
        """Return the runs of some of the tuples, which are renumbered from 0 in the given ascending order.

        `n_tuples` is the number of tuples of the whole table.
        """
        new_number = np.full(n_tuples, -1, np.int32)
        new_number[tuples] = np.arange(len(tuples), dtype=np.int32)
        tuple_numbers = new_number[self.tuples]
        is_selected = tuple_numbers >= 0
        return RunLengthLabels(tuple_numbers[is_selected], self.clusters[is_selected], self.counts[is_selected])

    def reassigned(self, others: RunLengthLabels) -> RunLengthLabels:
        """Return the labels with the published records moved, in canonical order, to the clusters in `others`.

        `others` has as many records of each tuple as are published here. Suppressed records stay suppressed.
        """
        if self.has_no_suppressed:
            return others
        published_runs, suppressed_runs = np.flatnonzero(self.clusters >= 0), np.flatnonzero(self.clusters < 0)
        counts, own, other = intersect_partitions(self.counts[published_runs], others.counts)
        order = np.argsort(np.concatenate((published_runs[own], suppressed_runs)), kind="stable")
        return RunLengthLabels.from_runs(
            np.concatenate((others.tuples[other], self.tuples[suppressed_runs]))[order],
            np.concatenate((others.clusters[other], self.clusters[suppressed_runs]))[order],
            np.concatenate((counts, self.counts[suppressed_runs]))[order],
        )


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


def intersect_partitions(first_sizes: Numbers, second_sizes: Numbers) -> tuple[Ints, Ints, Ints]:
    """Intersect two divisions of the same sequence into runs of the given lengths.

    Returns:
        The length of each intersection, and the index of the first division's run and of the second's that contain it.
    """
    ends, other_ends = np.cumsum(first_sizes, dtype=np.int64), np.cumsum(second_sizes, dtype=np.int64)
    all_ends = np.concatenate((ends, other_ends))
    all_ends.sort(kind="stable")  # fast, since these are two ascending runs
    all_ends = all_ends[_run_starts(all_ends[1:] != all_ends[:-1], len(all_ends))]
    counts = np.diff(all_ends, prepend=0)
    begins = all_ends - counts
    return counts, np.searchsorted(ends, begins, side="right"), np.searchsorted(other_ends, begins, side="right")


def chain_heads(next_entry: Ints) -> Ints:
    """Return, for each entry, the first entry of the linked list that it is in.

    `next_entry` is the next entry of each entry, -1 for none. O(n log n) time.
    """
    head, has_next = np.arange(len(next_entry)), np.flatnonzero(next_entry >= 0)
    head[next_entry[has_next]] = has_next
    while (head[head] != head).any():
        head = head[head]
    return head


def chain_numbers(heads: Ints, next_entry: Ints) -> Ints:
    """Return, for each entry, the number of the linked list that it is in.

    `heads` has the first entry of each list, `next_entry` the next entry of each entry, -1 for none. O(n log n) time.
    """
    number = np.full(len(next_entry), -1, np.int64)
    number[heads] = np.arange(len(heads))
    return number[chain_heads(next_entry)]


def inverse_permutation(order: Ints) -> Ints:
    """Return the place of each number in an order of the numbers from 0 to n - 1. O(n)."""
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def _run_starts(changes: Bools, length: int) -> Ints:
    """Return the index at which each run of equal entries begins.

    `changes` says, for each entry but the first, whether it differs from the entry before; `length` is the number of
    entries (0 gives an empty array).
    """
    return np.append(0, np.flatnonzero(changes) + 1) if length else np.zeros(0, np.int64)
