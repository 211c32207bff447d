"""The query error that compare() computes from codes equals the one that query_error() measures on the release."""

from __future__ import annotations

import random
from typing import Any

import pytest

TREE = "north,coast,*\nsouth,coast,*\nhill,inland,*\nvalley,inland,*\nlake,inland,*\nunused,inland,*".replace(",", ";")


@pytest.mark.parametrize("seed", range(12))
def test_compared_query_error_equals_query_error_function(con: Any, seed: int) -> None:
    """Numbers, decimals, floats, dates, months, categories with and without a hierarchy, NULLs, suppressed records."""
    rnd = random.Random(seed)
    nulls = rnd.choice([0, 0.1])

    def cell(value: Any) -> Any:
        return None if rnd.random() < nulls else value

    con.execute(
        "CREATE TABLE t (age INTEGER, price DECIMAL(8, 2), weight DOUBLE, born DATE, city VARCHAR, job VARCHAR)"
    )
    rows = [
        (
            cell(rnd.randint(20, 50)),
            cell(rnd.randint(0, 40) / 4),
            cell(rnd.choice([1.5, 2.25, 7.125, 60.0])),
            cell(f"19{rnd.randint(50, 60)}-{rnd.randint(1, 12):02}-{rnd.randint(1, 28):02}"),
            cell(rnd.choice(["north", "south", "hill", "valley", "lake"])),
            cell(rnd.choice("abcd")),
        )
        for _ in range(rnd.randint(60, 160))
    ]
    con.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?)", rows)
    qi = rnd.sample(["age", "price", "weight", "born", "city", "job"], rnd.randint(1, 5))
    options = f"qi := {qi}" + (f", hierarchies := {{'city': '{TREE}'}}" if "city" in qi else "")
    actual_options = options
    if "age" in qi and rnd.random() < 0.5:
        actual_options += ", rounding := {'age': 5}"
    if rnd.random() < 0.4:
        actual_options += ", suppress := 0.1"
    algorithm, k = rnd.choice(["kacpc", "mondrian", "mdav", "datafly"]), rnd.randint(2, 6)
    count = rnd.choice([1, 30, 90])
    con.execute(f"CREATE TABLE safe AS FROM {algorithm}('t', k := {k}, {actual_options})")
    text = f"query_error('safe', 't', queries := {count}, seed := 1, {options})"
    (expected,) = con.execute(f"SELECT avg(median) FROM {text} WHERE kind = 'count'").fetchone()
    call = (
        f"'t', k := {k}, algorithms := '{algorithm}', metrics := ['query_error'], queries := {count}, {actual_options}"
    )
    mapping = dict(con.execute(f"SELECT metric, mean FROM compare({call})").fetchall())
    assert mapping["query_error"] == pytest.approx(expected, abs=1e-8), call


def test_compare_without_queries_gives_null_query_error(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT range % 9 AS age FROM range(90)")
    result = con.execute("SELECT mean FROM compare('t', k := 3, metrics := 'query_error', qi := ['age'], queries := 0)")
    assert {row[0] for row in result.fetchall()} == {None}
