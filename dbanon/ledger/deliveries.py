"""Which releases have a copy in a database of PostgreSQL, by the ledger."""

from dataclasses import dataclass
from datetime import UTC, datetime

from dbanon import errors
from dbanon.source import attached_databases, catalog
from dbanon.source.catalog import SCHEMA, Cursor, SearchPath
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, qualified

KIND = "postgres"
"""The other system that takes releases."""

Named = tuple[str, str, str]
"""Database, schema and name of a release."""


@dataclass(frozen=True)
class Target:
    """The table that shows a release: its schema and name in the database of PostgreSQL with that `identity`.

    The tables there are known as ours by the `mark`; `version` was delivered last, None: none that is known.
    """

    identity: str
    schema: str
    name: str
    mark: str
    version: int | None = None

    @property
    def shown(self) -> str:
        """The name as messages show it, whatever its database is called here."""
        return f"{qualified(self.schema, self.name)} in {self.identity}"


def asked(given: str, cursor: Cursor, current: str) -> attached_databases.Place | None:
    """Database, schema and name where a name is one of an attached database of PostgreSQL; else None.

    `current` is the session's own database, whose schemas come first.
    """
    parts = names.table_parts(given) or ()
    if len(parts) < 2:
        return None
    if len(parts) == 2 and catalog.has_schema(cursor, current, parts[0]):
        return (current, parts[0], parts[1]) if attached_databases.database_kind(cursor, current) == KIND else None
    alias = attached_databases.databases(cursor, KIND).get(parts[0].lower())
    if alias is None:
        return None
    return alias, parts[1] if len(parts) == 3 else attached_databases.default_schema(cursor, alias), parts[-1]


def here_and_there(given: str, cursor: Cursor, current: str) -> tuple[str, attached_databases.Place | None]:
    """Return the name of a release in its own database, and the place in PostgreSQL where it is asked for, too."""
    place = asked(given, cursor, current)
    return (given, None) if place is None else (str(identifier(place[2])), place)


def alias(given: str, cursor: Cursor, current: str) -> str | None:
    """By what name a name says that the database of PostgreSQL is attached."""
    place = asked(given, cursor, current)
    return None if place is None else place[0]


def release(function: str, given: str, cursor: Cursor, path: SearchPath) -> Named | None:
    """Return the release whose copy a name means; None where it means none.

    Raises DeliveryTargetMismatchError where the ledger knows the name in another database than the one that is
    attached.
    """
    place = asked(given, cursor, path.database)
    if place is None:
        return None
    known = attached_databases.identity(function, cursor, place[0], KIND)
    rows: list[tuple[str, str, str, str]] = []
    for home in _homes(cursor, path.database):
        rows += cursor.execute(
            f"SELECT ?, schema_name, name, identity FROM {_table(home)} "
            "WHERE (system.main.lower(target_schema), system.main.lower(target_name)) = "
            "(system.main.lower(?), system.main.lower(?)) ORDER BY ALL ASC",
            [home, *place[1:]],
        ).fetchall()
    for database, schema, name, identity in rows:
        if identity == known:
            return database, schema, name
    if rows:
        target = f"{qualified(*place[1:])} in {rows[0][3]}"
        why, hint = f"{place[0]} is {known}", "attach the other one, and write the name that it then has"
        raise errors.DeliveryTargetMismatchError(function, rows[0][2], target, why, hint)
    return None


def recorded(cursor: Cursor, of: Named) -> Target | None:
    """Where the copy of a release is, or shall be."""
    if not catalog.has_table(cursor, of[0], "delivery"):
        return None
    rows = cursor.execute(
        f"SELECT identity, target_schema, target_name, mark, version FROM {_table(of[0])} WHERE {_KEY}", list(of[1:])
    ).fetchall()
    return Target(*rows[0]) if rows else None


def record(cursor: Cursor, of: Named, target: Target) -> None:
    """Keep where the copy of a release shall be, with the version that is made."""
    if recorded(cursor, of) != target:
        forget(cursor, of)
        row = [*of[1:], target.identity, target.schema, target.name, target.mark]
        cursor.execute(f"INSERT INTO {_table(of[0])} VALUES (?, ?, ?, ?, ?, ?, NULL, NULL)", row)


def note(cursor: Cursor, of: Named, version: int | None) -> None:
    """Keep which version the copy is known to show."""
    when = None if version is None else datetime.now(UTC).replace(tzinfo=None)
    cursor.execute(f"UPDATE {_table(of[0])} SET version = ?, delivered_at = ? WHERE {_KEY}", [version, when, *of[1:]])


def forget(cursor: Cursor, of: Named) -> None:
    """Forget the copy of a release that is dropped."""
    if catalog.has_table(cursor, of[0], "delivery"):
        cursor.execute(f"DELETE FROM {_table(of[0])} WHERE {_KEY}", list(of[1:]))


_KEY = "schema_name = ? AND system.main.lower(name) = system.main.lower(?)"


def _table(home: str) -> Sql:
    return qualified(home, SCHEMA, "delivery")


def _homes(cursor: Cursor, first: str) -> list[str]:
    """Return the attached DuckDB databases that may know of copies, that of the session first."""
    rows = cursor.execute(
        "SELECT DISTINCT database_name FROM system.main.duckdb_tables() "
        "JOIN system.main.duckdb_databases() USING (database_name) "
        "WHERE (schema_name, table_name) = (?, 'delivery') AND type = 'duckdb' ORDER BY ALL ASC",
        [SCHEMA],
    ).fetchall()
    return sorted((str(row[0]) for row in rows), key=lambda database: database != first)
