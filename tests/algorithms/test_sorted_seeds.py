"""Systematic clustering and its relatives compared with plain loops over all records, and called in SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracle import sorted_seeds as slow
from oracle.greedy import LossTable
from support import by_row, small_table
from support.small_table import ASKED
from support.tables import SOME, Table, encode_records, tables
from test_gather import equal_clusters, with_unit
from test_greedy import records

from dbanon import algorithms
from dbanon.encoding.encoded_table import EncodedTable, SensitiveColumn
from dbanon.privacy_models.constraint import Constraint


def clusters(name: str, table: EncodedTable, k: int, **options: object) -> list[list[int]]:
    selected_algorithm = algorithms.find(name)
    defaults_by_name = (
        {p.name: p.default for p in selected_algorithm.own_parameters} | {"mode": "deterministic"} | options
    )
    labels = by_row.labels(selected_algorithm.run(table, Constraint(k), defaults_by_name, lambda: None))
    return [np.flatnonzero(labels == c).tolist() for c in range(int(labels.max()) + 1)]


def small_case(table: Table) -> tuple[EncodedTable, int, LossTable]:
    actual_records = records(encode_records(table).space)
    return actual_records, min(max(table.k, 2), max(actual_records.rows // 2, 1)), with_unit(actual_records, 1, "edges")


@given(tables())
@SOME
def test_systematic_equals_plain_loop(table: Table) -> None:
    encoded_table, k, pairs = small_case(table)
    if encoded_table.rows >= 4:
        assert equal_clusters(pairs, clusters("systematic", encoded_table, k)) == equal_clusters(
            pairs, slow.systematic(pairs, k)
        )


@given(tables())
@SOME
def test_adaptive_k_equals_plain_loop(table: Table) -> None:
    encoded_table, k, pairs = small_case(table)
    if encoded_table.rows >= 4:
        assert equal_clusters(pairs, clusters("adaptive_k", encoded_table, k)) == equal_clusters(
            pairs, slow.adaptive(pairs, k)
        )


@given(tables(), st.integers(0, 3), st.integers(0, 2), st.integers(0, 10**6))
@SOME
def test_bhaladhare_and_organized_equal_plain_loops(table: Table, a: int, b: int, seed: int) -> None:
    encoded_table, k, pairs = small_case(table)
    if encoded_table.rows < 4:
        return
    draws = np.random.default_rng(seed)
    values = [draws.integers(0, 3, encoded_table.rows).astype(np.int32) for _ in range(2)]
    encoded_table = replace(
        encoded_table, sensitive=tuple(SensitiveColumn(v, np.bincount(v, minlength=4)) for v in values)
    )
    actual_values = [v.tolist() for v in values]
    expected = slow.combined(pairs, k, actual_values, a, b)
    assert equal_clusters(
        pairs, clusters("bhaladhare", encoded_table, k, sort_quasi=a, sort_sensitive=b)
    ) == equal_clusters(pairs, expected)
    assert equal_clusters(pairs, clusters("organized", encoded_table, k, sort_quasi=b)) == equal_clusters(
        pairs, slow.organized(pairs, k, actual_values, b)
    )


@pytest.fixture
def people(con: Any) -> Any:
    return small_table.people(con)


@pytest.mark.parametrize("call", ["systematic", "bhaladhare", "organized", "adaptive_k"])
@pytest.mark.parametrize("extra_arguments", ["", ", l=2", ", max_level={'town': 0}", ", max_partition=20"])
def test_sorted_seed_classes_meet_model(people: Any, call: str, extra_arguments: str) -> None:
    small_table.assert_classes(people, call, extra_arguments, classes=4, values=2 if ", l=2" in extra_arguments else 1)


@pytest.mark.parametrize("call", ["systematic", "bhaladhare", "organized", "adaptive_k"])
def test_seed_determines_sorted_seed_clusters(people: Any, call: str) -> None:
    small_table.assert_seed_determines_release(people, call)


def test_sort_options_change_classes_and_are_validated(people: Any) -> None:
    equal, unequal = (
        people.execute(f"FROM bhaladhare{ASKED.format(extra_text)}").fetchall()
        for extra_text in ("", ", sort_quasi=3, sort_sensitive=0")
    )
    assert equal != unequal
    with pytest.raises(duckdb.Error, match="organized needs a sensitive column, and people"):
        people.execute("FROM organized('people', k=5, qi=['age', 'sex'])")
    with pytest.raises(duckdb.Error, match="sort_quasi must be"):
        people.execute(f"FROM organized{ASKED.format(', sort_quasi=-1')}")


@pytest.mark.parametrize("call", ["systematic", "bhaladhare", "organized", "adaptive_k"])
def test_sorted_seeds_of_fewer_than_2k_records_are_one_class(con: Any, call: str) -> None:
    con.execute("CREATE TABLE few AS SELECT i AS age, 'x' AS disease FROM range(7) AS r (i)")
    rows = con.execute(f"SELECT size FROM {call}_classes('few', k=4, qi=['age'], sensitive=['disease'])").fetchall()
    assert rows == [(7,)]
