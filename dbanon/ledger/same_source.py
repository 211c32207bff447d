"""Which versions are of the same people: those that were made from a table, or views, over the same base tables."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.ledger import releases, streams
from dbanon.ledger.people.same_content import same_content
from dbanon.ledger.releases import Entry
from dbanon.ledger.streams import Grows
from dbanon.source import attached_databases
from dbanon.source.catalog import Source
from dbanon.source.file_identity import file_identities
from dbanon.source.source_reads import source_reads
from dbanon.sqltext import names
from dbanon.sqltext.quote import qualified

Base = tuple[str, str, str]
"""Database, schema and table in lower case; a file is ('', '', its path)."""


UNKNOWN = "unknown: "
"""How a base begins that stands for whatever else a source reads."""


def bases(source: Source, cursor: Any) -> tuple[str, ...]:
    """Return the tables and files behind a source, as the ledger keeps them: without the source's own database.

    DuckDB's own binding says what a view reads, so views over views and macros are seen through; what was copied into a
    table of its own is not. A file is known by its canonical path and by its content. Of what cannot be determined
    there is a base that begins with UNKNOWN. Such a view, and one that reads no table, is its own base, too.
    """
    reads = source_reads(source, cursor)
    found = {UNKNOWN + why for why in reads.unknown}
    found.update(*map(file_identities, reads.files))
    for place in reads.tables:
        if place[0] == source.database and source.foreign is None:
            found.add(str(qualified(*place[1:])))
            continue
        try:
            found.add(attached_databases.ledger_name("materialize", cursor, place))
        except errors.DatabaseIdentityUnavailableError:
            if place == source.place:
                raise
            found.add(f"{UNKNOWN}a table of {place[0]}")
    if reads.unknown or not found:
        found.add(str(qualified(source.schema, source.table)))
    return tuple(sorted(found))


def related(entry: Entry, cursor: Any) -> list[Entry]:
    """All other versions of the same people that any attached ledger has: whatever name, view, algorithm and status.

    These are of the same tables or files, or of sources with the same records.
    """
    every = [e for database in ledgers("release", cursor) for e in releases.entries(cursor, database)]
    others = [other for other in every if other.place != entry.place]
    wanted = bases_of(entry)
    found = {other.place for other in others if wanted & bases_of(other)}
    rest = [other for other in others if other.place not in found]
    found |= {other.place for other in same_content(entry, rest, cursor)}
    return [other for other in others if other.place in found]


def releases_of(wanted: set[Base], cursor: Any) -> list[Entry]:
    """Return all versions that were made from one of these tables."""
    every = (e for database in ledgers("release", cursor) for e in releases.entries(cursor, database))
    return [e for e in every if wanted & bases_of(e)]


def streams_of(wanted: set[Base], cursor: Any) -> list[Grows]:
    """The streaming views made from one of these tables, also those that were dropped, which readers may still have."""
    every = (e for database in ledgers("stream", cursor) for e in streams.entries(cursor, database))
    return [e for e in every if wanted & bases_of(e)]


def ledgers(table: str, cursor: Any) -> list[str]:
    """Return the attached databases that have a table of the ledger."""
    rows = cursor.execute(
        "SELECT database_name FROM system.main.duckdb_tables() WHERE (schema_name, table_name) = ('dbanon', ?) "
        "ORDER BY 1 ASC",
        [table],
    ).fetchall()
    return [str(database) for (database,) in rows]


def bases_of(of: Entry | Grows) -> set[Base]:
    """Return the tables and files behind a version; of one in another system also by its name here."""
    source = str(of.call["source"])
    return places(of.bases or (source,), of.database) | attached([source])


def attached(sources: Iterable[str]) -> set[Base]:
    """Sources that name an attached database: where one has moved, and says that it is another, what it holds is still
    about the same people."""
    return {
        (parts[0].lower(), parts[1].lower(), parts[2].lower())
        for source in sources
        if len(parts := names.table_parts(source) or ()) == 3 and not names.is_file(source)
    }


_QUOTED = '"""'
"""Around the path of a file of which an earlier version of the package wrote the name."""


def places(bases: Iterable[str], database: str) -> set[Base]:
    """Return bases as a ledger in a database names them, to be compared with those of another; not the unknown ones."""
    found: set[Base] = set()
    for base in bases:
        if base.startswith(UNKNOWN):
            continue
        if base.startswith(_QUOTED) and base.endswith(_QUOTED):
            found.add(("", "", str(Path(base.strip('"')).resolve())))
            continue
        parts = tuple(p.lower() for p in names.table_parts(base) or ())
        if len(parts) == 3:
            found.add((parts[0], parts[1], parts[2]))
        elif len(parts) == 2:
            found.add((database.lower(), parts[0], parts[1]))
        else:
            found.add(("", "", base))
    return found
