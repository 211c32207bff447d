"""Sensitive values of which a person has several, in rows of other tables: clusters of people are merged until none of
these values is held by too many of a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbanon import errors
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.postprocess.merge_small_clusters import joined
from dbanon.encoding.encoded_table import Bools, EncodedTable, Ints, concatenated_ranges


@dataclass(frozen=True)
class Held:
    """The values of one sensitive column that people hold, NULLs left out, one person after another.

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

    def achieved(self, people: Ints, size: int) -> int | None:
        """The greatest l that a cluster has in this column, where `size` rows of the table are published of each of its
        people; None where none is. O(values that they hold) time."""
        if size == 0:
            return None
        at = concatenated_ranges(self.first[people], self.count[people])
        who = np.repeat(np.arange(len(people)), self.count[people])
        shown = self.place[at] <= size
        width = int(self.value.max(initial=0)) + 1
        pairs = np.unique(who[shown] * width + self.value[at[shown]])
        _, holders = np.unique(pairs % width, return_counts=True)
        return 0 if len(holders) == 0 else min(len(holders), len(people) // int(holders.max()))


@dataclass(frozen=True)
class Shares:
    """l-diversity where people hold several values: a cluster has at least l values of every column, as far as rows of
    its table are published, and none of them is held by more than 1/l of the people. `least` is l.

    `sizes` (rows, tables): how many rows of each table a person has at most; of a cluster as many are published as the
    one has who has fewest.
    """

    least: int
    columns: tuple[Held, ...]
    sizes: Ints

    def achieved(self, people: Ints) -> list[int]:
        """Return the greatest l of a cluster in each column; l where nothing is published."""
        sizes = self.sizes[people].min(axis=0)
        found = (held.achieved(people, int(sizes[held.table])) for held in self.columns)
        return [self.least if of is None else of for of in found]

    def holds(self, people: Ints) -> bool:
        """Return whether a cluster is diverse enough."""
        return len(people) >= self.least and min(self.achieved(people), default=self.least) >= self.least

    def missed(self, space: EncodedTable, groups: list[Ints]) -> Ints:
        """Which of several clusters are not."""
        return np.array([g for g, people in enumerate(groups) if not self.holds(people)], np.int64)

    def groups(self, space: EncodedTable, rows: list[Ints]) -> _Groups:
        """Return clusters that will be united."""
        return _Groups(self, list(rows))

    def part(self, rows: Ints) -> Shares:
        """Return the same of some of the people."""
        columns = tuple(Held(h.name, h.table, h.first[rows], h.count[rows], h.place, h.value) for h in self.columns)
        return Shares(self.least, columns, self.sizes[rows])


class _Groups:
    """Clusters as the people in them."""

    def __init__(self, shares: Shares, rows: list[Ints]) -> None:
        self.shares, self.rows = shares, rows

    def hold_with(self, group: int, others: Ints) -> Bools:
        """The first with which a union holds and still publishes rows of each table of which the group does; where
        there is none, the first with which it holds."""
        held = np.zeros(len(others), bool)
        has = self.shares.sizes[self.rows[group]].min(axis=0) > 0
        empty = -1
        for i, other in enumerate(others.tolist()):  # only the first that does is looked for
            union = np.concatenate((self.rows[group], self.rows[other]))
            if not self.shares.holds(union):
                continue
            if (self.shares.sizes[union].min(axis=0) > 0)[has].all():
                held[i] = True
                return held
            empty = i if empty < 0 else empty
        if empty >= 0:  # then nothing is published of some table
            held[empty] = True
        return held

    def unite(self, keep: int, gone: int) -> None:
        self.rows[keep] = np.concatenate((self.rows[keep], self.rows[gone]))


def diversified(
    function: str, space: EncodedTable, blocks: Sequence[Ints], labels: Ints, shares: Shares, check: Check
) -> Ints:
    """The labels with clusters merged, within each block of tuples, until all hold; the partner is the one that costs
    least among those with which the union holds (see `repair`).

    A union holds where both did: of its people no more rows are published than before, so that nobody holds a value
    more, and of every value at most a share of 1/l holds it in both. Where values are NULL there may be fewer than l of
    them then, and merging goes on. ModelNotMetError where all people together do not hold.
    """
    found, first = np.full_like(labels, -1), 0
    for block in blocks:
        rows = space.rows_of(block)
        own = shares.part(rows)
        merged = joined(space.subset(block), own, np.unique(labels[rows], return_inverse=True)[1].reshape(-1), check)
        _refuse_missed(function, own, merged)
        found[rows] = merged + first
        first += int(merged.max(initial=-1)) + 1
    return found


def _refuse_missed(function: str, shares: Shares, labels: Ints) -> None:
    """ModelNotMetError where what could not be merged any further does not hold."""
    if labels.max(initial=0) > 0:
        return
    everybody = np.arange(len(labels))
    if not shares.holds(everybody):
        least, name = min(zip(shares.achieved(everybody), (h.name for h in shares.columns), strict=True))
        least = min(least, len(everybody))
        best = f"l = {least}" if least > 1 else "no l above 1"
        raise errors.ModelNotMetError(function, f"l = {shares.least}", name, best)
