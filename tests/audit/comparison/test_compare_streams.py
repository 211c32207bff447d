"""compare() of stream algorithms: figures equal NAME_metrics, next to table algorithms in one statement."""

from __future__ import annotations

import random
import statistics
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.algorithms import streams
from dbanon.release.streams.metrics import STREAM_METRICS

NAMES = [measure.name for measure in STREAM_METRICS]
SYSTEMS = [system.name for system in streams.streams()]
QI = "qi := ['age', 'city']"
ARRIVING = f"delta := 60, order_by := 'ts', {QI}"


@pytest.fixture
def events(con: Any) -> Any:
    """Create events(age, city, born, disease, who, note, ts) of 500 rows, some simultaneous; some cells are NULL."""
    rng = random.Random(8)
    con.execute(
        "CREATE TABLE events (age INTEGER, city VARCHAR, disease VARCHAR, who INTEGER, note VARCHAR, ts INTEGER)"
    )
    rows = [
        (rng.choice([None, *range(20, 60)]), rng.choice([None, *"abcdef"]), rng.choice(["Flu", "HIV", "TB"]),
         i // 2, rng.choice("xyz"), i // 4)
        for i in range(500)
    ]  # fmt: skip
    con.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?)", rows)
    return con


def comparison_rows(con: Any, call: str, columns: str = "algorithm, metric, mean") -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = con.execute(f"SELECT {columns} FROM compare({call})").fetchall()
    return rows


def released_metrics(con: Any, system: str, options: str, table: str = "events") -> dict[str, float]:
    return dict(con.execute(f"SELECT metric, value FROM {system}_metrics('{table}', {options})").fetchall())


@pytest.mark.parametrize("sensitive", ["sensitive := 'disease', l := 2", ""])
@pytest.mark.parametrize("persons", ["person := 'who'", ""])
def test_stream_comparison_equals_stream_metrics(events: Any, persons: str, sensitive: str) -> None:
    """All stream algorithms on one encoding; two of them read sensitive values."""
    options = ", ".join(part for part in ("k := 5", ARRIVING, persons, sensitive) if part)
    names = [name for name in SYSTEMS if sensitive or name != "puri_haritha"]  # it requires l itself
    result = comparison_rows(events, f"'events', algorithms := {names}, metrics := {NAMES}, {options}")
    for name in names:
        expected = released_metrics(events, name, options)
        figures = {metric: mean for system, metric, mean in result if system == name}
        assert figures == {metric: pytest.approx(expected[metric], abs=1e-9) for metric in NAMES}, name


@pytest.mark.parametrize("name", SYSTEMS)
def test_stream_class_metrics_match_rows(events: Any, name: str) -> None:
    """Metrics of tables, computed from the published rows only."""
    options = f"k := 4, {ARRIVING}, sensitive := 'disease', l := 2"
    metrics = ["classes", "class_size_greatest", "class_size_average", "discernibility", "suppressed", "risk_highest"]
    mapping = dict(
        comparison_rows(events, f"'events', algorithms := '{name}', metrics := {metrics}, {options}", "metric, mean")
    )
    sizes = events.execute(f"SELECT class_id, count(*) FROM {name}('events', {options}) GROUP BY ALL").fetchall()
    kept_sizes = [size for number, size in sizes if number is not None]
    assert mapping == {
        "classes": len(kept_sizes), "class_size_greatest": max(kept_sizes),
        "class_size_average": pytest.approx(sum(kept_sizes) / len(kept_sizes)),
        "discernibility": sum(size**2 for size in kept_sizes),
        "suppressed": 500 - sum(kept_sizes), "risk_highest": pytest.approx(1 / min(kept_sizes)),
    }  # fmt: skip


def test_streams_and_tables_compared_in_one_statement(events: Any) -> None:
    metrics = ["ncp", "average_loss", "average_delay", "suppression", "reuse"]
    call = f"'events', k := [3, 6], algorithms := ['fads', 'mdav'], n_quasi_identifiers := [1, 2], metrics := {metrics}"
    result = comparison_rows(
        events,
        f"{call}, delta := 60, order_by := 'ts', {QI}",
        "algorithm, k, n_quasi_identifiers, n, metric, mean, problem",
    )
    assert [row[:3] for row in result[::5]] == [
        (algorithm, k, d) for d in (1, 2) for algorithm in ("mdav", "fads") for k in (3, 6)
    ]
    assert all(row[3] == 500 and row[6] is None for row in result)
    values = {(row[0], row[4]): row[5] for row in result if row[1:3] == (6, 2)}
    assert values["mdav", "average_loss"] == pytest.approx(values["mdav", "ncp"] / 1000)
    assert values["mdav", "suppression"] == 0
    assert values["mdav", "average_delay"] is values["mdav", "reuse"] is None
    assert values["fads", "average_delay"] > 0
    alone = released_metrics(events, "fads", f"k := 6, delta := 60, order_by := 'ts', {QI}")
    assert values["fads", "average_loss"] == pytest.approx(alone["average_loss"])


