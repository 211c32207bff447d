"""compare(): figures equal those of releases, runs share one encoded table, refusals are rows.

That its figures are those of NAME_metrics on random tables is checked in tests/release/plan/test_metrics.py.
"""

from __future__ import annotations

import random
import statistics
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.algorithms.base.published_clusters import CLUSTER_METRICS

NAMES = [name for name in CLUSTER_METRICS if name != "query_error"]  # it has a test of its own

QI = "qi := ['age', 'city']"


@pytest.fixture
def people(con: Any) -> Any:
    """Create people(age, city, disease, who) of 240 rows; records of one person have nothing in common."""
    rng = random.Random(4)
    con.execute("CREATE TABLE people (age INTEGER, city VARCHAR, disease VARCHAR, who INTEGER)")
    rows = [
        (rng.choice([None, *range(20, 60)]), rng.choice("abcdef"), rng.choice(["Flu", "HIV", "TB"]), i // 2)
        for i in range(240)
    ]
    con.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    return con


def rows(con: Any, query: str) -> list[dict[str, Any]]:
    result = con.execute(query)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def released_metrics(con: Any, algorithm: str, table: str, options: str) -> dict[str, float]:
    mapping = dict(con.execute(f"SELECT metric, value FROM {algorithm}_metrics('{table}', {options})").fetchall())
    return mapping | {"suppressed": mapping["suppressed"]}


@pytest.mark.parametrize("persons", ["", ", person := 'who'"])
@pytest.mark.parametrize("algorithm", ["kacpc", "datafly", "simdiv", "ldiversity_mondrian", "best"])
def test_compare_metrics_match_releases_with_persons(people: Any, algorithm: str, persons: str) -> None:
    """Algorithms that publish more than clusters span, suppress records, read sensitive values or search."""
    options = f"{QI}, sensitive := ['disease']{persons}, suppress := 0.05"
    call = f"'people', k := [4], algorithms := '{algorithm}', metrics := {NAMES}, {options}"
    actual_rows = rows(people, f"FROM compare({call})")
    expected = released_metrics(people, algorithm, "people", f"k := 4, {options}")
    assert [row["metric"] for row in actual_rows] == NAMES
    assert {row["metric"]: row["mean"] for row in actual_rows} == pytest.approx(
        {n: expected[n] for n in NAMES}, abs=1e-9
    )
    assert {
        (row["algorithm"], row["k"], row["n_quasi_identifiers"], row["sample_size"], row["n"]) for row in actual_rows
    } == {(algorithm, 4, 2, None, 240)}


def test_compare_runs_independent_of_other_algorithms(people: Any) -> None:
    """Values of numbers, sensitive values, influence: each run equals a run on its own."""
    people.execute("ALTER TABLE people ADD born DATE")
    people.execute("UPDATE people SET born = DATE '1950-01-01' + (who * 37 % 9000)::INTEGER")
    names = ["best", "wkmca", "kmember", "simdiv", "organized", "eld", "kacpc"]
    options = "qi := ['age', 'born', 'city'], sensitive := ['disease'], person := 'who'"
    metrics = "['ncp', 'square_error', 'clusters']"
    call = f"'people', k := 4, metrics := {metrics}, {options}"
    call = f"SELECT algorithm, metric, mean FROM compare({call}, algorithms := {{}})"
    together = people.execute(call.format(names)).fetchall()
    assert together == [row for name in names for row in people.execute(call.format([name])).fetchall()]
    for name in names:
        expected = released_metrics(people, name, "people", f"k := 4, {options}")
        assert {m: v for a, m, v in together if a == name} == pytest.approx(
            {m: expected[m] for m in ("ncp", "square_error", "clusters")}, abs=1e-9
        )


def test_compare_rows_follow_order_of_call(people: Any) -> None:
    call = (
        "algorithms := ['mdav', 'kacpc'], k := [3, 5], n_quasi_identifiers := [1, 2], sample_sizes := [60, "
        "240], metrics := ['ncp', 'k']"
    )
    actual_rows = rows(people, f"FROM compare('people', {call}, {QI})")
    assert [(r["n_quasi_identifiers"], r["sample_size"], r["algorithm"], r["k"], r["metric"]) for r in actual_rows] == [
        (d, n, algorithm, k, metric)
        for d in (1, 2) for n in (60, 240) for algorithm in ("mdav", "kacpc") for k in (3, 5) for metric in ("ncp", "k")
    ]  # fmt: skip
    assert all(
        r["n"] == r["sample_size"] and r["runs"] == 1 and r["stddev"] is None and r["seconds"] >= 0 for r in actual_rows
    )
    one = released_metrics(people, "mdav", "people", "k := 5, qi := ['age']")
    key = (1, 240, "mdav", 5)
    means = [r["mean"] for r in actual_rows if (r["n_quasi_identifiers"], r["n"], r["algorithm"], r["k"]) == key]
    assert means == [pytest.approx(one["ncp"]), one["k"]]


def test_compare_samples_are_nested_separate_tables(people: Any) -> None:
    """Its ranges are those of its records, in any order of the table."""
    first = rows(
        people, f"FROM compare('people', k := 3, sample_sizes := [30, 90], metrics := 'information_loss', {QI})"
    )
    people.execute("CREATE TABLE turned AS FROM people ORDER BY hash(who, disease)")
    assert [r["mean"] for r in first] == [
        r["mean"]
        for r in rows(
            people, f"FROM compare('turned', k := 3, sample_sizes := [30, 90], metrics := 'information_loss', {QI})"
        )
    ]
    order = "md5_number_lower(p::VARCHAR || '0'), p::VARCHAR"
    people.execute(f"CREATE TABLE few AS SELECT p.* FROM people AS p ORDER BY {order} LIMIT 30")
    expected = released_metrics(people, "kacpc", "few", f"k := 3, {QI}")["information_loss"]
    assert next(r["mean"] for r in first if r["algorithm"] == "kacpc") == pytest.approx(expected)


def test_several_seeds_give_mean_and_deviation(people: Any) -> None:
    people.execute("CREATE TABLE t AS SELECT range * 7919 % 97 AS age, range % 11 AS city FROM range(300)")
    call = "algorithms := ['kmember', 'mdav'], k := [7], metrics := ['ncp'], repeat := 4"
    values_by_algorithm = {r["algorithm"]: r for r in rows(people, f"FROM compare('t', {call}, seed := 7, {QI})")}
    each_ncps = [
        released_metrics(people, "kmember", "t", f"k := 7, seed := {seed}, {QI}")["ncp"] for seed in range(7, 11)
    ]
    assert len(set(each_ncps)) > 1
    assert values_by_algorithm["kmember"]["mean"] == pytest.approx(statistics.fmean(each_ncps))
    assert values_by_algorithm["kmember"]["stddev"] == pytest.approx(statistics.stdev(each_ncps))
    assert (
        values_by_algorithm["kmember"]["runs"],
        values_by_algorithm["mdav"]["runs"],
        values_by_algorithm["mdav"]["stddev"],
    ) == (4, 1, None)
    always = rows(people, f"FROM compare('t', {call}, mode := 'deterministic', {QI})")
    assert [r["runs"] for r in always] == [1, 1]


def test_compare_refusal_row_states_reason_and_runs_continue(people: Any) -> None:
    actual_rows = rows(
        people,
        f"FROM compare('people', algorithms := ['organized', 'mdav'], k := [3, 500], metrics := ['k'], {QI})",
    )
    assert [(r["algorithm"], r["k"], r["mean"], r["runs"]) for r in actual_rows] == [
        ("organized", 3, None, 0), ("organized", 500, None, 0), ("mdav", 3, 3.0, 1), ("mdav", 500, None, 0),
    ]  # fmt: skip
    assert "needs a sensitive column, and people has none" in actual_rows[0]["problem"]
    assert "k must be between 2 and 240 (people has 240 rows), got 500" in actual_rows[3]["problem"]
    people.execute("CREATE TABLE few AS SELECT * FROM people WHERE who < 10")
    call = f"'few', k := [9, 11], algorithms := 'kacpc', person := 'who', metrics := 'k', {QI}"
    persons = rows(people, f"FROM compare({call})")
    assert persons[0]["mean"] >= 9
    assert "between 2 and 10 (few has 10 persons), got 11" in persons[1]["problem"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("k := [5], algorithms := ['kacp']", "there is no algorithm 'kacp'. Did you mean 'kacpc'"),
        ("k := [5], metrics := ['lost']", "metrics must be a list of some of precision, ncp"),
        (
            "k := [5], n_quasi_identifiers := [1, 3]",
            "n_quasi_identifiers must be numbers of quasi-identifiers, at most 2, got [1, 3]",
        ),
        ("k := [10, 5]", "k must be a list of different integers of at least 2, ascending"),
        ("", "k is missing"),
        ("k := [5], algorithms := ['mdav', 'MDAV']", "a list of different names of algorithms"),
    ],
)
def test_meaningless_compare_call_states_accepted_values(people: Any, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error) as caught:
        people.execute(f"FROM compare('people', {call}{', ' if call else ''}{QI})")
    assert message in str(caught.value)


