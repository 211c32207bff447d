"""Comparisons from Python: DataFrames in and out, and tables of runs that resume a stopped comparison."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

import dbanon
from dbanon import algorithms, errors

ASKED = {"qi": ["age", "city"], "metrics": ["precision", "ncp"]}


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute("CREATE TABLE people AS SELECT range * 7919 % 61 AS age, range % 7 AS city FROM range(200)")
    return path


@pytest.fixture
def executed_runs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Record every run on the whole table, as it is made."""
    executed: list[tuple[str, int]] = []
    run = algorithms.run_algorithm

    def record_run(algorithm: Any, space: Any, constraint: Any, *more: Any, **named: Any) -> Any:
        result = run(algorithm, space, constraint, *more, **named)
        if space.rows == 200:
            executed.append((algorithm.name, constraint.k))
        return result

    monkeypatch.setattr(algorithms, "run_algorithm", record_run)
    return executed


def test_stored_runs_not_repeated_and_extended(clinic: Path, executed_runs: list[tuple[str, int]]) -> None:
    with dbanon.connect(clinic) as con:
        first = dbanon.compare(con, "people", into="runs", k=[3, 5], algorithms="mdav", **ASKED)
        assert executed_runs == [("mdav", 3), ("mdav", 5)]
        assert len(first) == 4
    with dbanon.connect(clinic) as con:
        extra = dbanon.compare(con, "people", into="runs", k=[3, 5, 9], algorithms=["kacpc", "mdav"], **ASKED)
        assert executed_runs[2:] == [("kacpc", 3), ("kacpc", 5), ("kacpc", 9), ("mdav", 9)]
        assert len(extra) == 12
        assert dbanon.compare(con, "people", into="runs", k=[3], algorithms="mdav", **ASKED).equals(extra)
        assert len(executed_runs) == 6
        full_relation = con.sql(
            "FROM compare('people', k := [3, 5, 9], algorithms := ['kacpc', 'mdav'], qi := ['age', 'city'])"
        )
        key = ["algorithm", "k", "n_quasi_identifiers", "n", "metric", "mean"]
        expected = full_relation.df()[key].sort_values(key).reset_index(drop=True)
        assert extra[key].sort_values(key).reset_index(drop=True).equals(expected)


def test_all_quasi_identifiers_differ_from_subset(clinic: Path, executed_runs: list[tuple[str, int]]) -> None:
    parameters: dict[str, Any] = {"into": "runs", "algorithms": "mdav", **ASKED}
    with dbanon.connect(clinic) as con:
        dbanon.compare(con, "people", k=[3], n_quasi_identifiers=[1], **parameters)
        both = dbanon.compare(con, "people", k=[3], **parameters)
        assert executed_runs == [("mdav", 3), ("mdav", 3)]
        assert both["n_quasi_identifiers"].tolist() == [1, 1, 2, 2]
        assert dbanon.compare(con, "people", k=3, n_quasi_identifiers=[1, 2], **parameters).equals(both)
        with pytest.raises(duckdb.Error, match="n_quasi_identifiers must be numbers of quasi-identifiers, at most 2"):
            dbanon.compare(con, "people", k=4, n_quasi_identifiers=[1, 3], **parameters)
        assert len(executed_runs) == 2
        dbanon.compare(con, "people", k=[500], n_quasi_identifiers=[1], **parameters)
        refusal = dbanon.compare(con, "people", k=[500], **parameters)
        assert refusal.loc[refusal["problem"].notna(), "n_quasi_identifiers"].tolist() == [1, 2]


