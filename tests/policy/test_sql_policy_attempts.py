"""A table function refuses every parameter that would loosen the policy, and its result is within the policy."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest
from support.policy_attempts import (
    ATTEMPTS,
    BOUNDS_ATTEMPTS,
    PERMITTED,
    POLICY,
    REFUSAL,
    TABLE_SPELLINGS,
    VIEWS,
    Attempt,
    K,
    clinic,
    problems,
)
from support.scale import sample_cases

import dbanon


def forbidden_rows(con: Any, attempt: Attempt, table: str = "patients", algorithm: str = "mondrian") -> list[str]:
    """Return the rows of a call that the policy forbids."""
    query = f"FROM {algorithm}('{table}', k := {K}{attempt.sql_arguments})"
    result = con.execute(query, dict(attempt.parameters) or None)
    rows = result.fetchall()
    assert len(rows) > 100
    return problems([column[0] for column in result.description], rows)


def test_sql_refuses_every_looser_parameter(con: Any) -> None:
    clinic(con)
    for attempt in sample_cases(ATTEMPTS):
        with pytest.raises(duckdb.Error, match=REFUSAL):
            forbidden_rows(con, attempt)
    for attempt in BOUNDS_ATTEMPTS:
        with pytest.raises(duckdb.Error, match=REFUSAL):
            forbidden_rows(con, attempt, algorithm="simdiv")


def test_sql_refuses_looser_parameters_by_other_names(con: Any) -> None:
    clinic(con)
    for table in sample_cases(TABLE_SPELLINGS, 2):
        assert forbidden_rows(con, PERMITTED[0], table) == []
        for attempt in sample_cases(ATTEMPTS, 16):
            with pytest.raises(duckdb.Error, match=REFUSAL):
                forbidden_rows(con, attempt, table)


def test_sql_refuses_view_without_policy(con: Any) -> None:
    clinic(con)
    for name, query in VIEWS.items():
        con.execute(f"CREATE VIEW {name} AS {query}")
        for attempt in (PERMITTED[0], Attempt("", {"qi": ["age"]})):
            with pytest.raises(duckdb.Error, match="has no policy of its own"):
                forbidden_rows(con, attempt, name)


def test_sql_accepts_tighter_parameters(con: Any) -> None:
    clinic(con)
    for attempt in sample_cases(PERMITTED, 6):
        assert forbidden_rows(con, attempt) == [], attempt


def test_problems_checker_lists_forbidden_values(con: Any) -> None:
    clinic(con)
    con.execute("DELETE FROM dbanon.policy")
    roles: dict[str, Any] = dict.fromkeys(("age", "born", "zip", "weight_kg"), "quasi")
    roles["born"] = {"role": "quasi", "rounding": "none"}
    dbanon.declare(con, "patients", **roles, name="insensitive", note="insensitive", ward="insensitive")
    result = con.execute("FROM mondrian('patients', k := 5, allow_rare := ['name', 'note'])")
    actual_problems = problems([column[0] for column in result.description], result.fetchall())
    assert {"CANARYNAME in name", "CANARYNOTE in note", "a withheld column"} <= set(actual_problems)
    assert {"age too fine", "born too fine", "weight_kg too fine", "a class of fewer than 5 persons"} <= set(
        actual_problems
    )
    raw = con.execute(f"SELECT {', '.join(POLICY)} FROM patients").fetchall()
    assert {"CANARYPID in pid", "zip too fine", "age too fine"} <= set(problems(list(POLICY), raw))
