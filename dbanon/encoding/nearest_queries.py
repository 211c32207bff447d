"""Whole groups from an index at a time, in compiled code: seeds, and the records nearest to them."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dbanon.encoding.attribute_partitions import AttributePartitions
from dbanon.encoding.code_regions import KacpcDistances
from dbanon.encoding.encoded_table import Ints
from dbanon.encoding.tuple_index import SumQuery, TupleIndex, empty_ints
from dbanon.kernels.arrays import SeedSearch

CANDIDATES_PER_RECORD = 8
"""A group of n records is looked for among the n * EFFORT records nearest to its seed, then a greater one is."""

MAX_TABLE_ENTRIES = 2**24
"""All tables of one space are kept whole while they have at most so many entries together."""

MIN_TUPLES_PER_RECORD = 0.5
"""Tuples a record, from which on few repeat."""

MIN_PARTITIONED_TUPLES = 10_000
"""Fewer tuples are gathered from a tree before parts would be compiled."""

MAX_BLOCK_SPAN = 0.23
"""Share of the axes that blocks of neighbours may span on average: where they span more, they leave out little."""

MIN_BLOCK_TUPLES = 4
"""Fewest tuples of a block on average: where fewer are alike in all that is asked by table, blocks are many."""


class RecordLists(NamedTuple):
    """The records that are left: `head`, the first of each tuple, and `following`, the next of the same tuple (-1:
    none); `tuple_of` (rows,) and `values`, the sensitive codes (columns, rows)."""

    head: Ints
    following: Ints
    tuple_of: Ints
    values: Any


class ClusterGatherer:
    """Takes groups from an index.

    `sums`: the summed distances to all seeds, which nothing else adds to; `sign`: seeds have the least (1) or the
    greatest (-1) of them.
    """

    def __init__(self, index: TupleIndex, sums: SumQuery, sign: int) -> None:
        self.index, self.sums, self.sign = index, sums, sign

    @staticmethod
    def fits(index: TupleIndex) -> bool:
        """Return whether all tables of the index are small enough to be kept whole."""
        return sum(n * n for n in index.sizes) <= MAX_TABLE_ENTRIES

    @staticmethod
    def has_parts(index: TupleIndex, sign: int) -> bool:
        """Whether parts of the attributes answer faster than a tree or blocks, or are all that can: few tuples repeat,
        and neighbours have little in common."""
        if sign < 0 or not all(isinstance(table, KacpcDistances) for table in index.tables):
            return False
        if not ClusterGatherer.fits(index):
            return True
        if len(index.left) < max(MIN_PARTITIONED_TUPLES, MIN_TUPLES_PER_RECORD * index.space.rows):
            return False
        if index.axis_codes.shape[1] == 0:
            return True
        low, high = index.blocks.blocks[4:6]
        span = (high - low).sum() / len(low) / max((high.max(axis=0) - low.min(axis=0)).sum(), 1)
        return bool(len(index.left) < MIN_BLOCK_TUPLES * len(low) or span > MAX_BLOCK_SPAN)

    @cached_property
    def _parts(self) -> AttributePartitions | None:
        index = self.index
        tables = [table for table in index.tables if isinstance(table, KacpcDistances)]
        return (
            AttributePartitions(index.space, tables, index.left)
            if ClusterGatherer.has_parts(index, self.sign)
            else None
        )

    @cached_property
    def _search(self) -> SeedSearch:
        """The questions, with all rows of all tables."""
        index, query, sums = self.index, self.index.blank(), self.sums
        rows = [index.tables[j].row(c) for j, n in zip(index.tabular, index.sizes, strict=True) for c in range(n)]
        starts = np.cumsum([0, *(n * n for n in index.sizes)])[:-1].astype(np.int64)
        tables = np.concatenate([empty_ints(), *rows])
        return SeedSearch(tables, starts, query.flat, query.axes, sums.flat, sums.axes, self.sign)

    def groups(self, k: int, begin: int, most: int) -> tuple[Ints, Ints]:
        """Make up to `most` groups: the record of least (greatest) sum, and the k - 1 nearest to it.

        `begin` is the first seed, or -1. Every seed is added to the sums. Gives members (rows, 2), the tuple and count
        of each, every group ending with a row of -1, and the seeds. The same as asking `least`, `take`, `nearest`,
        `take`, `add` in turn; parts keep sums of their own.
        """
        from dbanon.kernels.block_search import gather_blocks
        from dbanon.kernels.tree_search import gather_steps

        index = self.index
        members, seeds = np.empty((most * (k + 2), 2), np.int64), np.empty(most, np.int64)
        if self._parts is not None:
            n_rows, n_clusters = self._parts.groups(k, begin, members, seeds)
            index.records = int(index.left.sum())
            return members[:n_rows], seeds[:n_clusters]
        if index.axis_codes.shape[1] and self.sign > 0:
            n_rows, n_clusters = gather_blocks(
                index.blocks, index.by_table, index.axis, index.axis_codes, self._search, k, begin, most, members, seeds
            )
            index.records = int(index.left.sum())
            return members[:n_rows], seeds[:n_clusters]
        n_rows, n_clusters = gather_steps(index.arrays, self._search, k, begin, index.apart, most, members, seeds)
        index.count()
        return members[:n_rows], seeds[:n_clusters]

    def judged_groups(
        self, least: int, begin: int, chains: RecordLists, rules: tuple[Any, ...], labels: Ints, first: int, most: int
    ) -> tuple[Ints, bool]:
        """Makes up to `most` groups of at least `least` records that meet models of sensitive values, and labels their
        records from `first` on; gives the seeds, and whether the last seed found no group.

        `begin` is the first seed, or -1; rules and their scratch: see `dbanon.kernels.model_gathering`.
        """
        from dbanon.kernels.model_gathering import gather_models

        seeds = np.empty(most, np.int64)
        n_clusters, is_stuck = gather_models(
            self.index.arrays, self._search, least, begin, chains, rules, labels, first, seeds, CANDIDATES_PER_RECORD
        )
        self.index.count()
        return seeds[:n_clusters], bool(is_stuck)
