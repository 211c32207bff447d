"""From SQLAlchemy's connection to DuckDB's, and where its bare names resolve."""

from __future__ import annotations

from typing import Any

import duckdb
from sqlalchemy import Connection, Table

from dbanon import errors
from dbanon.source import catalog


def raw_connection(connection: Any) -> Any:
    """The DuckDB connection of a SQLAlchemy or DBAPI connection: what is attached, and what makes cursors of its own.

    The dialect keeps it in a private attribute of its wrapper, so it is looked for by its type.
    """
    if isinstance(connection, Connection):
        connection = connection.connection.dbapi_connection
    for candidate in (connection, *getattr(connection, "__dict__", {}).values()):
        if isinstance(candidate, duckdb.DuckDBPyConnection):
            return candidate
    raise errors.NotDuckDB("install", repr(connection))


def place(connection: Any) -> catalog.SearchPath:
    """Where bare names resolve on a DuckDB connection or the dialect's wrapper."""
    return catalog.SearchPath.here(connection)


def written(table: Table, connection: Connection) -> str:
    """The name of a table as this connection writes it."""
    preparer = connection.dialect.identifier_preparer
    translated = connection.get_execution_options().get("schema_translate_map") or {}
    schema = translated.get(table.schema, table.schema)
    name = preparer.quote(table.name)
    return f"{preparer.quote_schema(schema)}.{name}" if schema else name
