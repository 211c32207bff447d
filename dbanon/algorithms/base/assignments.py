"""Which cluster records are in, as runs: where only k is asked nothing tells records of a tuple apart, and a table of
100 million records has no array of as many entries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dbanon.encoding.encoded_table import AnyInts, Bools, Codes, EncodedTable, Ints, smallest_int_type

Numbers = npt.NDArray[np.integer[Any]]


@dataclass(frozen=True)
class Runs:
    """The next so many records of a tuple, in canonical order, are in a cluster (-1: left out).

    tuples, clusters, counts (runs,): tuples ascend, the runs of a tuple are all its records, and neighbours of one
    tuple are of different clusters.
    """

    tuples: Codes
    clusters: Codes
    counts: AnyInts

    @classmethod
    def of(cls, tuples: Numbers, clusters: Numbers, counts: Numbers) -> Runs:
        """Run whose tuples come in any order, those of a tuple in the order of its records. O(n log n) time."""
        if len(tuples) and (tuples[1:] < tuples[:-1]).any():
            order = np.argsort(tuples, kind="stable")
            tuples, clusters, counts = tuples[order], clusters[order], counts[order]
        first = _begins((tuples[1:] != tuples[:-1]) | (clusters[1:] != clusters[:-1]), len(tuples))
        if len(first) < len(tuples):
            tuples, clusters = tuples[first], clusters[first]
            counts = np.add.reduceat(counts, first, dtype=np.int64)
        return cls(tuples.astype(np.int32), clusters.astype(np.int32), smallest_int_type(counts))

    @classmethod
    def assigned(cls, space: EncodedTable, found: Runs | Ints) -> Runs:
        """Run of what an algorithm gives: runs, or the cluster of every canonical row."""
        return found if isinstance(found, Runs) else cls.from_labels(space, found)

    @classmethod
    def joined(cls, parts: Iterable[tuple[Ints, Runs]]) -> Runs:
        """Run of parts of a space, each with the tuples of the space that are its own, in order.

        The clusters of a part are numbered after those of the parts before it; -1 stays.
        """
        every = list(parts)
        firsts = np.cumsum([0, *(runs.clusters_most for _, runs in every)])[:-1]
        numbered = [np.where(r.clusters >= 0, r.clusters + f, -1) for (_, r), f in zip(every, firsts, strict=True)]
        tuples, counts = [own[runs.tuples] for own, runs in every], [runs.counts for _, runs in every]
        return cls.of(np.concatenate(tuples), np.concatenate(numbered), np.concatenate(counts))

    @classmethod
    def of_tuples(cls, space: EncodedTable, clusters: Numbers) -> Runs:
        """Run of whole tuples: the cluster of each."""
        return cls(
            np.arange(len(space.counts), dtype=np.int32), clusters.astype(np.int32), smallest_int_type(space.counts)
        )

    @classmethod
    def one(cls, space: EncodedTable) -> Runs:
        """Return all records in one cluster."""
        return cls.of_tuples(space, np.zeros(len(space.counts), np.int32))

    @classmethod
    def from_labels(cls, space: EncodedTable, labels: Numbers) -> Runs:
        """Return the runs of cluster numbers of all records in canonical order."""
        changes = labels[1:] != labels[:-1]
        changes[space.starts[1:] - 1] = True
        begins = _begins(changes, len(labels))
        counts = np.diff(np.append(begins, len(labels)))
        tuples = np.searchsorted(space.starts, begins, side="right") - 1
        return cls(tuples.astype(np.int32), labels[begins].astype(np.int32), smallest_int_type(counts))

    def labels(self) -> Ints:
        """Cluster numbers of all records in canonical order."""
        return np.repeat(self.clusters.astype(np.int64), self.counts)

    @property
    def nbytes(self) -> int:
        """Memory that they take."""
        return self.tuples.nbytes + self.clusters.nbytes + self.counts.nbytes

    @property
    def rows(self) -> int:
        """Number of records."""
        return int(self.counts.sum(dtype=np.int64))

    @property
    def clusters_most(self) -> int:
        """One more than the greatest number of a cluster."""
        return int(self.clusters.max(initial=-1)) + 1

    @property
    def are_all_kept(self) -> bool:
        """Whether no record is left out."""
        return bool((self.clusters >= 0).all())

    def kept(self) -> Runs:
        """Return those that are not left out."""
        if self.are_all_kept:
            return self
        kept = self.clusters >= 0
        return Runs(self.tuples[kept], self.clusters[kept], self.counts[kept])

    def numbered(self, number: Numbers) -> Runs:
        """Return the same with another number of each cluster; -1 stays."""
        clusters = np.append(number, -1)[self.clusters].astype(np.int32)
        return Runs.of(self.tuples, clusters, self.counts)

    def some(self, tuples: Ints, among: int) -> Runs:
        """Return the runs of some of so many tuples, ascending, which are numbered from 0."""
        number = np.full(among, -1, np.int32)
        number[tuples] = np.arange(len(tuples), dtype=np.int32)
        of = number[self.tuples]
        found = of >= 0
        return Runs(of[found], self.clusters[found], self.counts[found])

    def dealt(self, others: Runs) -> Runs:
        """Records that are not left out, in canonical order, are dealt to the clusters of others, which have as many
        records of each tuple; who is left out stays so."""
        if self.are_all_kept:
            return others
        kept, left = np.flatnonzero(self.clusters >= 0), np.flatnonzero(self.clusters < 0)
        counts, own, other = met(self.counts[kept], others.counts)
        order = np.argsort(np.concatenate((kept[own], left)), kind="stable")
        return Runs.of(
            np.concatenate((others.tuples[other], self.tuples[left]))[order],
            np.concatenate((others.clusters[other], self.clusters[left]))[order],
            np.concatenate((counts, self.counts[left]))[order],
        )


def met(first: Numbers, second: Numbers) -> tuple[Ints, Ints, Ints]:
    """Two divisions of one line into pieces of so many records each: the pieces that both make, by their records and
    by the piece of either that they are in."""
    ends, other = np.cumsum(first, dtype=np.int64), np.cumsum(second, dtype=np.int64)
    both = np.concatenate((ends, other))
    both.sort(kind="stable")  # which sees that these are two ascending runs
    both = both[_begins(both[1:] != both[:-1], len(both))]
    counts = np.diff(both, prepend=0)
    begins = both - counts
    return counts, np.searchsorted(ends, begins, side="right"), np.searchsorted(other, begins, side="right")


def heads(following: Ints) -> Ints:
    """Return the first entry of the chain that each entry is in, as kernels keep lists that grow and are joined.

    `following`: the next entry, -1 for none. O(n log n) time.
    """
    head, on = np.arange(len(following)), np.flatnonzero(following >= 0)
    head[following[on]] = on
    while (head[head] != head).any():
        head = head[head]
    return head


def _begins(changes: Bools, length: int) -> Ints:
    """Where equal ones begin, by whether each but the first differs from the one before."""
    return np.append(0, np.flatnonzero(changes) + 1) if length else np.zeros(0, np.int64)
