"""Streaming anonymized views: tables to which a stream algorithm appends, and the state from which it continues.

A refresh reads the rows that were added to the source, publishes what is due and keeps the rest, all in one
transaction: a crash leaves state and rows as before. No published row ever changes.
"""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dbanon import errors
from dbanon.algorithms import streams
from dbanon.errors import renamed_names
from dbanon.errors.warnings import DisclosureWarning, warn
from dbanon.ledger import publishing_lock, same_source, streams as stream_ledger, transactions
from dbanon.ledger.composition import overlap
from dbanon.ledger.people import unknown_sources
from dbanon.ledger.streams import TABLES, StreamEntry
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.streams import plan as streams_plan
from dbanon.source.catalog import SearchPath
from dbanon.sqltext.names import fold_case
from dbanon.table_functions.dispatch import make_call
from dbanon.table_functions.registry import table_functions
from dbanon.views import stream_refresh, target
from dbanon.views.stream_refresh import StreamRefreshResult

__all__ = ["StreamRefreshResult", "create_stream", "drop_stream", "exists", "read_appended", "refresh_stream"]


def create_stream(connection: Any, name: str, system: str, source: str, **parameters: Any) -> StreamRefreshResult:
    """Create the tables `name` and `name_classes`, and publish in them those records of `source` that are due.

    A record is due when the stream algorithm has put it into a class or suppressed it; the others stay pending. The
    source is a table of the same database to which rows are only added. They arrive when they are read, those of one
    refresh in the order of `order_by`. Issues DisclosureWarning if the same table has releases or other streams,
    because a stream is not checked against them.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied. It
            must have no open transaction.
        name: The name of the streaming view.
        system: The stream algorithm, such as fads.
        source: The table to read.
        **parameters: Parameters of the table function of the stream algorithm.

    Returns:
        The result of the first refresh.

    Raises:
        UnknownAlgorithmError: There is no such stream algorithm.
        ReleaseExistsError: A table or streaming view has the name.
        StreamRefusedError: A release of the same table was published with `composition = 'refuse'`.

    Also raises the errors of a call of the table function.

    Examples:
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE visits AS SELECT range AS visit, 20 + range % 3 AS age FROM range(8)")
        >>> dbanon.create_stream(con, "safe", "fads", "visits", k=2, delta=4, order_by=["visit"], qi=["age"]).read
        8
    """
    transactions.check_no_transaction("create_stream", connection)
    call_parameters = json.loads(json.dumps(parameters, default=str))
    known_systems = sorted({f.stream_algorithm for f in table_functions().values() if f.stream_algorithm})
    if system not in known_systems:
        raise errors.UnknownAlgorithmError(system, known_systems)
    with target.open_session(connection) as (current_session, cursor, location):
        call = make_call(current_session, cursor, system, {"tbl": source}, call_parameters, location)
        place = target.release_place("create_stream", name, call.source(), location, cursor)
        # Before planning: a table of the policy that is new is a change.
        with publishing_lock.publishing_turn(current_session, "create_stream", name, place[0]):
            spec = streams_plan.resolve_stream_spec(call, streams.find(system))
            _check_source(name, spec)
            target.check_writable(cursor, "create_stream", place[0])
            if stream_ledger.active_stream(cursor, place) is not None:  # also where its tables were dropped by hand
                raise errors.ReleaseExistsError("create_stream", name, [f"the streaming view {name}"], False, True)
            if existing_names := target.existing_tables(cursor, place, TABLES):
                raise errors.ReleaseExistsError("create_stream", name, existing_names, False)
            stored_name = target.stored_source_name(spec.source, source)
            stream_entry = StreamEntry(
                *place,
                status="active",
                source=stored_name,
                system=system,
                statement=target.call_statement(system, stored_name, call_parameters),
                call={
                    "function": system,
                    "source": stored_name,
                    "schema": spec.source.schema,
                    "parameters": call_parameters,
                    "defaults": stream_ledger.DEFAULTS,
                },
                roles=plan.role_by_column(spec),
                policy_fingerprint=spec.policy.stored_fingerprint,
                hierarchy_fingerprint=resolve.hierarchy_fingerprint(spec, cursor),
                bases=same_source.bases(spec.source, cursor),
            )
            overlap.refuse_overlapping(cursor, stream_entry)
            _check_other_publications(cursor, stream_entry)
            with transactions.transaction(cursor, "create_stream", name, [spec]):
                stream_ledger.insert_stream(cursor, stream_entry)
                return stream_refresh.create_tables(cursor, stream_entry, spec, call.options)


