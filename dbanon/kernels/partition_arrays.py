"""Arguments of kernels that search partitions of the attributes (see `candidate_search`): named tuples of arrays.

An array "by value" has the values of all attributes, one attribute after another, each with one entry more for NULL. A
region is a range of codes of an attribute; its last region is NULL. A partition is a few attributes, and a cell a
combination of one region of each.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dbanon.kernels.arrays import Floats, Ints


class RegionArrays(NamedTuple):
    """The distances and the regions of all attributes, each array one attribute after another.

    Attributes:
        is_tree: (attributes,) int64: 1 for a hierarchy, 0 for a number.
        n_values, n_nodes, n_depths, n_regions: (attributes,) int64: number of values, of nodes, of different depths of
            values, and of regions.
        value_starts, node_starts, way_starts, region_starts, pair_starts: (attributes,) int64: where the attribute
            begins in the arrays below.
        null_distances: (attributes,) int64: distance of NULL to a value.
        scales: (attributes, 2) float64: weight and scale of categories, 1 for numbers.
        position_or_node, depth_index, region_of: By value: position of a number or node of a category, index of the
            category's depth, and region.
        nodes: (nodes, 2) parent of each node, and the code after the last value below it.
        ways: float64: lengths of paths, by node and depth index.
        bounds: (regions, 2) int64: least and greatest position of a numeric region.
        pair_bounds: (pairs of regions, 2) int64: least and greatest distance between two regions of a hierarchy.
    """

    is_tree: Ints
    n_values: Ints
    n_nodes: Ints
    n_depths: Ints
    n_regions: Ints
    value_starts: Ints
    node_starts: Ints
    way_starts: Ints
    region_starts: Ints
    pair_starts: Ints
    null_distances: Ints
    scales: Floats
    position_or_node: Ints
    depth_index: npt.NDArray[np.uint8]
    region_of: npt.NDArray[np.uint8]
    nodes: npt.NDArray[np.int32]
    ways: Floats
    bounds: Ints
    pair_bounds: Ints


class PartitionCells(NamedTuple):
    """The tuples by cell, in every partition.

    Attributes:
        attribute_starts: (partitions + 1,) int64: first attribute of each partition.
        cell_starts: (partitions + 1,) int64: where the cells of each partition begin among all cells.
        cell_of: (tuples, partitions) int32: cell of each tuple within the partition.
        order: (partitions, tuples) int32: the tuples, sorted by cell.
        begins, ends: (cells,) int64: where the remaining tuples of each cell begin and end in `order`.
    """

    attribute_starts: Ints
    cell_starts: Ints
    cell_of: npt.NDArray[np.int32]
    order: npt.NDArray[np.int32]
    begins: Ints
    ends: Ints


class PartitionIndex(NamedTuple):
    """Tuples by their regions in partitions of the attributes.

    Attributes:
        codes: (tuples, attributes) int32.
        n_remaining: (tuples,) int64: remaining records.
        regions: Distances and regions of the attributes.
        cells: The tuples by cell.
        value_records: By value: remaining records.
        least_distances: By value: at most its distance to any other value.
    """

    codes: npt.NDArray[np.int32]
    n_remaining: Ints
    regions: RegionArrays
    cells: PartitionCells
    value_records: Ints
    least_distances: Ints


class SeedSums(NamedTuple):
    """Sums of distances to all seeds so far.

    Attributes:
        n_seeds: By value: seeds that have it.
        below, above: Scratch by node and depth index.
        sums: By value: summed distance to the seeds, when the candidates were chosen.
        growths: (regions,) int64: by how much the sums of the region have grown since, at least.
        is_present: (regions,) int8: whether the region had records.
    """

    n_seeds: Ints
    below: Ints
    above: Ints
    sums: Ints
    growths: Ints
    is_present: npt.NDArray[np.int8]


class CandidateBuckets(NamedTuple):
    """The candidates by bucket: by region if there is one attribute with a hierarchy, else all in one bucket.

    Attributes:
        begins, ends: (buckets,) int64: where the candidates of the bucket begin and end.
        shifts: (buckets,) int64: what is added to the sums of all candidates of the bucket.
        leasts: (buckets,) int64: the candidate with the least sum, -1 for none.
    """

    begins: Ints
    ends: Ints
    shifts: Ints
    leasts: Ints


class CandidateArrays(NamedTuple):
    """Candidates for the next seed, kept from call to call.

    Attributes:
        seed_sums: Sums of distances to the seeds.
        tuples, sums: (room,) int64: the candidates by bucket, and the sums of their distances to all seeds, less the
            shift of the bucket.
        state: (7,) int64: counters, see `CHOSEN`.
        buckets: The buckets.
    """

    seed_sums: SeedSums
    tuples: Ints
    sums: Ints
    state: Ints
    buckets: CandidateBuckets


CHOSEN, GREATEST_SUM, REACH, REMAINING, EXHAUSTED, EXAMINED, GREATEST_TUPLE = range(7)
"""Positions in `CandidateArrays.state`: number of candidates when they were chosen, and their greatest sum (-1: all
tuples are candidates); reach of the last group; remaining records; tuples exhausted since they were last dropped;
tuples examined so far; the last candidate with the greatest sum."""
