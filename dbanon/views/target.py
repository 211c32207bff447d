"""Choose where a new release is stored: in the database of its source, under an unused name."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dbanon import errors
from dbanon.runtime import session
from dbanon.source import attached_databases, catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import argument, identifier, qualified, text


@contextlib.contextmanager
def open_session(connection: Any) -> Iterator[tuple[session.Session, Any, tuple[str, str, str]]]:
    """Yield the session of a connection, a cursor, and the connection's location (see `current_location`)."""
    current_session = session.find_session(session.plain_connection(connection))
    with current_session.cursor() as cursor:
        yield current_session, cursor, current_location(connection)


def current_location(connection: Any) -> tuple[str, str, str]:
    """Return the connection's current database, current schema and search path, in this order."""
    database, schema, path = connection.execute(
        "SELECT system.main.current_database(), system.main.current_schema(), "
        "system.main.current_setting('search_path')"
    ).fetchall()[0]
    return str(database), str(schema), str(path)


def release_place(
    function: str, name: str, source: catalog.Source, location: Sequence[str], cursor: Any
) -> tuple[str, str, str]:
    """Return the database, schema and name for a new release; nothing is created.

    The database is always that of the source (for a source in another system, that of its policy). A name without a
    schema gets the current schema if that database is the current one, else `main`. The first part of a two-part name
    is a schema; if it is the name of the database and no schema has that name, the schema is `main`.

    Args:
        function: The function that was called, for messages.
        name: The requested name, of one to three parts.
        source: The source of the release.
        location: Current database, current schema and search path (see `current_location`).
        cursor: A cursor.

    Raises:
        UnstableSourceError: The source is a temporary table or a DataFrame.
        ReleaseOutsideSourceDatabaseError: The name has another database.
    """
    parts = names.table_parts(name) or (name,)
    if source.sql == identifier(source.table):  # a temporary table or DataFrame, which no cursor sees
        raise errors.UnstableSourceError(name, source.shown, function)
    database = source.home
    if len(parts) == 3 and parts[0].lower() != database.lower():
        raise errors.ReleaseOutsideSourceDatabaseError(function, name, database)
    schema = parts[-2] if len(parts) > 1 else (location[1] if location[0] == database else "main")
    if len(parts) == 2 and parts[0].lower() == database.lower() and not catalog.has_schema(cursor, database, schema):
        schema = "main"
    return database, schema, parts[-1]


def stored_source_name(source: catalog.Source, name: str) -> str:
    """Return the name by which the ledger refers to the source.

    It is schema and table without the database, since a database is named after its file. A file keeps the name that
    was given (`name`). A source in another system has database, schema and table, as in the policy.
    """
    if source.foreign is not None:
        return qualified(*source.place)
    return name if names.is_file(name) and source.table == name else qualified(source.schema, source.table)


def remember_database(cursor: Any, source: catalog.Source) -> None:
    """Store which database a source in another system is in, so that no refresh reads another database under that name.

    Does nothing for a source in DuckDB, or if the DuckDB database that holds the policy has no table for this.
    """
    if source.foreign is not None and catalog.has_table(cursor, source.home, "foreign_database"):
        attached_databases.record_identity("create_release", cursor, source.database, source.foreign)


def source_schema(source: catalog.Source) -> str:
    """Return the schema in which the ledger looks up the source by its stored name.

    It is `main` for a source in another system.
    """
    return source.schema if source.foreign is None else "main"


def call_statement(function: str, source: str, parameters: Mapping[str, Any]) -> str:
    """Return the SELECT statement of a call of a table function, as the ledger stores it."""
    arguments = "".join(f", {identifier(name)} := {argument(value)}" for name, value in parameters.items())
    return f"SELECT * FROM {identifier(function)}({text(source)}{arguments})"


def existing_tables(cursor: Any, target: tuple[str, str, str], endings: Sequence[str]) -> list[str]:
    """Return the names of tables and views that exist among the names `target` + ending, compared without case.

    Args:
        cursor: A cursor.
        target: Database, schema and name of a release.
        endings: Endings that are appended to the name, such as "" and "_classes".
    """
    rows = cursor.execute(
        "SELECT table_name FROM (SELECT database_name, schema_name, table_name FROM system.main.duckdb_tables() "
        "UNION ALL SELECT database_name, schema_name, view_name FROM system.main.duckdb_views()) "
        "WHERE database_name = ? AND schema_name = ? AND lower(table_name) IN (SELECT lower(unnest(?)))",
        [target[0], target[1], [target[2] + ending for ending in endings]],
    ).fetchall()
    return [row[0] for row in rows]


def check_writable(cursor: Any, function: str, database: str) -> None:
    """Check that the ledger of a database exists and can be written.

    Raises:
        ReadOnlyDatabaseError: The database is read-only, or has no ledger.
    """
    rows = cursor.execute(
        "SELECT readonly FROM system.main.duckdb_databases() WHERE database_name = ?", [database]
    ).fetchall()
    if rows[0][0] or not catalog.has_table(cursor, database, "release"):
        raise errors.ReadOnlyDatabaseError(function, database)


def check_choice(function: str, name: str, value: object, words: Sequence[str]) -> None:
    """Check that the argument `name` of a function has one of the accepted words as its value.

    Raises:
        InvalidArgumentError: It has another value.
    """
    if value not in words:
        raise errors.InvalidArgumentError(function, name, "one of " + ", ".join(f"'{w}'" for w in words), repr(value))
