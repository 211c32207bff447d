"""Diversity of sensitive values of which a person has several, in rows of related (child) tables.

Clusters of people are merged until no value belongs to too many people of a cluster.
"""

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
    """The values of one sensitive column of a child table by person, without NULLs, one person after another.

    The person of canonical row i has `count[i]` values from index `first[i]` on. Each is in a row of the child table,
    which is published if its `place` is at most the number of rows that are published per person of the cluster.

    Attributes:
        name: Name of the column.
        table: Index of its table in `LinkedDiversity.sizes`.
        first: (n,) index of each person's first value.
        count: (n,) number of each person's values.
        place: (values,) number of the row among the person's rows, from 1.
        value: (values,) code of the value.
    """

    name: str
    table: int
    first: Ints
    count: Ints
    place: Ints
    value: Ints

    def achieved_l(self, people: Ints, size: int) -> int | None:
        """Return the greatest l of l-diversity that a cluster has in this column; None if no row is published.

        It is the least of two numbers: the distinct values in published rows, and the people over the holders of the
        most frequent value. It is 0 if published rows have no value. O(values of these people) time.

        Args:
            people: The canonical rows of the cluster's people.
            size: Number of rows of the child table that are published per person.
        """
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
        """Return, as a list, the greatest l of l-diversity that a cluster of people has in each sensitive column.

        It is the required l if no row of the column's table is published. `people` are canonical rows.
        """
        sizes = self.sizes[people].min(axis=0)
        achieved = (held.achieved_l(people, int(sizes[held.table])) for held in self.columns)
        return [self.min_l if of is None else of for of in achieved]

    def is_met_by(self, people: Ints) -> bool:
        """Return whether a cluster of people (canonical rows) meets the required l in every column.

        It also needs at least l people.
        """
        return len(people) >= self.min_l and min(self.achieved_l(people), default=self.min_l) >= self.min_l

    def failing_clusters(self, space: EncodedTable, clusters: list[Ints]) -> Ints:
        """Return the indices of the clusters that violate the requirement; `clusters` has the people of each."""
        return np.array([g for g, people in enumerate(clusters) if not self.is_met_by(people)], np.int64)

    def mergeable_clusters(self, space: EncodedTable, rows: list[Ints]) -> _PersonClusters:
        """Return a structure that merges clusters and checks unions of two; `rows` has the people of each."""
        return _PersonClusters(self, list(rows))

    def subset(self, rows: Ints) -> LinkedDiversity:
        """Return the requirement for some of the people, who are renumbered from 0 in the order of `rows`."""
        columns = tuple(
            LinkedValues(h.name, h.table, h.first[rows], h.count[rows], h.place, h.value) for h in self.columns
        )
        return LinkedDiversity(self.min_l, columns, self.sizes[rows])


class _PersonClusters:
    """Mergeable clusters that are kept as the people (canonical rows) in them."""

    def __init__(self, requirement: LinkedDiversity, rows: list[Ints]) -> None:
        """Store the requirement, and the list of the people (canonical rows) of each cluster, which `merge` changes."""
        self.shares, self.rows = requirement, rows

    def unions_satisfy(self, cluster: int, others: Ints) -> Bools:
        """Return a mask of `others` in which only the first suitable partner of `cluster` is true.

        Suitable is the first whose union with `cluster` meets the requirement and still publishes rows of each child
        table of which the cluster does. If there is none, it is the first whose union meets the requirement; if there
        is none either, all entries are false.
        """
        is_met = np.zeros(len(others), bool)
        publishes_rows = self.shares.sizes[self.rows[cluster]].min(axis=0) > 0
        first_without_rows = -1
        for i, other in enumerate(others.tolist()):  # only the first one is used
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
        """Add the people of the cluster `absorbed_cluster` to the cluster `keep`."""
        self.rows[keep] = np.concatenate((self.rows[keep], self.rows[absorbed_cluster]))


def diversify_clusters(
    function: str, space: EncodedTable, blocks: Sequence[Ints], labels: Ints, requirement: LinkedDiversity, check: Check
) -> Ints:
    """Merge clusters, within each block of tuples, until each is diverse in the values of child tables.

    Return the new labels, numbered from 0. The partner is the one that costs least among those with which the union is
    diverse (see `merge_until_met`). A union of two diverse clusters is diverse: no more rows per person are published
    than before, and at most a share of 1/l of its people has each value. If values are NULL there may be fewer than l
    values then, and merging continues.

    Args:
        function: Name of the called function, for messages.
        space: The encoded table.
        blocks: The tuples of each block; clusters of different blocks are not merged.
        labels: (n,) cluster of each record.
        requirement: The requirement.
        check: Called from time to time; raises if the run was interrupted.

    Raises:
        ModelNotMetError: If all people of a block together are not diverse enough.
    """
    diverse_labels, first = np.full_like(labels, -1), 0
    for block in blocks:
        rows = space.rows_of(block)
        block_shares = requirement.subset(rows)
        block_labels = merge_until_met(
            space.subset(block), block_shares, np.unique(labels[rows], return_inverse=True)[1].reshape(-1), check
        )
        _refuse_unmet(function, block_shares, block_labels)
        diverse_labels[rows] = block_labels + first
        first += int(block_labels.max(initial=-1)) + 1
    return diverse_labels


def _refuse_unmet(function: str, requirement: LinkedDiversity, labels: Ints) -> None:
    """Raise ModelNotMetError if there is only one cluster and it violates the requirement; otherwise do nothing.

    The message states the greatest l that all people together have.

    Args:
        function: Name of the called function, for the message.
        requirement: The requirement.
        labels: Cluster of each person, numbered from 0.
    """
    if labels.max(initial=0) > 0:
        return
    all_people = np.arange(len(labels))
    if not requirement.is_met_by(all_people):
        achieved, name = min(
            zip(requirement.achieved_l(all_people), (h.name for h in requirement.columns), strict=True)
        )
        achieved = min(achieved, len(all_people))
        best = f"l = {achieved}" if achieved > 1 else "no l above 1"
        raise errors.ModelNotMetError(function, f"l = {requirement.min_l}", name, best)
