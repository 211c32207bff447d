"""A clinic in PostgreSQL; one server serves all tests of a process that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support import postgres
from support.postgres import PATIENTS, Server, run_statements

import dbanon


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with postgres.running() as server:
        yield server


@pytest.fixture(scope="module")
def opened(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Provide the clinic's DuckDB file, as a connection that was only attached, which is as fast."""
    with dbanon.connect(tmp_path_factory.mktemp("clinic") / "clinic.duckdb") as con:
        dbanon.load_extension(con, "postgres")
        yield con


@pytest.fixture
def clinic(opened: Any, server: Server) -> Iterator[Any]:
    """Provide the clinic with a PostgreSQL database `pg`, which has only patients, and an empty schema dbanon."""
    opened.execute(f"ATTACH '{server.conninfo()}' AS pg (TYPE postgres)")
    run_statements(
        opened,
        f"DROP SCHEMA IF EXISTS ward CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public; "
        f"GRANT USAGE ON SCHEMA public TO PUBLIC; {PATIENTS}",
    )
    yield opened
    opened.execute("USE clinic")
    for (table,) in opened.execute("SELECT table_name FROM duckdb_tables() WHERE schema_name = 'dbanon'").fetchall():
        opened.execute(f"DELETE FROM clinic.dbanon.{table}")
    for kind, name in opened.execute(
        "SELECT 'TABLE', table_name FROM duckdb_tables() WHERE (database_name, schema_name) = ('clinic', 'main') "
        "UNION ALL SELECT 'VIEW', view_name FROM duckdb_views() "
        "WHERE (database_name, schema_name) = ('clinic', 'main') AND NOT internal"
    ).fetchall():
        opened.execute(f'DROP {kind} clinic.main."{name}"')
    attached = opened.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()
    for (database,) in attached:
        if database != "clinic":
            opened.execute(f"DETACH {database}")
