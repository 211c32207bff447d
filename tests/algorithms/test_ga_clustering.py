"""Crossover of pairs of clusterings (genetic algorithm), compared with a plain loop, and called in SQL."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from oracle import mixed as slow
from support import by_row
from support.tables import SOME, Table, tables
from test_gather import equal_clusters, small, with_unit

from dbanon import algorithms
from dbanon.algorithms.base.class_bounds import cluster_members
from dbanon.privacy_models.constraint import Constraint


@given(tables(), st.integers(0, 40), st.integers(1, 12), st.integers(-1, 10**6))
@SOME
def test_crossover_equals_plain_loop(table: Table, generations: int, patience: int, seed: int) -> None:
    encoded_table, k = small(table)
    k = min(k, max(encoded_table.rows // 2, 1))
    if encoded_table.rows < 4:
        return
    mode = {"mode": "random", "seed": seed} if seed >= 0 else {"mode": "deterministic", "seed": 0}
    options = {**mode, "generations": generations, "patience": patience, "centroid_cat": "lca"}
    start, labels = (
        by_row.labels(algorithms.find(name).run(encoded_table, Constraint(k), options, lambda: None))
        for name in ("oka_kmember", "ga_clustering")
    )
    pairs = with_unit(encoded_table, 1, "edges")
    draws = np.random.PCG64(max(seed, 0))

    def draw() -> float:
        return float(int(draws.random_raw()) >> 11) * 2.0**-53

    pair = slow.pair_in_turn if seed < 0 else slow.pair_by_rank(draw)
    values = [rows.tolist() for rows in cluster_members(start)]
    expected = slow.ga(pairs, values, k, generations if len(values) > 1 else 0, patience, pair)
    assert equal_clusters(pairs, [rows.tolist() for rows in cluster_members(labels)]) == equal_clusters(pairs, expected)


@pytest.fixture
def people(con: Any) -> Any:
    con.execute("""CREATE TABLE people AS
        SELECT 20 + (i * 7) % 41 AS age, ['F', 'M'][1 + i % 2] AS sex, (i * 31) % 17 AS town,
            CASE WHEN i % 4 = 0 THEN 'HIV' ELSE 'Flu' END AS disease
        FROM range(90) AS r (i)""")
    return con


ASKED = "('people', k=5, qi=['age', 'sex', 'town'], sensitive=['disease']{})"


@pytest.mark.parametrize("extra_arguments", ["", ", l=2", ", max_level={'sex': 0}", ", max_partition=20"])
def test_ga_clustering_classes_meet_model(people: Any, extra_arguments: str) -> None:
    sizes = people.execute(
        f"SELECT size, len(disease) FROM ga_clustering_classes{ASKED.format(extra_arguments)}"
    ).fetchall()
    assert sum(size for size, _ in sizes) == 90
    assert min(size for size, _ in sizes) >= 5
    assert len(sizes) > 3
    assert extra_arguments != ", l=2" or min(values for _, values in sizes) >= 2


@pytest.mark.parametrize("mode", ["random", "deterministic"])
def test_ga_precision_never_falls_with_more_generations(people: Any, mode: str) -> None:
    query = "SELECT value FROM {}_metrics" + ASKED.format(f", mode := '{mode}'" + "{}") + " WHERE metric = 'precision'"
    start = people.execute(query.format("oka_kmember", "")).fetchone()[0]
    values = [start]
    for generations in (0, 50, 2000):
        extra_text = f", generations := {generations}, patience := 2000"
        values.append(people.execute(query.format("ga_clustering", extra_text)).fetchone()[0])
    assert values[1] == start
    assert values == sorted(values) and values[-1] > start


def test_seed_determines_crossed_pairs(people: Any) -> None:
    one, same = (people.execute(f"FROM ga_clustering{ASKED.format(', seed=1')}").fetchall() for _ in range(2))
    others = [people.execute(f"FROM ga_clustering{ASKED.format(f', seed={seed}')}").fetchall() for seed in range(2, 6)]
    assert one == same
    assert any(one != other for other in others)
