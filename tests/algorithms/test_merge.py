"""KACA and KAPP compared with plain loops over all classes; KACA's distance as in the paper; called in SQL."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracle import merge as slow
from support import by_row, small_table
from support.small_table import ASKED
from support.tables import SOME, Table, tables
from test_gather import equal_clusters, found_clusters, small, with_unit

from dbanon import algorithms
from dbanon.algorithms.agglomerative.hierarchy_distances import level_distances
from dbanon.algorithms.agglomerative.vulture_optimization import objective, vulture_centers
from dbanon.algorithms.base.class_bounds import cluster_members
from dbanon.encoding.encoded_table import SensitiveColumn
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import model_requirements


def test_level_distances_equal_paper_example() -> None:
    """Six levels: the edges weigh 1, 1/2, 1/3, 1/4, 1/5, together 2.2833."""
    up = 1 - level_distances(6, 1)
    assert up[4] == pytest.approx(0.0876, abs=5e-5) == (1 / 5) / (137 / 60)
    assert up[3] == pytest.approx(0.1971, abs=5e-5)
    assert up[0] == 1 and up[5] == 0
    assert (1 - level_distances(6, 0)).tolist() == pytest.approx([1, 0.8, 0.6, 0.4, 0.2, 0])
    assert level_distances(1, 1).tolist() == [0]


@given(tables(), st.sampled_from([1, 0, 2.5]), st.booleans())
@SOME
def test_kaca_equals_plain_loop(table: Table, beta: float, stub: bool) -> None:
    encoded_table, k = small(table)
    if encoded_table.rows >= 2:
        clusters = [sorted(c) for c in found_clusters("kaca", encoded_table, k, beta_edge=beta, split_donor=stub)]
        pairs = with_unit(encoded_table, 1, "edges")
        assert equal_clusters(pairs, clusters) == equal_clusters(pairs, slow.kaca(encoded_table, k, beta, stub))


@given(tables(), st.integers(1, 2), st.integers(1, 5), st.sampled_from([None, 0.1, 0.4]), st.integers(0, 10**6))
@SOME
def test_kapp_equals_plain_loop(table: Table, columns: int, number: int, t: float | None, seed: int) -> None:
    encoded_table, k = small(table)
    k = min(k, encoded_table.rows // 2)
    if k < 2:
        return
    draws = np.random.default_rng(seed)
    values = [draws.integers(0, 4, encoded_table.rows).astype(np.int32) for _ in range(columns)]
    encoded_table = replace(
        encoded_table, sensitive=tuple(SensitiveColumn(v, np.bincount(v, minlength=6)) for v in values)
    )
    models = () if t is None else model_requirements("kapp", "t", {"t": t}, [f"s{s}" for s in range(columns)])
    options = {"sensitive_clusters": number, "rounds": 20, "mode": "deterministic", "seed": 0, "optimizer": "kmeans++"}
    labels = by_row.labels(algorithms.find("kapp").run(encoded_table, Constraint(k, models), options, lambda: None))
    actual_cluster_members = sorted(cluster_members(labels), key=lambda rows: int(rows[0]))
    pairs = with_unit(encoded_table, k, "edges")
    expected = slow.kapp(pairs, [v.tolist() for v in values], k, number, 20, t)
    assert [rows.tolist() for rows in actual_cluster_members] == sorted(expected)


@pytest.fixture
def people(con: Any) -> Any:
    return small_table.people(con)


@pytest.mark.parametrize("call", ["kaca", "kapp"])
@pytest.mark.parametrize("extra_arguments", ["", ", l=2", ", max_level={'town': 0}", ", max_partition=20"])
def test_merged_classes_meet_model(people: Any, call: str, extra_arguments: str) -> None:
    extra_arguments += ", t=1" if call == "kapp" else ", split_donor := true" if extra_arguments == ", l=2" else ""
    small_table.assert_classes(people, call, extra_arguments, classes=3, values=2 if ", l=2" in extra_arguments else 1)


def test_kaca_split_donor_gives_more_classes(con: Any) -> None:
    """A stub of one record takes one of the eight at distance 1, not all of them."""
    con.execute("CREATE TABLE few AS SELECT CASE WHEN i = 8 THEN 2 ELSE 1 END AS age FROM range(9) AS r (i)")
    for stub, sizes in (("false", [(9,)]), ("true", [(2,), (7,)])):
        call = f"SELECT size FROM kaca_classes('few', k=2, qi=['age'], split_donor := {stub}) ORDER BY ALL"
        assert con.execute(call).fetchall() == sizes


def test_kapp_limits_summed_distance_of_all_columns(people: Any) -> None:
    people.execute("CREATE TABLE two AS SELECT *, ['x', 'y', 'z'][1 + age % 3] AS job FROM people")
    call = "kapp_classes('two', k=5, qi=['age', 'sex'], sensitive=['disease', 'job']{})"
    full_options = {
        "disease": {"HIV": 15, "Flu": 45},
        "job": dict(people.execute("SELECT job, count(*) FROM two GROUP BY 1").fetchall()),
    }
    for extra, maximum in (("", 0.1), (", t=0.3", 0.3), (", t=0.6", 0.6)):
        classes = people.execute("SELECT size, disease, job FROM " + call.format(extra)).fetchall()
        assert extra != ", t=0.6" or len(classes) > 1
        for size, *entries in classes:
            off = 0.0
            for column, values in zip(full_options, entries, strict=True):
                counts = {v["value"]: v["size"] for v in values}
                off += sum(abs(counts.get(v, 0) / size - n / 60) for v, n in full_options[column].items()) / 2
            assert off <= maximum + 1e-9


def test_kapp_requires_sensitive_column(people: Any) -> None:
    with pytest.raises(duckdb.Error, match="kapp: t needs a sensitive column, and people has none"):
        people.execute("FROM kapp('people', k=5, qi=['age', 'sex'])")


def test_seed_determines_kapp_centers(people: Any) -> None:
    people.execute("CREATE TABLE many AS SELECT age, sex, hash(age) % 9 AS job FROM people")
    call = "FROM kapp('many', k=4, qi=['age', 'sex'], sensitive=['job'], t=1, sensitive_clusters := 3{})"
    one, same = (people.execute(call.format(", seed := 1")).fetchall() for _ in range(2))
    others = [people.execute(call.format(f", seed := {seed}")).fetchall() for seed in range(2, 9)]
    assert one == same
    assert any(one != other for other in others)


def test_vulture_centers_move_to_point_heaps() -> None:
    """Three heaps: no center is far from its heap, and the best place is better than a random one or a worse seed."""
    heaps = [(0.1, 0.1), (0.9, 0.2), (0.5, 0.9)]
    draws = np.random.default_rng(5)
    points = np.clip(np.concatenate([draws.normal(heap, 0.03, (40, 2)) for heap in heaps]).T, 0, 1)
    counts = np.ones(120, np.int64)
    for seed in range(3):
        actual_vulture_centers = vulture_centers(points, counts, 3, seed, 100, lambda: None)
        assert sorted(
            {int(np.argmin([abs(a - x) + abs(b - y) for a, b in heaps])) for x, y in actual_vulture_centers}
        ) == [0, 1, 2]
        assert objective(points, counts, actual_vulture_centers) < 0.5 * objective(points, counts, draws.random((3, 2)))
        assert np.array_equal(actual_vulture_centers, vulture_centers(points, counts, 3, seed, 100, lambda: None))


def test_kapp_with_vultures_publishes_classes_of_k(people: Any) -> None:
    call = f"SELECT size FROM kapp_classes{ASKED.format(', t=1, optimizer := {!r}')}"
    one, other = (people.execute(call.format(text)).fetchall() for text in ("vultures", "kmeans++"))
    assert sum(size for (size,) in one) == sum(size for (size,) in other) == 60
    assert min(one) >= (5,)
