"""Gathering by parts of the attributes compared with the tree, on ragged hierarchies."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dbanon.algorithms.nearest_neighbour.kacpc import modal_codes
from dbanon.encoding import attribute_partitions, code_regions, distance, nearest_queries
from dbanon.encoding.encoded_table import Attribute, CategoricalAttribute, Codes, EncodedTable, Ints, NumericAttribute
from dbanon.encoding.nearest_queries import ClusterGatherer
from dbanon.encoding.tuple_index import TupleIndex


def ragged_hierarchy(rng: random.Random, nodes: int, depth: int) -> CategoricalAttribute:
    """Return a hierarchy in which leaves have any depth, and some inner nodes are values."""
    parent, line = [-1], [0]
    while len(parent) < nodes:
        line = line[: rng.randint(1, min(len(line), depth))]
        parent.append(line[-1])
        line.append(len(parent) - 1)
    inner = set(parent)
    values = [n for n in range(1, nodes) if n not in inner or rng.random() < 0.2]
    return CategoricalAttribute(
        np.array(parent, np.int32), np.array(values or [0], np.int32), rng.choice([0.25, 1.0, 3.0])
    )


def sparse_table(rng: random.Random, attributes: int, rows: int) -> EncodedTable:
    """Return a table in which few tuples repeat."""
    choices: list[Attribute] = []
    columns = []
    for _ in range(attributes):
        if rng.random() < 0.1:  # all are NULL
            nothing = np.zeros(0)
            choices.append(
                rng.choice(
                    [
                        NumericAttribute(nothing, True),
                        CategoricalAttribute(np.array([-1], np.int32), nothing.astype(np.int32)),
                    ]
                )
            )
            columns.append([0] * rows)
            continue
        if rng.random() < 0.4:
            steps = [rng.randint(1, 5) for _ in range(rng.choice([3, 40, 400]))]
            choices.append(
                NumericAttribute(np.cumsum([0, *steps]).astype(float), rng.random() < 0.5, rng.choice([0.5, 1.0]))
            )
        else:
            choices.append(ragged_hierarchy(rng, rng.choice([2, 12, 60, 300]), rng.randint(1, 6)))
        missing = rng.choice([0, 0, 1])
        columns.append([rng.randrange(choices[-1].values + missing) for _ in range(rows)])
    tuples, counts = np.unique(np.array(columns, np.int32).T, axis=0, return_counts=True)
    return EncodedTable(tuple(choices), np.ascontiguousarray(tuples), counts.astype(np.int64), None, rows)


def groups(space: EncodedTable, k: int, by_parts: bool) -> list[tuple[int, list[tuple[int, int]]]]:
    """Return seed and members of all groups."""
    index = TupleIndex(space, list(distance.kacpc_distances(space, k, True)))
    taken_cluster_gatherer = ClusterGatherer(index, index.distance_sum_query(), 1)
    assert ClusterGatherer.uses_partitions(index, 1) == by_parts
    values: list[tuple[int, list[tuple[int, int]]]] = []
    begin = index.least_tuple(index.distance_query(modal_codes(space)))
    while index.records >= k:
        members, seeds = taken_cluster_gatherer.gather_clusters(k, begin, 7)
        ends = np.flatnonzero(members[:, 0] < 0)
        for seed, group in zip(seeds.tolist(), np.split(members, ends + 1), strict=False):
            values.append((seed, records_by_tuple(group[:-1])))
        begin = -1
    return values


def records_by_tuple(members: Ints) -> list[tuple[int, int]]:
    """Return records by tuple."""
    tuples, tuple_numbers = np.unique(members[:, 0], return_inverse=True)
    return list(
        zip(tuples.tolist(), np.bincount(tuple_numbers.reshape(-1), members[:, 1]).astype(int).tolist(), strict=True)
    )


@pytest.mark.parametrize("case", range(40))
def test_partitions_form_same_groups_as_tree(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(case)
    space = sparse_table(rng, rng.randint(1, 9), rng.choice([12, 80, 500]))
    k = rng.randint(2, 12)
    monkeypatch.setattr(code_regions, "MAX_REGIONS", rng.choice([1, 4, 14]))
    monkeypatch.setattr(attribute_partitions, "MAX_PARTITION_CELLS", rng.choice([1, 50, 4096]))
    monkeypatch.setattr(attribute_partitions, "N_CANDIDATES", rng.choice([1, 5, 256]))
    monkeypatch.setattr(nearest_queries, "MAX_TABLE_ENTRIES", -1)
    by_parts = groups(space, k, by_parts=True)
    monkeypatch.setattr(nearest_queries, "MAX_TABLE_ENTRIES", 2**24)
    monkeypatch.setattr(nearest_queries, "MIN_PARTITIONED_TUPLES", 10_000)
    assert by_parts == groups(space, k, by_parts=False)


def test_partitions_used_for_dissimilar_unique_tuples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def has_parts(space: EncodedTable) -> bool:
        return ClusterGatherer.uses_partitions(TupleIndex(space, list(distance.kacpc_distances(space, 2, True))), 1)

    flat = CategoricalAttribute(np.array([-1, *[0] * 200], np.int32), np.arange(1, 201, dtype=np.int32))
    codes = np.random.default_rng(1).permuted(np.tile(np.arange(200), (6, 1)), axis=1).T.astype(np.int32)
    alone = EncodedTable((flat,) * 6, np.ascontiguousarray(codes), np.ones(200, np.int64), None, 200)
    assert not has_parts(alone), "a tree answers at once"
    monkeypatch.setattr(nearest_queries, "MIN_PARTITIONED_TUPLES", 0)
    assert has_parts(alone)
    often = EncodedTable(alone.attributes, alone.codes[:20], np.full(20, 9), None, 180)
    assert not has_parts(often)
    axis = NumericAttribute(np.arange(3000.0), True)
    order = np.random.default_rng(1).permuted(np.tile(np.arange(3000), (8, 1)), axis=1)
    separate_array = order.T.astype(np.int32)
    near = (np.repeat(np.arange(3000), 8).reshape(3000, 8) + separate_array % 50).clip(0, 2999).astype(np.int32)

    def axes(codes: Codes) -> EncodedTable:
        return EncodedTable((axis,) * codes.shape[1], np.ascontiguousarray(codes), np.ones(3000, np.int64), None, 3000)

    assert not has_parts(axes(separate_array[:, :2])), "blocks of neighbours are small"
    assert has_parts(axes(separate_array)), "they are large in eight dimensions"
    assert not has_parts(axes(near)), "unless the eight tell the same"


@pytest.mark.parametrize("values", [3, 5000])
def test_hierarchy_regions_are_subtrees_or_root_children(values: int) -> None:
    """A flat hierarchy is split evenly; where 100 subtrees are too many, those above them are kept whole."""
    flat = CategoricalAttribute(np.array([-1, *[0] * values], np.int32), np.arange(1, values + 1, dtype=np.int32))
    deep = CategoricalAttribute(
        np.array([-1, *(n for i in range(10) for n in (0, *[1 + i * 11] * 10))], np.int32),
        np.array([1 + i * 11 + j for i in range(10) for j in range(1, 11)], np.int32),
    )
    for tree, sizes in ((flat, {3: {1}, 5000: {357, 358}}[values]), (deep, {10})):
        codes = np.arange(tree.values, dtype=np.int32)[:, None]
        space = EncodedTable((tree,), codes, np.ones(tree.values, np.int64), None, tree.values)
        (table,) = distance.kacpc_distances(space, 2, True)
        assert isinstance(table, distance.CategoricalDistances)
        attribute_regions = code_regions.attribute_regions(table, np.ones(tree.values, np.int64))
        assert set(np.bincount(attribute_regions.region_of[:-1]).tolist()) == sizes
        assert attribute_regions.region_of[-1] == attribute_regions.n_regions - 1 <= code_regions.MAX_REGIONS
        region_of = attribute_regions.region_of[:-1]
        for code in (0, tree.values - 1):
            minimum, greatest = attribute_regions.pair_bounds.reshape(
                attribute_regions.n_regions, attribute_regions.n_regions, 2
            )[region_of[code]][region_of].T
            row = table.row(code)[:-1]
            others = region_of != region_of[code]
            assert (minimum <= row).all()
            assert (greatest >= row)[others].all()