def test_compared_sample_is_separate_stream(events: Any) -> None:
    result = comparison_rows(
        events, f"'events', k := 5, algorithms := 'castle', sample_sizes := 100, metrics := {NAMES}, {ARRIVING}"
    )
    order = "md5_number_lower(e::VARCHAR || '0'), e::VARCHAR"
    events.execute(f"CREATE TABLE few AS SELECT e.* FROM events AS e ORDER BY {order} LIMIT 100")
    expected = released_metrics(events, "castle", f"k := 5, {ARRIVING}", "few")
    assert {metric: mean for _, metric, mean in result} == pytest.approx({name: expected[name] for name in NAMES})


def test_randomized_systems_run_with_successive_seeds(events: Any) -> None:
    call = f"'events', k := 5, algorithms := ['faanst', 'fads'], metrics := 'average_loss', seed := 4, {ARRIVING}"
    rows = {row[0]: row[1:] for row in comparison_rows(events, f"{call}, repeat := 3", "algorithm, mean, stddev, runs")}
    each_average_loss = [
        released_metrics(events, "faanst", f"k := 5, seed := {seed}, {ARRIVING}")["average_loss"] for seed in (4, 5, 6)
    ]
    assert len(set(each_average_loss)) > 1
    assert rows["faanst"] == (
        pytest.approx(statistics.fmean(each_average_loss)),
        pytest.approx(statistics.stdev(each_average_loss)),
        3,
    )
    assert rows["fads"][1:] == (None, 1)


def test_stream_metrics_null_if_all_records_suppressed(con: Any) -> None:
    """One person after another: no one is ever hidden among others in time."""
    con.execute("CREATE TABLE events AS SELECT range // 100 AS who, range % 7 AS age, range AS ts FROM range(600)")
    options = "k := 5, delta := 10, order_by := 'ts', qi := 'age', person := 'who'"
    metrics = [
        "suppression",
        "average_loss",
        "classes",
        "records",
        "suppressed",
        "delay",
        "ncp",
        "k",
        "reuse",
        "precision",
    ]
    for name in SYSTEMS:
        mapping = dict(
            comparison_rows(con, f"'events', algorithms := '{name}', metrics := {metrics}, {options}", "metric, mean")
        )
        if mapping == {None: None}:
            continue  # requires l
        assert {m: mapping[m] for m in metrics[:5]} == {
            "suppression": 1, "average_loss": 1, "classes": 0, "records": 600, "suppressed": 600,
        }, name  # fmt: skip
        assert mapping["delay"] <= 10
        assert mapping["ncp"] is mapping["k"] is mapping["reuse"] is mapping["precision"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            "k := 5, t := 0.3, sensitive := 'disease'",
            "t has no effect, because streams guarantee only k persons and l values",
        ),
        ("k := 5, nulls := 'drop'", "nulls must be 'keep' or 'error' for a stream, got 'drop'"),
        ("k := 5, max_level := {'city': 0}", "a stream cannot guarantee that a record finds a class below a level"),
        ("k := 5, weights := 'influence', sensitive := 'disease'", "got 'influence'"),
        ("k := 61", "delta must be at least 61, as many records as a class needs, got 60"),
    ],
)
def test_unsupported_stream_model_row_states_reason(events: Any, options: str, message: str) -> None:
    (only,) = comparison_rows(events, f"'events', algorithms := 'castle', {options}, {ARRIVING}", "mean, runs, problem")
    assert only[:2] == (None, 0)
    assert message in only[2]


def test_k_above_stream_row_states_reason(events: Any) -> None:
    call = f"'events', k := [5, 501], algorithms := 'fads', metrics := 'k', delta := 600, order_by := 'ts', {QI}"
    first, second = comparison_rows(events, call, "mean, problem")
    assert first[0] >= 5
    assert "k must be between 2 and 500 (events has 500 rows), got 501" in second[1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("algorithms := 'castle', order_by := 'ts'", "delta is missing"),
        (
            "algorithms := 'castle', delta := 9, order_by := 'ts', l := 2",
            "needs a sensitive column, and events has none",
        ),
        ("algorithms := 'castle', delta := 9", "order_by is missing"),
        ("algorithms := 'mdav', delta := 9", "delta has no effect, because no stream system is among the algorithms"),
        ("algorithms := 'castle', delta := 9, order_by := 'nope'", "events has no column 'nope' (named in order_by)"),
        ("algorithms := ['castle', 'castel'], delta := 9, order_by := 'ts'", "Did you mean 'castle'"),
    ],
)
def test_meaningless_stream_comparison_states_accepted_values(events: Any, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error) as caught:
        comparison_rows(events, f"'events', k := 5, {QI}, {call}")
    assert message in str(caught.value)


def test_stream_comparison_refuses_null_time(events: Any) -> None:
    events.execute("UPDATE events SET ts = NULL WHERE who = 3")
    with pytest.raises(duckdb.Error, match=r"events\.ts has NULLs, but it states the order in which records arrive"):
        comparison_rows(events, f"'events', k := 5, algorithms := 'fads', {ARRIVING}")


def test_stored_stream_comparison_resumes(events: Any) -> None:
    parameters = {"k": 5, "delta": 60, "order_by": "ts", "qi": ["age"], "metrics": ["delay"]}
    dbanon.compare(events, "events", into="runs", algorithms=["fads"], **parameters)
    result = dbanon.compare(events, "events", into="runs", algorithms=["fads", "castle", "mdav"], **parameters)
    assert list(result["algorithm"]) == ["fads", "castle", "mdav"]
