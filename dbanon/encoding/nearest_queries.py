"""Whole clusters at a time from a tuple index, in compiled code: a seed, and the records nearest to it."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dbanon.encoding.attribute_partitions import AttributePartitions
from dbanon.encoding.code_regions import KacpcDistances
from dbanon.encoding.encoded_table import Ints
from dbanon.encoding.tuple_index import TupleIndex, empty_ints
from dbanon.kernels.index_arrays import SeedSearch, SumQuery

CANDIDATES_PER_RECORD = 8
"""A cluster of n records is searched for among the n * 8 records nearest to its seed, before a larger one is tried."""

MAX_TABLE_ENTRIES = 2**24
"""All distance tables are kept in full while they have at most this many entries together."""

MIN_TUPLES_PER_RECORD = 0.5
"""Tuples per record from which few tuples count as repeated."""

MIN_PARTITIONED_TUPLES = 10_000
"""With fewer tuples, gathering from a tree takes less time than compiling the kernels for partitions."""

MAX_BLOCK_SPAN = 0.23
"""Largest average share of the axes that blocks of neighbours may span: wider blocks skip few tuples."""

MIN_BLOCK_TUPLES = 4
"""Smallest average number of tuples per block: with fewer, there are too many blocks."""


class RecordLists(NamedTuple):
    """The remaining records as one linked list per tuple (distinct combination of codes).

    Attributes:
        head: (tuples,) first remaining record of each tuple, -1 for none.
        next_record: (rows,) the next record of the same tuple, -1 for none.
        tuple_of: (rows,) tuple of each record.
        sensitive_codes: (columns, rows) sensitive codes.
    """

    head: Ints
    next_record: Ints
    tuple_of: Ints
    sensitive_codes: Any


class ClusterGatherer:
    """A former of clusters from the remaining records of a tuple index, from which it removes them.

    Args:
        index: The index; its remaining counts are changed.
        sums: The summed distances to all seeds so far; only this object adds to them.
        sign: 1 if the next seed is the tuple with the least sum, -1 if it is the one with the greatest.
    """

    def __init__(self, index: TupleIndex, sums: SumQuery, sign: int) -> None:
        """Store the arguments; search structures are built on first use.

        Args:
            index: The index of the remaining records, from which clusters are removed.
            sums: The query for the summed distances to all seeds so far.
            sign: 1 if the next seed is the tuple with the least sum, -1 if it is the one with the greatest.
        """
        self.index, self.sums, self.sign = index, sums, sign
        self._n_examined_blocks = 0

    @staticmethod
    def can_keep_tables(index: TupleIndex) -> bool:
        """Return whether all distance tables of the index (values x values) have at most MAX_TABLE_ENTRIES in total."""
        return sum(n * n for n in index.sizes) <= MAX_TABLE_ENTRIES

    @staticmethod
    def uses_partitions(index: TupleIndex, sign: int) -> bool:
        """Return whether clusters are gathered from partitions of the attributes instead of a tree or blocks of tuples.

        Partitions are only possible if `sign` is 1 and all distances are those of KACPC. They are the only possibility
        if the distance tables are too large to be kept in full. Otherwise they are used where few tuples repeat and
        blocks of neighbouring tuples are wide or small. May build the blocks of the index.

        Args:
            index: The index of the remaining records.
            sign: 1 if each seed is the record with the least summed distance to the earlier seeds, -1 if the greatest.
        """
        if sign < 0 or not all(isinstance(table, KacpcDistances) for table in index.tables):
            return False
        if not ClusterGatherer.can_keep_tables(index):
            return True
        if len(index.remaining) < max(MIN_PARTITIONED_TUPLES, MIN_TUPLES_PER_RECORD * index.space.rows):
            return False
        if index.axis_codes.shape[1] == 0:
            return True
        low, high = index.blocks.blocks[4:6]
        span = (high - low).sum() / len(low) / max((high.max(axis=0) - low.min(axis=0)).sum(), 1)
        return bool(len(index.remaining) < MIN_BLOCK_TUPLES * len(low) or span > MAX_BLOCK_SPAN)

    @cached_property
    def _partitions(self) -> AttributePartitions | None:
        """The partitions of the attributes from which clusters are gathered; None if a tree or blocks are used."""
        index = self.index
        tables = [table for table in index.tables if isinstance(table, KacpcDistances)]
        return (
            AttributePartitions(index.space, tables, index.remaining)
            if ClusterGatherer.uses_partitions(index, self.sign)
            else None
        )

    @cached_property
    def searches_blocks(self) -> bool:
        """Whether clusters are gathered from blocks of neighbouring tuples; may build the partitions."""
        return self._partitions is None and self.index.axis_codes.shape[1] > 0 and self.sign > 0

    @property
    def steps(self) -> int:
        """Number of tuples (in partitions) or blocks that searches have examined; 0 with a tree."""
        return self._n_examined_blocks if self._partitions is None else self._partitions.steps

    @cached_property
    def _search(self) -> SeedSearch:
        """The arguments of the kernels that search for seeds.

        They are all distance tables in full, a query for kernels to fill, the summed distances to seeds, and the sign.
        """
        index = self.index
        rows = [index.tables[j].row(c) for j, n in zip(index.tabular, index.sizes, strict=True) for c in range(n)]
        starts = np.cumsum([0, *(n * n for n in index.sizes)])[:-1].astype(np.int64)
        return SeedSearch(np.concatenate([empty_ints(), *rows]), starts, index.zero_query(), self.sums, self.sign)

    def gather_clusters(self, k: int, first_seed: int, max_clusters: int) -> tuple[Ints, Ints]:
        """Form up to `max_clusters` clusters of k records, and remove their records from the index.

        A cluster is the seed, which is the remaining record with the least (or, by `sign`, greatest) summed distance to
        all seeds so far, and the k - 1 records nearest to it. Ties go to the first tuple. Fewer clusters are formed if
        fewer than k records remain. The result equals calling `least_tuple`, `remove_records`, `nearest`,
        `remove_records` and `add_record` of the index in turn; every seed is added to the sums (partitions keep sums of
        their own).

        Args:
            k: Records per cluster.
            first_seed: Tuple of the first seed, or -1 to search for it.
            max_clusters: Number of clusters after which to stop.

        Returns:
            Members as an array (rows, 2), tuple and number of records, with a row of -1 after each cluster; and the
            seed (tuple) of each cluster.
        """
        from dbanon.kernels.block_search import gather_block_clusters
        from dbanon.kernels.tree_search import gather_clusters

        index = self.index
        members, seeds = np.empty((max_clusters * (k + 2), 2), np.int64), np.empty(max_clusters, np.int64)
        if self._partitions is not None:
            n_rows, n_clusters = self._partitions.gather_clusters(k, first_seed, members, seeds)
        elif self.searches_blocks:
            n_rows, n_clusters, n_examined = gather_block_clusters(
                index.blocks,
                index.tabular_arrays,
                index.axes,
                index.axis_codes,
                self._search,
                k,
                first_seed,
                max_clusters,
                members,
                seeds,
            )
            self._n_examined_blocks += int(n_examined)
        else:
            n_rows, n_clusters = gather_clusters(
                index.arrays, self._search, k, first_seed, index.has_no_zero_distances, max_clusters, members, seeds
            )
        index.records = int(index.remaining.sum())
        return members[:n_rows], seeds[:n_clusters]

    def gather_constrained_clusters(
        self,
        min_records: int,
        first_seed: int,
        lists: RecordLists,
        rules: tuple[Any, ...],
        labels: Ints,
        first_label: int,
        max_clusters: int,
    ) -> tuple[Ints, bool]:
        """Form up to `max_clusters` clusters of at least `min_records` records that meet models of sensitive values.

        Their records are removed from the index and from `lists`, and labelled in `labels`.

        Args:
            min_records: Fewest records of a cluster.
            first_seed: Tuple of the first seed, or -1 to search for it.
            lists: The remaining records by tuple; changed in place.
            rules: The arrays of the privacy models and scratch space, see `dbanon.kernels.model_gathering`.
            labels: Output: cluster number of each record, from `first_label` on.
            first_label: Number of the first cluster.
            max_clusters: Number of clusters after which to stop.

        Returns:
            The seeds (tuples), and whether it stopped because no cluster was found for the last seed.
        """
        from dbanon.kernels.model_gathering import gather_constrained_clusters

        seeds = np.empty(max_clusters, np.int64)
        n_clusters, is_stuck = gather_constrained_clusters(
            self.index.arrays,
            self._search,
            min_records,
            first_seed,
            lists,
            rules,
            labels,
            first_label,
            seeds,
            CANDIDATES_PER_RECORD,
        )
        self.index.recount_records()
        return seeds[:n_clusters], bool(is_stuck)
