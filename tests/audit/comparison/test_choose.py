"""tradeoffs(): each row agrees with the functions applied to the release of its statement; the frontier is right."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import duckdb
import pytest

import dbanon


@pytest.fixture
def people(con: Any) -> Any:
    """Create people(age, city, disease, who) with one rare disease."""
    rng = random.Random(5)
    con.execute("CREATE TABLE people (age INTEGER, city VARCHAR, disease VARCHAR, who INTEGER)")
    rows = [(rng.randint(20, 60), rng.choice("abcdef"), rng.choice(["Flu", "Flu", "HIV", "TB"]), i) for i in range(300)]
    con.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    return con


CALL = "'people', qi := ['age', 'city'], sensitive := ['disease'], k := [4, 12], l := [1, 2, 3]"


def rows(con: Any, query: str) -> list[dict[str, Any]]:
    result = con.execute(query)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def test_tradeoffs_rows_match_releases_of_statements(people: Any) -> None:
    actual_rows = rows(people, f"FROM tradeoffs({CALL}, algorithms := ['kacpc', 'mdav'], queries := 60)")
    assert [(r["algorithm"], r["k"], r["l"], r["t"]) for r in actual_rows] == [
        (*axes, 1) for axes in product(("kacpc", "mdav"), (4, 12), (1, 2, 3))
    ]
    for row in actual_rows:
        called = row["statement"].removeprefix("SELECT * FROM ")
        measured_metrics = dict(
            people.execute("SELECT metric, value FROM " + called.replace("(", "_metrics(", 1)).fetchall()
        )
        for name in ("precision", "ncp", "risk_highest", "risk_average", "homogeneous_share"):
            assert row[name] == pytest.approx(measured_metrics[name]), row["statement"]
        people.execute(f"CREATE OR REPLACE TABLE safe AS {row['statement']}")
        call_text = "query_error('safe', 'people', queries := 60, qi := ['age', 'city'])"
        medians = people.execute(f"SELECT avg(median) FROM {call_text} WHERE kind = 'count'").fetchone()
        assert row["query_error"] == pytest.approx(medians[0])
        assert row["problem"] is None


@pytest.mark.parametrize(
    ("algorithm", "default_parameter"), [("mckl", ("l", 2)), ("eld", ("l", 2)), ("kapp", ("t", 0.1))]
)
def test_algorithm_defaults_are_in_row(people: Any, algorithm: str, default_parameter: tuple[str, float]) -> None:
    call = CALL.replace("l := [1, 2, 3]", "queries := 0")
    row = rows(people, f"FROM tradeoffs({call.replace('[4, 12]', '[4]')}, algorithms := ['{algorithm}'])")[0]
    assert row[default_parameter[0]] == pytest.approx(default_parameter[1])
    called = row["statement"].removeprefix("SELECT * FROM ").replace("(", "_metrics(", 1)
    measured_metrics = dict(people.execute(f"SELECT metric, value FROM {called}").fetchall())
    assert row["precision"] == pytest.approx(measured_metrics["precision"])


@pytest.mark.parametrize(("cost", "queries"), [("precision", 0), ("ncp", 0), ("query_error", 40)])
def test_tradeoffs_frontier_rows_are_not_dominated(people: Any, cost: str, queries: int) -> None:
    text = f"algorithms := ['kacpc', 'mdav', 'mondrian'], queries := {queries}, cost := '{cost}'"
    actual_rows = rows(people, f"FROM tradeoffs({CALL}, {text})")

    def beats(one: dict[str, Any], other: dict[str, Any]) -> bool:
        sign = -1 if cost == "precision" else 1
        pairs = [(sign * one[cost], sign * other[cost])]
        pairs += [(one[r], other[r]) for r in ("risk_highest", "homogeneous_share")]
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

    assert [r["frontier"] for r in actual_rows] == [not any(beats(o, r) for o in actual_rows) for r in actual_rows]
    assert {r["frontier"] for r in actual_rows} == {True, False}
    assert all((r["query_error"] is None) == (queries == 0) for r in actual_rows)


@pytest.mark.parametrize("role", ["insensitive", "mask"])
def test_tradeoffs_attacks_table_with_unchanged_columns(people: Any, role: str) -> None:
    people.execute("ALTER TABLE people ALTER who TYPE VARCHAR")
    query = "FROM tradeoffs('people', k := [4], algorithms := ['mdav'], attacks := ['reconstruction'], queries := 0)"
    declared = {"age": "quasi", "city": "quasi", "disease": "sensitive"}
    dbanon.declare(people, "people", who="identifier", **declared)
    expected = rows(people, query)
    dbanon.declare(people, "people", who=role, **declared)
    assert rows(people, query) == expected
    assert expected[0]["reconstruction"] is not None


def test_tradeoffs_attacks_equal_attack_summary(people: Any) -> None:
    call = "'people', qi := ['age', 'city'], sensitive := ['disease'], k := 6, queries := 0"
    (row,) = rows(people, f"FROM tradeoffs({call}, attacks := ['prediction', 'reconstruction'])")
    people.execute(f"CREATE TABLE safe AS {row['statement']}")
    for kind, name in (("prediction", "accuracy"), ("reconstruction", "success")):
        (value,) = people.execute(
            f"SELECT value FROM attack_summary('safe', kind := '{kind}', source := 'people', qi := ['age', 'city'], "
            f"sensitive := ['disease']) WHERE name = '{name}'"
        ).fetchone()
        assert row[kind] == pytest.approx(value)


def test_impossible_release_row_states_reason(people: Any) -> None:
    actual_rows = rows(
        people, f"FROM tradeoffs({CALL.replace('[1, 2, 3]', '[2, 9]').replace('12', '400')}, queries := 30)"
    )
    assert [(r["k"], r["l"], r["frontier"]) for r in actual_rows] == [
        (4, 2, True),
        (4, 9, None),
        (400, 2, None),
        (400, 9, None),
    ]
    assert "do not meet l = 9" in actual_rows[1]["problem"]
    assert "k must be between 2 and 300" in actual_rows[2]["problem"]
    assert actual_rows[1]["precision"] is None


def test_tradeoffs_statement_contains_models_and_settings(people: Any) -> None:
    dbanon.declare(
        people, "people", age={"role": "quasi", "rounding": 5}, city="quasi", disease="sensitive", who="identifier"
    )
    actual_rows = rows(
        people,
        "FROM tradeoffs('people', k := [5], t := [0.3, 1], ground_distance := 'equal', alpha := 0.9, queries := 0)",
    )
    assert [r["t"] for r in actual_rows] == [0.3, 1]
    assert "t = 0.3" in actual_rows[0]["statement"]
    assert "alpha = 0.9" in actual_rows[0]["statement"]
    assert "ground_distance = 'equal'" in actual_rows[0]["statement"]
    assert "t = " not in actual_rows[1]["statement"]
    assert "ground_distance" not in actual_rows[1]["statement"]
    for row in actual_rows:
        people.execute(row["statement"])


def test_progress_independent_of_earlier_comparison(people: Any) -> None:
    result: list[float] = []
    with dbanon.connect(progress=lambda done, saved: result.append(done)) as con:
        con.execute("CREATE TABLE t AS SELECT range % 50 AS age, range % 7 AS city FROM range(300)")
        text = "'t', k := {}, qi := ['age', 'city']"
        con.execute(f"PREPARE compared AS FROM compare({text.format([3, 4])}, algorithms := ['kacpc', 'mondrian'])")
        # Known clusters are not computed again, and no progress is reported for them.
        selected_queries = [f"FROM tradeoffs({text.format(k)})" for k in ([3, 4], [5, 6])]
        for query in ("EXECUTE compared", "EXECUTE compared", *selected_queries):
            result.clear()
            con.execute(query).fetchall()
            assert result[0] < 0.5, query
            assert result[-1] == 1, query


def test_tradeoffs_accept_temporary_tables_and_odd_names(people: Any) -> None:
    name = "x'); DROP TABLE t; --"
    with dbanon.connect() as con:
        con.execute(f'CREATE TEMP TABLE "{name}" AS SELECT range % 40 AS "a""b", range % 3 AS "Ö" FROM range(200)')
        call = "'\"x''); DROP TABLE t; --\"', k := [3, 6], qi := ['a\"b', 'Ö'], queries := 20"
        actual_rows = rows(con, f"FROM tradeoffs({call})")
        assert len(actual_rows) == 2
        con.execute(actual_rows[0]["statement"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("k := [5], l := [1, 2]", "l needs a sensitive column, and people has none"),
        ("k := [5], t := [0.5, 0.2]", "t must be a list of different numbers from 0 to 1, ascending"),
        ("k := [5], attacks := ['prediction']", "needs a sensitive column, and people has none"),
        ("k := [5], algorithms := ['nix']", "there is no algorithm 'nix'"),
        ("k := [5], cost := 'time'", "cost must be one of"),
        ("k := [5], cost := 'query_error', queries := 0", "queries must be an integer of at least 1 where cost ="),
    ],
)
def test_meaningless_tradeoffs_call_states_accepted_values(people: Any, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error) as caught:
        people.execute(f"FROM tradeoffs('people', {call}, qi := ['age', 'city'])")
    assert message in str(caught.value)
