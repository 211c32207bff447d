"""The first check refuses hostile trees of DuckDB 1.5, recorded so that tests on any DuckDB can read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from mutations.serve_faults import HOSTILE
from support.reader_statements import TABLES
from support.serving import KNOWN

from dbanon import errors
from dbanon.integrations.quack import reader_process, statement_checker

pytestmark = pytest.mark.all_cases

TREES: dict[str, Any] = json.loads(Path(__file__).with_name("recorded_trees.json").read_text(encoding="utf-8"))
"""Trees by statement, as `recorded_answers()` returns them on DuckDB 1.5."""
STATEMENTS = sorted({statement for found in HOSTILE.values() for statement in found})
ORDINARY = "SELECT n::VARCHAR, (SELECT max(n) FROM lab.tests) FROM safe, unnest([1, 2]) AS t (y) WHERE n IN (1, 2)"


class TreeAcceptedError(Exception):
    """The tree was accepted."""


def read(query: str, values: list[object]) -> str:
    """Return the recorded tree for the first query of the check; a second query occurs only for an accepted tree."""
    if "json_deserialize_sql" in query:
        raise TreeAcceptedError
    return json.dumps(TREES[str(values[0])])


@pytest.mark.parametrize("statement", STATEMENTS)
def test_first_check_refuses_recorded_hostile_trees(statement: str) -> None:
    with pytest.raises(errors.ReaderStatementRefusedError):
        statement_checker.check_statement(statement, read, TABLES, reader_process.READER_FUNCTIONS)


@pytest.mark.parametrize("statement", HOSTILE["readers: samples are allowed"])
def test_first_check_error_names_refused_sample(statement: str) -> None:
    with pytest.raises(errors.ReaderStatementRefusedError, match="'sample'"):
        statement_checker.check_statement(statement, read, TABLES, reader_process.READER_FUNCTIONS)


def test_first_check_accepts_ordinary_recorded_tree() -> None:
    with pytest.raises(TreeAcceptedError):
        statement_checker.check_statement(ORDINARY, read, TABLES, reader_process.READER_FUNCTIONS)


@pytest.mark.skipif(not KNOWN, reason="the trees are those of another DuckDB")
def test_parse_trees_equal_recorded_trees() -> None:
    assert recorded_answers() == TREES


def recorded_answers() -> dict[str, Any]:
    """Return the trees as this DuckDB returns them."""
    with duckdb.connect() as con:
        ask = "SELECT json_serialize_sql(?)"
        return {s: json.loads(con.execute(ask, [s]).fetchall()[0][0]) for s in (*STATEMENTS, ORDINARY)}
