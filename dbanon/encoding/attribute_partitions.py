"""Partitions of the attributes (a few attributes each) and inverted lists of tuples by their regions in each partition.

A tuple is a distinct combination of codes. The lists find nearest records where few tuples repeat and attributes, or
their values, are many. See `dbanon.kernels.candidate_search`.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dbanon.encoding.code_regions import AttributeRegions, KacpcDistances, attribute_regions
from dbanon.encoding.distance import CategoricalDistances, NumericDistances
from dbanon.encoding.encoded_table import Codes, EncodedTable, Ints
from dbanon.kernels.arrays import CandidateArrays, PartitionIndex

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
        n_values = [a.values for a in space.attributes]
        tuple_counts = [np.bincount(space.codes[:, j], minlength=v + 1)[:-1] for j, v in enumerate(n_values)]
        regions = [attribute_regions(table, number) for table, number in zip(distances, tuple_counts, strict=True)]
        order = sorted(range(len(regions)), key=lambda j: -regions[j].n_regions)
        codes = np.ascontiguousarray(space.codes[:, order])
        regions = [regions[j] for j in order]
        packed = _packed_attributes([distances[j] for j in order], regions)
        records = [
            np.bincount(codes[:, j], remaining, len(r.region_of)).astype(np.int64) for j, r in enumerate(regions)
        ]
        least_distances = np.concatenate([r.least_distances for r in regions])
        self._partition_index = PartitionIndex(
            codes, remaining, packed, *_partition_lists(codes, regions), np.concatenate(records), least_distances
        )
        value_sums, way_sums = np.zeros((2, len(packed[2])), np.int64), np.zeros((2, len(packed[6])), np.int64)
        region_sums = np.zeros(len(packed[7]), np.int64)
        sums_to_seeds = value_sums[0], *way_sums, value_sums[1], region_sums, np.zeros(len(region_sums), np.int8)
        n_candidates, n_buckets = N_CANDIDATES, 1
        if len(regions) == 1 and isinstance(distances[0], NumericDistances):
            n_candidates = max(N_CANDIDATES, len(codes) // TUPLES_PER_CANDIDATE)
        elif len(regions) == 1:
            n_candidates, n_buckets = max(N_CANDIDATES, len(codes) // TUPLES_PER_BUCKET_CANDIDATE), regions[0].n_regions
        candidate_tuples, candidate_sums = np.zeros((2, n_candidates + 1), np.int64)
        self._candidates = CandidateArrays(
            sums_to_seeds,
            candidate_tuples,
            candidate_sums,
            np.array([0, -1, 0, int(remaining.sum()), 0, 0, 0], np.int64),
            (*np.zeros((3, n_buckets), np.int64), np.full(n_buckets, -1)),
        )

    @property
    def steps(self) -> int:
        """Number of tuples that searches have examined."""
        return int(self._candidates.state[5])

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


def _packed_attributes(distances: Sequence[KacpcDistances], regions: Sequence[AttributeRegions]) -> tuple[Any, ...]:
    """Pack the distances and regions of all attributes into a few arrays for compiled code.

    Returns:
        First, an (attributes, 11) array of integers: whether the attribute has a hierarchy; its number of values;
        distance of NULL; offsets of its values, its nodes and its distances to ancestors in the arrays below; number of
        different depths of values; offset and number of its regions; offset of its pairs of regions; number of nodes.
        Second, an (attributes, 2) array: weight and scale of categorical attributes, 1 for numbers. Then seven arrays,
        each the concatenation over attributes of one array of `AttributeRegions`: position_or_node, depth_index,
        region_of, nodes, distance_to_ancestor (flattened), bounds, pair_bounds.
    """
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
    value_starts, node_starts, way_starts, region_starts, pair_starts = (np.cumsum(sizes, axis=0) - sizes).T
    rows = []
    scales = np.ones((len(regions), 2))
    for j, (table, regions_of) in enumerate(zip(distances, regions, strict=True)):
        is_tree = regions_of.distance_to_ancestor.size > 0
        starts = (
            value_starts[j],
            node_starts[j],
            way_starts[j],
            regions_of.distance_to_ancestor.shape[1],
            region_starts[j],
            regions_of.n_regions,
            pair_starts[j],
            len(regions_of.nodes),
        )
        rows.append((is_tree, len(regions_of.region_of) - 1, table.null, *starts))
        if isinstance(table, CategoricalDistances):
            scales[j] = table.weight, table.scale
    arrays = [
        [getattr(regions_of, name) for regions_of in regions]
        for name in ("position_or_node", "depth_index", "region_of", "nodes")
    ]
    arrays += [
        [regions_of.distance_to_ancestor.ravel() for regions_of in regions],
        [regions_of.bounds for regions_of in regions],
        [regions_of.pair_bounds for regions_of in regions],
    ]
    return np.array(rows, np.int64), scales, *(np.concatenate(a) for a in arrays)


def _partition_lists(codes: Codes, regions: Sequence[AttributeRegions]) -> tuple[Ints, tuple[Any, ...]]:
    """Group consecutive attributes into partitions, and sort the tuples by their cell in each partition.

    A cell is a combination of one region per attribute of the partition. An attribute starts a new partition if the
    current one would get more than MAX_PARTITION_CELLS cells.

    Args:
        codes: (tuples, attributes) codes.
        regions: The regions of each attribute.

    Returns:
        First, a (partitions, 4) array: first attribute, the attribute after the last, offset of its cells among all
        cells, number of cells. Second, four arrays: (tuples, partitions) cell of each tuple within the partition;
        (partitions, tuples) tuples sorted by cell; and for each cell of all partitions where its tuples begin and end
        in that order.
    """
    first_attributes, n_cells, cell_counts = [0], 1, []
    for j, regions_of in enumerate(regions):
        if j and n_cells * regions_of.n_regions > MAX_PARTITION_CELLS:
            first_attributes.append(j)
            cell_counts.append(n_cells)
            n_cells = 1
        n_cells *= regions_of.n_regions
    first_attributes, cell_counts = [*first_attributes, len(regions)], [*cell_counts, n_cells]
    cell_starts = np.cumsum([0, *cell_counts])
    cell_of, order = (
        np.zeros((len(codes), len(cell_counts)), np.int32),
        np.empty((len(cell_counts), len(codes)), np.int32),
    )
    begins, ends = np.empty((2, int(cell_starts[-1])), np.int64)
    for p, (first, end) in enumerate(pairwise(first_attributes)):
        for j in range(first, end):
            cell_of[:, p] = cell_of[:, p] * regions[j].n_regions + regions[j].region_of[codes[:, j]]
        order[p] = np.argsort(cell_of[:, p], kind="stable")
        cell_ends = np.cumsum(np.bincount(cell_of[:, p], minlength=cell_counts[p]))
        cells = slice(cell_starts[p], cell_starts[p + 1])
        begins[cells], ends[cells] = np.append(0, cell_ends[:-1]), cell_ends
    parts = np.column_stack((first_attributes[:-1], first_attributes[1:], cell_starts[:-1], cell_counts)).astype(
        np.int64
    )
    return parts, (cell_of, order, begins, ends)
