"""A cover by repeated full-domain generalization, looked at record by record: the slow form of
`dbanon.algorithms.optimizing.generalization_covers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Node = tuple[int, ...]

Label = Callable[[int, int, int], object]
"""What a record has of an attribute on a level: from record, attribute and level."""

Lost = Callable[[int, int, int], int]
"""What it loses by that."""


@dataclass(frozen=True)
class Table:
    """So many records, the highest level of each attribute, and what a group needs."""

    records: int
    top: Node
    label: Label
    lost: Lost
    least: int

    def groups(self, node: Node, left: Sequence[int]) -> list[list[int]]:
        """Groups of enough records on a node."""
        found: dict[tuple[object, ...], list[int]] = {}
        for record in left:
            found.setdefault(tuple(self.label(record, j, level) for j, level in enumerate(node)), []).append(record)
        return [group for group in found.values() if len(group) >= self.least]

    def gain(self, node: Node, left: Sequence[int], worth: int) -> tuple[int, int]:
        """Worth of the records in groups of enough, less what they lose; and their worth alone."""
        covered = [record for group in self.groups(node, left) for record in group]
        total = sum(self.lost(record, j, level) for record in covered for j, level in enumerate(node))
        return len(covered) * worth - total, len(covered) * worth


def cover(table: Table, worth: int, dearer: float, few: float, dearest: float) -> list[list[list[int]]]:
    """The groups of each turn; last, what is left."""
    whole = max(sum(table.lost(r, j, level) for j, level in enumerate(table.top)) for r in range(table.records))
    turns, left = [], list(range(table.records))
    while len(left) >= 2 * table.least and worth <= dearest * whole:
        node, gained = climbed(table, *descended(table, left, worth), left, worth)
        groups = table.groups(node, left)
        covered = {record for group in groups for record in group}
        if gained <= 0 or len(covered) < few * len(left):
            worth = int(worth * dearer) + 1
            continue
        turns.append(groups)
        left = [record for record in left if record not in covered]
    return [*turns, [left]] if left else turns


def descended(table: Table, left: Sequence[int], worth: int) -> tuple[Node, int]:
    """The best node of a way down on which each step gains most."""
    node = best = table.top
    gained = 0
    while any(node):
        lower = [down(node, j) for j in range(len(node)) if node[j]]
        node = max(lower, key=lambda n: table.gain(n, left, worth))  # the first of equals
        here, most = table.gain(node, left, worth)
        if most <= gained:
            break
        if here > gained:
            best, gained = node, here
    return best, gained


def climbed(table: Table, node: Node, gained: int, left: Sequence[int], worth: int) -> tuple[Node, int]:
    """From there, one attribute up, or one up and another down, as long as that gains more."""
    while gained > 0:
        near = []
        for i in range(len(node)):
            if node[i] < table.top[i]:
                above = (*node[:i], node[i] + 1, *node[i + 1 :])
                near += [above, *(down(above, j) for j in range(len(node)) if j != i and above[j])]
        best = max(near, key=lambda n: table.gain(n, left, worth)[0], default=node)
        if table.gain(best, left, worth)[0] <= gained:
            break
        node, gained = best, table.gain(best, left, worth)[0]
    return node, gained


def down(node: Node, j: int) -> Node:
    """The node with one attribute a level lower."""
    return (*node[:j], node[j] - 1, *node[j + 1 :])
