"""WF-C-means compared with plain loops over all records, by hand, and called in SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from oracle import wfcmeans as slow
from oracle.reference import Number, places
from support import by_row, small_table
from support.tables import SOME, Table, encode_records, groups_of, large, tables
from test_assign import random_case
from test_kmeanspp import as_numbers

from dbanon import algorithms
from dbanon.algorithms.centroid import moving_centers, wfcmeans
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def labels(table: EncodedTable, k: int, **options: object) -> list[int]:
    selected_algorithm = algorithms.find("wfcmeans")
    defaults_by_name = {p.name: p.default for p in selected_algorithm.own_parameters} | options
    values: list[int] = by_row.labels(
        selected_algorithm.run(table, Constraint(k), defaults_by_name, lambda: None)
    ).tolist()
    return values


def check_equals_plain_loop(table: Table, mode: str, seed: int, rounds: int) -> None:
    encoded_table = encode_records(replace(table, persons=None))
    n = encoded_table.space.rows
    spots = []
    for column in zip(*as_numbers(encoded_table.records, table.attributes), strict=True):
        place = {**places(column, 1.0, 30), None: None}
        spots.append([place[value] for value in column])
    seeds, _ = random_case(n, max(n // table.k, 1), mode, seed)
    declared = [a.weight for a in table.attributes]
    expected = slow.wfcmeans(list(zip(*spots, strict=True)), declared, table.k, seeds, rounds)
    actual_labels = labels(encoded_table.space, table.k, mode=mode, seed=seed, rounds=rounds)
    assert groups_of(actual_labels) == groups_of(expected)


@SOME
@given(table=tables(), mode=st.sampled_from(["random", "deterministic"]), seed=st.integers(0, 3))
def test_wfcmeans_clusters_equal_plain_loop(table: Table, mode: str, seed: int) -> None:
    check_equals_plain_loop(table, mode, seed, 9)


@pytest.mark.parametrize("seed", range(6))
def test_wfcmeans_of_large_table_equals_plain_loop(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving_centers, "STEPS_PER_CALL", 30)
    table = large(seed)
    check_equals_plain_loop(replace(table, records=table.records[:80], k=3, persons=None, ties=None), "random", seed, 5)


def test_distinguishing_column_weighs_more() -> None:
    """Clusters {0, 2} and {8, 10}: of the first column 4 within and 64 between; of the other 50 and nothing.

    The shares are 1 and 0, and each weight moves halfway there from one half.
    """
    encoded_table = encode_records(Table([(0, 0), (2, 10), (8, 5), (10, 5)], [Number(), Number()], 2)).space
    means = wfcmeans._WeightedMeans(encoded_table, np.array([0, 2]), lambda: None)
    means.nearest = np.array([0, 0, 1, 1])
    means.recenter()
    means.update_weights()
    assert means.weights.tolist() == [0.75, 0.25]
    assert means.column_factors.tolist() == pytest.approx([0.75**0.5, 0.5])


def test_small_cluster_moves_center_of_joined_cluster() -> None:
    """Of {1 1}, {2}, {4}, {7 7 7} the second joins the first, whose center moves to 4/3.

    4 is at 8/3 from it, at 3 from 7; it would be at 3 from both if the center had stayed.
    """
    encoded_table = encode_records(Table([(v,) for v in (1, 1, 2, 4, 7, 7, 7)], [Number()], 2)).space
    means = wfcmeans._WeightedMeans(encoded_table, np.array([4, 2, 3, 0]), lambda: None)
    means.nearest = np.array([3, 1, 2, 0])
    means.recenter()
    assert means.merge_small_clusters(2).tolist() == [3, 3, 3, 0]


@pytest.fixture
def people(con: Any) -> Any:
    return small_table.people(con, disease=small_table.FOUR)


@pytest.mark.parametrize(
    "extra_arguments", ["", ", l=3", ", max_level={'town': 0}", ", max_partition=20", ", weights={'age': 3}"]
)
def test_wfcmeans_classes_meet_model(people: Any, extra_arguments: str) -> None:
    small_table.assert_classes(
        people, "wfcmeans", extra_arguments, classes=2, values=3 if ", l=3" in extra_arguments else 1
    )


def test_seed_determines_wfcmeans_clusters(people: Any) -> None:
    small_table.assert_seed_determines_release(people, "wfcmeans")
