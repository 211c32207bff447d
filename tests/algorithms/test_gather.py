"""KNN, KMCSSA, GCCG and levels of MDAV compared with plain loops over all records, and called in SQL."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracle import gather as slow
from oracle.greedy import LossTable, loss_table
from support import by_row, small_table
from support.small_table import ASKED
from support.tables import SOME, Table, encode_records, tables
from test_greedy import clusters_of, records, unit

from dbanon import algorithms
from dbanon.algorithms.base.loss import distance_sums_to_all
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def sets(clusters: list[list[int]]) -> list[set[int]]:
    return sorted(map(set, clusters), key=min)


def found_clusters(name: str, table: EncodedTable, k: int, **options: object) -> list[set[int]]:
    return sorted(clusters_of(name, table, k, **options), key=min)


def small(table: Table) -> tuple[EncodedTable, int]:
    actual_records = records(encode_records(table).space)
    return actual_records, min(max(table.k, 2), actual_records.rows)


def with_unit(table: EncodedTable, k: int, heights: str) -> LossTable:
    return loss_table(table, unit(table, k), heights)


@given(tables())
@SOME
def test_knn_equals_plain_loop(table: Table) -> None:
    encoded_table, k = small(table)
    if encoded_table.rows >= 2:
        assert found_clusters("knn_anon", encoded_table, k, mode="deterministic") == sets(
            slow.knn(with_unit(encoded_table, k, "leaves"), k)
        )


@given(tables())
@SOME
def test_kmcssa_equals_plain_loop(table: Table) -> None:
    encoded_table, k = small(table)
    if encoded_table.rows >= 2:
        assert found_clusters("kmcssa", encoded_table, k) == sets(slow.kmcssa(with_unit(encoded_table, k, "edges"), k))


@given(tables())
@SOME
def test_distance_sums_equal_pairwise_sums(table: Table) -> None:
    encoded_table, _ = small(table)
    if encoded_table.rows >= 2:
        pairs = with_unit(encoded_table, 1, "edges")
        everybody = range(len(pairs.rows))
        expected = [sum(pairs.distance(r, s) for s in everybody) for r in encoded_table.starts.tolist()]
        assert distance_sums_to_all(encoded_table).tolist() == expected


@given(tables(), st.integers(1, 3), st.integers(1, 3))
@SOME
def test_multilevel_mdav_equals_plain_loop(table: Table, levels: int, coarser: int) -> None:
    encoded_table, k = small(table)
    if encoded_table.rows >= 2:
        pairs = with_unit(encoded_table, 1, "edges")
        clusters = [
            sorted(c)
            for c in found_clusters("multilevel_mdav", encoded_table, k, levels=levels, group_size_factor=coarser)
        ]
        assert equal_clusters(pairs, clusters) == equal_clusters(
            pairs, slow.multilevel(encoded_table, pairs, k, levels, coarser)
        )


@given(tables(), st.integers(1, 3))
@SOME
def test_gccg_equals_plain_loop(table: Table, parts: int) -> None:
    encoded_table, k = small(table)
    if encoded_table.rows < 2:
        return
    selected_algorithm = algorithms.find("gccg")
    labels = by_row.labels(selected_algorithm.run(encoded_table, Constraint(k), {"parts": parts}, lambda: None))
    groups = [np.flatnonzero(labels == c).tolist() for c in set(labels.tolist())]
    pairs = with_unit(encoded_table, k, "edges")
    assert equal_clusters(pairs, groups) == equal_clusters(pairs, slow.gccg(encoded_table, pairs, k, parts))


def equal_clusters(table: LossTable, clusters: list[list[int]]) -> list[list[tuple[int, ...]]]:
    """Return the clusters as sorted record values: equal records are interchangeable."""
    return sorted(sorted(table.rows[r] for r in c) for c in clusters)


@pytest.fixture
def people(con: Any) -> Any:
    return small_table.people(con)


@pytest.mark.parametrize("call", ["knn_anon", "kmcssa", "gccg", "multilevel_mdav"])
@pytest.mark.parametrize("extra_arguments", ["", ", l=2", ", max_level={'town': 0}"])
def test_gathered_classes_meet_model(people: Any, call: str, extra_arguments: str) -> None:
    small_table.assert_classes(people, call, extra_arguments, classes=4, values=2 if ", l=2" in extra_arguments else 1)


def test_seed_determines_knn_clusters(people: Any) -> None:
    one, other, same = (
        people.execute(f"FROM knn_anon{ASKED.format(f', seed={seed}')}").fetchall() for seed in (1, 2, 1)
    )
    assert one == same
    assert one != other


def test_gccg_parts_change_classes_and_must_be_positive(people: Any) -> None:
    full_rows, parts = (
        people.execute(f"FROM gccg{ASKED.format(extra_text)}").fetchall() for extra_text in ("", ", parts=3")
    )
    assert full_rows != parts
    assert len(full_rows) == len(parts) == 60
    with pytest.raises(duckdb.Error, match="parts must be"):
        people.execute(f"FROM gccg{ASKED.format(', parts=0')}")


def test_gccg_center_without_diverse_cluster_dissolves(people: Any) -> None:
    """Four of twenty have the value that each class needs."""
    disease = "CASE WHEN i < 4 THEN 'HIV' ELSE 'Flu' END AS disease"
    people.execute(f"CREATE TABLE few AS SELECT i AS age, {disease} FROM range(20) AS r (i)")
    rows = people.execute(
        "SELECT size, len(disease) FROM gccg_classes('few', k=2, qi=['age'], sensitive=['disease'], l=2)"
    ).fetchall()
    assert sum(size for size, _ in rows) == 20
    assert all(values == 2 for _, values in rows)
