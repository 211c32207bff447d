"""Covers: orders of the records by groups of a few full-domain generalizations, found one after another.

All attributes are raised to certain levels; the records that are then in groups of at least k are covered. The others
are treated in the same way with levels of their own, as in the local recoding of ARX. In sparse tables of many columns,
and for large k, the loss is often least if different attributes are generalized for different records, which an order
along a line of attributes does not do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dbanon.algorithms.base.class_bounds import code_ranges
from dbanon.algorithms.base.kernel_inputs import KernelInputs
from dbanon.algorithms.base.loss import Heights, Loss
from dbanon.algorithms.base.registry import Check
from dbanon.algorithms.full_domain.levels import AttributeLevels, Node
from dbanon.algorithms.optimizing.orderings import items_along
from dbanon.encoding.encoded_table import Codes, EncodedTable, Ints
from dbanon.kernels.arrays import COUNT_MASK, LevelChange

WORTH_SHARES = (0.5, 0.3, 0.23, 0.17, 0.13, 0.1, 0.08, 0.06, 0.05, 0.04)
"""The initial worth of a covered record, as shares of the greatest loss."""

WORTH_FACTORS = (1.3, 1.15, 1.07, 1.035)
"""Factors by which the worth rises if a node covers too few of the uncovered records; small ones cost more time."""

MAX_COVERS = {"fast": 2, "normal": 8, "high": 24}
"""Greatest number of covers."""

MAX_MODEL_COVERS = {"fast": 3, "normal": 6, "high": 12}
"""The same if models other than k must be checked, which makes cutting an order expensive."""

MODEL_SIZE_FACTORS: tuple[int, ...] = (1, 4)
"""The group sizes that are tried in that case, relative to the least number of records of a class: the smallest groups
often violate a model, the greater ones lose more."""

MIN_COVERED_SHARE = 0.01
"""A smaller share of the uncovered records is too few."""

MAX_WORTH_SHARE = 1.5
"""If the worth exceeds this share of the greatest loss, the uncovered records become one group."""

MAX_LOOKS = {"fast": (30_000_000, 250), "normal": (200_000_000, 1_000), "high": (1_500_000_000, 3_000)}
"""Evaluations of an item, some ten nanoseconds each, after which no other cover is begun: in all, or for each item if
that is more. A cover that takes twice as many puts the rest in one group."""


HOPELESS_PERCENT = 110
"""Covers of other settings are skipped if the first loses more than this percentage of what lines lose: in more than 80
tables of Adult's and the diabetes data's columns, they lowered the loss of a cover by at most 5 %."""


class CoverSettings(NamedTuple):
    """The settings of one cover.

    Attributes:
        share_number: Index in WORTH_SHARES.
        factor_number: Index in WORTH_FACTORS.
        size_factor: Least number of records of a group, relative to that of a class.
    """

    share_number: int
    factor_number: int
    size_factor: int

    def neighbours(self) -> Iterator[CoverSettings]:
        """Yield the settings that differ by one step: a smaller factor, a smaller and a greater share."""
        if self.factor_number + 1 < len(WORTH_FACTORS):
            yield self._replace(factor_number=self.factor_number + 1)
        if self.share_number + 1 < len(WORTH_SHARES):
            yield self._replace(share_number=self.share_number + 1)
        if self.share_number > 0:
            yield self._replace(share_number=self.share_number - 1)


FIRST_COVER = CoverSettings(WORTH_SHARES.index(0.1), WORTH_FACTORS.index(1.15), 1)
"""The settings of the first cover."""


def try_covers(
    try_order: Callable[[Codes], int],
    space: EncodedTable,
    kernel_inputs: KernelInputs,
    effort: str,
    heights: Heights,
    loss_of_lines: int,
    check: Check,
) -> None:
    """Try orders of the items (records that no model distinguishes) in which the groups of a cover are contiguous.

    Several covers are built, beginning with the settings FIRST_COVER: the neighbours of the best settings are tried as
    long as they lose less, so that greater effort tries the same covers and more. The first cover is the only one if it
    loses far more than `loss_of_lines` (HOPELESS_PERCENT). Within groups, items are ordered along a line that has the
    attributes of few values first, and (unless models other than k must be checked) along the reversed line. If models
    other than k must be checked, the first cover is built with groups of each size in MODEL_SIZE_FACTORS, the others
    with the size that loses less. O(looks) time, O(items) memory.

    Args:
        try_order: Cuts the records in an order of the items into classes and returns the least loss.
        space: The encoded table.
        kernel_inputs: The arrays of the table and the constraint.
        effort: 'fast', 'normal' or 'high'; limits the number of covers and of evaluations.
        heights: The kind of loss, see `Loss`.
        loss_of_lines: The least loss of the orders that were tried before.
        check: Called often; raises if the run was interrupted.
    """
    looks, looks_per_item = MAX_LOOKS[effort]
    lattice = CoverLattice.from_inputs(
        space, kernel_inputs, heights, max(looks, looks_per_item * len(kernel_inputs.codes)), check
    )
    if lattice.max_loss <= 0:
        return
    line = tuple((j, 0) for j in sorted(range(len(space.attributes)), key=lambda j: (space.attributes[j].values, j)))
    places = [np.argsort(items_along(kernel_inputs, order_line)) for order_line in (line, line[::-1])]

    losses: dict[CoverSettings, int] = {}

    def loss_of_cover(settings: CoverSettings) -> int:
        """Return the least loss along the orders of one cover; each cover is built once."""
        if settings not in losses:
            lattice.min_records = settings.size_factor * kernel_inputs.min_records
            worth = int(WORTH_SHARES[settings.share_number] * lattice.max_loss)
            turn, key = _build_cover(lattice, worth, WORTH_FACTORS[settings.factor_number])
            losses[settings] = min(try_order(_order_by_groups(turn, key, place)) for place in places)
        return losses[settings]

    max_covers, size_factors = MAX_COVERS[effort], MODEL_SIZE_FACTORS[:1]
    if kernel_inputs.mode:
        max_covers, places, size_factors = MAX_MODEL_COVERS[effort], places[:1], MODEL_SIZE_FACTORS
    best = min((FIRST_COVER._replace(size_factor=factor) for factor in size_factors), key=loss_of_cover)
    has_improved = 100 * losses[best] <= HOPELESS_PERCENT * loss_of_lines
    while has_improved:
        has_improved = False
        for settings in best.neighbours():
            if lattice.n_looks > lattice.max_looks or (settings not in losses and len(losses) >= max_covers):
                return
            if loss_of_cover(settings) < losses[best]:
                best, has_improved = settings, True
                break


def _order_by_groups(turn: Ints, key: Ints, place: Ints) -> Codes:
    """Return the items sorted by turn, then by group, then by place; all arguments are by item.

    An item is a set of records that no model distinguishes, such as a tuple.

    Args:
        turn: The turn (number of the chosen node) in which the item is covered.
        key: The key of its group. Groups of a turn are ordered by their first items in the order of `place`.
        place: The position of the item along a line.
    """
    order = np.lexsort((place, key, turn))
    is_first = np.append(True, (key[order[1:]] != key[order[:-1]]) | (turn[order[1:]] != turn[order[:-1]]))
    first = np.empty_like(place)
    first[order] = place[order[is_first]][np.cumsum(is_first) - 1]
    return np.lexsort((place, first, turn)).astype(np.int32)


# --- the lattice ----------------------------------------------------------------------------------------------------


class NodeItems(NamedTuple):
    """Items on a node (a level for each attribute): all that no earlier node of the cover covers, or some of them.

    An item that is missing is in a group of fewer records than needed, on this node and all below.

    Attributes:
        node: The node.
        earlier_nodes: The nodes of the cover so far.
        rows: Numbers of the items.
        keys: Key of each item's group: items with equal keys are equal on the node.
        losses: Loss of a record of each item on the node.
    """

    node: Node
    earlier_nodes: tuple[Node, ...]
    rows: Ints
    keys: Ints
    losses: Ints

    def subset(self, selection: Any) -> NodeItems:
        """Return the items (sets of equal records) that `selection` (a mask or indices) selects."""
        return self._replace(rows=self.rows[selection], keys=self.keys[selection], losses=self.losses[selection])


@dataclass
class CoverLattice:
    """The levels of all attributes, from which covers are built, and the count of evaluations.

    An item is a set of records that no model distinguishes, such as a tuple.

    Attributes:
        columns: For each attribute, the code of each item.
        keys: For each attribute and level, a hash of the block of each code.
        losses: For each attribute and level, the loss of each code.
        counts: Number of records of each item.
        min_records: Least number of records in a group.
        max_loss: Greatest loss of a record.
        max_looks: Number of evaluations after which the search ends.
        check: Called often; raises an error to interrupt.
        n_looks: Number of evaluations so far, repeated ones included.
        covered_by_node: Covered records and their loss, by least number of records, earlier nodes of the cover, and
            node. A worth that rises and the covers of other settings lead to the same nodes again.
        evaluated: The items, attribute and level of the groups that `table` and `places` have.
    """

    columns: list[Codes]
    keys: list[list[Ints]]
    losses: list[list[Ints]]
    counts: Ints
    min_records: int
    max_loss: int
    max_looks: int
    check: Check
    n_looks: int = 0
    covered_by_node: dict[tuple[int, tuple[Node, ...], Node], tuple[int, int]] = field(default_factory=dict)
    evaluated: tuple[NodeItems, int, int] | None = None
    table: Ints = field(init=False)
    places: Codes = field(init=False)

    def __post_init__(self) -> None:
        """Allocate the hash table in which a kernel counts the records of groups."""
        n = len(self.counts)
        self.table = np.zeros(1 << max((2 * n - 1).bit_length(), 1), np.int64)
        self.places = np.zeros(n, np.int32)

    @classmethod
    def from_inputs(
        cls, space: EncodedTable, kernel_inputs: KernelInputs, heights: Heights, max_looks: int, check: Check
    ) -> CoverLattice:
        """Return the lattice of the levels of all attributes, with the blocks and losses on each level.

        O(items * attributes) memory, O(values * levels) for each attribute.

        Args:
            space: The encoded table.
            kernel_inputs: The arrays of the table and the constraint.
            heights: The kind of loss, see `Loss`.
            max_looks: Number of evaluations of an item after which the search ends.
            check: Called often; raises if the run was interrupted.
        """
        columns = [np.ascontiguousarray(column) for column in kernel_inputs.codes.T]
        keys: list[list[Ints]] = []
        losses: list[list[Ints]] = []
        terms = Loss(space, 1, heights).terms
        for j, (attribute, term, codes) in enumerate(zip(space.attributes, terms, columns, strict=True)):
            levels = AttributeLevels.from_codes(attribute, codes)
            keys.append([])
            losses.append([])
            present = np.flatnonzero(levels.steps[0] >= 0)
            for level, blocks in enumerate(levels.n_blocks):
                block = levels.blocks_above(0, level)[levels.steps[0][present]]
                block_losses = term.losses(*code_ranges(block, present, blocks))
                keys[j].append(_by_code(attribute.values, present, _block_hashes(block, j, level)))
                losses[j].append(_by_code(attribute.values, present, block_losses[block]))
        max_loss = sum(int(attribute_losses[-1].max(initial=0)) for attribute_losses in losses)
        sizes, min_records = kernel_inputs.sizes, kernel_inputs.min_records
        return cls(columns, keys, losses, sizes, min_records, max_loss, max_looks, check)

    @property
    def top(self) -> Node:
        """The node (a level for each attribute) with the highest level of every attribute."""
        return tuple(len(keys) - 1 for keys in self.keys)

    def items_on(self, node: Node) -> NodeItems:
        """Return all items (sets of records that no model distinguishes) on a node, with group keys and losses."""
        keys, total_losses = np.zeros((2, len(self.counts)), np.int64)
        for column, attribute_keys, losses, level in zip(self.columns, self.keys, self.losses, node, strict=True):
            keys ^= attribute_keys[level][column]
            total_losses += losses[level][column]
        return NodeItems(node, (), np.arange(len(self.counts)), keys, total_losses)

    def with_level(self, node_items: NodeItems, j: int, level: int) -> NodeItems:
        """Return the same items (sets of equal records) on the node with attribute `j` on `level`."""
        old_level, codes = node_items.node[j], self.columns[j][node_items.rows]
        arrays = (self.keys[j][old_level], self.keys[j][level], self.losses[j][old_level], self.losses[j][level])
        is_by_code = len(codes) > len(arrays[0])  # fewer operations on all codes than on those of the items
        old_keys, new_keys, old_losses, new_losses = arrays if is_by_code else (values[codes] for values in arrays)
        key_change, loss_change = old_keys ^ new_keys, new_losses - old_losses
        if is_by_code:
            key_change, loss_change = key_change[codes], loss_change[codes]
        return node_items._replace(
            node=_with_level(node_items.node, j, level),
            keys=node_items.keys ^ key_change,
            losses=node_items.losses + loss_change,
        )

    def with_levels(self, node_items: NodeItems, node: Node) -> NodeItems:
        """Return the same items (sets of equal records) on another node."""
        for j, level in enumerate(node):
            if level != node_items.node[j]:
                node_items = self.with_level(node_items, j, level)
        return node_items

    def cover_gain(self, node_items: NodeItems, j: int, level: int, worth: int) -> tuple[int, int]:
        """Return the gain with attribute `j` on `level`, and a bound for lower nodes.

        Each record in a group of at least `min_records` gains `worth` less its loss; others gain nothing. The second
        result is an upper bound of the gain on the nodes below. The count of evaluations grows.

        Args:
            node_items: Some items (sets of equal records) on a node, a level for each attribute.
            j: Index of the attribute that is changed.
            level: Its new level; may be equal.
            worth: Gain of a covered record before its loss is subtracted.
        """
        self.check()
        self.n_looks += len(node_items.rows)
        key = self.min_records, node_items.earlier_nodes, _with_level(node_items.node, j, level)
        if key not in self.covered_by_node:
            self.covered_by_node[key] = self._evaluate(node_items, j, level)
        records, total = self.covered_by_node[key]
        return records * worth - total, records * worth

    def _evaluate(self, node_items: NodeItems, j: int, level: int) -> tuple[int, int]:
        """Return the number of records in large groups and their loss, with attribute `j` on `level`."""
        from dbanon.kernels.cover_gain import covered_records

        keys, losses, old_level = self.keys[j], self.losses[j], node_items.node[j]
        change = LevelChange(self.columns[j], keys[old_level], keys[level], losses[old_level], losses[level])
        arrays = node_items.rows, node_items.keys, node_items.losses
        records, total = covered_records(arrays, change, self.counts, self.min_records, self.table, self.places)
        self.evaluated = node_items, j, level
        return int(records), int(total)

    def is_covered(self, node_items: NodeItems, j: int, level: int) -> Any:
        """Return a mask of the items (sets of equal records) in large groups, with attribute `j` on `level`.

        A group is large if it has at least `min_records` records.
        """
        if self.evaluated is None or self.evaluated[0] is not node_items or self.evaluated[1:] != (j, level):
            self._evaluate(node_items, j, level)
        return (self.table[self.places[: len(node_items.rows)]] & COUNT_MASK) >= self.min_records

    def covered_items(self, node_items: NodeItems, j: int, level: int) -> NodeItems:
        """Return the items (sets of equal records) in large groups, on the node with attribute `j` on `level`."""
        return self.with_level(node_items.subset(self.is_covered(node_items, j, level)), j, level)


def _by_code(n_values: int, present: Ints, present_values: Ints) -> Ints:
    """Return an array by code (NULL last) with `present_values` at the codes `present` and 0 elsewhere.

    `n_values` is the number of codes without NULL.
    """
    by_code = np.zeros(n_values + 1, np.int64)
    by_code[present] = present_values
    return by_code


def _block_hashes(block: Ints, j: int, level: int) -> Ints:
    """Return a 64-bit hash of each block of a level of attribute `j`, mixed as SplitMix64 does.

    The hashes of all attributes are combined by XOR to the key of a group.
    """
    x = block.astype(np.uint64) + (np.uint64(j + 1) << np.uint64(48)) + (np.uint64(level + 1) << np.uint64(40))
    x *= np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))).view(np.int64)


# --- covers ---------------------------------------------------------------------------------------------------------


def _build_cover(lattice: CoverLattice, worth: int, worth_factor: float) -> tuple[Ints, Ints]:
    """Build a cover: choose a node (levels), cover the items in large groups there, and repeat with the others.

    An item is a set of records that no model distinguishes. Items that remain at the end are one group.

    Args:
        lattice: The levels of all attributes; its count of evaluations grows.
        worth: Gain of a covered record at first, before its loss is subtracted; rises if too few records are covered.
        worth_factor: The factor by which it rises.

    Returns:
        The turn in which each item is covered, and the key of its group (0 for the last group).
    """
    turn, key = np.zeros((2, len(lattice.counts)), np.int64)
    uncovered = lattice.items_on(lattice.top)
    records, max_looks = int(lattice.counts.sum()), lattice.n_looks + 2 * lattice.max_looks
    while (
        records >= 2 * lattice.min_records
        and worth <= MAX_WORTH_SHARE * lattice.max_loss
        and lattice.n_looks <= max_looks
    ):
        node, gained = _descend(lattice, uncovered, worth)
        node_items, gained = _climb(lattice, lattice.with_levels(uncovered, node), gained, worth)
        is_covered = lattice.is_covered(node_items, 0, node_items.node[0])
        node_items = node_items.subset(is_covered)
        n_covered = int(lattice.counts[node_items.rows].sum())
        if gained <= 0 or n_covered < MIN_COVERED_SHARE * records:
            worth = int(worth * worth_factor) + 1
            continue
        turn[node_items.rows], key[node_items.rows] = len(uncovered.earlier_nodes), node_items.keys
        earlier_nodes = (*uncovered.earlier_nodes, node_items.node)
        uncovered = uncovered.subset(~is_covered)._replace(earlier_nodes=earlier_nodes)
        records -= n_covered
    turn[uncovered.rows] = len(uncovered.earlier_nodes)
    return turn, key


def _descend(lattice: CoverLattice, node_items: NodeItems, worth: int) -> tuple[Node, int]:
    """Go down from a node, each time by the step with the greatest gain, and return the best node seen and its gain.

    A node is a level for each attribute; a step lowers one by one level. Items that are covered on no lower node are
    dropped on the way. The result is the starting node with gain 0 if no step gains anything.

    Args:
        lattice: The lattice.
        node_items: The items (sets of equal records) that may be covered, on the node to begin with.
        worth: Gain of a covered record before its loss is subtracted.
    """
    best, gained = node_items.node, 0
    while True:
        steps = [
            (*lattice.cover_gain(node_items, j, level - 1, worth), -j)
            for j, level in enumerate(node_items.node)
            if level > 0
        ]
        step_gain, max_gain, step = max(steps, default=(0, 0, 0))
        if max_gain <= gained:
            return best, gained
        node_items = lattice.covered_items(node_items, -step, node_items.node[-step] - 1)
        if step_gain > gained:
            best, gained = node_items.node, step_gain


def _climb(lattice: CoverLattice, node_items: NodeItems, gained: int, worth: int) -> tuple[NodeItems, int]:
    """Improve a node by hill climbing, and return the items on the final node, and its gain.

    A node is a level for each attribute. Each round takes the step that gains most: it raises one attribute by a level,
    or raises one and lowers another. The search ends if no step gains more, or once the number of
    evaluations exceeds a limit. The gain of a node is the sum of `worth` less the loss of each uncovered record in
    groups of at least `min_records`.

    Args:
        lattice: The lattice.
        node_items: The items (sets of equal records) that are not covered yet, on the node to begin with.
        gained: Its gain; nothing is tried if it is 0.
        worth: Gain of a covered record before its loss is subtracted.
    """
    max_looks = lattice.n_looks + lattice.max_looks // 4
    while gained > 0 and lattice.n_looks <= max_looks:
        node = node_items.node
        best, best_node = gained, node
        for i, level in enumerate(node):
            if level == lattice.top[i]:
                continue
            step_gain, max_gain = lattice.cover_gain(node_items, i, level + 1, worth)
            if step_gain > best:
                best, best_node = step_gain, _with_level(node, i, level + 1)
            if max_gain <= best:
                continue
            raised_items = lattice.covered_items(node_items, i, level + 1)
            for j in range(len(node)):
                if j != i and node[j] > 0:
                    step_gain, _ = lattice.cover_gain(raised_items, j, node[j] - 1, worth)
                    if step_gain > best:
                        best, best_node = step_gain, _with_level(raised_items.node, j, node[j] - 1)
        if best == gained:
            break
        node_items, gained = lattice.with_levels(node_items, best_node), best
    return node_items, gained


def _with_level(node: Node, j: int, level: int) -> Node:
    """Return the node (a level for each attribute) with the level of attribute `j` replaced."""
    return (*node[:j], level, *node[j + 1 :])
