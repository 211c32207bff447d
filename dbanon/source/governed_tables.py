"""Find the governed tables and views, those with policy rows, that a query, a view or a relation reads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dbanon import errors
from dbanon.runtime.session import builtin_cursor
from dbanon.source import attached_databases, catalog, mysql, postgres, stored_policy
from dbanon.source.bound_scans import Scan, bound_scans
from dbanon.source.view_mentions import Mentions, temporary_views, text_mentions
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, qualified

Place = attached_databases.Place

TEMPORARY = "temp"
"""The database of temporary tables and views."""

FOREIGN_SCANS = {"SQLITE_SCAN": "sqlite", "POSTGRES_SCAN": "postgres", "MYSQL_SCAN": "mysql"}
"""Operators that read a table of another system."""

_FOREIGN_QUERIES = {"SQLITE_QUERY": "sqlite", "POSTGRES_QUERY": "postgres", "MYSQL_QUERY": "mysql"}
"""Operators that run a query in another system; DuckDB does not know which tables it reads."""

_DATABASE_READERS = frozenset({"READ_DUCKDB"})
"""Operators that read a table of a DuckDB database which is not attached."""


def governed_tables(
    connection: Any, query: str, function: str, parameters: Sequence[object] | Mapping[str, object] | None = None
) -> list[str]:
    """Return the names of the tables and views with a policy that a query reads, as DuckDB binds it on this connection.

    Temporary objects, the search path and the open transaction of the connection count. Of a view with a policy the
    tables that it reads are listed, too, if they have one. The query does not run.

    Args:
        connection: The connection on which the query is bound.
        query: The query.
        function: The calling function, for messages.
        parameters: Values of the query's parameters.

    Raises:
        SourceNotResolvedError: DuckDB cannot bind the query.
        DatabaseReadAsFileError: The query reads a DuckDB database as a file.
    """
    scans = bound_scans(connection, query, parameters)
    if scans is None:
        raise errors.SourceNotResolvedError(
            function, "the query", "cannot be bound by DuckDB", "run the query on its own to see why"
        )
    with builtin_cursor(connection) as cursor:
        return governed_names_read(function, "the query", query, scans, connection, cursor)


def governed_names_read(
    function: str, source_name: str, query: str, scans: tuple[Scan, ...], connection: Any, cursor: Any
) -> list[str]:
    """Return the names of the tables and views with a policy that a query reads, whose plan reads `scans`.

    Args:
        function: The calling function, for messages.
        source_name: The name of the query, for messages.
        query: The query.
        scans: What its plan reads.
        connection: The connection of the query, which has its temporary views.
        cursor: A cursor that sees committed objects.

    Raises:
        DatabaseReadAsFileError: A scan reads a DuckDB database as a file.
    """
    (home,) = connection.execute("SELECT system.main.current_database()").fetchall()[0]
    temporary = temporary_views(connection)
    view_names = [*governed_views(None, text_mentions([query], cursor, temporary), scans, cursor, temporary)]
    return list(dict.fromkeys([*view_names, *governed_scans(function, source_name, scans, cursor, home)]))


def governed_scans(function: str, source_name: str, scans: Iterable[Scan], cursor: Any, home: str) -> Iterator[str]:
    """Yield the names of the tables with a policy among those that the leaves of a plan read.

    Args:
        function: The calling function, for messages.
        source_name: The name of the source, for messages.
        scans: The leaves of the plan.
        cursor: A cursor that sees committed objects.
        home: The database that may have the policy of tables in other systems.

    Raises:
        DatabaseReadAsFileError: A scan reads a DuckDB database as a file.
    """
    for scan in scans:
        if scan.operator in _DATABASE_READERS:
            raise errors.DatabaseReadAsFileError(function, source_name, [scan.operator.lower()])
        if scan.place is not None and scan.place[0] != TEMPORARY:
            if has_policy(scan.place, cursor, home):
                yield ".".join(scan.place)
        elif scan.operator in FOREIGN_SCANS:
            yield from _governed_foreign(FOREIGN_SCANS[scan.operator], scan.table, cursor, home)
        elif scan.operator in _FOREIGN_QUERIES:
            yield from _governed_foreign(_FOREIGN_QUERIES[scan.operator], None, cursor, home)


def _governed_foreign(kind: str, table: str | None, cursor: Any, home: str) -> Iterator[str]:
    """Yield the names of the tables with a policy that a scan of another system may read.

    Args:
        kind: The system: sqlite, postgres or mysql.
        table: The name of the scanned table, as the plan has it. Tables of this name in all attached databases of the
            system are checked, and the tables that views of this name read. None: all tables of the system are checked.
        cursor: A cursor that sees committed objects.
        home: The database that may have the policy of tables in other systems.
    """
    parts = names.scanned_table_parts(table) if table else None
    for database in attached_databases.databases(cursor, kind).values():
        for place in attached_databases.relations(cursor, database, kind):
            if parts is None or names.fold_case(place[2]) == names.fold_case(parts[-1]):
                if has_policy(place, cursor, home):
                    yield ".".join(place)
                if parts is not None:
                    yield from governed_dependencies(place, cursor, home)


def governed_dependencies(place: Place, cursor: Any, home: str) -> Iterator[str]:
    """Yield the tables with a policy that a view or partitioned table of another system reads.

    Nothing is yielded if the system does not report what is read. `place` is database, schema and name of the view or
    table; `home` is the database that may have the policy of tables in other systems.
    """
    for table_read in tables_read(cursor, place, parents=True):
        if has_policy(table_read, cursor, home):
            yield ".".join(table_read)


def governed_views(
    view: Place | None,
    mentions: Mentions | None,
    scans: tuple[Scan, ...] | None,
    cursor: Any,
    temporary: Mapping[str, str],
) -> Iterator[str]:
    """Yield the names of the views of DuckDB databases with a policy of their own that a view or query mentions.

    If DuckDB has no text of a view that is mentioned, views that read one of the tables in `scans` are included.

    Args:
        view: The view itself, which is not yielded; None for a query.
        mentions: The names in it; None to yield nothing.
        scans: The tables that it reads; None if unknown.
        cursor: A cursor that sees committed objects.
        temporary: The temporary views of the caller, which hide stored ones of their names.
    """
    if mentions is None:
        return
    scanned_places = {scan.place for scan in scans or () if scan.place}
    for place in stored_policy.governed_views(cursor):
        if place == view:
            continue
        if names.fold_case(place[2]) in mentions.relations and names.fold_case(place[2]) not in temporary:
            yield ".".join(place)
        elif not mentions.is_complete:
            with cursor.cursor() as binder:
                view_scans = bound_scans(binder, f"FROM {qualified(*place)}")
            if view_scans is None or scanned_places & {scan.place for scan in view_scans if scan.place}:
                yield ".".join(place)


def governed_names(mentions: Mentions, cursor: Any, home: str) -> Iterator[str]:
    """Yield every table and view with a policy whose unqualified name a view mentions, as a name or in a quoted text.

    `home` is the database that may have the policy of tables in other systems.
    """
    literals = (names.table_parts(literal) for literal in mentions.literals)
    mentioned_names = mentions.relations | {names.fold_case(parts[-1]) for parts in literals if parts}
    for (database,) in cursor.execute(
        "SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal"
    ).fetchall():
        for place in catalog.relations(cursor, database):
            if names.fold_case(place[2]) in mentioned_names and has_policy(place, cursor, home):
                yield ".".join(place)


def has_policy(place: Place, cursor: Any, home: str) -> bool:
    """Return whether a table or view, at `place` (database, schema, name), has rows in dbanon.policy.

    For a table in another system, `home` is the current database: its policy is searched, and those of all other
    attached databases.

    Raises:
        DbanonError: As `attached_databases.foreign_source`, for a table in another system.
    """
    table_name = ".".join(place)
    foreign = attached_databases.foreign_source(table_name, cursor, place, home)
    return bool(stored_policy.policy_rows(catalog.Source(table_name, Sql(""), {}, *place, foreign=foreign), cursor))


def tables_read(cursor: Any, place: attached_databases.Place, parents: bool = False) -> list[attached_databases.Place]:
    """Return the tables that a view of another system reads, also through other views, and the partitions of a table.

    Partitions are found in PostgreSQL only, and with `parents` also the tables of which the relation is a partition.
    The relation itself is not included. Empty for DuckDB and SQLite, which do not report this.

    `place` is database, schema and name of the view or table.
    """
    kind = attached_databases.database_kind(cursor, place[0])
    if kind == "postgres":
        return postgres.tables_read(cursor, place, parents)
    return mysql.tables_read(cursor, place) if kind == mysql.KIND else []
