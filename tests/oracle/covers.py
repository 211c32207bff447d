"""A cover by repeated full-domain generalization, computed record by record.

The slow form of `dbanon.algorithms.optimizing.generalization_covers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Node = tuple[int, ...]

Label = Callable[[int, int, int], object]
"""The value of a record, attribute and level."""

Lost = Callable[[int, int, int], int]
"""The loss of that value."""


@dataclass(frozen=True)
class CoverTable:
    """The records, the highest level of each attribute, and the requirements of a group."""

    records: int
    top: Node
    label: Label
    lost: Lost
    least: int

    def groups(self, node: Node, records: Sequence[int]) -> list[list[int]]:
        """Return groups of enough records on a node."""
        result: dict[tuple[object, ...], list[int]] = {}
        for record in records:
            result.setdefault(tuple(self.label(record, j, level) for j, level in enumerate(node)), []).append(record)
        return [group for group in result.values() if len(group) >= self.least]

    def gain(self, node: Node, records: Sequence[int], worth: int) -> tuple[int, int]:
        """Return the worth of the records in groups of enough, less their loss; and their worth alone."""
        covered_records = [record for group in self.groups(node, records) for record in group]
        total = sum(self.lost(record, j, level) for record in covered_records for j, level in enumerate(node))
        return len(covered_records) * worth - total, len(covered_records) * worth


def cover(table: CoverTable, worth: int, dearer: float, min_share: float, dearest: float) -> list[list[list[int]]]:
    """Return the groups of each turn; the last are the remaining records."""
    maximum = max(sum(table.lost(r, j, level) for j, level in enumerate(table.top)) for r in range(table.records))
    turns, remaining_numbers = [], list(range(table.records))
    while len(remaining_numbers) >= 2 * table.least and worth <= dearest * maximum:
        node, gained = climb(table, *descend(table, remaining_numbers, worth), remaining_numbers, worth)
        groups = table.groups(node, remaining_numbers)
        covered_records = {record for group in groups for record in group}
        if gained <= 0 or len(covered_records) < min_share * len(remaining_numbers):
            worth = int(worth * dearer) + 1
            continue
        turns.append(groups)
        remaining_numbers = [record for record in remaining_numbers if record not in covered_records]
    return [*turns, [remaining_numbers]] if remaining_numbers else turns


def descend(table: CoverTable, records: Sequence[int], worth: int) -> tuple[Node, int]:
    """Return the best node of a descent on which each step gains most."""
    node = best = table.top
    gained = 0
    while any(node):
        lower = [lower_level(node, j) for j in range(len(node)) if node[j]]
        node = max(lower, key=lambda n: table.gain(n, records, worth))  # the first of equals
        local_result, maximum = table.gain(node, records, worth)
        if maximum <= gained:
            break
        if local_result > gained:
            best, gained = node, local_result
    return best, gained


def climb(table: CoverTable, node: Node, gained: int, records: Sequence[int], worth: int) -> tuple[Node, int]:
    """Climb from a node: one attribute up, or one up and another down, as long as that gains more."""
    while gained > 0:
        near = []
        for i in range(len(node)):
            if node[i] < table.top[i]:
                above = (*node[:i], node[i] + 1, *node[i + 1 :])
                near += [above, *(lower_level(above, j) for j in range(len(node)) if j != i and above[j])]
        best = max(near, key=lambda n: table.gain(n, records, worth)[0], default=node)
        if table.gain(best, records, worth)[0] <= gained:
            break
        node, gained = best, table.gain(best, records, worth)[0]
    return node, gained


def lower_level(node: Node, j: int) -> Node:
    """Return the node with one attribute a level lower."""
    return (*node[:j], node[j] - 1, *node[j + 1 :])
