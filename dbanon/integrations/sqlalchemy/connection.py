"""Get DuckDB's connection from SQLAlchemy's, and resolve mapped tables on it."""

from typing import Any

import duckdb
from sqlalchemy import Connection, Table

from dbanon import errors
from dbanon.source import catalog


def raw_connection(connection: Any) -> Any:
    """Return the DuckDB connection of a SQLAlchemy or DBAPI connection.

    The dialect keeps it in a private attribute of its wrapper, so the attributes are searched by type.

    Raises:
        NotADuckDBConnectionError: There is no DuckDB connection in it.
    """
    if isinstance(connection, Connection):
        connection = connection.connection.dbapi_connection
    for candidate in (connection, *getattr(connection, "__dict__", {}).values()):
        if isinstance(candidate, duckdb.DuckDBPyConnection):
            return candidate
    raise errors.NotADuckDBConnectionError("install", repr(connection))


def resolve_table(function: str, table: Table, connection: Connection, cursor: Any = None) -> catalog.Source:
    """Return the source that a mapped table's name means on a connection.

    Args:
        function: The called function, for messages.
        table: The mapped table; its schema is translated by the connection's `schema_translate_map`.
        connection: The connection.
        cursor: A DuckDB cursor that reads the catalog; None for the connection itself. The search path is that of the
            connection.

    Raises:
        DbanonError: `catalog.resolve_source` raises it, for example UnknownTableError.
    """
    raw = raw_connection(connection)
    path = catalog.SearchPath.from_connection(raw)  # not that of the cursor, which may differ
    return catalog.resolve_source(function, quoted_name(table, connection), raw if cursor is None else cursor, path, {})


def translated_schema(table: Table, connection: Connection) -> str | None:
    """Return the schema of a table after the connection's `schema_translate_map`; None for the default schema."""
    translated = connection.get_execution_options().get("schema_translate_map") or {}
    return translated.get(table.schema, table.schema)


def quoted_name(table: Table, connection: Connection) -> str:
    """Return the name of a table as SQL, quoted where necessary, with its schema unless it is in the default schema.

    The schema is that after the connection's `schema_translate_map`.
    """
    preparer = connection.dialect.identifier_preparer
    schema = translated_schema(table, connection)
    name = preparer.quote(table.name)
    return f"{preparer.quote_schema(schema)}.{name}" if schema else name
