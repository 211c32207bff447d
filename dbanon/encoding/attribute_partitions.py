"""Partitions of the attributes (a few attributes each) and inverted lists of tuples by their regions in each partition.

A tuple is a distinct combination of codes. The lists find nearest records where few tuples repeat and attributes, or
their values, are many. See `dbanon.kernels.candidate_search`.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from dbanon.encoding.code_regions import AttributeRegions, KacpcDistances, attribute_regions
from dbanon.encoding.distance import CategoricalDistances, NumericDistances
from dbanon.encoding.encoded_table import Codes, EncodedTable, Ints
from dbanon.kernels.partition_arrays import (
    EXAMINED,
    GREATEST_SUM,
    REMAINING,
    CandidateArrays,
    CandidateBuckets,
    PartitionCells,
    PartitionIndex,
    RegionArrays,
    SeedSums,
)

MAX_PARTITION_CELLS = 4096
"""The largest number of cells of a partition: combinations of one region per attribute."""

N_CANDIDATES = 256
"""Number of records whose distance sums are kept exact; the next seed is one of them."""


TUPLES_PER_CANDIDATE, TUPLES_PER_BUCKET_CANDIDATE = 256, 64
"""With one attribute there is a candidate for so many tuples, if that is more: sums are often equal, and the nearest
records of a seed are candidates, too. The second number is for an attribute with a hierarchy, where candidates are in
buckets: most of them need not be read for a new seed."""


class AttributePartitions:
    """A search structure that forms clusters from the remaining records of an encoded table.

    Args:
        space: The encoded table.
        distances: The KACPC distances of each attribute.
        remaining: (tuples,) remaining records of each tuple; changed in place by `gather_clusters`.

    Building takes O(tuples * (attributes + partitions * log tuples)) time.
    """

    def __init__(self, space: EncodedTable, distances: Sequence[KacpcDistances], remaining: Ints) -> None:
        """Divide the codes of every attribute into regions, and sort the tuples by cell in each partition.

        A region is a range of neighbouring codes, a partition a few attributes, and a cell a combination of one region
        for each of these. Attributes are ordered by their number of regions, greatest first. Nothing is removed from
        `remaining` yet.

        Args:
            space: The encoded table.
            distances: The KACPC distances of each attribute.
            remaining: (tuples,) remaining records of each tuple; kept by reference.
        """
        regions = [
            attribute_regions(table, np.bincount(space.codes[:, j], minlength=attribute.values + 1)[:-1])
            for j, (table, attribute) in enumerate(zip(distances, space.attributes, strict=True))
        ]
        order = sorted(range(len(regions)), key=lambda j: -regions[j].n_regions)
        codes = np.ascontiguousarray(space.codes[:, order])
        regions = [regions[j] for j in order]
        region_arrays = _region_arrays([distances[j] for j in order], regions)
        records = [
            np.bincount(codes[:, j], remaining, len(r.region_of)).astype(np.int64) for j, r in enumerate(regions)
        ]
        self._partition_index = PartitionIndex(
            codes,
            remaining,
            region_arrays,
            _partition_cells(codes, regions),
            np.concatenate(records),
            np.concatenate([r.least_distances for r in regions]),
        )
        n_seeds, value_sums = np.zeros((2, len(region_arrays.position_or_node)), np.int64)
        below, above = np.zeros((2, len(region_arrays.ways)), np.int64)
        n_regions = len(region_arrays.bounds)
        seed_sums = SeedSums(
            n_seeds, below, above, value_sums, np.zeros(n_regions, np.int64), np.zeros(n_regions, np.int8)
        )
        n_candidates, n_buckets = N_CANDIDATES, 1
        if len(regions) == 1 and isinstance(distances[0], NumericDistances):
            n_candidates = max(N_CANDIDATES, len(codes) // TUPLES_PER_CANDIDATE)
        elif len(regions) == 1:
            n_candidates, n_buckets = max(N_CANDIDATES, len(codes) // TUPLES_PER_BUCKET_CANDIDATE), regions[0].n_regions
        state = np.zeros(7, np.int64)
        state[GREATEST_SUM], state[REMAINING] = -1, remaining.sum()
        tuples, sums = np.zeros((2, n_candidates), np.int64)
        begins, ends, shifts = np.zeros((3, n_buckets), np.int64)
        buckets = CandidateBuckets(begins, ends, shifts, np.full(n_buckets, -1))
        self._candidates = CandidateArrays(seed_sums, tuples, sums, state, buckets)

    @property
    def steps(self) -> int:
        """Number of tuples that searches have examined."""
        return int(self._candidates.state[EXAMINED])

    def gather_clusters(self, k: int, first_seed: int, members: Ints, seeds: Ints) -> tuple[int, int]:
        """Form as many clusters of `k` records as fit in the output arrays, and remove their records.

        A cluster is a seed and the k - 1 records nearest to it. The seed is the remaining record with the least summed
        distance to all seeds so far. Fewer clusters are formed if fewer than `k` records remain.

        Args:
            k: Records per cluster.
            first_seed: Tuple of the first seed, or -1 to search for it.
            members: (rows, 2) output: tuple and number of records of each member; each cluster ends with a row of -1.
            seeds: Output: the seed (a tuple number) of each cluster.

        Returns:
            Number of rows used in `members`, and number of clusters.
        """
        from dbanon.kernels.candidate_search import gather_partition_clusters

        n_rows, n_clusters = gather_partition_clusters(
            self._partition_index, self._candidates, k, first_seed, members, seeds
        )
        return int(n_rows), int(n_clusters)


def _region_arrays(distances: Sequence[KacpcDistances], regions: Sequence[AttributeRegions]) -> RegionArrays:
    """Concatenate the distances and the regions of all attributes."""
    sizes = np.array(
        [
            (
                len(regions_of.region_of),
                len(regions_of.nodes),
                regions_of.distance_to_ancestor.size,
                regions_of.n_regions,
                len(regions_of.pair_bounds),
            )
            for regions_of in regions
        ],
        np.int64,
    )
    value_starts, node_starts, way_starts, region_starts, pair_starts = (np.cumsum(sizes, axis=0) - sizes).T.copy()
    scales = np.ones((len(regions), 2))
    for j, table in enumerate(distances):
        if isinstance(table, CategoricalDistances):
            scales[j] = table.weight, table.scale

    def integers(numbers: Iterable[int]) -> Ints:
        """Return one integer per attribute as an array."""
        return np.array(list(numbers), np.int64)

    return RegionArrays(
        is_tree=integers(r.distance_to_ancestor.size > 0 for r in regions),
        n_values=integers(len(r.region_of) - 1 for r in regions),
        n_nodes=integers(len(r.nodes) for r in regions),
        n_depths=integers(r.distance_to_ancestor.shape[1] for r in regions),
        n_regions=integers(r.n_regions for r in regions),
        value_starts=value_starts,
        node_starts=node_starts,
        way_starts=way_starts,
        region_starts=region_starts,
        pair_starts=pair_starts,
        null_distances=integers(table.null for table in distances),
        scales=scales,
        position_or_node=np.concatenate([r.position_or_node for r in regions]),
        depth_index=np.concatenate([r.depth_index for r in regions]),
        region_of=np.concatenate([r.region_of for r in regions]),
        nodes=np.concatenate([r.nodes for r in regions]),
        ways=np.concatenate([r.distance_to_ancestor.ravel() for r in regions]),
        bounds=np.concatenate([r.bounds for r in regions]),
        pair_bounds=np.concatenate([r.pair_bounds for r in regions]),
    )


def _partition_cells(codes: Codes, regions: Sequence[AttributeRegions]) -> PartitionCells:
    """Group consecutive attributes into partitions, and sort the tuples by their cell in each partition.

    An attribute starts a new partition if the current one would get more than MAX_PARTITION_CELLS cells.

    Args:
        codes: (tuples, attributes) codes.
        regions: The regions of each attribute.
    """
    attribute_starts, n_cells, cell_counts = [0], 1, []
    for j, regions_of in enumerate(regions):
        if j and n_cells * regions_of.n_regions > MAX_PARTITION_CELLS:
            attribute_starts.append(j)
            cell_counts.append(n_cells)
            n_cells = 1
        n_cells *= regions_of.n_regions
    attribute_starts, cell_counts = [*attribute_starts, len(regions)], [*cell_counts, n_cells]
    cell_starts = np.cumsum([0, *cell_counts])
    cell_of, order = (
        np.zeros((len(codes), len(cell_counts)), np.int32),
        np.empty((len(cell_counts), len(codes)), np.int32),
    )
    begins, ends = np.empty((2, int(cell_starts[-1])), np.int64)
    for p, (first, end) in enumerate(pairwise(attribute_starts)):
        for j in range(first, end):
            cell_of[:, p] = cell_of[:, p] * regions[j].n_regions + regions[j].region_of[codes[:, j]]
        order[p] = np.argsort(cell_of[:, p], kind="stable")
        cell_ends = np.cumsum(np.bincount(cell_of[:, p], minlength=cell_counts[p]))
        cells = slice(cell_starts[p], cell_starts[p + 1])
        begins[cells], ends[cells] = np.append(0, cell_ends[:-1]), cell_ends
    return PartitionCells(
        np.array(attribute_starts, np.int64), cell_starts.astype(np.int64), cell_of, order, begins, ends
    )
