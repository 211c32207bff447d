"""A clinic in PostgreSQL; one server serves all tests of a process that need one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support import postgres
from support.postgres import PATIENTS, PostgresServer, run_statements

import dbanon


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    with postgres.running_postgres() as server:
        yield server


@pytest.fixture(scope="module")
def postgres_con(server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Provide the clinic's DuckDB file, as a connection that was only attached, which is as fast."""
    with dbanon.connect(tmp_path_factory.mktemp("clinic") / "clinic.duckdb") as con:
        dbanon.load_extension(con, "postgres")
        yield con


@pytest.fixture
def clinic(postgres_con: Any, server: PostgresServer) -> Iterator[Any]:
    """Provide the clinic with a PostgreSQL database `pg`, which has only patients, and an empty schema dbanon."""
    postgres_con.execute(f"ATTACH '{server.conninfo()}' AS pg (TYPE postgres)")
    run_statements(
        postgres_con,
        f"DROP SCHEMA IF EXISTS ward CASCADE; DROP SCHEMA public CASCADE; CREATE SCHEMA public; "
        f"GRANT USAGE ON SCHEMA public TO PUBLIC; {PATIENTS}",
    )
    yield postgres_con
    postgres_con.execute("USE clinic")
    for (table,) in postgres_con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'dbanon'"
    ).fetchall():
        postgres_con.execute(f"DELETE FROM clinic.dbanon.{table}")
    for kind, name in postgres_con.execute(
        "SELECT 'TABLE', table_name FROM duckdb_tables() WHERE (database_name, schema_name) = ('clinic', 'main') "
        "UNION ALL SELECT 'VIEW', view_name FROM duckdb_views() "
        "WHERE (database_name, schema_name) = ('clinic', 'main') AND NOT internal"
    ).fetchall():
        postgres_con.execute(f'DROP {kind} clinic.main."{name}"')
    attached = postgres_con.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()
    for (database,) in attached:
        if database != "clinic":
            postgres_con.execute(f"DETACH {database}")