@renamed_names.with_renamed_options("pruned")
def refresh_stream(
    connection: Any, name: str, *, flush: bool = False, allow_deleted_rows: bool = False
) -> StreamRefreshResult:
    """Read the rows that were added to the source of a streaming view, and publish the records that are due.

    A record is due when the stream algorithm has put it into a class or suppressed it; the others stay pending.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied. It
            must have no open transaction.
        name: The name of the streaming view.
        flush: Publish or suppress all pending records, as at the end of the stream.
        allow_deleted_rows: Accept that rows that are no longer pending were deleted from the source. New rows are those
            whose `order_by` is after that of all rows read before, since DuckDB gives the row ids of deleted rows to
            later ones.

    Returns:
        The numbers of records that were read, published and suppressed, and that are pending now.

    Raises:
        UnknownStreamError: There is no such streaming view.
        SourceNotAppendOnlyError: Rows that were read are missing or changed.
        PrunedWithoutOrderError: Rows were deleted, and `order_by` does not identify those that were read.
        StreamRolesChangedError: Columns have other roles now.
        HierarchyNodeRemovedError: A hierarchy lost a node that the stream uses.

    If it raises an error, the view, the pending records and the ledger stay as they were.

    Examples:
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE visits AS SELECT range AS visit, 20 + range % 3 AS age FROM range(8)")
        >>> _ = dbanon.create_stream(con, "safe", "fads", "visits", k=2, delta=4, order_by=["visit"], qi=["age"])
        >>> _ = con.execute("INSERT INTO visits VALUES (8, 21), (9, 22)")
        >>> dbanon.refresh_stream(con, "safe").read
        2
    """
    return _refresh(connection, name, flush=flush, allow_deleted_rows=allow_deleted_rows, is_kept=True)


def read_appended(connection: Any, name: str, *, flush: bool = False) -> StreamRefreshResult:
    """Refresh a streaming view all of whose source rows are unread, and return the result.

    For pipes, which delete rows from source and view once they are read: all rows of the source are read, and earlier
    rows are not looked for. With `flush`, all pending records are published or suppressed.
    """
    return _refresh(connection, name, flush=flush, allow_deleted_rows=False, is_kept=False)


def _refresh(
    connection: Any, name: str, *, flush: bool, allow_deleted_rows: bool, is_kept: bool
) -> StreamRefreshResult:
    """Read new rows of the source of a streaming view in one transaction, publish records that are due; return counts.

    See `refresh_stream` for the errors.

    Args:
        connection: The connection, without an open transaction.
        name: The name of the streaming view.
        flush: Publish or suppress all pending records.
        allow_deleted_rows: Accept that rows that are no longer pending were deleted from the source.
        is_kept: Whether rows that were read are still in the source. If not, all rows of the source are new.
    """
    transactions.check_no_transaction("refresh_stream", connection)
    with target.open_session(connection) as (current, cursor, location):
        path = SearchPath.from_setting(*location)
        entry = stream_ledger.find_active_stream("refresh_stream", name, cursor, path)
        target.check_writable(cursor, "refresh_stream", entry.database)
        with (
            publishing_lock.publishing_turn(current, "refresh_stream", name, entry.database),
            transactions.transaction(cursor, "refresh_stream", name),
        ):
            entry = stream_ledger.find_active_stream("refresh_stream", name, cursor, path)
            cursor.execute(f"UPDATE {entry.ledger} SET refreshes = refreshes + 1 WHERE {entry.row}")
            (stream_entry,) = stream_ledger.entries(cursor, entry.database, entry.row)
            call = make_call(
                current,
                cursor,
                stream_entry.call["function"],
                {"tbl": stream_entry.call["source"]},
                stream_entry.parameters,
                (stream_entry.database, stream_entry.call["schema"], ""),
            )
            spec = streams_plan.resolve_stream_spec(call, streams.find(stream_entry.system))
            _check_roles(stream_entry, plan.role_by_column(spec))
            if is_kept:
                unread = stream_refresh.unread_rows(cursor, stream_entry, spec, allow_deleted_rows=allow_deleted_rows)
            else:
                stream_entry = replace(stream_entry, mark=None)
                unread = stream_refresh.UnreadRows.after_row(-1)
            return stream_refresh.read_new_rows(
                cursor,
                stream_entry,
                spec,
                call.options,
                unread,
                flush=flush,
                allow_deleted_rows=allow_deleted_rows,
                is_kept=is_kept,
            )


