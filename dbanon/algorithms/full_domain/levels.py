"""Levels of generalization: the blocks of values that are equal on each level of an attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dbanon.encoding.encoded_table import AnyInts, Attribute, Ints, NumericAttribute, combined_key

Node = tuple[int, ...]
"""A level for each of some attributes, as an index in `AttributeLevels.numbers`."""


@dataclass(frozen=True)
class AttributeLevels:
    """The levels of one attribute that group its records differently, from the values upwards.

    A block is a set of codes that are equal on a level. O(values * levels) memory for a hierarchy, O(values) for a
    number.

    Attributes:
        numbers: Number of each level in the hierarchy: steps up from the values.
        steps: steps[0] is the block of each code at the first level (-1 if it does not occur); steps[i] is the block at
            level i of each block at level i - 1.
        n_blocks: Number of blocks at each level.
    """

    numbers: tuple[int, ...]
    steps: tuple[Ints, ...]
    n_blocks: tuple[int, ...]

    @classmethod
    def from_codes(cls, attribute: Attribute, codes: AnyInts) -> AttributeLevels:
        """Return the levels of an attribute, given the codes that occur.

        Blocks of a hierarchy are ancestors 1, 2, ... steps above each value, up to max_level; those of a number have 1,
        2, 4, 8 ... distinct values. A NULL is a block of its own below the top and joins all others there, where `*` is
        published. A level that joins no more codes than the one below is omitted: its nodes have the same classes.
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
        """Return, for each block at level index `low`, its block at level index `high`, which is not lower.

        A block is a set of codes that are equal on a level.
        """
        block_above = np.arange(self.n_blocks[low])
        for level in range(low + 1, high + 1):
            block_above = self.steps[level][block_above]
        return block_above


def _top_level(attribute: Attribute) -> int:
    """Return the number of the highest level: the one that joins all values, or max_level if that is lower."""
    if isinstance(attribute, NumericAttribute):
        return max(attribute.height, 1)
    height = int(attribute.depth[attribute.node].max(initial=1))
    return height if attribute.max_level is None else min(height, attribute.max_level)


def _block_keys(attribute: Attribute, codes: Ints, level: int) -> Ints:
    """Return a number for each code's block (codes that are equal at a level); codes of one block have equal numbers.

    At the top all are 0, NULL too, unless the attribute has a max_level. Otherwise NULL has -1. `level` is the number
    of the level.
    """
    limited = not isinstance(attribute, NumericAttribute) and attribute.max_level is not None
    if level == _top_level(attribute) and not limited:
        return np.zeros(len(codes), np.int64)
    if isinstance(attribute, NumericAttribute):
        return np.where(codes == attribute.values, -1, attribute.block(codes, level)[0])
    return attribute.block(level)[codes]


@dataclass(frozen=True)
class FrequencySet:
    """A frequency set: the groups of records that are equal on a node, with their counts.

    Attributes:
        node: The index of the level of each of some attributes.
        blocks: For each of these attributes, the (groups,) block of each group.
        records: (groups,) number of records.
    """

    node: Node
    blocks: tuple[Ints, ...]
    records: Ints

    def groups_above(self, levels: Sequence[AttributeLevels], node: Node) -> tuple[Ints, int]:
        """Return the group on a higher node that each group here belongs to, and the number of groups there.

        A node is a level for each attribute.

        Args:
            levels: The levels of the attributes of this set.
            node: The higher node: index of the level of each of these attributes.
        """
        columns = [
            attribute_levels.blocks_above(low, high)[blocks]
            for attribute_levels, low, high, blocks in zip(levels, self.node, node, self.blocks, strict=True)
        ]
        return group_rows(
            columns, [attribute_levels.n_blocks[level] for attribute_levels, level in zip(levels, node, strict=True)]
        )

    def roll_up(self, levels: Sequence[AttributeLevels], node: Node) -> FrequencySet:
        """Return the frequency set of a higher node (levels of the attributes), computed from the groups here.

        Records are not read. `levels` are the levels of the attributes of this set.
        """
        group, groups = self.groups_above(levels, node)
        blocks = []
        for attribute_levels, low, high, column in zip(levels, self.node, node, self.blocks, strict=True):
            column_above = np.empty(groups, np.int64)
            column_above[group] = attribute_levels.blocks_above(low, high)[column]
            blocks.append(column_above)
        return FrequencySet(node, tuple(blocks), group_records(group, groups, self.records))


def group_rows(columns: Sequence[Ints], sizes: Sequence[int]) -> tuple[Ints, int]:
    """Number the distinct rows of `columns` from 0: rows that are equal in all columns have the same number.

    `sizes` is, for each column, a number above all its entries (integers from 0).

    Returns:
        The number of each row, and how many there are.
    """
    key, size = combined_key(columns, sizes)
    if size <= 4 * len(key) + 1024:
        number = np.cumsum(np.bincount(key, minlength=size) > 0) - 1
        return number[key], int(number[-1]) + 1
    distinct, key = np.unique(key, return_inverse=True)
    return key, len(distinct)


def group_records(group: Ints, n_groups: int, records: Ints) -> Ints:
    """Return the (groups,) number of records of each group: `records` summed by `group`.

    Sums of doubles are exact for less than 2^53 records.

    Args:
        group: Group of each entry.
        n_groups: Number of groups.
        records: Number of records of each entry.
    """
    return np.bincount(group, weights=records, minlength=n_groups).astype(np.int64)
