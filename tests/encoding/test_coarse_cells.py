"""Tables are cut into cells of a number of tuples, which are clustered one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracle import cells as slow
from oracle.reference import Category, Number, Tree as Hierarchy
from support import by_row
from support.model_tables import model_requirement
from support.tables import MANY, Table, encode_records, large, tables

from dbanon import algorithms
from dbanon.algorithms.base.class_bounds import unite_equal_classes
from dbanon.encoding import encoded_table
from dbanon.encoding.coarse_partitions import coarse_partitions
from dbanon.privacy_models.constraint import Constraint

NAMES = [algorithm.name for algorithm in algorithms.algorithms()]


def run(name: str, table: encoded_table.EncodedTable, limits: Constraint, cell: int | None) -> Any:
    algorithm = algorithms.find(name)
    options = {p.name: p.default for p in algorithm.own_parameters}
    return by_row.run_labels(algorithm, table, limits, options, max_cell_tuples=cell)


@given(tables(), st.integers(1, 12), st.integers(1, 4))
@MANY
def test_cells_equal_search_over_every_tuple(table: Table, max_tuples: int, min_records: int) -> None:
    code_table = encode_records(table).space
    result = coarse_partitions(
        code_table, max_tuples, lambda tuples: int(code_table.counts[tuples].sum()) >= min_records
    )
    assert [cell.tolist() for cell in result] == slow.cells(
        code_table, max_tuples, lambda tuples: int(code_table.counts[tuples].sum()) >= min_records
    )


@pytest.mark.parametrize("seed", range(8))
def test_cells_of_many_tuples_equal_search(seed: int) -> None:
    code_table = encode_records(large(seed)).space
    for maximum, minimum in ((20, 12), (70, 2)):

        def enough(tuples: Any, min_records: int = minimum) -> bool:
            return int(code_table.counts[tuples].sum()) >= min_records

        assert [cell.tolist() for cell in coarse_partitions(code_table, maximum, enough)] == slow.cells(
            code_table, maximum, enough
        )


def test_cell_cut_narrows_most_and_keeps_subtrees() -> None:
    tree = Hierarchy([["a", "A", "*"], ["b", "A", "*"], ["c", "A", "*"], ["d", "B", "*"]])
    flat = Hierarchy([["x", "*"], ["y", "*"], ["z", "*"]])
    code_table = encode_records(
        Table(
            [(0, "x", "a"), (1, "y", "b"), (2, "z", "c"), (3, "x", "d"), (4, "y", None), (5, "z", None)],
            [Number(), Category(flat), Category(tree, 5.0)],
        )
    ).space

    def cells_with_at_least(min_tuples: int) -> list[list[int]]:
        return [cell.tolist() for cell in coarse_partitions(code_table, 3, lambda tuples: len(tuples) >= min_tuples)]

    assert cells_with_at_least(3) == [[0, 1, 2], [3, 4, 5]], "neither NULL nor d are three: the number"
    assert cells_with_at_least(2) == [[0, 3], [1, 2], [4, 5]], (
        "NULL, which leaves 4/6 of 5; d is not two: x, which leaves 1/2 of 1"
    )
    assert cells_with_at_least(1) == [[0, 1, 2], [3], [4, 5]], "NULL; the subtree of d, which leaves 3/4 * 3/4 of 5"


def grid(draws: np.random.Generator, rows: int) -> encoded_table.EncodedTable:
    """Return two numbers, three categories under two nodes, and a sensitive value, which some algorithms read."""
    tree = encoded_table.CategoricalAttribute(np.array([-1, 0, 1, 1, 0, 4], np.int32), np.array([2, 3, 5], np.int32))
    numbers = [encoded_table.NumericAttribute(np.arange(50.0), True, magnitudes=np.arange(50.0)) for _ in range(2)]
    columns = [draws.integers(0, n, rows).astype(np.int32) for n in (50, 50, 3)]
    disease = (draws.integers(0, 6, rows).astype(np.int32), 6, None)
    return encoded_table.encode_table(
        [*numbers, tree], columns, np.arange(rows, dtype=np.uint64), None, None, [disease]
    )[0]


@pytest.mark.parametrize("name", NAMES)
def test_clusters_stay_in_cells_clustered_separately(name: str) -> None:
    actual_grid, k = grid(np.random.default_rng(1), 300), 4
    constraint = Constraint(k)
    result = coarse_partitions(actual_grid, 60, lambda tuples: int(actual_grid.counts[tuples].sum()) >= 2 * k)
    assert len(result) > 3
    labels = run(name, actual_grid, constraint, 60)
    for cell in result:
        rows = actual_grid.rows_of(cell)
        if name != "best":  # its search continues in the whole table
            assert not set(labels[rows]) & set(np.delete(labels, rows))
            alone = run(name, actual_grid.subset(cell), constraint, None)
            assert len(set(zip(labels[rows], alone, strict=True))) == len(set(alone))
    assert np.bincount(labels).min() >= k
    assert run(name, actual_grid, constraint, 10**6).tolist() == run(name, actual_grid, constraint, None).tolist()


@pytest.mark.parametrize("name", ["kacpc", "mdav", "mondrian", "best"])
def test_models_and_persons_hold_in_cells(name: str) -> None:
    draws = np.random.default_rng(5)
    rows = 600
    numbers = [draws.integers(0, 50, rows) for _ in range(2)]
    attributes = [encoded_table.NumericAttribute(np.arange(50.0), True) for _ in numbers]
    columns = [n.astype(np.int32) for n in numbers]
    persons = draws.integers(-1, 150, rows)  # each has records in several cells; some are unknown
    disease = (draws.integers(0, 6, rows).astype(np.int32), 6, None)
    code_table, _ = encoded_table.encode_table(
        attributes, columns, np.arange(rows, dtype=np.uint64), persons, None, [disease]
    )
    constraint = Constraint(5, (model_requirement(l=3),))
    labels = run(name, code_table, constraint, 60)
    assert labels.min() == 0 and labels.max() > 10
    for label in range(int(labels.max()) + 1):
        positions = np.flatnonzero(labels == label)
        known_values = code_table.persons[positions] >= 0 if code_table.persons is not None else positions >= 0
        assert code_table.persons is not None and len(set(code_table.persons[positions][known_values])) >= 5
        assert len(set(code_table.sensitive[0].codes[positions][known_values])) >= 3


def test_clusters_of_two_cells_with_equal_values_checked_once() -> None:
    """Values x and y below 10, where all is published as [0, 9].

    In each cell two of four people have x. The two cells together have five people, four of whom have x.
    """
    remaining_rows = [(0, 0, 0), (1, 1, 0), (2, 2, 1), (3, 3, 1)]  # number, person, value
    right = [(6, 2, 0), (7, 4, 0), (8, 0, 1), (9, 1, 1)]
    above = [(20 + i, 10 + i, 2 + i // 4) for i in range(8)]
    number, person, value = (np.array(column) for column in zip(*remaining_rows, *right, *above, strict=True))
    first = (number > 9).astype(np.int32)
    code_table, _ = encoded_table.encode_table(
        [
            encoded_table.NumericAttribute(
                number.astype(float),
                True,
                ends=encoded_table.IntervalEnds(2 * first, 2 * first + 1, first * 20.0, first * 29.0),
            )
        ],
        [np.arange(16, dtype=np.int32)],
        np.arange(16, dtype=np.uint64),
        person,
        None,
        [(value.astype(np.int32), 4, None)],
    )
    constraint = Constraint(4, (model_requirement(alpha=0.5),))
    assert [len(cell) for cell in coarse_partitions(code_table, 4, lambda tuples: len(tuples) >= 4)] == [4, 4, 4, 4]
    for name in ("mondrian", "kacpc", "mdav"):
        labels = run(name, code_table, constraint, 4)
        seen_equal_classes = unite_equal_classes(code_table, labels)
        assert not len(
            constraint.failing_clusters(
                code_table, [np.flatnonzero(seen_equal_classes == n) for n in range(int(seen_equal_classes.max()) + 1)]
            )
        )


def test_max_partition_release_independent_of_row_order(con: Any) -> None:
    con.execute(
        "CREATE TABLE people AS SELECT (i * 7919) % 1009 AS a, (i * 104729) % 997 AS b, (i % 7)::VARCHAR AS disease "
        "FROM range(900) t(i)"
    )
    con.execute("CREATE TABLE others AS FROM people ORDER BY hash(a)")
    ask = "FROM {}('{}', k := 5, qi := ['a', 'b'], sensitive := ['disease'], max_partition := 100)"
    for name in ("mdav", "kacpc"):
        rows = con.execute(ask.format(name, "people")).fetchall()
        assert rows == con.execute(ask.format(name, "others")).fetchall()
        assert rows != con.execute(ask.format(name, "people").replace(", max_partition := 100", "")).fetchall()
        classes = con.execute(f"FROM {name}_classes('people', k = 5, qi = ['a', 'b'], max_partition = 100)").fetchall()
        assert len(classes) > 100
    with pytest.raises(Exception, match="max_partition must be an integer of at least 2, got 1"):
        con.execute(ask.format("mdav", "people").replace("100", "1"))
