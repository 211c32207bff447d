"""The attributes of a space in parts, a few together, and its tuples by the regions in which they stand there: what
answers where few tuples repeat, and attributes or their values are many. See dbanon.kernels.candidate_search."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from dbanon.encoding.code_regions import AttributeRegions, KacpcDistances, attribute_regions
from dbanon.encoding.distance import CategoricalDistances
from dbanon.encoding.encoded_table import Codes, EncodedTable, Ints
from dbanon.kernels.arrays import CandidateArrays, PartIndex

MAX_PARTITION_CELLS = 4096
"""Most places of a part: a region of each of its attributes."""

N_CANDIDATES = 256
"""Records whose sums are kept, of which one is the next seed."""


class AttributePartitions:
    """Takes groups from the tuples that are left; `left` is changed in place.

    Builds in O(tuples * (attributes + parts * log tuples)) time.
    """

    def __init__(self, space: EncodedTable, tables: Sequence[KacpcDistances], left: Ints) -> None:
        n_values = [a.values for a in space.attributes]
        tuple_counts = [np.bincount(space.codes[:, j], minlength=v + 1)[:-1] for j, v in enumerate(n_values)]
        attribute_regions = [
            attribute_regions(table, number) for table, number in zip(tables, tuple_counts, strict=True)
        ]
        order = sorted(range(len(attribute_regions)), key=lambda j: -attribute_regions[j].number)
        codes = np.ascontiguousarray(space.codes[:, order])
        attribute_regions = [attribute_regions[j] for j in order]
        packed = _packed_attributes([tables[j] for j in order], attribute_regions)
        self._index = PartIndex(codes, left, packed, *_partition_lists(codes, attribute_regions))
        value_sums, way_sums = np.zeros((2, len(packed[2])), np.int64), np.zeros((2, len(packed[6])), np.int64)
        region_sums = np.zeros(len(packed[7]), np.int64)
        sums_to_seeds = value_sums[0], *way_sums, value_sums[1], region_sums, np.zeros(len(region_sums), np.int8)
        candidate_tuples, candidate_sums = np.zeros((2, N_CANDIDATES + 1), np.int64)
        self._kept = CandidateArrays(
            sums_to_seeds, candidate_tuples, candidate_sums, np.array([0, -1, 0, int(left.sum()), 0], np.int64)
        )

    def groups(self, k: int, begin: int, members: Ints, seeds: Ints) -> tuple[int, int]:
        """Make as many groups as `members` and `seeds` have room for; return the rows used and the groups made."""
        from dbanon.kernels.candidate_search import gather_parts

        n_rows, n_clusters = gather_parts(self._index, self._kept, k, begin, members, seeds)
        return int(n_rows), int(n_clusters)


def _packed_attributes(
    distances: Sequence[KacpcDistances], attribute_regions: Sequence[AttributeRegions]
) -> tuple[Any, ...]:
    """All that is known of the attributes, one after another: a row of numbers each (kind, values, distance of NULL;
    where its values, nodes, ways, regions and pairs of regions begin; steps, regions and nodes), and the arrays."""
    sizes = np.array(
        [
            (
                len(regions_of.region),
                len(regions_of.nodes),
                regions_of.way.size,
                regions_of.number,
                len(regions_of.pairs),
            )
            for regions_of in attribute_regions
        ],
        np.int64,
    )
    value_starts, node_starts, way_starts, region_starts, pair_starts = (np.cumsum(sizes, axis=0) - sizes).T
    rows = []
    scales = np.ones((len(attribute_regions), 2))
    for j, (table, regions_of) in enumerate(zip(distances, attribute_regions, strict=True)):
        is_tree = regions_of.way.size > 0
        starts = (
            value_starts[j],
            node_starts[j],
            way_starts[j],
            regions_of.way.shape[1],
            region_starts[j],
            regions_of.number,
            pair_starts[j],
            len(regions_of.nodes),
        )
        rows.append((is_tree, len(regions_of.region) - 1, table.null, *starts))
        if isinstance(table, CategoricalDistances):
            scales[j] = table.weight, table.scale
    arrays = [
        [getattr(regions_of, name) for regions_of in attribute_regions] for name in ("place", "step", "region", "nodes")
    ]
    arrays += [
        [regions_of.way.ravel() for regions_of in attribute_regions],
        [regions_of.ends for regions_of in attribute_regions],
        [regions_of.pairs for regions_of in attribute_regions],
    ]
    return np.array(rows, np.int64), scales, *(np.concatenate(a) for a in arrays)


def _partition_lists(codes: Codes, attribute_regions: Sequence[AttributeRegions]) -> tuple[Ints, tuple[Any, ...]]:
    """The parts (first attribute, the one after the last, where the part begins among all, its size), and the tuples by
    their place in each."""
    first_attributes, n_cells, cell_counts = [0], 1, []
    for j, regions_of in enumerate(attribute_regions):
        if j and n_cells * regions_of.number > MAX_PARTITION_CELLS:
            first_attributes.append(j)
            cell_counts.append(n_cells)
            n_cells = 1
        n_cells *= regions_of.number
    first_attributes, cell_counts = [*first_attributes, len(attribute_regions)], [*cell_counts, n_cells]
    cell_starts = np.cumsum([0, *cell_counts])
    cell_of, order = (
        np.zeros((len(codes), len(cell_counts)), np.int32),
        np.empty((len(cell_counts), len(codes)), np.int32),
    )
    begins, ends = np.empty((2, int(cell_starts[-1])), np.int64)
    for p, (first, end) in enumerate(pairwise(first_attributes)):
        for j in range(first, end):
            cell_of[:, p] = cell_of[:, p] * attribute_regions[j].number + attribute_regions[j].region[codes[:, j]]
        order[p] = np.argsort(cell_of[:, p], kind="stable")
        cell_ends = np.cumsum(np.bincount(cell_of[:, p], minlength=cell_counts[p]))
        cells = slice(cell_starts[p], cell_starts[p + 1])
        begins[cells], ends[cells] = np.append(0, cell_ends[:-1]), cell_ends
    parts = np.column_stack((first_attributes[:-1], first_attributes[1:], cell_starts[:-1], cell_counts)).astype(
        np.int64
    )
    return parts, (cell_of, order, begins, ends)
