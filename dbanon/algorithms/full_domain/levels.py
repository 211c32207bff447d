"""Levels of generalization: what is equal on a node of the lattice of all attributes' levels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbanon.encoding.encoded_table import AnyInts, Attribute, Ints, NumericAttribute, combined_key

Node = tuple[int, ...]
"""A level of each of some attributes, by its place in `Levels.numbers`."""


@dataclass(frozen=True)
class AttributeLevels:
    """The levels of one attribute that group its records differently, from the values upwards.

    O(values * levels) memory for a tree, O(values) for a number.

    Attributes:
        numbers: Number of each level in the hierarchy.
        steps: steps[0] is the block of each code at the first level (-1 if it does not occur); steps[i] is the block at
            level i of each block at level i - 1.
        n_blocks: Number of blocks at each level.
    """

    numbers: tuple[int, ...]
    steps: tuple[Ints, ...]
    n_blocks: tuple[int, ...]

    @classmethod
    def from_codes(cls, attribute: Attribute, codes: AnyInts) -> AttributeLevels:
        """Return the levels of an attribute for some codes of it.

        Of a tree: the ancestors so many steps above each value, up to max_level; of a number: blocks of 1, 2, 4, 8 ...
        distinct values. A NULL is a block of its own below the top and joins all others there, where `*` is published.
        A level that joins no more codes than the one below is left out: its nodes have the same classes.
        """
        present = np.unique(codes).astype(np.int64)
        first = np.full(attribute.values + 1, -1, np.int64)
        first[present] = np.arange(len(present))
        numbers, steps, blocks = [0], [first], [len(present)]
        block_codes = present  # a code of each block
        for number in range(1, _top_level(attribute) + 1):
            _, begin, upper_block = np.unique(
                _block_keys(attribute, block_codes, number), return_index=True, return_inverse=True
            )
            if len(begin) < len(block_codes):
                block_codes = block_codes[begin]
                numbers.append(number)
                steps.append(upper_block.reshape(-1))
                blocks.append(len(block_codes))
        return cls(tuple(numbers), tuple(steps), tuple(blocks))

    def blocks_above(self, low: int, high: int) -> Ints:
        """Return the block at one level of each block at a lower one, or the same."""
        block_above = np.arange(self.n_blocks[low])
        for level in range(low + 1, high + 1):
            block_above = self.steps[level][block_above]
        return block_above


def _top_level(attribute: Attribute) -> int:
    """Return the level at which everything is one."""
    if isinstance(attribute, NumericAttribute):
        return max(attribute.height, 1)
    height = int(attribute.depth[attribute.node].max(initial=1))
    return height if attribute.max_level is None else min(height, attribute.max_level)


def _block_keys(attribute: Attribute, codes: Ints, level: int) -> Ints:
    """Return a key of each code's block at a level; codes of one block have equal keys."""
    limited = not isinstance(attribute, NumericAttribute) and attribute.max_level is not None
    if level == _top_level(attribute) and not limited:
        return np.zeros(len(codes), np.int64)
    if isinstance(attribute, NumericAttribute):
        return np.where(codes == attribute.values, -1, attribute.block(codes, level)[0])
    return attribute.block(level)[codes]


@dataclass(frozen=True)
class FrequencySet:
    """A frequency set: the groups of records of some attributes on a node.

    blocks (attributes, groups); records (groups,).
    """

    node: Node
    blocks: tuple[Ints, ...]
    records: Ints

    def groups_above(self, levels: Sequence[AttributeLevels], node: Node) -> tuple[Ints, int]:
        """Return the group that each group belongs to on a node above, and how many there are."""
        above = [
            attribute_levels.blocks_above(low, high)
            for attribute_levels, low, high in zip(levels, self.node, node, strict=True)
        ]
        columns = [up[blocks] for up, blocks in zip(above, self.blocks, strict=True)]
        return group_rows(
            columns, [attribute_levels.n_blocks[level] for attribute_levels, level in zip(levels, node, strict=True)]
        )

    def roll_up(self, levels: Sequence[AttributeLevels], node: Node) -> FrequencySet:
        """Return the frequency set of a node above: rolled up, without a look at the records."""
        group, groups = self.groups_above(levels, node)
        blocks = []
        for attribute_levels, low, high, column in zip(levels, self.node, node, self.blocks, strict=True):
            column_above = np.empty(groups, np.int64)
            column_above[group] = attribute_levels.blocks_above(low, high)[column]
            blocks.append(column_above)
        return FrequencySet(node, tuple(blocks), group_records(group, groups, self.records))


def group_rows(columns: Sequence[Ints], sizes: Sequence[int]) -> tuple[Ints, int]:
    """Return a number of each row from 0, equal where all columns are, and how many there are.

    `sizes`: values of a column.
    """
    key, size = combined_key(columns, sizes)
    if size <= 4 * len(key) + 1024:
        number = np.cumsum(np.bincount(key, minlength=size) > 0) - 1
        return number[key], int(number[-1]) + 1
    distinct, key = np.unique(key, return_inverse=True)
    return key, len(distinct)


def group_records(group: Ints, n_groups: int, records: Ints) -> Ints:
    """Return records by group. Sums of doubles are exact for less than 2^53 records."""
    return np.bincount(group, weights=records, minlength=n_groups).astype(np.int64)
