"""Refuse releases that overlap with a release of related tables: no other release of its people is allowed."""

from collections.abc import Iterator
from typing import Any

from dbanon import errors
from dbanon.ledger import related_releases, same_source
from dbanon.ledger.people import unknown_sources
from dbanon.ledger.releases import LedgerEntry
from dbanon.ledger.streams import StreamEntry
from dbanon.source import catalog, stored_relation
from dbanon.sqltext import names
from dbanon.sqltext.quote import qualified


def refuse_overlapping(cursor: Any, entry: LedgerEntry | StreamEntry) -> None:
    """Check that no release of related tables is about the people of a new version or stream.

    Dropped releases count, too, since readers may still have them.

    Raises:
        OverlappingReleaseError: A release of related tables has a source table in common with `entry`.
    """
    bases = same_source.comparable_bases(entry)
    overlapping = [other for other in _all_related_releases(cursor) if bases & _related_bases(cursor, other)]
    if overlapping:
        raise errors.OverlappingReleaseError(
            entry.display_name, [other.display_name for other in overlapping], is_several=False
        )


def refuse_published_people(cursor: Any, release: related_releases.RelatedRelease, composition_rule: str) -> None:
    """Check that nothing was released before of the people of a new release of related tables.

    Versions, streams and releases of related tables count if they were made from the same tables. If it is unknown
    whether another release is about these people, a warning is issued or an error is raised.

    Args:
        cursor: A cursor that sees the ledgers.
        release: The new release of related tables.
        composition_rule: `refuse` to raise an error for releases whose relation is unknown, `warn` to warn.

    Raises:
        OverlappingReleaseError: Something was released.
        UnknownRelationError: The relation to another release is unknown, and `composition_rule` is `refuse`.
    """
    bases = _related_bases(cursor, release)
    overlapping = [
        other.display_name for other in _all_related_releases(cursor) if bases & _related_bases(cursor, other)
    ]
    overlapping += [entry.version_name for entry in same_source.releases_of_bases(bases, cursor)]
    overlapping += [stream.display_name for stream in same_source.streams_of_bases(bases, cursor)]
    if overlapping:
        raise errors.OverlappingReleaseError(release.display_name, list(dict.fromkeys(overlapping)), is_several=True)
    unknown_sources.warn_of_unknown(release, unknown_sources.unknown_relations(cursor, release, composition_rule))


def _all_related_releases(cursor: Any) -> Iterator[related_releases.RelatedRelease]:
    """Yield all releases of related tables in the ledgers of all attached databases, including dropped ones."""
    for database in same_source.ledgers("related_release", cursor):
        yield from related_releases.entries(cursor, database)


def _related_bases(cursor: Any, release: related_releases.RelatedRelease) -> set[same_source.Base]:
    """Return the base tables of a release of related tables and of other tables that are about its people.

    The latter are tables that refer, by a row of `dbanon.relation` or by a foreign key, to a table made from the
    release's table of people. Base tables are (database, schema, table) in lower case. Names in the calls that include
    a database are added as written.
    """
    people = same_source.parse_bases(release.person_bases, release.database)
    bases = same_source.comparable_bases(release)
    for child, entity in _relations(cursor, release.database):
        if _bases(cursor, release.database, entity) & people:
            bases |= _bases(cursor, release.database, child)
    return bases


def _relations(cursor: Any, database: str) -> Iterator[tuple[str, str]]:
    """Yield (table, table that it refers to) as SQL names, from rows of dbanon.relation and from all foreign keys."""
    for row in stored_relation.relation_rows(cursor, database):
        yield _qualified_name(row.schema, row.table), _qualified_name(row.entity_schema, row.entity)
    for schema, table, referenced in cursor.execute(
        "SELECT DISTINCT schema_name, table_name, referenced_table FROM system.main.duckdb_constraints() "
        "WHERE database_name = ? AND constraint_type = 'FOREIGN KEY' ORDER BY ALL ASC",
        [database],
    ).fetchall():
        yield str(qualified(schema, table)), str(qualified(schema, referenced))


def _qualified_name(schema: str, table: str) -> str:
    """Return a table name in dbanon.relation as SQL with a schema: its own if it includes one, else `schema`."""
    parts = names.table_parts(table) or (table,)
    return table if len(parts) > 1 else str(qualified(schema, parts[0]))


def _bases(cursor: Any, database: str, name: str) -> set[same_source.Base]:
    """Return the base tables of a table or view of `database`, found by name.

    Empty if it does not exist or its database is not attached.
    """
    try:
        source = catalog.resolve_source("create_release", name, cursor, catalog.SearchPath(database, "main"), {})
    except (errors.UnknownTableError, errors.DatabaseNotAttachedError):
        return set()
    return same_source.parse_bases(same_source.bases(source, cursor), source.home)
