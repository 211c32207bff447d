"""The index of the remaining tuples, compared with sums and sorts by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from support import by_row
from support.scale import n_examples

from dbanon.algorithms.nearest_neighbour.kacpc import modal_codes
from dbanon.algorithms.nearest_neighbour.nearest_groups import form_nearest_groups
from dbanon.encoding import attribute_partitions, code_regions, distance, nearest_queries, tuple_index, tuple_trie
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, Ints, NumericAttribute
from dbanon.encoding.nearest_queries import ClusterGatherer
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.kernels.index_arrays import SumQuery
from dbanon.privacy_models.constraint import Constraint

MANY = settings(max_examples=n_examples(150), deadline=None)


@pytest.fixture(
    autouse=True,
    params=[
        {},
        {(tuple_index, "MAX_TABULAR_VALUES"): 3, (tuple_trie, "MAX_BLOCK_TUPLES"): 2},
        {(tuple_index, "MAX_TABULAR_VALUES"): 0, (tuple_trie, "MAX_BLOCK_TUPLES"): 1},
        {(tuple_index, "MAX_TABULAR_VALUES"): 0, (tuple_trie, "MAX_BLOCK_TUPLES"): 8},
        {
            (nearest_queries, "MAX_TABLE_ENTRIES"): -1,
            (code_regions, "MAX_REGIONS"): 3,
            (attribute_partitions, "MAX_PARTITION_CELLS"): 30,
            (attribute_partitions, "N_CANDIDATES"): 3,
        },
        {(nearest_queries, "MAX_TABLE_ENTRIES"): -1},
    ],
    ids=["tables", "mixed", "boxes", "blocks", "parts", "whole parts"],
)
def index_modes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run every test with all attributes by table, with some on axes, with all numbers on axes, and by parts."""
    with pytest.MonkeyPatch.context() as patch:
        for (module, name), value in request.param.items():
            patch.setattr(module, name, value)
        yield


@st.composite
def spaces(draw: st.DrawFn) -> EncodedTable:
    """Draw small tables of numbers and categories, with NULLs, repeated tuples and weights."""
    attributes: list[NumericAttribute | CategoricalAttribute] = []
    columns = []
    rows = draw(st.integers(1, 40))
    for _ in range(draw(st.integers(1, 3))):
        weight = draw(st.sampled_from([0.25, 1.0, 3.0]))
        values = draw(st.integers(1, 12))
        if draw(st.booleans()):
            steps = draw(st.lists(st.integers(1, 3), min_size=values - 1, max_size=values - 1))
            attributes.append(NumericAttribute(np.cumsum([0, *steps]).astype(float), draw(st.booleans()), weight))
        else:
            inner = draw(st.integers(1, 3))
            parent = [-1, *[0] * inner, *[draw(st.integers(1, inner)) for _ in range(values)]]
            order = sorted(range(len(parent)), key=lambda n: path(parent, n))
            place = {node: i for i, node in enumerate(order)}
            preorder = np.array([-1 if parent[n] < 0 else place[parent[n]] for n in order], np.int32)
            leaves = sorted(place[n] for n in range(1 + inner, len(parent)))
            attributes.append(CategoricalAttribute(preorder, np.array(leaves, np.int32), weight))
        columns.append(draw(st.lists(st.integers(0, values), min_size=rows, max_size=rows)))
    tuples, counts = np.unique(np.array(columns, np.int32).T, axis=0, return_counts=True)
    return EncodedTable(tuple(attributes), np.ascontiguousarray(tuples), counts.astype(np.int64), None, 1000)


def path(parent: list[int], node: int) -> list[int]:
    """Return nodes from the root down to a node, for sorting in preorder."""
    return [*(path(parent, parent[node]) if parent[node] >= 0 else []), node]


@dataclass
class PlainTupleIndex:
    """An index with the same queries, which reads every remaining tuple."""

    space: EncodedTable
    tables: list[distance.DistanceTable]
    added: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.left = self.space.counts.copy()

    def to(self, codes: Ints) -> Ints:
        rows = distance.distance_rows(self.tables, codes.tolist())
        return np.sum([row[self.space.codes[:, j]] for j, row in enumerate(rows)], axis=0)

    def sums(self) -> Ints:
        zero = np.zeros(len(self.left), np.int64)
        return sum((self.to(self.space.codes[t]) for t in self.added), zero)

    def least(self, sums: Ints, sign: int = 1) -> int:
        return min((sign * int(sums[t]), t) for t in np.flatnonzero(self.left).tolist())[1]

    def nearest(self, sums: Ints, records: int) -> list[tuple[int, int]]:
        taken_values = []
        for _, t in sorted((int(sums[t]), t) for t in np.flatnonzero(self.left).tolist()):
            if records > 0:
                taken_values.append((t, min(records, int(self.left[t]))))
                records -= taken_values[-1][1]
        return taken_values


def fast_and_plain_index(space: EncodedTable) -> tuple[TupleIndex, PlainTupleIndex]:
    tables = list(distance.kacpc_distances(space, 2, True))
    return TupleIndex(space, tables), PlainTupleIndex(space, tables)


