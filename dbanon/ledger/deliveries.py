"""The ledger of deliveries: releases that are copied to a PostgreSQL database."""

from dataclasses import dataclass
from datetime import UTC, datetime

from dbanon import errors
from dbanon.source import attached_databases, catalog
from dbanon.source.catalog import SCHEMA, Cursor, SearchPath
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, qualified

KIND = "postgres"
"""The system to which releases are delivered."""

ReleaseName = tuple[str, str, str]
"""Database, schema and name of a release."""


@dataclass(frozen=True)
class DeliveryTarget:
    """The table in a PostgreSQL database to which a release is copied, as the ledger of deliveries records it.

    Attributes:
        identity: The identity of the database, which does not depend on the name by which it is attached.
        schema: The schema of the table.
        name: The name of the table.
        mark: The text by which dbanon recognizes there that the tables are its own.
        version: The last delivered version; None if none is known.
    """

    identity: str
    schema: str
    name: str
    mark: str
    version: int | None = None

    @property
    def display_name(self) -> str:
        """The table's name as messages show it: with the identity of the database, not its attached name."""
        return f"{qualified(self.schema, self.name)} in {self.identity}"


def postgres_place(name: str, cursor: Cursor, current: str) -> attached_databases.Place | None:
    """Return database, schema and table if a name refers to an attached PostgreSQL database; else None.

    A name of two parts is read as schema and table if the database `current` has such a schema, else as database and
    table in its default schema. A name of one part gives None. The database in the result is its attached name. The
    table need not exist.

    Args:
        name: A table name as SQL.
        cursor: A cursor.
        current: The session's own database.
    """
    parts = names.table_parts(name) or ()
    if len(parts) < 2:
        return None
    if len(parts) == 2 and catalog.has_schema(cursor, current, parts[0]):
        return (current, parts[0], parts[1]) if attached_databases.database_kind(cursor, current) == KIND else None
    alias = attached_databases.databases(cursor, KIND).get(parts[0].lower())
    if alias is None:
        return None
    return alias, parts[1] if len(parts) == 3 else attached_databases.default_schema(cursor, alias), parts[-1]


def local_name_and_target(name: str, cursor: Cursor, current: str) -> tuple[str, attached_databases.Place | None]:
    """Return the name of a release in its own database, and the place of its copy if `name` refers to PostgreSQL.

    For a name in an attached PostgreSQL database the first value is its last part and the second is (database, schema,
    table). For all other names they are the name itself and None.
    """
    place = postgres_place(name, cursor, current)
    return (name, None) if place is None else (str(identifier(place[2])), place)


def target_alias(name: str, cursor: Cursor, current: str) -> str | None:
    """Return the attached name of the PostgreSQL database in a release name; None if the name is not in one.

    The arguments are those of `postgres_place`.
    """
    place = postgres_place(name, cursor, current)
    return None if place is None else place[0]


def find_delivered_release(function: str, target_name: str, cursor: Cursor, path: SearchPath) -> ReleaseName | None:
    """Return database, schema and name of the release whose copy in PostgreSQL has the name `target_name`.

    None if the name is not in an attached PostgreSQL database, or no release has a copy of this name.

    Args:
        function: The name of the calling function, for messages.
        target_name: The name of the copy.
        cursor: A cursor.
        path: The search path of the session.

    Raises:
        DeliveryTargetMismatchError: The ledger has the name, but for another PostgreSQL database than the one attached.
    """
    place = postgres_place(target_name, cursor, path.database)
    if place is None:
        return None
    attached_identity = attached_databases.identity(function, cursor, place[0], KIND)
    rows = [
        row
        for home in _delivery_databases(cursor, path.database)
        for row in cursor.execute(
            f"SELECT ?, schema_name, name, identity FROM {_table(home)} "
            "WHERE (system.main.lower(target_schema), system.main.lower(target_name)) = "
            "(system.main.lower(?), system.main.lower(?)) ORDER BY ALL ASC",
            [home, *place[1:]],
        ).fetchall()
    ]
    for database, schema, name, identity in rows:
        if identity == attached_identity:
            return database, schema, name
    if rows:
        target = f"{qualified(*place[1:])} in {rows[0][3]}"
        why, hint = f"{place[0]} is {attached_identity}", "attach the other one, and use the name that it then has"
        raise errors.DeliveryTargetMismatchError(function, rows[0][2], target, why, hint)
    return None


def recorded_target(cursor: Cursor, release: ReleaseName) -> DeliveryTarget | None:
    """Return the table in PostgreSQL to which a release is copied, from the ledger; None if none is recorded."""
    if not catalog.has_table(cursor, release[0], "delivery"):
        return None
    rows = cursor.execute(
        f"SELECT identity, target_schema, target_name, COLUMNS('^(ownership_tag|mark)$') AS ownership_tag, version "
        f"FROM {_table(release[0])} WHERE {_KEY}",
        list(release[1:]),
    ).fetchall()
    return DeliveryTarget(*rows[0]) if rows else None


def record_target(cursor: Cursor, release: ReleaseName, target: DeliveryTarget) -> None:
    """Store in the ledger to which table in PostgreSQL a release is copied; the delivered version is unknown at first.

    Replaces a different target. An equal one is not written again.
    """
    if recorded_target(cursor, release) != target:
        forget_target(cursor, release)
        row = [*release[1:], target.identity, target.schema, target.name, target.mark]
        cursor.execute(f"INSERT INTO {_table(release[0])} VALUES (?, ?, ?, ?, ?, ?, NULL, NULL)", row)


def set_delivered_version(cursor: Cursor, release: ReleaseName, version: int | None) -> None:
    """Store in the ledger which version the copy of a release in PostgreSQL has, with the present time.

    None means that the version is unknown; the time is then NULL.
    """
    delivered_at = None if version is None else datetime.now(UTC).replace(tzinfo=None)
    cursor.execute(
        f"UPDATE {_table(release[0])} SET version = ?, delivered_at = ? WHERE {_KEY}",
        [version, delivered_at, *release[1:]],
    )


def forget_target(cursor: Cursor, release: ReleaseName) -> None:
    """Delete the recorded delivery target of a release from the ledger, if there is one."""
    if catalog.has_table(cursor, release[0], "delivery"):
        cursor.execute(f"DELETE FROM {_table(release[0])} WHERE {_KEY}", list(release[1:]))


_KEY = "schema_name = ? AND system.main.lower(name) = system.main.lower(?)"


def _table(home: str) -> Sql:
    """Return the SQL name of the ledger table of deliveries in a database."""
    return qualified(home, SCHEMA, "delivery")


def _delivery_databases(cursor: Cursor, current: str) -> list[str]:
    """Return the attached DuckDB databases that have a ledger table of deliveries, the database `current` first."""
    rows = cursor.execute(
        "SELECT DISTINCT database_name FROM system.main.duckdb_tables() "
        "JOIN system.main.duckdb_databases() USING (database_name) "
        "WHERE (schema_name, table_name) = (?, 'delivery') AND type = 'duckdb' ORDER BY ALL ASC",
        [SCHEMA],
    ).fetchall()
    return sorted((str(row[0]) for row in rows), key=lambda database: database != current)
