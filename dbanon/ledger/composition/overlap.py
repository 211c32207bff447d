"""Releases of related tables stand alone: nothing else of the same people is released beside them."""

from collections.abc import Iterator
from typing import Any

from dbanon import errors
from dbanon.ledger import related_releases, same_source
from dbanon.ledger.people import unknown_sources
from dbanon.ledger.releases import Entry
from dbanon.ledger.streams import Grows
from dbanon.source import catalog, stored_relation
from dbanon.sqltext import names
from dbanon.sqltext.quote import qualified


def refuse_beside(cursor: Any, of: Entry | Grows) -> None:
    """OverlappingReleaseError where a release of related tables, which readers may have, is about the people of a
    new version or stream."""
    wanted = same_source.bases_of(of)
    found = [other for other in _every(cursor) if wanted & _about(cursor, other)]
    if found:
        raise errors.OverlappingReleaseError(of.shown, [other.shown for other in found], is_several=False)


def refuse_others(cursor: Any, of: related_releases.RelatedRelease, composition: str) -> None:
    """OverlappingReleaseError where anything is known to have been released of the people of a new release of
    related tables; where that is unknown, it is refused or warned of, as `composition` says."""
    wanted = _about(cursor, of)
    found = [other.shown for other in _every(cursor) if wanted & _about(cursor, other)]
    found += [entry.named for entry in same_source.releases_of(wanted, cursor)]
    found += [stream.shown for stream in same_source.streams_of(wanted, cursor)]
    if found:
        raise errors.OverlappingReleaseError(of.shown, list(dict.fromkeys(found)), is_several=True)
    unknown_sources.warn_of_unknown(of, unknown_sources.unknown_relations(cursor, of, composition))


def _every(cursor: Any) -> Iterator[related_releases.RelatedRelease]:
    """Yield all releases of related tables that an attached ledger has, those that were dropped too."""
    for database in same_source.ledgers("related_release", cursor):
        yield from related_releases.entries(cursor, database)


def _about(cursor: Any, of: related_releases.RelatedRelease) -> set[same_source.Base]:
    """Return the tables behind a release, and those behind every other table that is said to be about its people."""
    people = same_source.places(of.people, of.database)
    found = same_source.places(of.bases, of.database) | same_source.attached(of.tables.values())
    for child, entity in _relations(cursor, of.database):
        if _bases(cursor, of.database, entity) & people:
            found |= _bases(cursor, of.database, child)
    return found


def _relations(cursor: Any, database: str) -> Iterator[tuple[str, str]]:
    """Yield tables and the tables of people that they are about, by names: as dbanon.relation and foreign keys say."""
    for row in stored_relation.relation_rows(cursor, database):
        yield _named(row.schema, row.table), _named(row.entity_schema, row.entity)
    for schema, table, referenced in cursor.execute(
        "SELECT DISTINCT schema_name, table_name, referenced_table FROM system.main.duckdb_constraints() "
        "WHERE database_name = ? AND constraint_type = 'FOREIGN KEY' ORDER BY ALL ASC",
        [database],
    ).fetchall():
        yield str(qualified(schema, table)), str(qualified(schema, referenced))


def _named(schema: str, table: str) -> str:
    """Return a table as a row of the policy names it: with its schema, unless that is in the name already."""
    parts = names.table_parts(table) or (table,)
    return table if len(parts) > 1 else str(qualified(schema, parts[0]))


def _bases(cursor: Any, database: str, name: str) -> set[same_source.Base]:
    """Return the tables behind a table or view; none where it is not there or its database is not attached."""
    try:
        source = catalog.resolve_source("materialize", name, cursor, catalog.SearchPath(database, "main"), {})
    except (errors.UnknownTableError, errors.DatabaseNotAttachedError):
        return set()
    return same_source.places(same_source.bases(source, cursor), source.home)
