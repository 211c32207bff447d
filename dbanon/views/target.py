"""The place of a new release: the database of its source, under an unused name."""

from collections.abc import Sequence
from typing import Any

from dbanon import errors
from dbanon.source import attached_databases, catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import identifier, qualified


def current_location(connection: Any) -> tuple[str, str, str]:
    """Return the connection's current database and schema, and its search path."""
    database, schema, path = connection.execute(
        "SELECT system.main.current_database(), system.main.current_schema(), "
        "system.main.current_setting('search_path')"
    ).fetchall()[0]
    return str(database), str(schema), str(path)


def release_place(
    function: str, name: str, source: catalog.Source, location: Sequence[str], cursor: Any
) -> tuple[str, str, str]:
    """Return database, schema and name for a release: its database is that of the source or of its policy."""
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
    """Return the name of the source that the ledger stores.

    It has no database, whose name depends on its file; a source in another system has the name that the policy uses.
    """
    if source.foreign is not None:
        return qualified(*source.place)
    return name if names.is_file(name) and source.table == name else qualified(source.schema, source.table)


def remember_database(cursor: Any, source: catalog.Source) -> None:
    """Store the identity of a source's database in another system, so that no refresh reads another one by its name."""
    if source.foreign is not None and catalog.has_table(cursor, source.home, "foreign_database"):
        attached_databases.record_identity("create_release", cursor, source.database, source.foreign)


def source_schema(source: catalog.Source) -> str:
    """Return the schema of the source's home in which the ledger looks up the source."""
    return source.schema if source.foreign is None else "main"


def existing_tables(cursor: Any, target: tuple[str, str, str], endings: Sequence[str]) -> list[str]:
    """Return those names with these endings that tables or views already have."""
    rows = cursor.execute(
        "SELECT table_name FROM (SELECT database_name, schema_name, table_name FROM system.main.duckdb_tables() "
        "UNION ALL SELECT database_name, schema_name, view_name FROM system.main.duckdb_views()) "
        "WHERE database_name = ? AND schema_name = ? AND lower(table_name) IN (SELECT lower(unnest(?)))",
        [target[0], target[1], [target[2] + ending for ending in endings]],
    ).fetchall()
    return [row[0] for row in rows]


def check_writable(cursor: Any, function: str, database: str) -> None:
    """Check that the ledger of a database can be written.

    Raises:
        ReadOnlyDatabaseError: It cannot.
    """
    rows = cursor.execute(
        "SELECT readonly FROM system.main.duckdb_databases() WHERE database_name = ?", [database]
    ).fetchall()
    if rows[0][0] or not catalog.has_table(cursor, database, "release"):
        raise errors.ReadOnlyDatabaseError(function, database)


def check_choice(function: str, name: str, value: object, words: Sequence[str]) -> None:
    """Check that an argument is one of the accepted words.

    Raises:
        InvalidArgumentError: It is not.
    """
    if value not in words:
        raise errors.InvalidArgumentError(function, name, "one of " + ", ".join(f"'{w}'" for w in words), repr(value))
