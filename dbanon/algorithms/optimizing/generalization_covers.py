"""Covers: orders of the records by groups of a few full-domain generalizations, found one after another.

All attributes are raised to levels, the records that then stand in groups of k are covered, and the others go on alone,
with levels of their own, as in the local recoding of ARX. In sparse tables of many columns, and
for large k, much is lost least by giving up other attributes of each record than a line does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dbanon.algorithms.base.kernel_inputs import Layout
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.full_domain.levels import Levels, Node
from dbanon.algorithms.optimizing.orderings import ordered
from dbanon.encoding.encoded_table import Codes, EncodedTable, Ints
from dbanon.kernels.arrays import LevelChange

WORTH = {
    "fast": (0.17, 0.1),
    "normal": (0.17, 0.1, 0.3, 0.06, 0.5),
    "high": (0.17, 0.1, 0.3, 0.06, 0.5, 0.04, 0.23, 0.13),
}
"""Shares of all that can be lost that a covered record is worth, at first: a cover is made with each in turn."""

JUDGED = {"fast": 1, "normal": 2, "high": 4}
"""Covers where a model judges more than the number of records, which makes a cut of their order dear."""

LARGER = 4
"""Groups have so many times as many records then: the smallest often miss the model."""

DEARER = 1.3
"""By so much the worth rises where levels cover too few of the records that are left."""

FEW = 0.01
"""This share of them is too few."""

DEAREST = 1.5
"""With a worth above this the records that are left are covered by one group."""

LOOKS = {"fast": (30_000_000, 250), "normal": (200_000_000, 1_000), "high": (1_500_000_000, 3_000)}
"""Looks at an item, some ten nanoseconds each, after which no other cover is begun, in all or for each item where that
is more. A cover that looks twice as often leaves the rest as one group."""


def covers(space: EncodedTable, problem: Layout, effort: str, heights: str, check: Check) -> Iterator[Codes]:
    """Orders of the items in which the groups of a cover stay together: within these along a line that has the
    attributes of few values first, and along one that has them last, where that costs little. O(looks) time, O(items)
    memory."""
    looks, each = LOOKS[effort]
    lattice = Lattice.of(space, problem, heights, max(looks, each * len(problem.codes)), check)
    if lattice.whole <= 0:
        return
    line = tuple((j, 0) for j in sorted(range(len(space.attributes)), key=lambda j: (space.attributes[j].values, j)))
    places = [np.argsort(ordered(problem, of)) for of in (line, line[::-1])]
    shares = WORTH[effort]
    if problem.mode:
        shares, places = shares[: JUDGED[effort]], places[:1]
    for share in shares:
        if lattice.looks > lattice.most:
            return
        turn, key = _cover(lattice, int(share * lattice.whole))
        for place in places:
            yield _by_groups(turn, key, place)


def _by_groups(turn: Ints, key: Ints, place: Ints) -> Codes:
    """Return items by turn, then by group, which comes where its first item does, then by place."""
    order = np.lexsort((place, key, turn))
    new = np.append(True, (key[order[1:]] != key[order[:-1]]) | (turn[order[1:]] != turn[order[:-1]]))
    first = np.empty_like(place)
    first[order] = place[order[new]][np.cumsum(new) - 1]
    return np.lexsort((place, first, turn)).astype(np.int32)


# --- the lattice ----------------------------------------------------------------------------------------------------


class Some(NamedTuple):
    """Some items on a node: their numbers, the keys of their groups, and what a record of each loses there."""

    rows: Ints
    keys: Ints
    lost: Ints

    def where(self, which: Any) -> Some:
        """Return those of them."""
        return Some(self.rows[which], self.keys[which], self.lost[which])


@dataclass
class Lattice:
    """The levels of all attributes.

    By attribute `columns` has the code of each item, and by attribute and level `keys` and `losses` are by code;
    `whole` is all that a record can lose. `looks` are counted, `most` are wanted.
    """

    columns: list[Codes]
    keys: list[list[Ints]]
    losses: list[list[Ints]]
    counts: Ints
    least: int
    whole: int
    most: int
    check: Check
    looks: int = 0
    table: Ints = field(init=False)
    places: Codes = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.counts)
        self.table = np.zeros(1 << max((2 * n - 1).bit_length(), 1), np.int64)
        self.places = np.zeros(n, np.int32)

    @classmethod
    def of(cls, space: EncodedTable, problem: Layout, heights: str, most: int, check: Check) -> Lattice:
        """Return the lattice of a space's attributes.

        O(items * attributes) memory, O(values * levels) of each of these.
        """
        columns = [np.ascontiguousarray(column) for column in problem.codes.T]
        keys: list[list[Ints]] = []
        losses: list[list[Ints]] = []
        terms = Loss(space, 1, heights).terms
        for j, (attribute, term, codes) in enumerate(zip(space.attributes, terms, columns, strict=True)):
            levels = Levels.of(attribute, codes)
            keys.append([])
            losses.append([])
            present = np.flatnonzero(levels.steps[0] >= 0)
            for level, blocks in enumerate(levels.blocks):
                block = levels.up(0, level)[levels.steps[0][present]]
                low, high = np.full(blocks, attribute.values), np.zeros(blocks, np.int64)
                np.minimum.at(low, block, present)
                np.maximum.at(high, block, present)
                keys[j].append(_by_code(attribute.values, present, _mixed(block, j, level)))
                losses[j].append(_by_code(attribute.values, present, term.losses(low, high)[block]))
        least = problem.least * (LARGER if problem.mode else 1)
        whole = sum(int(lost[-1].max(initial=0)) for lost in losses)
        return cls(columns, keys, losses, problem.sizes, least, whole, most, check)

    @property
    def top(self) -> Node:
        """The node where all is one group."""
        return tuple(len(keys) - 1 for keys in self.keys)

    def at(self, node: Node, rows: Ints) -> Some:
        """Return items on a node."""
        keys, lost = np.zeros((2, len(rows)), np.int64)
        for column, of, losses, level in zip(self.columns, self.keys, self.losses, node, strict=True):
            codes = column[rows]
            keys ^= of[level][codes]
            lost += losses[level][codes]
        return Some(rows, keys, lost)

    def moved(self, some: Some, j: int, before: int, level: int) -> Some:
        """Return the items with an attribute on another level."""
        codes = self.columns[j][some.rows]
        keys, losses = self.keys[j], self.losses[j]
        lost = some.lost + losses[level][codes] - losses[before][codes]
        return Some(some.rows, some.keys ^ keys[before][codes] ^ keys[level][codes], lost)

    def gain(self, some: Some, j: int, before: int, level: int, worth: int) -> tuple[int, int]:
        """What is gained where an attribute is on another level, and how much could be gained at most on nodes below:
        each record in a group of the least number or more gains its worth less what it loses."""
        from dbanon.kernels.cover_gain import covered_records

        self.check()
        self.looks += len(some.rows)
        keys, losses = self.keys[j], self.losses[j]
        change = LevelChange(self.columns[j], keys[before], keys[level], losses[before], losses[level])
        records, total = covered_records(some, change, self.counts, self.least, self.table, self.places)
        return int(records) * worth - int(total), int(records) * worth

    def kept(self, some: Some) -> Some:
        """Return those items of the last question that stand in groups of the least number or more."""
        from dbanon.kernels.cover_gain import COUNT_MASK

        return some.where((self.table[self.places[: len(some.rows)]] & COUNT_MASK) >= self.least)


def _by_code(values: int, present: Ints, what: Ints) -> Ints:
    by_code = np.zeros(values + 1, np.int64)
    by_code[present] = what
    return by_code


def _mixed(block: Ints, j: int, level: int) -> Ints:
    """Return keys of the blocks of a level, mixed as SplitMix64 does."""
    x = block.astype(np.uint64) + (np.uint64(j + 1) << np.uint64(48)) + (np.uint64(level + 1) << np.uint64(40))
    x *= np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))).view(np.int64)


# --- covers ---------------------------------------------------------------------------------------------------------


def _cover(lattice: Lattice, worth: int) -> tuple[Ints, Ints]:
    """By item the turn in which it is covered, and the key of its group."""
    turn, key = np.zeros((2, len(lattice.counts)), np.int64)
    left, turns = np.arange(len(lattice.counts)), 0
    records, last = int(lattice.counts.sum()), lattice.looks + 2 * lattice.most
    while records >= 2 * lattice.least and worth <= DEAREST * lattice.whole and lattice.looks <= last:
        node, gained = _descended(lattice, lattice.top, lattice.at(lattice.top, left), worth)
        node, gained = _climbed(lattice, node, gained, worth, left)
        some = lattice.at(node, left)
        lattice.gain(some, 0, node[0], node[0], worth)
        some = lattice.kept(some)
        number = int(lattice.counts[some.rows].sum())
        if gained <= 0 or number < FEW * records:
            worth = int(worth * DEARER) + 1
            continue
        turn[some.rows], key[some.rows] = turns, some.keys
        left = np.setdiff1d(left, some.rows, assume_unique=True)
        records -= number
        turns += 1
    turn[left] = turns
    return turn, key


def _descended(lattice: Lattice, node: Node, some: Some, worth: int) -> tuple[Node, int]:
    """Return the best node on a way down, each step of which is the one that gains most, and what is gained there."""
    best, gained = node, 0
    while True:
        steps = [(*lattice.gain(some, j, node[j], node[j] - 1, worth), -j) for j in range(len(node)) if node[j] > 0]
        here, most, step = max(steps, default=(0, 0, 0))
        if most <= gained:
            return best, gained
        some = lattice.moved(some, -step, node[-step], node[-step] - 1)
        node = _with(node, -step, node[-step] - 1)
        if here > gained:
            best, gained = node, here
        lattice.gain(some, 0, node[0], node[0], worth)
        some = lattice.kept(some)


def _climbed(lattice: Lattice, node: Node, gained: int, worth: int, left: Ints) -> tuple[Node, int]:
    """Return a node from which no attribute goes a level up, or up with another one down, for more.

    And what is gained.
    """
    end = lattice.looks + lattice.most // 4
    while gained > 0 and lattice.looks <= end:
        some, best, found = lattice.at(node, left), gained, node
        for i in range(len(node)):
            if node[i] == lattice.top[i]:
                continue
            above = _with(node, i, node[i] + 1)
            raised = lattice.moved(some, i, node[i], above[i])
            here, most = lattice.gain(raised, i, above[i], above[i], worth)
            if here > best:
                best, found = here, above
            if most <= best:
                continue
            raised = lattice.kept(raised)
            for j in range(len(node)):
                if j != i and above[j] > 0:
                    here, _ = lattice.gain(raised, j, above[j], above[j] - 1, worth)
                    if here > best:
                        best, found = here, _with(above, j, above[j] - 1)
        if best == gained:
            break
        node, gained = found, best
    return node, gained


def _with(node: Node, j: int, level: int) -> Node:
    return (*node[:j], level, *node[j + 1 :])
