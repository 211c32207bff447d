"""objective = 'sse': the least squared distances to the class mean, compared with all partitions of small tables."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import numpy as np
import pytest
from oracle.metrics import CodedNumber, sse_share
from oracle.partitions import partitions

import dbanon
from dbanon.algorithms.microaggregation.group_arrays import nearest_neighbours

Row = tuple[float | None, int | None, str]


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    connection = dbanon.attach(duckdb.connect())
    connection.execute("CREATE TABLE t (x DOUBLE, y INTEGER, d VARCHAR)")
    dbanon.declare(connection, "t", x="quasi", y="quasi", d="sensitive")
    yield connection
    connection.close()


def fill(con: Any, rows: Sequence[Row]) -> None:
    con.execute("DELETE FROM t")
    con.executemany("INSERT INTO t VALUES (?, ?, ?)", list(rows))


def metric_values(con: Any, call: str) -> dict[str, float]:
    return dict(con.execute(f"SELECT metric, value FROM {call}").fetchall())


def mixture(draw: random.Random, n: int, parts: int = 6) -> list[Row]:
    """Return records around some points, each with its own spread."""
    around = [(draw.uniform(-50, 50), draw.uniform(-50, 50), draw.uniform(0.2, 9)) for _ in range(parts)]
    choices = [draw.choice(around) for _ in range(n)]
    return [(round(draw.gauss(x, s), 2), round(draw.gauss(y, s)), draw.choice("abc")) for x, y, s in choices]


def minimal_share(rows: Sequence[Row], k: int, values: int = 1) -> float:
    """Return the least share of squares over all partitions into classes of k records and `values` values of d."""
    columns = list(zip(*rows, strict=True))[:2]
    return min(
        sse_share(columns, (CodedNumber(), CodedNumber()), groups)
        for groups in partitions(range(len(rows)), k)
        if all(len({rows[i][2] for i in group}) >= values for group in groups)
    )


@pytest.mark.parametrize("seed", range(6))
def test_best_finds_minimal_sse_of_small_tables(con: Any, seed: int) -> None:
    draw = random.Random(seed)
    rows: list[Row] = [
        (draw.choice([draw.gauss(0, 9), None]) if seed % 3 == 2 else draw.gauss(0, 9), draw.randrange(30), "a")
        for _ in range(9)
    ]
    fill(con, rows)
    for k in (2, 3):
        result = metric_values(con, f"best_metrics('t', k = {k}, objective = 'sse')")
        assert result["sse_share"] == pytest.approx(minimal_share(rows, k), abs=1e-9)
        assert k <= result["k"] and result["class_size_greatest"] < 2 * k
        assert metric_values(con, f"best_metrics('t', k = {k})")["sse_share"] >= result["sse_share"] - 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_best_finds_minimal_sse_that_meets_l(con: Any, seed: int) -> None:
    """Distinct l-diversity: the cheapest classes of two mostly do not have two values."""
    draw = random.Random(100 + seed)
    rows: list[Row] = [(x := draw.gauss(0, 9), draw.randrange(30), "a" if x < 0 else "b") for _ in range(8)]
    rows[0], rows[1] = (rows[0][0], rows[0][1], "a"), (rows[1][0], rows[1][1], "b")
    fill(con, rows)
    result = metric_values(con, "best_metrics('t', k = 2, l = 2, objective = 'sse')")
    assert result["sse_share"] == pytest.approx(minimal_share(rows, 2, 2), abs=1e-9)
    assert result["l_diversity:d"] >= 2


def test_best_finds_minimal_sse_with_k_persons(con: Any) -> None:
    """Ten records in the order of x, two of each person: the least squares of classes of two persons."""
    con.execute("CREATE OR REPLACE TABLE v AS SELECT i // 2 AS who, i * i AS x FROM range(10) AS r (i)")
    dbanon.declare(con, "v", who="person", x="quasi")
    result = metric_values(con, "best_metrics('v', k = 2, objective = 'sse')")
    values = [(float(i * i), None) for i in range(10)]
    groups = (g for g in partitions(range(10), 2) if all(len({i // 2 for i in group}) >= 2 for group in g))
    best = min(sse_share([[x for x, _ in values]], (CodedNumber(),), g) for g in groups)
    assert result["sse_share"] == pytest.approx(best) and result["k"] == 2


@pytest.mark.parametrize("algorithm", ["kacpc", "mdav", "mondrian", "kmember", "oka"])
def test_sse_search_never_raises_sse(con: Any, algorithm: str) -> None:
    draw = random.Random(len(algorithm))
    fill(con, mixture(draw, 200))
    for text in ("", ", l = 2", ", t = 0.5"):
        call = f"{algorithm}_metrics('t', k = 4{text}"
        previous = metric_values(con, f"{call})")
        following = metric_values(con, f"{call}, improve = 2000, objective = 'sse')")
        assert following["sse_share"] <= previous["sse_share"] + 1e-9 and following["k"] >= 4
        assert following == metric_values(con, f"{call}, improve = 2000, objective => 'sse')")
        if not text:
            assert following["class_size_greatest"] < 8
    assert following["sse_share"] < 0.95 * previous["sse_share"]


@pytest.mark.parametrize("seed", range(3))
def test_best_lowers_mdav_sse_by_10_percent_on_mixtures(con: Any, seed: int) -> None:
    fill(con, mixture(random.Random(seed), 600, 12))
    for k in (3, 10):
        start = metric_values(con, f"mdav_metrics('t', k = {k}, scale := 'std')")["sse_share"]
        assert metric_values(con, f"best_metrics('t', k = {k}, objective = 'sse')")["sse_share"] < 0.9 * start


def test_sse_classes_independent_of_row_order(con: Any) -> None:
    rows = mixture(random.Random(3), 150)
    actual_rows = []
    for seed in (0, 1, 0):
        random.Random(len(actual_rows)).shuffle(rows)
        fill(con, rows)
        actual_rows.append(con.execute(f"FROM best('t', k = 3, objective = 'sse', seed := {seed})").fetchall())
    assert actual_rows[0] == actual_rows[2]
    second_rows = con.execute("FROM best('t', k = 3, objective = 'sse')").fetchall()
    assert second_rows == actual_rows[0]


@pytest.mark.parametrize("model_arguments", [{}, {"l": 2}])
def test_time_limit_stored_as_equivalent_moves(model_arguments: dict[str, Any]) -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE t (x DOUBLE, y INTEGER, d VARCHAR)")
        dbanon.declare(con, "t", x="quasi", y="quasi", d="sensitive")
        fill(con, mixture(random.Random(8), 300))
        far: list[tuple[float, float]] = []
        dbanon.create_release(
            con, "safe", "kacpc", "t", k=4, improve="250ms", objective="sse",
            progress=lambda *one: far.append(one), **model_arguments,
        )  # fmt: skip
        moves = con.execute("SELECT (parameters::JSON ->> 'improve')::BIGINT FROM releases()").fetchall()[0][0]
        model_text = "".join(f", {n} = {v}" for n, v in model_arguments.items())
        call = f"('t', k = 4, objective = 'sse', improve = {moves}{model_text})"
        differ = f"(FROM safe EXCEPT ALL FROM kacpc{call}) UNION ALL (FROM kacpc{call} EXCEPT ALL FROM safe)"
        assert moves > 0 and con.execute(differ).fetchall() == []
        assert far[-1][0] == 1 and [share for share, _ in far] == sorted(share for share, _ in far)
        start = call.replace(f"improve = {moves}", "improve = 0")
        old_sse_share, new_sse_share = (metric_values(con, f"kacpc_metrics{c}")["sse_share"] for c in (start, call))
        assert far[-1][1] == pytest.approx(1 - new_sse_share / old_sse_share, abs=1e-6)


def test_sse_of_equal_records_is_zero(con: Any) -> None:
    fill(con, [(1.5, 3, "a")] * 7)
    assert metric_values(con, "best_metrics('t', k = 3, objective = 'sse')")["sse_share"] == 0
    fill(con, [(x, 3, "a") for x in [1.0] * 4 + [2.0] * 5 + [9.0] * 3])
    result = metric_values(con, "best_metrics('t', k = 3, objective = 'sse')")
    assert (result["sse_share"], result["classes"]) == (0, 3)


def test_sse_objective_refuses_category(con: Any) -> None:
    con.execute("CREATE OR REPLACE TABLE c AS SELECT i AS x, 'abc'[1 + i % 3] AS g FROM range(9) AS r (i)")
    dbanon.declare(con, "c", x="quasi", g="quasi")
    why = "best: objective = 'sse' does not fit c.g: it is a category.*'precision' or 'ncp'"
    with pytest.raises(duckdb.Error, match=why):
        con.execute("FROM best('c', k = 2, objective = 'sse')")
    assert len(con.execute("FROM best('c', k = 2, qi = ['x'], objective = 'sse')").fetchall()) == 9
    with pytest.raises(duckdb.Error, match="kacpc: objective has no effect"):
        con.execute("FROM kacpc('t', k = 2, objective = 'sse')")


@pytest.mark.parametrize("axes", [1, 2, 5])
def test_nearest_neighbours_equal_all_pairs_search(axes: int) -> None:
    """With few axes the search is exact, by distance; ties are interchangeable."""
    draws = np.random.default_rng(axes)
    rounded = np.round(draws.normal(size=(400, axes)), 1 if axes < 3 else 9)
    near = nearest_neighbours(rounded, 7, lambda: None)
    separate_total = ((rounded[:, None] - rounded[None]) ** 2).sum(axis=2)
    np.fill_diagonal(separate_total, np.inf)
    along_axis = np.take_along_axis(separate_total, near.astype(np.int64), axis=1)
    assert np.allclose(along_axis, np.sort(separate_total, axis=1)[:, :7])
    assert (np.sort(near, axis=1)[:, 1:] != np.sort(near, axis=1)[:, :-1]).all()