@MANY
@given(spaces(), st.data())
def test_index_answers_equal_plain_sort(space: EncodedTable, data: st.DataObject) -> None:
    """Random order of queries, removals and restores; ties are resolved to the first tuple."""
    fast, plain_result = fast_and_plain_index(space)
    sums = fast.distance_sum_query()
    tuples = st.integers(0, len(space.counts) - 1)
    for _ in range(data.draw(st.integers(1, 8))):
        if not plain_result.left.any():
            break
        codes = space.codes[data.draw(tuples)]
        rows: list[tuple[SumQuery, Ints]] = [
            (fast.distance_query(codes), plain_result.to(codes)),
            (sums, plain_result.sums()),
        ]
        for question, expected in rows:
            assert fast.least_tuple(question) == plain_result.least(expected)
            assert fast.greatest_tuple(question) == plain_result.least(expected, -1)
            records = data.draw(st.integers(0, 45))
            result, counts = fast.nearest(question, records)
            assert list(zip(result.tolist(), counts.tolist(), strict=True)) == plain_result.nearest(expected, records)
        if data.draw(st.booleans()):
            fast.remove_records(result, counts)
            plain_result.left[result] -= counts
            if data.draw(st.booleans()):
                fast.restore_records(result[:2], counts[:2])
                plain_result.left[result[:2]] += counts[:2]
        assert fast.records == plain_result.left.sum()
        assert fast.remaining.tolist() == plain_result.left.tolist()
        plain_result.added.append(data.draw(tuples))
        fast.add_record(sums, space.codes[plain_result.added[-1]])


def records_by_tuple(members: list[tuple[int, int]]) -> dict[int, int]:
    """Return the records of each tuple of a cluster."""
    counts: dict[int, int] = {}
    for t, count in members:
        counts[t] = counts.get(t, 0) + count
    return counts


@MANY
@given(spaces(), st.integers(2, 6), st.sampled_from([1, -1]), st.integers(1, 4))
def test_batch_clustering_equals_single_queries(space: EncodedTable, k: int, sign: int, steps: int) -> None:
    fast, plain_result = fast_and_plain_index(space)
    gathering = ClusterGatherer(fast, fast.distance_sum_query(), sign)
    begin = plain_result.least(plain_result.to(np.array(modal_codes(space))))
    while fast.records >= k:
        members, seeds = gathering.gather_clusters(k, begin, steps)
        expected: list[tuple[int, dict[int, int]]] = []
        for _ in range(len(seeds)):
            seed = begin if begin >= 0 else plain_result.least(plain_result.sums(), sign)
            begin = -1
            plain_result.left[seed] -= 1
            group = plain_result.nearest(plain_result.to(space.codes[seed]), k - 1)
            for t, count in group:
                plain_result.left[t] -= count
            plain_result.added.append(seed)
            expected.append((seed, records_by_tuple([(seed, 1), *group])))
        values: list[tuple[int, dict[int, int]]] = []
        cluster: list[tuple[int, int]] = []
        for t, count in members.tolist():
            if t >= 0:
                cluster.append((t, count))
            else:
                values.append((cluster[0][0], records_by_tuple(cluster)))
                cluster = []
        assert values == expected
        assert fast.remaining.tolist() == plain_result.left.tolist()
        assert fast.records == plain_result.left.sum()


@MANY
@given(spaces(), st.integers(2, 5), st.sampled_from([1, -1]))
def test_compiled_and_single_steps_give_same_labels(space: EncodedTable, k: int, sign: int) -> None:
    """A model that does not only count records uses the loop over single queries."""

    class Slow(Constraint):
        def counts_records(self, space: EncodedTable) -> bool:
            return False

    @dataclass
    class Rule:
        sign: int

        def next_seed(self, index: TupleIndex, sums: SumQuery, n_groups: int) -> int:
            if not n_groups:
                return index.least_tuple(index.distance_query(modal_codes(space)))
            return index.least_tuple(sums) if self.sign > 0 else index.greatest_tuple(sums)

    if space.rows < k:
        return
    tables = distance.kacpc_distances(space, k, True)
    labels = [
        by_row.labels(form_nearest_groups(space, model, tables, Rule(sign), lambda: None))
        for model in (Constraint(k), Slow(k))
    ]
    assert labels[0].tolist() == labels[1].tolist()


def test_index_memory_is_linear_in_tuples() -> None:
    """Nodes: at most two per tuple in boxes, and one per tuple and level in the trie."""
    codes = np.stack([np.arange(4000), np.arange(4000)[::-1]], axis=1).astype(np.int32)
    attributes = (NumericAttribute(np.arange(4000.0), True), NumericAttribute(np.arange(4000.0), True))
    space = EncodedTable(attributes, codes, np.ones(4000, np.int64), None, 4000)
    fast = TupleIndex(space, list(distance.kacpc_distances(space, 2, True)))
    fast.least_tuple(fast.distance_query(codes[0]))
    size = sum(array.nbytes for array in fast.tree)
    assert size < 4000 * 200
