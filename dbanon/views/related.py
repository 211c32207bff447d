"""Which versions are of the same people: those that were made from a table, or views, over the same base tables."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.source import beneath, catalog, foreign
from dbanon.source.catalog import SearchPath, Source
from dbanon.sqltext import names
from dbanon.sqltext.quote import identifier, qualified
from dbanon.views import ledger, stream_ledger
from dbanon.views.ledger import Entry
from dbanon.views.stream_ledger import Grows

Base = tuple[str, str, str]
"""Database, schema and table in lower case; a file is ('', '', its path)."""


def bases(source: Source, cursor: Any) -> tuple[str, ...]:
    """The tables and files behind a source, as the ledger keeps them: without the source's own database.

    A view is bound to find them, so views over views and macros are seen through; what was copied into a table of its
    own is not. A view that reads no table is its own base.
    """
    if names.is_file(source.shown) and source.table == source.shown:
        return (str(Path(source.shown).resolve()),)
    found: set[str] = set()
    if source.foreign is not None:
        parts = beneath.reads(cursor, source.place)
        return tuple(sorted(foreign.base("materialize", cursor, place) for place in (source.place, *parts)))
    read: set[str] = set()
    with contextlib.suppress(Exception):  # a view that cannot be bound here
        read = cursor.get_table_names(f"FROM {source.sql}", qualified=True)
    for name in read:
        found.update(_stored(name, source, cursor))
    return tuple(sorted(found)) or (str(qualified(source.schema, source.table)),)


def _stored(name: str, source: Source, cursor: Any) -> list[str]:
    """One table that a view names, found from where the view stands; of one in another system also what it reads."""
    parts = names.table_parts(name) or names.read_parts(name) or (name,)
    place = None
    with contextlib.suppress(errors.AmbiguousTable):
        place = catalog.stored("materialize", cursor, name, parts, SearchPath(source.database, source.schema))
    if place is None:
        return [str(Path(name).resolve()) if names.is_file(name) else identifier(name)]
    if place[0] == source.database:
        return [str(qualified(*place[1:]))]
    return [foreign.base("materialize", cursor, one) for one in (place, *beneath.reads(cursor, place))]


def related(entry: Entry, cursor: Any) -> list[Entry]:
    """All other versions of the same people that any attached ledger has: whatever name, view, algorithm and status."""
    return [other for other in releases_beside(entry, cursor) if other.place != entry.place]


def releases_beside(of: Entry | Grows, cursor: Any) -> list[Entry]:
    """All versions of the same people."""
    return releases_of(bases_of(of), cursor)


def releases_of(wanted: set[Base], cursor: Any) -> list[Entry]:
    """All versions that were made from one of these tables."""
    every = (e for database in ledgers("release", cursor) for e in ledger.entries(cursor, database))
    return [e for e in every if wanted & bases_of(e)]


def streams_beside(of: Entry | Grows, cursor: Any) -> list[Grows]:
    """All streaming views of the same people, also those that were dropped, which readers may still have."""
    return streams_of(bases_of(of), cursor)


def streams_of(wanted: set[Base], cursor: Any) -> list[Grows]:
    """The same that were made from one of these tables."""
    every = (e for database in ledgers("stream", cursor) for e in stream_ledger.entries(cursor, database))
    return [e for e in every if wanted & bases_of(e)]


def ledgers(table: str, cursor: Any) -> list[str]:
    """The attached databases that have a table of the ledger."""
    rows = cursor.execute(
        "SELECT database_name FROM system.main.duckdb_tables() WHERE (schema_name, table_name) = ('dbanon', ?) "
        "ORDER BY 1 ASC",
        [table],
    ).fetchall()
    return [str(database) for (database,) in rows]


def bases_of(of: Entry | Grows) -> set[Base]:
    """The tables and files behind a version; of one in another system also by its name here."""
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


def places(bases: Iterable[str], database: str) -> set[Base]:
    """Bases as a ledger in a database names them, to be compared with those of another."""
    found: set[Base] = set()
    for base in bases:
        parts = tuple(p.lower() for p in names.table_parts(base) or ())
        if len(parts) == 3:
            found.add((parts[0], parts[1], parts[2]))
        elif len(parts) == 2:
            found.add((database.lower(), parts[0], parts[1]))
        else:
            found.add(("", "", base))
    return found
