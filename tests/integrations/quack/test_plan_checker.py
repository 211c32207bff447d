"""A second check plans a reader's statement in a database with the published tables only."""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from mutations.serve_faults import HOSTILE, SERVE_FAULTS
from support.reader_statements import ASKED, COLUMNS, REFUSED, TABLES, create_tables
from support.serving import KNOWN

from dbanon import errors
from dbanon.integrations.quack import reader_process, statement_checker
from dbanon.integrations.quack.plan_checker import PlanChecker

pytestmark = [
    pytest.mark.all_cases,
    pytest.mark.skipif(not KNOWN, reason="serving is made for another DuckDB, whose plans it knows"),
]

FIRST_ONLY = """
FROM memory.main.safe
SELECT system.main.abs(1)
SELECT CAST('x' AS ENUM ('x'))
SELECT CAST('x' AS STRUCT(a JSON))
SELECT age COLLATE de FROM safe
SELECT * FROM safe PIVOT (sum(n) FOR age IN ('3'))
FROM unnest([1, 2] ORDER BY 1)
FROM unnest(DISTINCT [1, 2])
""".strip().split("\n")
"""Statements that the first check alone refuses: they read published rows only."""


@pytest.fixture(scope="module")
def plan_checker() -> PlanChecker:
    config = {"enable_external_access": False, "python_enable_replacements": False}
    return PlanChecker(COLUMNS, (*reader_process.READER_FUNCTIONS, *statement_checker.TABLE_FUNCTIONS), config)


@pytest.fixture(scope="module")
def con() -> Iterator[Any]:
    with duckdb.connect() as con:
        create_tables(con)
        yield con


def is_accepted(plans: PlanChecker, statement: str) -> bool:
    """Return whether the second check accepts a statement; errors of DuckDB refuse too."""
    cursor = plans.cursor()
    try:
        plans.check(cursor, statement)
    except (errors.ReaderStatementRefusedError, duckdb.Error):
        return False
    finally:
        cursor.close()
    return True


def first_check(con: Any, statement: str, module: Any = statement_checker) -> Any:
    """Return the statement that the first check permits, or None."""

    def read(query: str, values: list[object]) -> Any:
        return con.execute(query, values).fetchall()[0][0]

    try:
        return module.check_statement(statement, read, TABLES, reader_process.READER_FUNCTIONS)
    except (errors.ReaderStatementRefusedError, errors.DbanonError, duckdb.Error):
        return None


@pytest.mark.parametrize("statement", ASKED)
def test_second_check_accepts_ordinary_statements(plan_checker: PlanChecker, con: Any, statement: str) -> None:
    actual_first_check = first_check(con, statement)
    cursor = plan_checker.cursor()
    plan_checker.check(cursor, statement)
    plan_checker.check(cursor, actual_first_check.text)
    if actual_first_check.text != actual_first_check.statement:
        plan_checker.check_serialized(cursor, actual_first_check.statement)
    cursor.close()


@pytest.mark.parametrize("kind", REFUSED)
def test_second_check_refuses_hostile_statements(plan_checker: PlanChecker, kind: str) -> None:
    statements = [s for s in map(str.strip, REFUSED[kind].split("\n")) if s and s not in FIRST_ONLY]
    assert [s for s in statements if is_accepted(plan_checker, s)] == []