def test_compare_accepts_scalars_and_creates_tables(people: Any) -> None:
    people.execute(f"CREATE TABLE runs AS FROM compare('people', k = 5, algorithms = 'mdav', {QI})")
    assert people.execute("SELECT algorithm, k, metric FROM runs").fetchall() == [
        ("mdav", 5, "precision"), ("mdav", 5, "ncp"),
    ]  # fmt: skip


def test_compare_reports_progress_and_ends_on_ctrl_c(people: Any) -> None:
    result: list[float] = []
    with dbanon.connect(progress=lambda done, saved: result.append(done)) as con:
        con.execute("CREATE TABLE t AS SELECT range % 50 AS age, range % 7 AS city FROM range(500)")
        con.execute(
            f"FROM compare('t', k := [3, 4], algorithms := ['kacpc', 'mondrian'], sample_sizes := [100, 500], {QI})"
        )
        assert result[0] < 0.2
        assert max(result) <= 1
        assert result == sorted(result)

        def press(done: float, saved: float) -> None:
            con.interrupt()

        con.on_progress = press
        with pytest.raises((duckdb.Error, KeyboardInterrupt), match=r"(?i)interrupt"):
            con.execute(f"FROM compare('t', k := [3, 4], algorithms := ['kacpc', 'mondrian'], {QI})")


def test_compare_uses_roles_and_settings_of_policy(people: Any) -> None:
    grid = {"role": "quasi", "rounding": 10}
    dbanon.declare(people, "people", age=grid, city="quasi", disease="sensitive", who="person")
    call = "'people', k := 4, algorithms := 'kacpc', metrics := ['ncp', 'homogeneous_share']"
    actual_rows = rows(people, f"FROM compare({call})")
    expected = dict(people.execute("SELECT metric, value FROM kacpc_metrics('people', k := 4)").fetchall())
    names = ("ncp", "homogeneous_share")
    assert {r["metric"]: r["mean"] for r in actual_rows} == pytest.approx({n: expected[n] for n in names})
    wider = rows(people, f"FROM compare({call}, rounding := {{'age': 20}})")
    assert wider[0]["mean"] > actual_rows[0]["mean"]
