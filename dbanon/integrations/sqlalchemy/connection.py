"""From SQLAlchemy's connection to DuckDB's, and how tables are named there."""

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
    raise errors.NotADuckDBConnectionError("install", repr(connection))


def resolved(function: str, table: Table, connection: Connection, cursor: Any = None) -> catalog.Source:
    """Return a table as the catalog knows it, found by its name on the connection or on a cursor of it."""
    reader = raw_connection(connection) if cursor is None else cursor
    return catalog.resolve_source(function, written(table, connection), reader, catalog.SearchPath.here(reader), {})


def schema_of(table: Table, connection: Connection) -> str | None:
    """Return the schema of a table as this connection has it."""
    translated = connection.get_execution_options().get("schema_translate_map") or {}
    schema: str | None = translated.get(table.schema, table.schema)
    return schema


def written(table: Table, connection: Connection) -> str:
    """Return the name of a table as this connection writes it."""
    preparer = connection.dialect.identifier_preparer
    schema = schema_of(table, connection)
    name = preparer.quote(table.name)
    return f"{preparer.quote_schema(schema)}.{name}" if schema else name
