"""Stored releases, streams, comparisons and the shell refuse what a table function refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from support.policy_attempts import ATTEMPTS, PERMITTED, REFUSAL, VIEWS, Attempt, K, clinic, problems
from support.scale import sample_cases

import dbanon
from dbanon.cli import main
from dbanon.sqltext.quote import argument


@pytest.fixture
def con() -> Iterator[Any]:
    """Provide a connection that accepts the statements of materialized views."""
    with dbanon.connect() as connection:
        yield connection


def literals(attempt: Attempt) -> str:
    """Return the parameters as literals of a call."""
    return "".join(f", {name} := {argument(value)}" for name, value in attempt.parameters.items())


def forbidden_rows(con: Any, query: str) -> list[str]:
    """Return the rows of a query that the policy forbids."""
    result = con.execute(query)
    return problems([column[0] for column in result.description], result.fetchall())


def forbidden_materialized_rows(con: Any, attempt: Attempt, table: str) -> list[str]:
    dbanon.create_release(con, "safe", "mondrian", table, k=K, **attempt.parameters)
    return forbidden_rows(con, "FROM safe")


def forbidden_statement_rows(con: Any, attempt: Attempt, table: str) -> list[str]:
    con.execute(
        f"CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM mondrian('{table}', k := {K}{literals(attempt)})"
    )
    return forbidden_rows(con, "FROM safe")


def forbidden_view_rows(con: Any, attempt: Attempt, table: str) -> list[str]:
    con.execute(f"CREATE OR REPLACE VIEW seen AS FROM mondrian('{table}', k := {K}{literals(attempt)})")
    return forbidden_rows(con, "FROM seen")


def forbidden_copied_rows(con: Any, attempt: Attempt, table: str) -> list[str]:
    con.execute(f"CREATE OR REPLACE TABLE copied AS FROM mondrian('{table}', k := {K}{literals(attempt)})")
    return forbidden_rows(con, "FROM copied")


def forbidden_prepared_rows(con: Any, attempt: Attempt, table: str) -> list[str]:
    con.execute(f"PREPARE release AS FROM mondrian('{table}', k := {K}{literals(attempt)})")
    return forbidden_rows(con, "EXECUTE release")


def forbidden_class_rows(con: Any, attempt: Attempt, table: str) -> list[str]:
    con.execute(f"FROM mondrian_classes('{table}', k := {K}{literals(attempt)})").fetchall()
    return []


def forbidden_explained_rows(con: Any, attempt: Attempt, table: str) -> list[str]:
    con.execute(f"EXPLAIN FROM mondrian('{table}', k := {K}{literals(attempt)})").fetchall()
    return []


INTERFACES: dict[str, Callable[[Any, Attempt, str], list[str]]] = {
    "materialize": forbidden_materialized_rows,
    "CREATE MATERIALIZED ANONYMIZED VIEW": forbidden_statement_rows,
    "CREATE VIEW": forbidden_view_rows,
    "CREATE TABLE AS": forbidden_copied_rows,
    "PREPARE": forbidden_prepared_rows,
    "classes": forbidden_class_rows,
    "EXPLAIN": forbidden_explained_rows,
}


@pytest.mark.parametrize("interface", INTERFACES)
def test_release_interfaces_refuse_looser_parameters(con: Any, interface: str) -> None:
    clinic(con)
    for attempt in sample_cases(ATTEMPTS, 16):
        with pytest.raises((duckdb.Error, dbanon.errors.DbanonError), match=REFUSAL):
            INTERFACES[interface](con, attempt, "patients")
    con.execute(f"CREATE VIEW over_patients AS {VIEWS['over_patients']}")
    with pytest.raises((duckdb.Error, dbanon.errors.DbanonError), match="has no policy of its own"):
        INTERFACES[interface](con, Attempt("", {"qi": ["age"], "sensitive": ["name"]}), "over_patients")
    assert INTERFACES[interface](con, PERMITTED[0], "patients") == []


def test_streams_refuse_looser_parameters(con: Any) -> None:
    clinic(con)
    con.execute("CREATE VIEW over_patients AS FROM patients")
    for attempt in sample_cases(ATTEMPTS, 16):
        arguments = {"delta": 100, "order_by": ["pid"], **attempt.parameters}
        if "coarsen" in arguments or "max_level" in arguments:
            continue
        with pytest.raises((duckdb.Error, dbanon.errors.DbanonError), match=rf"{REFUSAL}|no parameter"):
            dbanon.create_stream(con, "safe", "fads", "patients", k=K, **arguments)
    with pytest.raises((duckdb.Error, dbanon.errors.DbanonError), match=r"has no policy of its own|a table"):
        dbanon.create_stream(con, "safe", "fads", "over_patients", k=K, delta=100, order_by=["pid"], qi=["age"])
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'safe%'").fetchall() == [(0,)]


def test_shell_refuses_looser_parameters(tmp_path: Any) -> None:
    path = str(tmp_path / "clinic.duckdb")
    with dbanon.connect(path) as con:
        clinic(con)
        con.execute("CREATE VIEW over_patients AS FROM patients")
    for query in (
        f"FROM mondrian('patients', k={K}, sensitive=['name'])",
        f"FROM mondrian('over_patients', k={K}, qi=['age'], sensitive=['name'])",
        f"CREATE TEMP VIEW patients AS FROM clinic.main.patients; FROM mondrian('patients', k={K}, sensitive=['name'])",
    ):
        result = CliRunner().invoke(main, ["shell", path, "-c", query])
        assert result.exit_code != 0
        assert "CANARY" not in result.output
