"""objective = 'ncp': the least loss by shares of leaves, compared with all partitions of small tables."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import pytest
from oracle.partitions import partitions

import dbanon

# Levels and shares of leaves disagree: A is one level above two leaves, C above eight, below E.
LINES = [
    *(["a1", "A", "D", "*"], ["a2", "A", "D", "*"], ["b1", "B", "D", "*"], ["b2", "B", "D", "*"]),
    *([f"c{i}", "C", "E", "*"] for i in range(8)),
]
LEAVES = {"*": 12, "D": 4, "E": 8, "C": 8, "A": 2, "B": 2} | {line[0]: 1 for line in LINES}
Row = tuple[int, str]


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    connection = dbanon.attach(duckdb.connect())
    dbanon.load_hierarchy(connection, "wards", LINES)
    connection.execute("CREATE TABLE t (age INTEGER, ward VARCHAR)")
    dbanon.declare(connection, "t", age="quasi", ward=("quasi", "wards"))
    yield connection
    connection.close()


def fill(con: Any, rows: Sequence[Row]) -> None:
    con.execute("DELETE FROM t")
    con.executemany("INSERT INTO t VALUES (?, ?)", list(rows))


def metric_values(con: Any, call: str) -> dict[str, float]:
    return dict(con.execute(f"SELECT metric, value FROM {call}").fetchall())


def ncp(rows: Sequence[Row], groups: Sequence[Sequence[int]]) -> float:
    """Return the NCP of the classes: shares of the range and of all leaves, 0 for one value."""
    ages = [age for age, _ in rows]
    reach = max(ages) - min(ages)
    total = 0.0
    for group in groups:
        own_rows = [rows[i] for i in group]
        width = max(a for a, _ in own_rows) - min(a for a, _ in own_rows)
        paths = [line for line in LINES if line[0] in {w for _, w in own_rows}]
        above = next(node for node in paths[0] if all(node in path for path in paths))
        share = 0.0 if LEAVES[above] == 1 else LEAVES[above] / 12
        total += len(group) * ((width / reach if reach else 0.0) + share)
    return total


@pytest.mark.parametrize("seed", range(6))
def test_best_finds_minimal_ncp_of_small_tables(con: Any, seed: int) -> None:
    draw = random.Random(seed)
    rows = [(draw.randrange(10), draw.choice(LINES)[0]) for _ in range(9)]
    fill(con, rows)
    result = metric_values(con, "best_metrics('t', k = 2, objective = 'ncp')")
    minimum = min(ncp(rows, groups) for groups in partitions(range(len(rows)), 2))
    assert result["ncp"] == pytest.approx(minimum, abs=1e-9)
    assert metric_values(con, "best_metrics('t', k = 2)")["ncp"] >= result["ncp"] - 1e-9


def test_ncp_objective_lowers_ncp_and_precision(con: Any) -> None:
    draw = random.Random(7)
    fill(con, [(draw.randrange(40), draw.choice(LINES)[0]) for _ in range(300)])
    values_by_name = {
        name: metric_values(con, f"best_metrics('t', k = 10, objective = '{name}')") for name in ("precision", "ncp")
    }
    assert (
        values_by_name["ncp"]["ncp"] < values_by_name["precision"]["ncp"]
        and values_by_name["ncp"]["precision"] < values_by_name["precision"]["precision"]
    )


@pytest.mark.parametrize("algorithm", ["kacpc", "mdav", "mondrian", "kmember"])
def test_ncp_search_never_raises_ncp(con: Any, algorithm: str) -> None:
    draw = random.Random(len(algorithm))
    fill(con, [(draw.randrange(60), draw.choice(LINES)[0]) for _ in range(150)])
    previous = metric_values(con, f"{algorithm}_metrics('t', k = 4)")
    following = metric_values(con, f"{algorithm}_metrics('t', k = 4, improve = 3000, objective = 'ncp')")
    repeated = metric_values(con, f"{algorithm}_metrics('t', k = 4, improve = 3000, objective => 'ncp')")
    assert following["ncp"] <= previous["ncp"] + 1e-9 and following["k"] >= 4 and following == repeated
    by_levels = metric_values(con, f"{algorithm}_metrics('t', k = 4, improve = 3000)")
    assert by_levels == metric_values(con, f"{algorithm}_metrics('t', k = 4, improve = 3000, objective = 'precision')")


def test_objective_without_search_refused(con: Any) -> None:
    with pytest.raises(duckdb.Error, match=r"kacpc: objective has no effect.*improve = 20000 .best always"):
        con.execute("FROM kacpc('t', k = 2, objective = 'ncp')")
    with pytest.raises(duckdb.Error, match="objective must be one of 'precision', 'ncp', 'sse'"):
        con.execute("FROM best('t', k = 2, objective = 'gcp')")
