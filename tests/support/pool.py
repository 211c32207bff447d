"""Attached connections that tests share: attaching costs more than most tests.

A connection is reused by the next test if nothing of the last one remains in it, and closed otherwise: after another
setting, another database, or a transaction that cannot be ended.
"""

from __future__ import annotations

from typing import Any

import duckdb

import dbanon
from dbanon.runtime import session

_free: list[Any] = []
_settings: list[Any] = []
_catalog: list[Any] = []


def take() -> Any:
    """Return a plain DuckDB connection in memory, attached, with an empty policy."""
    if _free:
        return _free.pop()
    connection = duckdb.connect()
    dbanon.attach(connection)
    if not _settings:
        _settings.append(_settings_of(connection))
        _catalog.append(_catalog_of(connection))
    return connection


def give(connection: Any) -> None:
    """Reset a connection for the next test, or close it."""
    try:
        clean = _is_clean(connection)
    except duckdb.Error:
        clean = False
    if clean:
        _free.append(connection)
    else:
        connection.close()


def _is_clean(connection: Any) -> bool:
    """Reset a connection; return whether it equals a new one."""
    try:
        connection.rollback()
    except duckdb.TransactionException as error:
        if "no transaction is active" not in str(error):
            raise
    if _settings_of(connection) != _settings[0]:
        return False
    databases = connection.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()
    own_session = session.find_session(connection)
    if (
        databases != [("memory",)]
        or own_session.temporary.columns
        or own_session.recorded.calls is not None
        or own_session.on_progress
        or own_session.search
    ):
        return False
    for kind, name, query, users in (
        ("VIEW", "view_name", "duckdb_views()", "NOT internal"),
        ("TABLE", "table_name", "duckdb_tables()", "NOT internal"),
        ("SEQUENCE", "sequence_name", "duckdb_sequences()", "true"),  # DuckDB has none of its own
        ("TYPE", "type_name", "duckdb_types()", "NOT internal"),
    ):
        remaining_rows = connection.execute(
            f"SELECT database_name, schema_name, {name} FROM {query} WHERE {users} AND schema_name <> 'dbanon'"
        ).fetchall()
        for parts in remaining_rows:
            connection.execute(f"DROP {kind} {'.'.join(_quoted(p) for p in parts)}")
    schemas = "SELECT schema_name FROM duckdb_schemas() WHERE NOT internal AND schema_name <> 'dbanon'"
    for (schema,) in connection.execute(schemas).fetchall():
        connection.execute(f"DROP SCHEMA {_quoted(schema)} CASCADE")
    for (table,) in connection.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'dbanon' AND estimated_size > 0 "
        "AND table_name <> 'schema_version'"
    ).fetchall():
        connection.execute(f"DELETE FROM dbanon.{_quoted(table)}")
    own_session.cache.clear()
    own_session.cache.n_computed = 0
    return bool(_catalog_of(connection) == _catalog[0])


def _settings_of(connection: Any) -> Any:
    return connection.execute("SELECT name, value FROM duckdb_settings() ORDER BY name").fetchall()


def _catalog_of(connection: Any) -> Any:
    return connection.execute(
        "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() WHERE schema_name = 'dbanon' "
        "ORDER BY ALL"
    ).fetchall()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