def drop_stream(connection: Any, name: str, *, if_exists: bool = False) -> None:
    """Drop the tables of a streaming view and its pending records.

    The ledger keeps a row with the status "dropped".

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied. It
            must have no open transaction.
        name: The name of the streaming view.
        if_exists: Do nothing if there is no such streaming view.

    Raises:
        UnknownStreamError: There is none, and `if_exists` is false.

    Examples:
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE visits AS SELECT range AS visit, 20 + range % 3 AS age FROM range(8)")
        >>> _ = dbanon.create_stream(con, "safe", "fads", "visits", k=2, delta=4, order_by=["visit"], qi=["age"])
        >>> dbanon.drop_stream(con, "safe")
        >>> con.sql("SELECT table_name FROM duckdb_tables() WHERE NOT starts_with(schema_name, 'dbanon')").fetchall()
        [('visits',)]
    """
    transactions.check_no_transaction("drop_stream", connection)
    ignored_errors = (errors.UnknownStreamError,) if if_exists else ()
    with target.open_session(connection) as (current, cursor, location), contextlib.suppress(*ignored_errors):
        path = SearchPath.from_setting(*location)
        database = stream_ledger.find_active_stream("drop_stream", name, cursor, path).database
        with publishing_lock.publishing_turn(current, "drop_stream", name, database):
            stream_entry = stream_ledger.find_active_stream("drop_stream", name, cursor, path)
            target.check_writable(cursor, "drop_stream", stream_entry.database)
            with transactions.transaction(cursor, "drop_stream", name):
                for table in (*(stream_entry.table(ending) for ending in TABLES), stream_entry.pending_table):
                    cursor.execute(f"DROP TABLE IF EXISTS {table}")
                stream_ledger.update_stream(cursor, stream_entry, {"state": None, "status": "dropped"})


def exists(connection: Any, name: str) -> bool:
    """Return whether a database on the search path has a streaming view of this name that was not dropped."""
    with target.open_session(connection) as (_, cursor, location):
        return stream_ledger.lookup_active_stream(cursor, name, SearchPath.from_setting(*location)) is not None


def _check_source(name: str, spec: ReleaseSpec) -> None:
    """Check that the source of a stream is a table, and that it publishes no column unchanged without `allow_rare`.

    Args:
        name: The name of the streaming view, for messages.
        spec: The release spec of its call.

    Raises:
        StreamSourceNotATableError: The source is no table of a DuckDB database, or has a column named rowid.
        CannotCheckRareValuesError: A column would be published unchanged and is not in `allow_rare`.
    """
    source = spec.source
    reason = "is not a table of a DuckDB database" if not source.is_table else "has a column of the name rowid"
    if not source.is_table or source.spelled("rowid") is not None:
        raise errors.StreamSourceNotATableError(name, source.shown, reason)
    allow_rare = {fold_case(c) for c in spec.options.columns("allow_rare")}
    if rare := [c for c in spec.roles.insensitive if fold_case(c) not in allow_rare]:
        raise errors.CannotCheckRareValuesError(name, source.shown, rare)


def _check_roles(entry: StreamEntry, current_roles: Mapping[str, str]) -> None:
    """Check that all columns have the roles with which the stream was created.

    Args:
        entry: The streaming view in the ledger.
        current_roles: The roles of its call now, by column.

    Raises:
        StreamRolesChangedError: A column has another role, is missing, or is new and not withheld.
    """
    roles = {column: current_roles.get(column, "not there") for column in entry.roles}
    changes = [f"{c} was {was} and is {roles[c]}" for c, was in entry.roles.items() if roles[c] != was]
    changes += [f"{c} is {role}" for c, role in current_roles.items() if c not in entry.roles and role != "withheld"]
    if changes:
        raise errors.StreamRolesChangedError(entry.display_name, changes)


def _check_other_publications(cursor: Any, entry: StreamEntry) -> None:
    """Warn of the releases and other streams that published the tables that a stream reads.

    Issues DisclosureWarning if there are any, and for releases of which it is unknown whether they read the same
    tables.

    Raises:
        StreamRefusedError: A release of the same tables has composition = 'refuse'.
    """
    bases = same_source.comparable_bases(entry)
    releases = same_source.releases_of_bases(bases, cursor)
    if refusing := [e.version_name for e in releases if e.composition_rule == "refuse"]:
        raise errors.StreamRefusedError(entry.display_name, refusing)
    others = [
        *(e.version_name for e in releases),
        *(e.display_name for e in same_source.streams_of_bases(bases, cursor)),
    ]
    if others:
        warn(
            f"{entry.display_name}: {', '.join(dict.fromkeys(others))} published the same table. Classes of a stream "
            "are not checked against others, so a reader who has both can intersect them.",
            DisclosureWarning,
        )
    unknown_sources.warn_of_unknown(entry, unknown_sources.unknown_relations(cursor, entry, "warn"))
