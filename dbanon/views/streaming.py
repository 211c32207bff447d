"""Streaming anonymized views: tables that grow by what leaves a stream, and the state that it goes on from.

A refresh reads the rows that were added to the source, publishes what is due and keeps the rest, all in one
transaction: a crash leaves the state of before with the rows of before. No published row ever changes.
"""

import contextlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dbanon import errors
from dbanon.algorithms import streams
from dbanon.errors.warnings import DisclosureWarning, warn
from dbanon.ledger import publishing_lock, same_source, streams as stream_ledger, transactions
from dbanon.ledger.composition import overlap
from dbanon.ledger.people import unknown_sources
from dbanon.ledger.streams import TABLES, StreamEntry
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.streams import plan as streams_plan
from dbanon.runtime import session
from dbanon.source.catalog import SearchPath
from dbanon.sqltext.quote import argument, identifier, text
from dbanon.table_functions.dispatch import make_call
from dbanon.table_functions.registry import table_functions
from dbanon.views import stream_refresh, target
from dbanon.views.stream_refresh import StreamRefreshResult

__all__ = ["StreamRefreshResult", "create_stream", "drop_stream", "exists", "read_on", "refresh_stream"]


def create_stream(connection: Any, name: str, system: str, source: str, **parameters: Any) -> StreamRefreshResult:
    """Make the tables `name` and `name_classes` and publish in them what is due of the rows that `source` has.

    `system` and the parameters are those of the table function, such as fads. The source is a table of the same
    database, to which rows are added only: they arrive when they are read, those of one refresh in the order of
    `order_by`. DisclosureWarning where the same table has releases or other streams: a stream is not held against them.
    What is committed counts: an open transaction of the connection is refused.
    """
    transactions.check_no_transaction("create_stream", connection)
    given = json.loads(json.dumps(parameters, default=str))
    known = sorted({f.system for f in table_functions().values() if f.system})
    if system not in known:
        raise errors.UnknownAlgorithmError(system, known)
    current = session.find_session(getattr(connection, "raw", connection))
    with current.cursor() as cursor:
        here = target.current(connection)
        call = make_call(current, cursor, system, {"tbl": source}, given, here)
        at = target.target("create_stream", name, call.source(), here, cursor)
        # Before planning: a table of the policy that is new is a change.
        with publishing_lock.publishing_turn(current, "create_stream", name, at[0]):
            publication = streams_plan.prepared(call, streams.find(system))
            _check_growing(name, publication)
            target.check_writable(cursor, "create_stream", at[0])
            if stream_ledger.active_stream(cursor, at) is not None:  # also where its tables were dropped by hand
                raise errors.ReleaseExistsError("create_stream", name, [f"the streaming view {name}"], False, True)
            if taken := target.taken(cursor, at, TABLES):
                raise errors.ReleaseExistsError("create_stream", name, taken, False)
            arguments = "".join(f", {identifier(n)} := {argument(v)}" for n, v in given.items())
            kept = target.durable(publication.source, source)
            grows = StreamEntry(
                *at,
                status="grows",
                source=kept,
                system=system,
                statement=f"SELECT * FROM {identifier(system)}({text(kept)}{arguments})",
                call={"function": system, "source": kept, "schema": publication.source.schema, "parameters": given},
                roles=plan.roles(publication),
                policy_fingerprint=publication.policy.fingerprint,
                hierarchy_fingerprint=resolve.hierarchy_fingerprint(publication, cursor),
                bases=same_source.bases(publication.source, cursor),
            )
            overlap.refuse_overlapping(cursor, grows)
            _warn_of_others(cursor, grows)
            with transactions.transaction(cursor, "create_stream", name, [publication]):
                stream_ledger.insert_stream(cursor, grows)
                return stream_refresh.first(cursor, grows, publication, call.options)


def refresh_stream(connection: Any, name: str, *, flush: bool = False, pruned: bool = False) -> StreamRefreshResult:
    """Read what was added to the source of a streaming view and publish what is due.

    Args:
        connection: The connection.
        name: The name of the streaming view.
        flush: Publish or suppress all pending records, as at the end of the stream.
        pruned: Rows that have left were deleted from the source on purpose. New rows are those whose `order_by` is
            after that of all rows read before, since DuckDB gives the row ids of deleted rows to later ones.

    Returns:
        What the refresh did.

    Raises:
        SourceNotAppendOnlyError: Rows that were read are missing or changed.
        PrunedWithoutOrderError: Rows were deleted, and `order_by` does not identify those that were read.
        StreamRolesChangedError: Columns have other roles now.
        HierarchyNodeRemovedError: A hierarchy lost a node that the stream uses.

    Whatever it raises, the view, the pending records and the ledger stay as they were.
    """
    return _refreshed(connection, name, flush=flush, pruned=pruned, is_kept=True)


def read_on(connection: Any, name: str, *, flush: bool = False) -> StreamRefreshResult:
    """Return the same where the source holds nothing but what came since, as what was read is deleted there."""
    return _refreshed(connection, name, flush=flush, pruned=False, is_kept=False)


