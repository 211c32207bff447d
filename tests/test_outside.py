"""What a database or a session brings along bends no plan: macros with the names of DuckDB's functions, settings."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import pytest

from dbanon import udf
from tests.outside import STATEMENTS, answer, opened

FORMS = ("()", "(a)", "(a, b)", "(a, b, c)", "(a, b, c, d)")
"""A macro takes the place of a function for the numbers of arguments it has."""
SPARED = ("list_value", "struct_pack", "struct_extract")
"""Of the first two the caller's own [...] and {...} are made, before any plan is. Where a macro has the name of the
third, DuckDB refuses statements that read a field of a struct, `s.low`."""


@pytest.fixture(scope="module")
def hospital() -> Iterator[tuple[Any, dict[str, Any], dict[str, str]]]:
    """A connection, what it answers to every statement, and the plans it had for them."""
    plans: dict[str, str] = {}
    plain = udf.answer

    def noted(*given: Any) -> str:
        plans[asked] = plain(*given)
        return plans[asked]

    with opened() as con:
        udf.answer = noted
        answers = {}
        for asked, query in STATEMENTS.items():
            answers[asked] = answer(con, query)
        udf.answer = plain
        yield con, answers, plans


def parsed(query: str) -> Any:
    """DuckDB's syntax tree."""
    found = json.loads(duckdb.execute("SELECT json_serialize_sql(?)", [query]).fetchall()[0][0])
    assert not found["error"], (found["error_message"], query[-300:])
    return found["statements"]


def calls(tree: Any) -> Iterator[tuple[str, str]]:
    """Where a function is looked up, and its name."""
    if isinstance(tree, Mapping):
        if tree.get("class") in ("FUNCTION", "WINDOW"):
            # DuckDB 1.5 reads whole names of window functions and forgets the database
            catalog = "system" if tree["class"] == "WINDOW" and tree["schema"] == "main" else tree["catalog"]
            yield f"{catalog}.{tree['schema']}", tree["function_name"]
        elif tree.get("type") in ("ARRAY_EXTRACT", "ARRAY_SLICE", "STRUCT_EXTRACT"):
            yield ".", tree["type"].lower()
    if isinstance(tree, Mapping) and tree.get("class") == "LAMBDA":  # its parameters are no call
        tree = tree["expr"]
    for branch in tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list) else ():
        yield from calls(branch)


def test_every_statement_of_these_tests_is_answered(hospital: Any) -> None:
    _, answers, _ = hospital
    assert {name: given for name, given in answers.items() if isinstance(given, str)} == {}


def test_every_function_of_every_plan_is_called_by_its_whole_name(hospital: Any) -> None:
    _, _, plans = hospital
    macros = duckdb.execute(
        "SELECT function_name FROM duckdb_functions() WHERE function_type LIKE '%macro' AND internal"
    )
    written_out = {name for (name,) in macros.fetchall()} - {"nullif", "if"}  # these two are a CASE
    for name, plan in plans.items():
        found = set(calls(parsed(plan)))
        assert {n for place, n in found if place != "system.main"} == set(), name
        assert {n for _, n in found} & written_out == set(), name


def test_no_macro_of_a_database_takes_the_place_of_a_function(hospital: Any) -> None:
    con, answers, _ = hospital
    names = con.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE database_name = 'system' AND schema_name = 'main'"
    ).fetchall()
    for (name,) in names:
        for body in ("42", "TABLE SELECT 42 AS x"):
            if name in SPARED:
                continue
            forms = ", ".join(f"{form} AS {body}" for form in FORMS)
            try:
                con.execute(f"CREATE MACRO memory.main.{json.dumps(name)} {forms}")
            except duckdb.Error:  # DuckDB itself does not allow this one
                continue
    made = "SELECT DISTINCT function_name FROM system.main.duckdb_functions() WHERE NOT internal"
    macros = [name for (name,) in con.cursor().execute(made).fetchall() if name in {n for (n,) in names}]
    assert {"error", "sum", "+", "||", "count_star", "array_extract", "dbanon_plan"} <= set(macros)
    try:
        for name, query in STATEMENTS.items():
            assert answer(con, query) == answers[name], name
    finally:
        for name in macros:
            for kind in ("MACRO", "MACRO TABLE"):
                con.execute(f"DROP {kind} IF EXISTS memory.main.{json.dumps(name)}")


SETTINGS = {
    "Calendar": "'japanese'",
    "TimeZone": "'Asia/Tokyo'",
    "integer_division": "true",
    "default_order": "'DESC'",
    "default_null_order": "'NULLS_FIRST'",
    "default_collation": "'nocase'",
    "ieee_floating_point_ops": "false",
    "threads": "1",
}
"""What a session can set that changes what expressions give, or in which order rows come."""


def test_no_setting_of_a_session_changes_a_release_or_its_numbers(hospital: Any) -> None:
    con, answers, _ = hospital
    try:
        for name, value in SETTINGS.items():
            con.execute(f"SET {name} = {value}")
        for name in ("release", "metrics", " model 1", "_metrics model 2"):
            assert answer(con, STATEMENTS[name]) == answers[name], name
    finally:
        for name in SETTINGS:
            con.execute(f"RESET {name}")
