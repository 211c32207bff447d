"""The tables and views with a policy that a query, a view or a relation reads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dbanon import errors
from dbanon.runtime.session import own_cursor
from dbanon.source import attached_databases, catalog, stored_policy, view_dependencies
from dbanon.source.bound_scans import Scan, bound_scans
from dbanon.source.view_mentions import Mentions, temporary_views, text_mentions
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, qualified

Place = tuple[str, str, str]

TEMPORARY = "temp"
"""The database of temporary tables and views."""

FOREIGN_SCANS = {"SQLITE_SCAN": "sqlite", "POSTGRES_SCAN": "postgres", "MYSQL_SCAN": "mysql"}
"""Operators that read a table of another system."""

_FOREIGN_QUERIES = {"SQLITE_QUERY": "sqlite", "POSTGRES_QUERY": "postgres", "MYSQL_QUERY": "mysql"}
"""Operators that have another system run a query, of which DuckDB knows nothing."""

_DATABASE_READERS = frozenset({"READ_DUCKDB"})
"""Operators that read a table of a DuckDB database which is not attached."""


def governed_tables(
    connection: Any, query: str, function: str, parameters: Sequence[object] | Mapping[str, object] | None = None
) -> list[str]:
    """Return the tables and views with a policy that a query reads, as DuckDB binds it on this connection.

    Temporary objects, the search path and the open transaction of the connection count. Of a view with a policy the
    tables that it reads are listed, too, where they have one.

    Raises:
        SourceNotResolvedError: DuckDB cannot bind the query.
        DatabaseReadAsFileError: The query reads a DuckDB database as a file.
    """
    scans = bound_scans(connection, query, parameters)
    if scans is None:
        raise errors.SourceNotResolvedError(
            function, "the query", "cannot be bound by DuckDB", "run the query on its own to see why"
        )
    (home,) = connection.execute("SELECT system.main.current_database()").fetchall()[0]
    temporary = temporary_views(connection)
    with own_cursor(connection) as cursor:
        found = [*governed_views(None, text_mentions([query], cursor, temporary), scans, cursor, temporary)]
        return list(dict.fromkeys([*found, *governed_scans(function, "the query", scans, cursor, home)]))


def governed_scans(function: str, shown: str, scans: Iterable[Scan], cursor: Any, home: str) -> Iterator[str]:
    """Yield the tables with a policy among those that are scanned."""
    for scan in scans:
        if scan.operator in _DATABASE_READERS:
            raise errors.DatabaseReadAsFileError(function, shown, [scan.operator.lower()])
        if scan.place is not None and scan.place[0] != TEMPORARY:
            if has_policy(scan.place, cursor, home):
                yield ".".join(scan.place)
        elif scan.operator in FOREIGN_SCANS:
            yield from _governed_foreign(FOREIGN_SCANS[scan.operator], scan.table, cursor, home)
        elif scan.operator in _FOREIGN_QUERIES:
            yield from _governed_foreign(_FOREIGN_QUERIES[scan.operator], None, cursor, home)


def _governed_foreign(kind: str, table: str | None, cursor: Any, home: str) -> Iterator[str]:
    """The tables with a policy that a scan of another system may read: those of its name, and what views of that name
    read; all of the system where there is no name."""
    parts = names.read_parts(table) if table else None
    for database in attached_databases.databases(cursor, kind).values():
        for place in attached_databases.relations(cursor, database, kind):
            if parts is None or names.folded(place[2]) == names.folded(parts[-1]):
                if has_policy(place, cursor, home):
                    yield ".".join(place)
                if parts is not None:
                    yield from governed_beneath(place, cursor, home)


def governed_beneath(place: Place, cursor: Any, home: str) -> Iterator[str]:
    """The tables with a policy that a view or a partitioned table of another system reads, where the system says so."""
    for read in view_dependencies.reads(cursor, place, parents=True):
        if has_policy(read, cursor, home):
            yield ".".join(read)


def governed_views(
    view: Place | None,
    mentions: Mentions | None,
    scans: tuple[Scan, ...] | None,
    cursor: Any,
    temporary: Mapping[str, str],
) -> Iterator[str]:
    """The views with a policy of their own that a view mentions; where DuckDB keeps no text of the view, those that
    read one of the same tables."""
    if mentions is None:
        return
    own = {scan.place for scan in scans or () if scan.place}
    for place in stored_policy.governed_views(cursor):
        if place == view:
            continue
        if names.folded(place[2]) in mentions.relations and names.folded(place[2]) not in temporary:
            yield ".".join(place)
        elif not mentions.is_complete:
            with cursor.cursor() as binder:
                read = bound_scans(binder, f"FROM {qualified(*place)}")
            if read is None or own & {scan.place for scan in read if scan.place}:
                yield ".".join(place)


def governed_names(mentions: Mentions, cursor: Any, home: str) -> Iterator[str]:
    """Yield every table and view with a policy whose name a view mentions, in its text or in a literal."""
    literals = (names.table_parts(literal) for literal in mentions.literals)
    named = mentions.relations | {names.folded(parts[-1]) for parts in literals if parts}
    for (database,) in cursor.execute(
        "SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal"
    ).fetchall():
        for place in catalog.relations(cursor, database):
            if names.folded(place[2]) in named and has_policy(place, cursor, home):
                yield ".".join(place)


def has_policy(place: Place, cursor: Any, home: str) -> bool:
    """Return whether a table or view has policy rows; `home` is where those of other systems may be."""
    shown = ".".join(place)
    found = attached_databases.of(shown, cursor, place, home)
    return bool(stored_policy.policy_rows(catalog.Source(shown, Sql(""), {}, *place, foreign=found), cursor))
