"""Sensitive values of which a person has several, in rows of other tables: clusters of people are merged until none of
these values is held by too many of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbanon import errors
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.postprocess.merge_small_clusters import merge_until_met
from dbanon.encoding.encoded_table import Bools, EncodedTable, Ints, concatenated_ranges


@dataclass(frozen=True)
class LinkedValues:
    """The values of one sensitive column that people hold, without NULLs, one person after another.

    `table` is the number of its table among those of `Shares.sizes`; a person of canonical row i holds the values from
    `first[i]` on, `count[i]` of them, each in a row of the table that is published if its `place`, from 1, is not above
    the number of rows that all of the cluster have.
    """

    name: str
    table: int
    first: Ints
    count: Ints
    place: Ints
    value: Ints

    def achieved_l(self, people: Ints, size: int) -> int | None:
        """The greatest l that a cluster has in this column, where `size` rows of the table are published of each of its
        people; None where none is. O(values that they hold) time."""
        if size == 0:
            return None
        places = concatenated_ranges(self.first[people], self.count[people])
        person = np.repeat(np.arange(len(people)), self.count[people])
        is_published = self.place[places] <= size
        width = int(self.value.max(initial=0)) + 1
        pairs = np.unique(person[is_published] * width + self.value[places[is_published]])
        _, holders = np.unique(pairs % width, return_counts=True)
        return 0 if len(holders) == 0 else min(len(holders), len(people) // int(holders.max()))


@dataclass(frozen=True)
class LinkedDiversity:
    """l-diversity for people with several values of a column.

    A cluster has at least l values of every column in the published rows of its table, and at most a share of 1/l of
    its people has the same value.

    Attributes:
        min_l: The parameter l.
        columns: The sensitive columns of the child tables.
        sizes: (n, tables) greatest number of rows of a person in each table. A cluster publishes as many rows per
            person as the person with the fewest has.
    """

    min_l: int
    columns: tuple[LinkedValues, ...]
    sizes: Ints

    def achieved_l(self, people: Ints) -> list[int]:
        """Return the greatest l of a cluster in each column; l where nothing is published."""
        sizes = self.sizes[people].min(axis=0)
        achieved = (held.achieved_l(people, int(sizes[held.table])) for held in self.columns)
        return [self.min_l if of is None else of for of in achieved]

    def is_met_by(self, people: Ints) -> bool:
        """Return whether a cluster is diverse enough."""
        return len(people) >= self.min_l and min(self.achieved_l(people), default=self.min_l) >= self.min_l

    def failing_clusters(self, space: EncodedTable, clusters: list[Ints]) -> Ints:
        """Return the indices of the clusters that are not diverse enough."""
        return np.array([g for g, people in enumerate(clusters) if not self.is_met_by(people)], np.int64)

    def mergeable_clusters(self, space: EncodedTable, rows: list[Ints]) -> _PersonClusters:
        """Return clusters that will be united."""
        return _PersonClusters(self, list(rows))

    def subset(self, rows: Ints) -> LinkedDiversity:
        """Return the same of some of the people."""
        columns = tuple(
            LinkedValues(h.name, h.table, h.first[rows], h.count[rows], h.place, h.value) for h in self.columns
        )
        return LinkedDiversity(self.min_l, columns, self.sizes[rows])


class _PersonClusters:
    """Clusters as the people in them."""

    def __init__(self, shares: LinkedDiversity, rows: list[Ints]) -> None:
        self.shares, self.rows = shares, rows

    def unions_satisfy(self, cluster: int, others: Ints) -> Bools:
        """The first with which a union holds and still publishes rows of each table of which the group does; where
        there is none, the first with which it holds."""
        is_met = np.zeros(len(others), bool)
        publishes_rows = self.shares.sizes[self.rows[cluster]].min(axis=0) > 0
        first_without_rows = -1
        for i, other in enumerate(others.tolist()):  # only the first that does is looked for
            union = np.concatenate((self.rows[cluster], self.rows[other]))
            if not self.shares.is_met_by(union):
                continue
            if (self.shares.sizes[union].min(axis=0) > 0)[publishes_rows].all():
                is_met[i] = True
                return is_met
            first_without_rows = i if first_without_rows < 0 else first_without_rows
        if first_without_rows >= 0:  # then nothing is published of some table
            is_met[first_without_rows] = True
        return is_met

    def merge(self, keep: int, absorbed_cluster: int) -> None:
        self.rows[keep] = np.concatenate((self.rows[keep], self.rows[absorbed_cluster]))


def diversify_clusters(
    function: str, space: EncodedTable, blocks: Sequence[Ints], labels: Ints, shares: LinkedDiversity, check: Check
) -> Ints:
    """The labels with clusters merged, within each block of tuples, until all hold; the partner is the one that costs
    least among those with which the union holds (see `repair`).

    A union holds where both did: of its people no more rows are published than before, so that nobody holds a value
    more, and of every value at most a share of 1/l holds it in both. Where values are NULL there may be fewer than l of
    them then, and merging goes on. ModelNotMetError where all people together do not hold.
    """
    diverse_labels, first = np.full_like(labels, -1), 0
    for block in blocks:
        rows = space.rows_of(block)
        block_shares = shares.subset(rows)
        block_labels = merge_until_met(
            space.subset(block), block_shares, np.unique(labels[rows], return_inverse=True)[1].reshape(-1), check
        )
        _refuse_unmet(function, block_shares, block_labels)
        diverse_labels[rows] = block_labels + first
        first += int(block_labels.max(initial=-1)) + 1
    return diverse_labels


def _refuse_unmet(function: str, shares: LinkedDiversity, labels: Ints) -> None:
    """ModelNotMetError where what could not be merged any further does not hold."""
    if labels.max(initial=0) > 0:
        return
    all_people = np.arange(len(labels))
    if not shares.is_met_by(all_people):
        achieved, name = min(zip(shares.achieved_l(all_people), (h.name for h in shares.columns), strict=True))
        achieved = min(achieved, len(all_people))
        best = f"l = {achieved}" if achieved > 1 else "no l above 1"
        raise errors.ModelNotMetError(function, f"l = {shares.min_l}", name, best)
