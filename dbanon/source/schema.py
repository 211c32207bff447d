"""The schema `dbanon` of a database: creation and migration of the tables for policy, hierarchies and ledger."""

import re
import time
from typing import Any

from dbanon import errors
from dbanon.runtime import session
from dbanon.source import attached_databases, catalog, earlier_schema
from dbanon.sqltext import resources
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, qualified


def create(connection: Any, database: str | None = None) -> None:
    """Create the schema `dbanon` in a database (default: the current one) or migrate it to the version of this package.

    Does nothing if it is current, or if the database is read-only or of another system. A current schema in which a
    table is missing is completed. The work is done on a cursor in one transaction, so the caller's transaction neither
    sees it nor can undo it, and other connections see all of it or nothing.

    Raises:
        NewerSchemaError: A later version of this package wrote the schema.
    """
    if database is None:
        database = connection.execute("SELECT system.main.current_database()").fetchall()[0][0]
    with session.builtin_cursor(connection) as cursor:
        row = cursor.execute(
            "SELECT readonly FROM system.main.duckdb_databases() WHERE database_name = ?", [database]
        ).fetchone()
        if row is None or attached_databases.database_kind(cursor, database) is not None:
            return
        version = schema_version(cursor, database)
        if version is not None and version > current_version():
            raise errors.NewerSchemaError(database, version, current_version())
        if row[0] or (version == current_version() and _has_current_schema(cursor, database)):
            return
        is_damaged = version == current_version()  # a table is missing: every migration runs again
        _migrate_once(cursor, database, 0 if is_damaged else version or 0)


def writable_table(function: str, connection: Any, cursor: Any, database: str, table: str) -> Sql:
    """Return the qualified name of a table of the schema `dbanon`, which is created or migrated if necessary.

    Args:
        function: The function that writes, for messages.
        connection: The connection on which the schema is created.
        cursor: The cursor that writes.
        database: The name of the database.
        table: The table, such as `policy`.

    Raises:
        ReadOnlyDatabaseError: The database has no such table, and none can be created.
        NewerSchemaError: A later version of this package wrote the schema.
    """
    create(connection, database)
    if not catalog.has_table(cursor, database, table):
        raise errors.ReadOnlyDatabaseError(function, database)
    return qualified(database, catalog.SCHEMA, table)


def _migrate_once(cursor: Any, database: str, version: int) -> None:
    """Migrate a schema from `version`; retry while another connection migrates at the same time, up to 5 seconds.

    Returns also if the other connection has completed the migration.
    """
    for attempt in range(_ATTEMPTS):
        try:
            _migrate(cursor, database, version)
            return
        except Exception as error:
            if "conflict" not in str(error) or attempt == _ATTEMPTS - 1:
                raise
        time.sleep(_WAIT_S)
        if schema_version(cursor, database) == current_version():
            return


_ATTEMPTS = 100
_WAIT_S = 0.05


def schema_version(cursor: Any, database: str) -> int | None:
    """Return the version of a database's schema dbanon; None if there is no schema, or one without a version."""
    if not catalog.has_table(cursor, database, "schema_version"):
        return None
    table = qualified(database, catalog.SCHEMA, "schema_version")
    rows = cursor.execute(f"SELECT version FROM {table} ORDER BY version DESC").fetchall()
    return int(rows[0][0]) if rows else None


def current_version() -> int:
    """Return the version of the schema that this package writes: that of the last migration, at least 1."""
    return max([1, *_migrations()])


def _migrations() -> dict[int, str]:
    """Return the SQL files of the migrations by target version: `source/migrations/NUMBER_CHANGE.sql`.

    Each can run again where it has run before.
    """
    return {
        int(name.split("_")[0]): f"source/migrations/{name}.sql" for name in resources.sql_names("source/migrations")
    }


def _migrate(cursor: Any, database: str, version: int) -> None:
    """Migrate a schema from a version (0: none) to the current one, in one transaction.

    On the cursor it also makes `database` the current database.
    """
    cursor.execute(f"USE {identifier(database)}")
    with session.transaction(cursor):
        earlier_schema.rename(cursor, database)
        cursor.execute(_statements("source/schema.sql"))
        for reached, name in sorted(_migrations().items()):
            if reached > version:
                cursor.execute(_statements(name))
        cursor.execute("DELETE FROM dbanon.schema_version")
        cursor.execute(
            qualify_builtins(
                "INSERT INTO dbanon.schema_version VALUES (?, get_current_timestamp() AT TIME ZONE 'UTC')"
            ),
            [current_version()],
        )


def _statements(name: str) -> str:
    """Return the text of a SQL file, in whose view definitions DuckDB's own functions are written with their schema."""
    return _VIEW.sub(lambda view: view[1] + qualify_builtins(view[2]), resources.sql(name))


def _has_current_schema(cursor: Any, database: str) -> bool:
    """Return whether the schema has all its tables and views, with the columns that were last added.

    It prepares a statement that names these columns, which is faster than a query of the catalog.
    """
    try:
        cursor.execute(_LAST_COLUMNS.format(database=identifier(database)))
    except Exception:  # whatever is missing is made; if something else is wrong, making it says so
        return False
    return True


_LAST_COLUMNS = """
PREPARE present AS
SELECT d.ownership_tag, f.identity, e.entity_schema, g.person_tables, a.refusal, q.max_requests,
    p.missing_codes, p.settings, h.position, n.leaf,
    r.hashes, r.waiting_persons, r.keys, m.waiting, s.state, t.turns, w.legal_basis
FROM {database}.dbanon.delivery AS d, {database}.dbanon.foreign_database AS f,
    {database}.dbanon.relation AS e, {database}.dbanon.related_release AS g,
    {database}.dbanon.release_request AS a, {database}.dbanon.permission AS q,
    {database}.dbanon.stream AS s, {database}.dbanon.policy AS p, {database}.dbanon.hierarchy AS h,
    {database}.dbanon.hierarchy_path AS n,
    {database}.dbanon.release AS r, {database}.dbanon.membership AS m, {database}.dbanon.publishing_turn AS t,
    {database}.dbanon.published_file AS w
"""
"""A statement that fails if a table or view of the schema, or the column that was last added to it, is missing."""

_VIEW = re.compile(r"(^CREATE OR REPLACE VIEW \S+ AS$)(.*?;)$", re.MULTILINE | re.DOTALL)
"""A stored view: the functions of its query must be qualified as DuckDB's own, too."""
