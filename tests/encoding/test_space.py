"""Encoded tables: canonical order, counts, persons, and trees by preorder numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from oracle import reference
from support import by_row
from support.tables import MANY, SOME, Table, encode_records, parents, preorder, tables, trees

from dbanon import algorithms
from dbanon.encoding import encoded_table
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, NumericAttribute, encode_table
from dbanon.privacy_models.constraint import Constraint


def codes(*values: int) -> encoded_table.Codes:
    return np.array(values, np.int32)


def numbers(count: int) -> NumericAttribute:
    """Return an attribute of `count` distinct values, without memory for them."""
    return NumericAttribute(np.broadcast_to(np.float64(0), count), True)


def small_encoded_table(
    *columns: Sequence[int],
    sizes: Sequence[int],
    tie: Sequence[int] | None = None,
    persons: Sequence[int] | None = None,
) -> tuple[EncodedTable, list[int]]:
    ties = np.array([0] * len(columns[0]) if tie is None else tie, np.uint64)
    people = None if persons is None else np.array(persons, np.int64)
    result, order = encode_table([numbers(n) for n in sizes], [codes(*c) for c in columns], ties, people)
    return result, order.tolist()


# Canonical order


def test_records_ordered_by_first_code_then_tie() -> None:
    """Rows (1,0), (0,2), (1,0), (0,1), (1,0): 3, 1, then rows 0, 2, 4 by their ties 9, 7, 8."""
    result, order = small_encoded_table([1, 0, 1, 0, 1], [0, 2, 0, 1, 0], sizes=[2, 3], tie=[9, 0, 7, 0, 8])
    assert order == [3, 1, 2, 4, 0]
    assert result.codes.tolist() == [[0, 1], [0, 2], [1, 0]]
    assert result.counts.tolist() == [1, 1, 3]
    assert result.starts.tolist() == [0, 1, 2]
    assert (result.rows, result.total, result.persons) == (5, 5, None)


def test_null_ordered_after_values() -> None:
    result, order = small_encoded_table([2, 0, 2, 1], sizes=[2])
    assert order == [1, 3, 0, 2]
    assert result.codes.tolist() == [[0], [1], [2]]


def test_ties_are_compared_as_unsigned_numbers() -> None:
    _, order = small_encoded_table([0, 0, 0], sizes=[1], tie=[2**64 - 1, 1, 2**63])
    assert order == [1, 2, 0]


def test_persons_follow_order_of_rows() -> None:
    result, _ = small_encoded_table([1, 0, 1], sizes=[2], tie=[1, 0, 0], persons=[7, -1, 3])
    assert result.persons is not None
    assert result.persons.tolist() == [-1, 3, 7]


def test_table_without_rows_has_no_tuples() -> None:
    result, order = small_encoded_table([], [], sizes=[0, 3])
    assert (result.rows, result.codes.shape, result.counts.tolist(), order) == (0, (0, 2), [], [])


@MANY
@given(tables())
def test_canonical_order_sorts_codes_then_ties(table: Table) -> None:
    code_table = encode_records(table)
    ties = [(table.ties or [])[i] for i in code_table.order]
    rows = [
        tuple(code)
        for code, n in zip(code_table.space.codes.tolist(), code_table.space.counts, strict=True)
        for _ in range(n)
    ]
    keys = list(zip(rows, ties, strict=True))
    assert keys == sorted(keys)
    assert sorted(code_table.order) == list(range(len(table.records)))
    assert len({tuple(code) for code in code_table.space.codes.tolist()}) == len(code_table.space.counts)
    firsts = [code_table.records[i] for i in code_table.space.starts.tolist()]
    repeated = [record for record, n in zip(firsts, code_table.space.counts, strict=True) for _ in range(n)]
    assert repeated == code_table.records, "records of one tuple are equal"


@SOME
@given(tables(), st.randoms(use_true_random=False), st.sampled_from(["kacpc", "mondrian"]))
def test_classes_independent_of_physical_row_order(table: Table, rng: Any, name: str) -> None:
    """Each row has its own tie, as rows with different published cells do; equal rows are in one class."""
    n = len(table.records)
    shuffled = rng.sample(range(n), n)
    ties = rng.sample(range(1000), n)
    persons = table.persons

    def classes(places: Sequence[int]) -> set[frozenset[int]]:
        people = None if persons is None else [persons[i] for i in places]
        moved_table = Table(
            [table.records[i] for i in places], table.attributes, table.k, people, [ties[i] for i in places]
        )
        code_table = encode_records(moved_table)
        algorithm = algorithms.find(name)
        options = {p.name: p.default for p in algorithm.own_parameters}
        labels = by_row.run_labels(algorithm, code_table.space, Constraint(table.k), options).tolist()
        groups: dict[int, set[int]] = {}
        for row, label in zip(code_table.order, labels, strict=True):
            groups.setdefault(label, set()).add(places[row])
        return {frozenset(group) for group in groups.values()}

    assert classes(range(n)) == classes(shuffled)


# Keys of many large domains


def test_large_domains_overflow_no_key() -> None:
    """Four attributes of 2^31 - 2 values span 2^124 combinations."""
    maximum = 2**31 - 2
    columns = [[maximum, 0, maximum, 5, 0], [0, maximum, 0, 5, maximum], [1, 2, 0, 5, 2], [maximum, 3, maximum, 5, 3]]
    result, order = small_encoded_table(*columns, sizes=[maximum] * 4, tie=[0, 1, 0, 0, 0])
    assert order == [4, 1, 3, 2, 0]
    assert result.codes.tolist() == [
        [0, maximum, 2, 3],
        [5, 5, 5, 5],
        [maximum, 0, 0, maximum],
        [maximum, 0, 1, maximum],
    ]
    assert result.counts.tolist() == [2, 1, 1, 1]


@MANY
@given(st.data())
def test_keys_order_rows_like_codes(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.sampled_from([1, 2, 3, 1000, 2**20, 2**31 - 1]), min_size=1, max_size=9))
    row = st.tuples(*(st.one_of(st.integers(0, min(size, 3) - 1), st.integers(0, size - 1)) for size in sizes))
    rows = data.draw(st.lists(row, min_size=1, max_size=12))
    columns = [np.array([r[j] for r in rows], np.int32) for j in range(len(sizes))]
    keys = encoded_table.combined_key([c.astype(np.int64) for c in columns], sizes)[0].tolist()
    for a, one in zip(keys, rows, strict=True):
        for b, other in zip(keys, rows, strict=True):
            assert (a < b, a == b) == (one < other, one == other)


# Rows of tuples


def test_rows_of_subset_follow_order_of_tuples() -> None:
    result, _ = small_encoded_table([0, 0, 1, 2, 2, 2], sizes=[3])
    assert result.rows_of(np.array([2, 0])).tolist() == [3, 4, 5, 0, 1]
    assert result.rows_of(np.array([1])).tolist() == [2]
    assert result.rows_of(np.array([], np.int64)).tolist() == []


def test_subset_keeps_attributes_and_total() -> None:
    result, _ = small_encoded_table([0, 0, 1, 2, 2, 2], sizes=[3], persons=[4, 5, 6, 7, 8, 5])
    part = result.subset(np.array([0, 2]))
    assert part.attributes is result.attributes
    assert (part.codes.tolist(), part.counts.tolist()) == ([[0], [2]], [2, 3])
    assert (part.starts.tolist(), part.rows, part.total) == ([0, 2], 5, 6)
    assert part.persons is not None
    assert part.persons.tolist() == [4, 5, 5, 7, 8]


@pytest.mark.parametrize(
    ("persons", "is_counted"), [([1, 2, 3], False), ([1, 2, 1], True), ([1, 2, -1], True), ([-1, -1, -1], True)]
)
def test_persons_are_counted_unless_each_has_one_record(persons: list[int], is_counted: bool) -> None:
    """Then k records are k persons, and the faster code for records is used."""
    result, _ = small_encoded_table([0, 1, 2], sizes=[3], persons=persons)
    assert (result.persons is not None) == is_counted


# Trees


@pytest.fixture
def workclass() -> CategoricalAttribute:
    """Return 0 * > 1 Private, 2 Self-emp > (3, 4), 5 Gov > (6, 7, 8), 9 not-work > 10; values 1, 6, 8, 10."""
    return CategoricalAttribute(codes(-1, 0, 0, 2, 2, 0, 5, 5, 5, 0, 9), codes(1, 6, 8, 10), 2.0, 1)


def test_tree_properties_equal_workclass_example(workclass: CategoricalAttribute) -> None:
    assert workclass.values == 4
    assert workclass.depth.tolist() == [0, 1, 1, 2, 2, 1, 2, 2, 2, 1, 2]
    assert workclass.leaves.tolist() == [7, 1, 2, 1, 1, 3, 1, 1, 1, 1, 1]
    assert np.flatnonzero(workclass.is_inner).tolist() == [0, 2, 5, 9]
    assert [workclass.path_to_root(node) for node in (7, 2, 0)] == [[7, 5, 0], [2, 0], [0]]


def test_lowest_common_ancestors_of_workclass_nodes(workclass: CategoricalAttribute) -> None:
    pairs = [(6, 8), (6, 1), (6, 5), (5, 6), (6, 6), (0, 10), (3, 6), (9, 10)]
    assert [workclass.lowest_common_ancestor(*pair) for pair in pairs] == [5, 0, 5, 5, 6, 0, 0, 9]


def test_pruning_keeps_occurring_values_and_one_child_nodes(workclass: CategoricalAttribute) -> None:
    """The remaining tree is * > Private, Gov > (Federal, State), not-work > Without-pay."""
    pruned = workclass.pruned
    assert pruned.parent.tolist() == [-1, 0, 0, 2, 2, 0, 5]
    assert pruned.node.tolist() == [1, 3, 4, 6]
    assert (pruned.weight, pruned.max_level) == (2.0, 1)
    assert pruned.leaves.tolist() == [4, 1, 2, 1, 1, 1, 1]


def test_pruning_keeps_value_stored_at_inner_node() -> None:
    """* > 1 > (2, 3), 4; values 1 and 4: nodes 2 and 3 do not occur."""
    pruned = CategoricalAttribute(codes(-1, 0, 1, 1, 0), codes(1, 4)).pruned
    assert (pruned.parent.tolist(), pruned.node.tolist()) == ([-1, 0, 0], [1, 2])


def test_tree_of_all_null_column_is_pruned_to_root() -> None:
    pruned = CategoricalAttribute(codes(-1, 0, 0), codes()).pruned
    assert (pruned.parent.tolist(), pruned.node.tolist(), pruned.values) == ([-1], [], 0)


def test_blocks_are_ancestors_and_null_is_own_block(workclass: CategoricalAttribute) -> None:
    assert workclass.block(0).tolist() == [1, 6, 8, 10, -1]
    assert workclass.block(1).tolist() == [0, 5, 5, 9, -1]
    assert workclass.block(2).tolist() == workclass.block(99).tolist() == [0, 0, 0, 0, -1]


@MANY
@given(trees(20), st.randoms(use_true_random=False))
def test_trees_agree_with_label_paths(tree: reference.Tree, rng: Any) -> None:
    nodes = preorder(tree)
    present = sorted(rng.sample(tree.leaf_order(), rng.randint(0, len(tree.leaf_order()))), key=tree.leaf_order().index)
    fast = CategoricalAttribute(parents(tree), codes(*(nodes.index(tree.leaf(label)) for label in present)))
    assert fast.depth.tolist() == [tree.depth(node) for node in nodes]
    assert fast.leaves.tolist() == [tree.leaves(node) for node in nodes]
    assert [[nodes[n] for n in fast.path_to_root(i)] for i in range(len(nodes))] == [
        [node[:length] for length in range(len(node), 0, -1)] for node in nodes
    ]
    first, last = rng.randrange(len(nodes)), rng.randrange(len(nodes))
    assert nodes[fast.lowest_common_ancestor(first, last)] == tree.lca(nodes[first], nodes[last])
    level = rng.randint(0, 4)
    above = [tree.leaf(label)[: max(1, len(tree.leaf(label)) - level)] for label in present]
    assert [nodes[n] for n in fast.block(level)[:-1]] == above
    if present:
        slow = tree.pruned(present)
        assert fast.pruned.parent.tolist() == parents(slow).tolist()
        assert [preorder(slow)[n] for n in fast.pruned.node.tolist()] == [slow.leaf(label) for label in present]
        values = sorted(rng.sample(range(len(present)), rng.randint(1, len(present))))
        leaves = [tree.leaf(present[value]) for value in values]
        length = len(tree.lca(leaves[0], leaves[-1])) + 1
        assert [nodes[n] for n in fast.branches(np.array(values)).tolist()] == [leaf[:length] for leaf in leaves]
