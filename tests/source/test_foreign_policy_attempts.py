"""Tables of SQLite, PostgreSQL and MySQL: the policy in DuckDB applies, and views of them need one of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support import mysql, postgres
from support.policy_attempts import ATTEMPTS, HIERARCHY, PERMITTED, POLICY, REFUSAL, K, problems, rows_sql
from support.postgres import needs_scanner
from support.scale import sample_cases

import dbanon


@dataclass(frozen=True)
class ForeignWard:
    """A connection to a DuckDB file with the policy, the name of the table there, and queries that read the table."""

    con: Any
    table: str
    queries: dict[str, str]


@pytest.fixture(scope="module", params=["sqlite", "postgres", "mysql"])
def ward(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ForeignWard]:
    """Attach patients in another database system as `ward`, with their policy in DuckDB."""
    system = request.param
    needs_scanner(system)
    folder = tmp_path_factory.mktemp("ward")
    with ExitStack() as stack:
        location, table, read = _database(system, folder, stack)
        con = stack.enter_context(dbanon.connect(folder / "clinic.duckdb"))
        dbanon.load_extension(con, system)
        if system == "sqlite":
            con.execute("SET GLOBAL sqlite_disable_multithreaded_scans = true")
        con.execute(f"ATTACH '{location}' AS ward (TYPE {system})")
        if system == "mysql":
            con.execute("CREATE SCHEMA IF NOT EXISTS ward.clinic")
        con.execute(f"CREATE TABLE {table} AS {rows_sql()}")
        con.execute("DETACH ward")
        con.execute(f"ATTACH '{location}' AS ward (TYPE {system})")
        dbanon.load_hierarchy(con, "zip5", HIERARCHY)
        dbanon.declare(con, table, **POLICY)
        yield ForeignWard(
            con, table, {"table": f"FROM {table}", "name in a text": f"FROM query_table('{table}')", **read}
        )


def _database(system: str, folder: Path, stack: ExitStack) -> tuple[str, str, dict[str, str]]:
    """Return the argument of ATTACH, the name of the table, and queries of the system's own functions."""
    if system == "sqlite":
        file = str(folder / "ward.sqlite")
        own_options = {
            "scan": f"FROM sqlite_scan('{file}', 'patients')",
            "query": "FROM sqlite_query('ward', 'SELECT * FROM patients')",
        }
        return file, "ward.patients", own_options
    if system == "postgres":
        conninfo = stack.enter_context(postgres.running_postgres()).conninfo()
        own_options = {
            "scan": f"FROM postgres_scan('{conninfo}', 'public', 'patients')",
            "query": "FROM postgres_query('ward', 'SELECT * FROM public.patients')",
        }
        return conninfo, "ward.public.patients", own_options
    params = stack.enter_context(mysql.running_mysql()).params(database="mysql")
    return params, "ward.clinic.patients", {"query": "FROM mysql_query('ward', 'SELECT * FROM clinic.patients')"}


def test_foreign_table_refuses_looser_parameters(ward: ForeignWard) -> None:
    for attempt in sample_cases(ATTEMPTS):
        if "weight_kg" in str(attempt.parameters):  # its type is another one in each system
            continue
        query = f"FROM mondrian('{ward.table}', k := {K}{attempt.sql_arguments})"
        with pytest.raises(duckdb.Error, match=REFUSAL):
            ward.con.execute(query, dict(attempt.parameters))
    result = ward.con.execute(f"FROM mondrian('{ward.table}', k := {K}, withhold := ['weight_kg'])")
    assert PERMITTED[0].parameters == {}
    assert problems([column[0] for column in result.description], result.fetchall()) == []


def test_view_over_foreign_table_is_refused(ward: ForeignWard) -> None:
    for name, query in ward.queries.items():
        ward.con.execute(f"CREATE OR REPLACE VIEW seen AS {query}")
        with pytest.raises(duckdb.Error, match="has no policy of its own and reads"):
            ward.con.execute(f"FROM mondrian('seen', k := {K}, qi := ['age'], sensitive := ['name'])")
        ward.con.execute(f"CREATE OR REPLACE TEMP VIEW passing AS {query}")
        with pytest.raises(duckdb.Error, match="has no policy of its own and reads"):
            ward.con.execute(f"FROM mondrian('passing', k := {K}, qi := ['age'], sensitive := ['name'])")
        assert name
