"""Find the versions of the same people: those made from the same base tables, also through views.

A base is a table or file behind the source of a release.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.ledger import releases, streams
from dbanon.ledger.people.same_content import same_content
from dbanon.ledger.related_releases import RelatedRelease
from dbanon.ledger.releases import LedgerEntry
from dbanon.ledger.streams import StreamEntry
from dbanon.source import attached_databases
from dbanon.source.catalog import Source
from dbanon.source.file_identity import file_identities
from dbanon.source.source_reads import source_reads
from dbanon.sqltext import names
from dbanon.sqltext.quote import qualified

Base = tuple[str, str, str]
"""Database, schema and table in lower case; a file is ('', '', its path)."""


UNKNOWN = "unknown: "
"""Prefix of a base that stands for an undetermined read of a source."""


def bases(source: Source, cursor: Any) -> tuple[str, ...]:
    """Return the tables and files behind a source, as the ledger stores them: without the source's own database.

    DuckDB's own binding determines what a view reads, also through views and macros; a table that is a copy of another
    one is its own base. A file is identified by its canonical path and by its content. An undetermined read is
    represented by a base that begins with UNKNOWN. If there is one, or nothing is read, the source itself is a base,
    too.

    Returns:
        The sorted names.

    Raises:
        DatabaseIdentityUnavailableError: The source is a table of another database system that cannot be identified.
    """
    reads = source_reads(source, cursor)
    base_names = {UNKNOWN + reason for reason in reads.unknown}
    base_names.update(*map(file_identities, reads.files))
    for place in reads.tables:
        if place[0] == source.database and source.foreign is None:
            base_names.add(str(qualified(*place[1:])))
            continue
        try:
            base_names.add(attached_databases.ledger_name("create_release", cursor, place))
        except errors.DatabaseIdentityUnavailableError:
            if place == source.place:
                raise
            base_names.add(f"{UNKNOWN}a table of {place[0]}")
    if reads.unknown or not base_names:
        base_names.add(str(qualified(source.schema, source.table)))
    return tuple(sorted(base_names))


def versions_of_same_people(entry: LedgerEntry, cursor: Any) -> list[LedgerEntry]:
    """Return all versions of the same people in any attached ledger, except `entry` itself.

    A version counts if it is made from a table or file behind `entry`, or if its source has mostly the same records.
    Its name, algorithm and status do not matter.
    """
    versions = [e for database in ledgers("release", cursor) for e in releases.entries(cursor, database)]
    others = [other for other in versions if other.place != entry.place]
    entry_bases = comparable_bases(entry)
    places_found = {other.place for other in others if entry_bases & comparable_bases(other)}
    rest = [other for other in others if other.place not in places_found]
    places_found |= {other.place for other in same_content(entry, rest, cursor)}
    return [other for other in others if other.place in places_found]


def releases_of_bases(bases: set[Base], cursor: Any) -> list[LedgerEntry]:
    """Return all versions, of any status and in any attached ledger, that were made from a table in `bases`."""
    versions = (e for database in ledgers("release", cursor) for e in releases.entries(cursor, database))
    return [e for e in versions if bases & comparable_bases(e)]


def streams_of_bases(bases: set[Base], cursor: Any) -> list[StreamEntry]:
    """Return the streaming views, in any attached ledger, that were made from at least one table in `bases`.

    Dropped ones are included, as readers may still have them.
    """
    all_streams = (e for database in ledgers("stream", cursor) for e in streams.entries(cursor, database))
    return [e for e in all_streams if bases & comparable_bases(e)]


def ledgers(table: str, cursor: Any) -> list[str]:
    """Return the attached databases that have the table `table` in their schema dbanon, sorted."""
    rows = cursor.execute(
        "SELECT database_name FROM system.main.duckdb_tables() WHERE (schema_name, table_name) = ('dbanon', ?) "
        "ORDER BY 1 ASC",
        [table],
    ).fetchall()
    return [str(database) for (database,) in rows]


def comparable_bases(entry: LedgerEntry | StreamEntry | RelatedRelease) -> set[Base]:
    """Return the tables and files behind a release or stream as comparable (database, schema, table) in lower case.

    A file is ("", "", path or content hash). A table in another database is included by its attached name as well.
    Undetermined reads are omitted. If no base was stored, the source itself is the base.
    """
    sources = list(entry.tables.values()) if isinstance(entry, RelatedRelease) else [str(entry.call["source"])]
    return parse_bases(entry.bases or sources, entry.database) | _attached_bases(sources)


def _attached_bases(sources: Iterable[str]) -> set[Base]:
    """Return (database, schema, table) in lower case of those sources whose names include a database.

    Other names and files are ignored.
    """
    return {
        (parts[0].lower(), parts[1].lower(), parts[2].lower())
        for source in sources
        if len(parts := names.table_parts(source) or ()) == 3 and not names.is_file(source)
    }


_QUOTED = '"""'
"""The quotes around the path of a file in ledgers of an earlier version of the package."""


def parse_bases(bases: Iterable[str], database: str) -> set[Base]:
    """Return stored bases as comparable (database, schema, table), without undetermined ones.

    A file becomes ('', '', path or content hash). `database`, that of the ledger, completes names without a database.
    """
    parsed: set[Base] = set()
    for base in bases:
        if base.startswith(UNKNOWN):
            continue
        if base.startswith(_QUOTED) and base.endswith(_QUOTED):
            parsed.add(("", "", str(Path(base.strip('"')).resolve())))
            continue
        parts = tuple(p.lower() for p in names.table_parts(base) or ())
        if len(parts) == 3:
            parsed.add((parts[0], parts[1], parts[2]))
        elif len(parts) == 2:
            parsed.add((database.lower(), parts[0], parts[1]))
        else:
            parsed.add(("", "", base))
    return parsed