def test_interrupted_comparison_resumes(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, called = algorithms.run_algorithm, []

    def failing(algorithm: Any, space: Any, *more: Any, **named: Any) -> Any:
        called.append(algorithm.name)
        if len(called) > 3:
            raise KeyboardInterrupt
        return run(algorithm, space, *more, **named)

    parameters = {
        **ASKED,
        "k": [3, 5],
        "algorithms": ["mdav", "kacpc"],
        "n_quasi_identifiers": [1, 2],
        "sample_sizes": [100, 200],
    }
    with dbanon.connect(clinic) as con:
        monkeypatch.setattr(algorithms, "run_algorithm", failing)
        with pytest.raises((Exception, KeyboardInterrupt)):
            dbanon.compare(con, "people", into="runs", **parameters)
        monkeypatch.undo()
        kept_row = con.execute("SELECT count(*), count(DISTINCT metric) FROM runs").fetchone()
        assert kept_row == (2, 2)  # whole runs only
        all_result = dbanon.compare(con, "people", into="runs", **parameters)
        assert len(all_result) == 2 * 2 * 2 * 2 * 2
        assert not all_result.duplicated(["algorithm", "k", "n_quasi_identifiers", "sample_size", "metric"]).any()


def test_refused_runs_are_retried(clinic: Path) -> None:
    with dbanon.connect(clinic) as con:
        result = dbanon.compare(con, "people", into="runs", k=[3, 500], algorithms="mdav", **ASKED)
        assert result["problem"].notna().sum() == 1
        con.execute("INSERT INTO people SELECT range % 61, range % 7 FROM range(400)")
        repeated = dbanon.compare(con, "people", into="runs", k=[3, 500], algorithms="mdav", **ASKED)
        assert repeated["problem"].isna().all()
        assert set(repeated["n"]) == {200, 600}


@pytest.mark.parametrize(
    ("existing_statement", "other", "table_content"),
    [
        ("CREATE TABLE runs (a INTEGER)", {}, "something else"),
        ("CREATE TABLE runs (a INTEGER); COMMENT ON TABLE runs IS '[1]'", {}, "something else"),
        ("", {"metrics": ["ncp"]}, "compare('people', qi = ['age', 'city'])"),
        ("", {"qi": ["age"]}, "compare('people', qi = ['age', 'city'])"),
        ("", {"seed": 4}, "compare('people', qi = ['age', 'city'])"),
    ],
)
def test_unrelated_table_is_not_modified(
    clinic: Path, existing_statement: str, other: dict[str, Any], table_content: str
) -> None:
    with dbanon.connect(clinic) as con:
        if existing_statement:
            con.execute(existing_statement)
        else:
            dbanon.compare(con, "people", into="runs", k=[3], algorithms="mdav", **ASKED)
        kept_rows = con.execute("FROM runs").fetchall()
        with pytest.raises(
            errors.ComparisonTableMismatchError, match=re.escape(f"runs contains {table_content}, not this comparison")
        ):
            dbanon.compare(con, "people", into="runs", k=[3], algorithms="mdav", **{**ASKED, **other})
        assert con.execute("FROM runs").fetchall() == kept_rows


def test_irrelevant_options_reuse_comparison(clinic: Path) -> None:
    with dbanon.connect(clinic) as con:
        dbanon.compare(con, "people", into='main."The Runs"', k=[3], algorithms="mdav", **ASKED)
        dbanon.compare(con, "people", into='"The Runs"', k=[3, 4], algorithms="mdav", allow_slow=True, **ASKED)
        assert con.execute('SELECT count(*) FROM "The Runs"').fetchone() == (4,)


def test_invalid_comparison_call_raises(clinic: Path) -> None:
    with dbanon.connect(clinic) as con:
        with pytest.raises(errors.InvalidArgumentError, match="into must be a table's name"):
            dbanon.compare(con, "people", into="a..b", k=[3])
        with pytest.raises(errors.UnknownParameterError, match="kk"):
            dbanon.compare(con, "people", into="runs", kk=[3])
        with pytest.raises(errors.MissingArgumentError, match="tbl is missing"):
            dbanon.compare(con, into="runs", k=[3])
        assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'runs'").fetchone() == (0,)


def test_compare_and_tradeoffs_accept_data_frames() -> None:
    people = pd.DataFrame({"age": [20 + i * 37 % 40 for i in range(60)], "disease": ["Flu", "HIV", "TB"] * 20})
    result = dbanon.compare(people, k=[3, 4], algorithms=["mdav"], qi=["age"])
    assert result[["algorithm", "k", "metric"]].values.tolist() == [
        ["mdav", 3, "precision"], ["mdav", 3, "ncp"], ["mdav", 4, "precision"], ["mdav", 4, "ncp"],
    ]  # fmt: skip
    selection = dbanon.tradeoffs(people, k=[3, 4], l=[1, 2], qi=["age"], sensitive=["disease"], queries=30)
    assert len(selection) == 4
    assert selection["query_error"].notna().all()


def test_compare_into_without_connection_is_error() -> None:
    people = pd.DataFrame({"age": [21, 23, 24, 61]})
    for table in (None, "people"):
        with pytest.raises(errors.InvalidArgumentError, match=r"data must be a connection .*got a DataFrame"):
            dbanon.compare(people, table, into="runs", k=[2], qi=["age"])