@pytest.mark.parametrize("name", SERVE_FAULTS)
def test_second_check_refuses_statements_first_check_missed(
    plan_checker: PlanChecker, con: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = SERVE_FAULTS[name].planted(Path(statement_checker.__file__).read_text("utf-8"))
    assert text is not None
    broken_module_type = types.ModuleType("dbanon.serve.broken")
    monkeypatch.setitem(
        sys.modules, broken_module_type.__name__, broken_module_type
    )  # dataclasses look their module up
    exec(compile(text, "broken", "exec"), broken_module_type.__dict__)
    accepted = [first_check(con, statement, broken_module_type) for statement in HOSTILE[name]]
    # The options of a sample have an unknown form, which the first check refuses as well.
    assert any(accepted) or name == "readers: samples are allowed", "the statements do not show the fault"
    assert [s for s in HOSTILE[name] if is_accepted(plan_checker, s)] == []
    assert [result.text for result in accepted if result and is_accepted(plan_checker, result.text)] == []


# --- random statements: statements that one check accepts are passed to the other ------------------------------------

SCALARS: list[Callable[[random.Random, int], str]] = [
    lambda r, d: r.choice(["1", "'x'", "n", "age", "NULL", "DATE '2020-01-01'"]),
    lambda r, d: f"({query(r, d)})",
    lambda r, d: f"{scalar(r, d)}::{r.choice(['VARCHAR', 'INTEGER', 'JSON', 'patients', 'VARCHAR[]'])}",
    lambda r, d: f"{r.choice(FUNCTIONS)}({scalar(r, d)})",
    lambda r, d: f"list_transform([{scalar(r, d)}], lambda y: {scalar(r, d)})",
    lambda r, d: f"[{scalar(r, d)} FOR x IN [1] IF {scalar(r, d)} IS NULL]",
    lambda r, d: f"{{'a': {scalar(r, d)}}}",
    lambda r, d: f"MAP {{'a': {scalar(r, d)}}}",
    lambda r, d: f"CASE WHEN {scalar(r, d)} IS NULL THEN {scalar(r, d)} END",
    lambda r, d: f"EXISTS ({query(r, d)})",
    lambda r, d: f"{scalar(r, d)} IN ({query(r, d)})",
    lambda r, d: f"{scalar(r, d)} >= ANY ({query(r, d)})",
    lambda r, d: f"count({scalar(r, d)} ORDER BY {scalar(r, d)}) FILTER (WHERE {scalar(r, d)} IS NULL)",
    lambda r, d: f"max({scalar(r, d)}) OVER (PARTITION BY {scalar(r, d)} ORDER BY {scalar(r, d)})",
    lambda r, d: f"unnest([{scalar(r, d)}])",
    lambda r, d: r.choice(["?", "$1", "COLUMNS('a.*')", "COLUMNS(*)", "#1", "* EXCLUDE (n)"]),
]
FUNCTIONS = """
lower abs len getvariable current_setting read_text getenv query query_table random now current_database error
nextval json_serialize_plan list_sort md5 midpoint read_csv current_schemas pg_get_viewdef write_log
""".split()  # noqa: SIM905
FROM: list[Callable[[random.Random, int], str]] = [
    lambda r, d: r.choice(["safe", "lab.tests", "safe_classes", "c0"]),
    lambda r, d: r.choice(["patients", "main.patients", "duckdb_tables", "pg_class", "information_schema.tables"]),
    lambda r, d: r.choice(
        ["'/etc/passwd'", "'x.csv'", "'x.parquet'", '"x.json"', "dbanon.permitted", "dbanon.release_request"]
    ),
    lambda r, d: f"({query(r, d)}) AS q{r.randrange(9)}",
    lambda r, d: f"(VALUES ({scalar(r, d)}), ({scalar(r, d)})) AS v{r.randrange(9)}",
    lambda r, d: f"{r.choice(TABLE_FUNCTIONS)}({scalar(r, d)})",
    lambda r, d: f"unnest([{scalar(r, d)}] ORDER BY {scalar(r, d)})",
    lambda r, d: f"{relation(r, d)} {r.choice(JOINS)} {relation(r, d)}",
    lambda r, d: f"{relation(r, d)} {r.choice(['TABLESAMPLE 10%', 'AT (VERSION => 1)', 'TABLESAMPLE 5 ROWS'])}",
    lambda r, d: f"{relation(r, d)} PIVOT (count(*) FOR n IN (1, 2))",
]
TABLE_FUNCTIONS = """
unnest read_csv read_text glob query query_table range generate_series duckdb_settings duckdb_tables certificate
pragma_table_info seq_scan histogram json_execute_serialized_sql repeat quack_query sniff_csv releases
""".split()  # noqa: SIM905
JOINS = ["POSITIONAL JOIN", "CROSS JOIN", "NATURAL JOIN", ",", "SEMI JOIN lab.tests USING (n),", "ASOF JOIN"]
WHOLE = (
    """
{} ; {}|DESCRIBE {}|SUMMARIZE {}|EXPLAIN {}|COPY ({}) TO 'x.csv'|CREATE TABLE x AS {}|PREPARE p AS {}|ATTACH ':memory:'
SET threads = 1|PRAGMA version|PIVOT ({}) ON n|WITH RECURSIVE c0 AS ({} UNION ALL {}) FROM c0|WITH c0 AS ({}) {}
WITH patients AS (SELECT 1) FROM patients|WITH c0 AS (FROM patients) SELECT 1|CALL pragma_version()|SHOW TABLES
CREATE MACRO m() AS (SELECT 1)|LOAD httpfs|EXPORT DATABASE 'x'|SELECT ({})::VARCHAR|UNPIVOT ({}) ON n
""".strip()
    .replace("\n", "|")
    .split("|")
)


def scalar(r: random.Random, depth: int) -> str:
    return SCALARS[0](r, 0) if depth <= 0 else r.choice(SCALARS)(r, depth - 1)


def relation(r: random.Random, depth: int) -> str:
    return FROM[0](r, 0) if depth <= 0 else r.choice(FROM)(r, depth - 1)


def query(r: random.Random, depth: int) -> str:
    clauses = [
        lambda: f"WHERE {scalar(r, depth)} IS NOT NULL",
        lambda: f"GROUP BY {scalar(r, depth)}",
        lambda: f"HAVING {scalar(r, depth)} IS NULL",
        lambda: f"QUALIFY row_number() OVER (ORDER BY {scalar(r, depth)}) = 1",
        lambda: f"ORDER BY {scalar(r, depth)}",
        lambda: f"LIMIT {scalar(r, depth)} OFFSET {scalar(r, depth)}",
        lambda: "USING SAMPLE 10%",
    ]
    selected_clauses = [clause() for clause in clauses if r.random() < 0.1]
    return f"SELECT {scalar(r, depth)} FROM {relation(r, depth)} {' '.join(selected_clauses)}"


def statement(r: random.Random) -> str:
    depth = r.choice([0, 1, 1, 2, 2, 3])
    form = r.choice(WHOLE) if r.random() < 0.2 else "{}"
    return form.format(*(query(r, depth) for _ in range(form.count("{}"))))


UNPUBLISHED = ("patients", "duckdb_", "pg_c", "/etc/", "read_", "getvariable", "current_s", "permitted", "'x.")


def test_random_statements_pass_both_checks_or_neither(plan_checker: PlanChecker, con: Any) -> None:
    r = random.Random(11)
    n_both = 0
    for _ in range(800):
        statement_text = statement(r)
        actual_first_check = first_check(con, statement_text)
        second = is_accepted(plan_checker, actual_first_check.text if actual_first_check else statement_text)
        if actual_first_check is None:
            continue
        if second:
            n_both += 1
            assert not any(name in actual_first_check.text.replace("patients AS", "") for name in UNPUBLISHED[1:]), (
                statement_text
            )
        else:  # what binds on the published tables must not be refused by the second check alone
            with pytest.raises(duckdb.Error):
                con.execute(f"EXPLAIN {actual_first_check.statement}")
    assert n_both > 40