def _refreshed(connection: Any, name: str, *, flush: bool, pruned: bool, is_kept: bool) -> StreamRefreshResult:
    transactions.check_no_transaction("refresh_stream", connection)
    current = session.find_session(getattr(connection, "raw", connection))
    with current.cursor() as cursor:
        path = SearchPath.of(*target.current(connection))
        found = stream_ledger.find_active_stream("refresh_stream", name, cursor, path)
        target.check_writable(cursor, "refresh_stream", found.database)
        with (
            publishing_lock.publishing_turn(current, "refresh_stream", name, found.database),
            transactions.transaction(cursor, "refresh_stream", name),
        ):
            found = stream_ledger.find_active_stream("refresh_stream", name, cursor, path)
            cursor.execute(f"UPDATE {found.ledger} SET refreshes = refreshes + 1 WHERE {found.row}")
            (grows,) = stream_ledger.entries(cursor, found.database, found.row)
            call = make_call(
                current,
                cursor,
                grows.call["function"],
                {"tbl": grows.call["source"]},
                grows.call["parameters"],
                (grows.database, grows.call["schema"], ""),
            )
            publication = streams_plan.prepared(call, streams.find(grows.system))
            _check_roles(grows, plan.roles(publication))
            if is_kept:
                unread = stream_refresh.unread_rows(cursor, grows, publication, pruned=pruned)
            else:
                grows = replace(grows, mark=None)
                unread = stream_refresh.Unread.after_row(-1)
            return stream_refresh.following(
                cursor, grows, publication, call.options, unread, flush=flush, pruned=pruned, is_kept=is_kept
            )


def drop_stream(connection: Any, name: str, *, if_exists: bool = False) -> None:
    """Drop the tables of a streaming view and all that waits. The ledger keeps that there was one."""
    transactions.check_no_transaction("drop_stream", connection)
    current = session.find_session(getattr(connection, "raw", connection))
    with current.cursor() as cursor:
        path = SearchPath.of(*target.current(connection))
        try:
            with publishing_lock.publishing_turn(
                current,
                "drop_stream",
                name,
                stream_ledger.find_active_stream("drop_stream", name, cursor, path).database,
            ):
                grows = stream_ledger.find_active_stream("drop_stream", name, cursor, path)
                target.check_writable(cursor, "drop_stream", grows.database)
                with transactions.transaction(cursor, "drop_stream", name):
                    for table in (*(grows.table(ending) for ending in TABLES), grows.waits):
                        cursor.execute(f"DROP TABLE IF EXISTS {table}")
                    stream_ledger.update_stream(cursor, grows, {"state": None, "status": "dropped"})
        except errors.UnknownStreamError:
            if not if_exists:
                raise


def exists(connection: Any, name: str) -> bool:
    """Return whether a streaming view has the name."""
    current = session.find_session(getattr(connection, "raw", connection))
    with current.cursor() as cursor, contextlib.suppress(errors.UnknownStreamError):
        stream_ledger.find_active_stream("create_stream", name, cursor, SearchPath.of(*target.current(connection)))
        return True
    return False


def _check_growing(name: str, publication: ReleaseSpec) -> None:
    """StreamSourceNotATableError, CannotCheckRareValuesError."""
    source = publication.source
    why = "is no table of a DuckDB database" if not source.is_table else "has a column of the name rowid"
    if not source.is_table or source.spelled("rowid") is not None:
        raise errors.StreamSourceNotATableError(name, source.shown, why)
    allowed = {c.lower() for c in publication.options.columns("allow_rare")}
    if rare := [c for c in publication.roles.other if c.lower() not in allowed]:
        raise errors.CannotCheckRareValuesError(name, source.shown, rare)


def _check_roles(grows: StreamEntry, now: Mapping[str, str]) -> None:
    """StreamRolesChangedError."""
    roles = {column: now.get(column, "not there") for column in grows.roles}
    changed = [f"{c} was {was} and is {roles[c]}" for c, was in grows.roles.items() if roles[c] != was]
    changed += [f"{c} is {role}" for c, role in now.items() if c not in grows.roles and role != "withheld"]
    if changed:
        raise errors.StreamRolesChangedError(grows.shown, changed)


def _warn_of_others(cursor: Any, grows: StreamEntry) -> None:
    """Warn where the same tables were published otherwise.

    Raises:
        StreamRefusedError: They were published with composition = 'refuse'.
    """
    bases = same_source.comparable_bases(grows)
    releases = same_source.releases_of_bases(bases, cursor)
    if refusing := [e.named for e in releases if e.composition_rule == "refuse"]:
        raise errors.StreamRefusedError(grows.shown, refusing)
    others = [*(e.named for e in releases), *(e.shown for e in same_source.streams_of_bases(bases, cursor))]
    if others:
        warn(
            f"{grows.shown}: {', '.join(dict.fromkeys(others))} published the same table. Classes of a stream are not "
            "held against others: who has both can intersect them.",
            DisclosureWarning,
        )
    unknown_sources.warn_of_unknown(grows, unknown_sources.unknown_relations(cursor, grows, "warn"))
