"""Releases are dropped and forgotten: their tables are deleted, and then their versions in the ledger."""

import contextlib
from collections.abc import Sequence
from typing import Any

from dbanon import errors
from dbanon.ledger import deliveries, publishing_lock, related_releases, releases, transactions
from dbanon.ledger.releases import TABLES
from dbanon.publishing import postgres_delivery
from dbanon.source import catalog
from dbanon.sqltext.quote import qualified
from dbanon.views import related_release, target as release_target


def drop_release(connection: Any, name: str, *, if_exists: bool = False) -> None:
    """Drop the tables of a release; if it has a copy in PostgreSQL, the tables of the copy first.

    The ledger keeps the versions of the release until `forget_release`. If the copy cannot be dropped, nothing is.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied. It
            must have no open transaction.
        name: The name of the release.
        if_exists: Do nothing if there is no such release.

    Raises:
        UnknownReleaseError: There is no such release, and `if_exists` is false.
        DeliveryFailedError: The copy could not be dropped.

    Examples:
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE people AS SELECT unnest([21, 23, 61, 65]) AS age")
        >>> release = dbanon.create_release(con, "safe", "mdav", "people", k=2, qi=["age"])
        >>> dbanon.drop_release(con, "safe")
        >>> con.sql("SELECT name, status FROM releases()").fetchall()
        [('safe', 'dropped')]
    """
    transactions.check_no_transaction("drop_release", connection)
    ignored_errors = (errors.UnknownReleaseError,) if if_exists else ()
    with (
        release_target.open_session(connection) as (current_session, cursor, location),
        contextlib.suppress(*ignored_errors),
        publishing_lock.publishing_turn(
            current_session, "drop_release", name, _release_database("drop_release", name, cursor, location)
        ),
    ):
        _drop(cursor, name, location)


def _release_database(function: str, name: str, cursor: Any, location: Sequence[str]) -> str:
    """Return the database that has a release, of a single table or of related ones.

    Raises:
        UnknownReleaseError: There is no such release.
    """
    path = catalog.SearchPath.from_setting(*location)
    tables = related_releases.find_related_release(cursor, name, path)
    return tables.database if tables is not None else releases.find_release(function, name, cursor, path).database


def _drop(cursor: Any, name: str, location: Sequence[str]) -> None:
    """Drop a published release, of a single table or of related ones, and set its status in the ledger to "dropped".

    Args:
        cursor: A cursor.
        name: The name of the release.
        location: Current database, current schema and search path.

    Raises:
        UnknownReleaseError: There is no such published release.
    """
    path = catalog.SearchPath.from_setting(*location)
    tables = related_releases.find_related_release(cursor, name, path)
    if tables is not None and tables.status == "published":
        related_release.drop(cursor, tables)
        return
    old = releases.find_published("drop_release", name, cursor, path)
    release_target.check_writable(cursor, "drop_release", old.database)
    alias = deliveries.target_alias(name, cursor, location[0])
    with (
        postgres_delivery.drop_copy_first("drop_release", cursor, old, alias),
        transactions.transaction(cursor, "drop_release", name),
    ):
        releases.check_published(cursor, "drop_release", old)
        deliveries.forget_target(cursor, (old.database, old.schema, old.name))
        for ending in TABLES:
            cursor.execute(f"DROP TABLE IF EXISTS {old.table(ending)}")
        releases.set_status(cursor, old, "dropped")


def forget_release(connection: Any, name: str, version: int | None = None) -> int:
    """Delete versions of a release from ledger and membership, and return their number.

    Later releases cannot be checked against a forgotten version, though readers may still have it. A published version
    cannot be forgotten: drop it first.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied. It
            must have no open transaction.
        name: The name of the release.
        version: The version to delete; by default all but the published one.

    Returns:
        The number of versions that were deleted; 0 if `version` is None and only the published one exists.

    Raises:
        UnknownReleaseError: There is no such release.
        UnknownVersionError: There is no such version, or it is published.

    Examples:
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE people AS SELECT unnest([21, 23, 61, 65]) AS age")
        >>> release = dbanon.create_release(con, "safe", "mdav", "people", k=2, qi=["age"])
        >>> dbanon.drop_release(con, "safe")
        >>> dbanon.forget_release(con, "safe")
        1
    """
    transactions.check_no_transaction("forget_release", connection)
    with (
        release_target.open_session(connection) as (current_session, cursor, location),
        publishing_lock.publishing_turn(
            current_session, "forget_release", name, _release_database("forget_release", name, cursor, location)
        ),
    ):
        return _forget(cursor, name, version, catalog.SearchPath.from_setting(*location))


def _forget(cursor: Any, name: str, version: int | None, path: catalog.SearchPath) -> int:
    """Delete versions of a release from ledger and membership in one transaction, and return their number.

    `version` is the version to delete; None deletes all but the published one. A dropped release of related tables
    counts as one version.

    Raises:
        UnknownReleaseError: There is no such release.
        UnknownVersionError: There is no such version, or it is published.
    """
    tables = related_releases.find_related_release(cursor, name, path)
    if tables is not None and tables.status == "dropped":
        related_release.forget(cursor, tables)
        return 1
    last = releases.find_release("forget_release", name, cursor, path)
    versions = releases.entries(
        cursor, last.database, "schema_name = ? AND lower(name) = lower(?)", [last.schema, last.name]
    )
    forgotten = [e for e in versions if e.status != "published" and version in (None, e.version)]
    if version is not None and not forgotten:
        raise errors.UnknownVersionError(last.display_name, version, [(e.version, e.status) for e in versions])
    release_target.check_writable(cursor, "forget_release", last.database)
    with transactions.transaction(cursor, "forget_release", name):
        for entry in forgotten:
            for table, column in (("release", "name"), ("membership", "release")):
                cursor.execute(
                    f"DELETE FROM {qualified(entry.database, catalog.SCHEMA, table)} "
                    f"WHERE (schema_name, {column}, version) = (?, ?, ?)",
                    [entry.schema, entry.name, entry.version],
                )
    return len(forgotten)
