"""Which versions are of the same people: those that were made from a table, or views, over the same base tables."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.source import catalog
from dbanon.source.catalog import SearchPath, Source
from dbanon.sqltext import names
from dbanon.sqltext.quote import identifier, qualified
from dbanon.views import ledger
from dbanon.views.ledger import Entry

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
    with contextlib.suppress(Exception):  # a view that cannot be bound here
        for name in cursor.get_table_names(f"FROM {source.sql}", qualified=True):
            found.add(_stored(name, source, cursor))
    return tuple(sorted(found)) or (str(qualified(source.schema, source.table)),)


def _stored(name: str, source: Source, cursor: Any) -> str:
    """One table that a view names, found from where the view stands."""
    parts = names.table_parts(name) or (name,)
    place = None
    with contextlib.suppress(errors.AmbiguousTable):
        place = catalog.stored("materialize", cursor, name, parts, SearchPath(source.database, source.schema))
    if place is None:
        return str(Path(name).resolve()) if names.is_file(name) else identifier(name)
    return str(qualified(*place[1:]) if place[0] == source.database else qualified(*place))


def related(entry: Entry, cursor: Any) -> list[Entry]:
    """All other versions of the same people that any attached ledger has: whatever name, view, algorithm and status."""
    wanted = _bases_of(entry)
    rows = cursor.execute(
        "SELECT database_name FROM system.main.duckdb_tables() WHERE (schema_name, table_name) = ('dbanon', 'release') "
        "ORDER BY 1 ASC"
    ).fetchall()
    return [
        other
        for (database,) in rows
        for other in ledger.entries(cursor, database)
        if other.place != entry.place and wanted & _bases_of(other)
    ]


def _bases_of(entry: Entry) -> set[Base]:
    found = set()
    for base in entry.bases or (entry.call["source"],):
        parts = tuple(p.lower() for p in names.table_parts(base) or ())
        if len(parts) == 3:
            found.add((parts[0], parts[1], parts[2]))
        elif len(parts) == 2:
            found.add((entry.database.lower(), parts[0], parts[1]))
        else:
            found.add(("", "", base))
    return found
