"""Materialized anonymized views: tables with a definition, a ledger row and a membership, created atomically.

DuckDB's transactions do the work: readers see the old version or the new one, and a crash leaves one of them.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace as replace_
from typing import Any

import duckdb

from dbanon import errors
from dbanon.ledger import (
    deliveries,
    publishing_lock,
    related_releases,
    release_status,
    releases,
    same_source,
    transactions,
)
from dbanon.ledger.people import disjoint_sources, rehash
from dbanon.ledger.releases import TABLES, LedgerEntry
from dbanon.publishing import postgres_delivery
from dbanon.release import search_budget
from dbanon.release.plan import plan
from dbanon.release.spec import related_parameters as several, resolve, transformed_columns
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.runtime import session
from dbanon.runtime.progress import report_progress
from dbanon.source import catalog
from dbanon.source.canonical_text import FORMAT
from dbanon.sqltext.quote import argument, identifier, qualified, text
from dbanon.table_functions.dispatch import make_call
from dbanon.table_functions.registry import check_algorithm
from dbanon.views import deferred_records, erasure, pre_release_review, related_release, target as release_target
from dbanon.views.build_version import INTERRUPTED, Release, create_version, current_release
from dbanon.views.compare_version import OLD_SUFFIX, VersionOptions

REFRESH_MODES = ("keep", "hold", "recluster")
"""How a refresh treats published and new records."""


def create_release(
    connection: Any,
    name: str,
    algorithm: str,
    source: str,
    *,
    key: str | Sequence[str] | None = None,
    composition: str = "warn",
    allow_delta: bool = False,
    replace: bool = False,
    disjoint_from: str | Sequence[str] = (),
    progress: Callable[[float, float], None] | None = None,
    **parameters: Any,
) -> Release:
    """Make the tables `name`, `name_classes` and `name_metrics`, with a row in `dbanon.release`.

    `algorithm` and the parameters are those of the table function; `key` names columns that tell people apart where
    no column has the role person and the source has no primary key. Where people of this release are in other
    releases of the same source such that both together narrow them below k (or l), `composition="warn"` warns with
    DisclosureWarning, "refuse" raises CompositionRefusedError. `replace` makes the next version of a release with
    another definition. With `improve="5s"` classes are improved for that time (Ctrl-C takes the best so far) and the
    ledger has the moves that were made; `progress` is called with the shares of the search that is done and of the loss
    that is gone. The release stands in the database of its source, under a `name` in PostgreSQL also there once it is
    in the ledger (DeliveryFailedError). With `entity` or `children`, whose `key` it takes, it makes all tables of such
    a release, once. `disjoint_from` names releases, or tables, that are about other people: nothing is compared with
    these, and the ledger keeps the declaration. What is committed counts: an open transaction of the connection is
    refused.
    """
    transactions.check_no_transaction("materialize", connection)
    release_target.check_choice("materialize", "composition", composition, ("warn", "refuse"))
    if several.has_related_tables(parameters):
        given = parameters if key is None else {**parameters, "key": key}
        return related_release.create_related_release(
            connection, name, algorithm, source, given, allow_delta, composition
        )
    given = json.loads(json.dumps(parameters, default=str))
    check_algorithm("materialize", algorithm)
    with _release_session("materialize", connection) as (current, cursor, later), report_progress(current, progress):
        here = release_target.current_location(connection)
        name, there = deliveries.local_name_and_target(name, cursor, here[0])
        call = make_call(
            current, cursor, algorithm, {"tbl": source}, search_budget.replace_time_limit("materialize", given), here
        )
        target = release_target.release_place("materialize", name, call.source(), here, cursor)
        # Before planning: a policy table that is new is a change.
        with publishing_lock.publishing_turn(current, "materialize", name, target[0]):
            spec = resolve.resolve_spec(call, (target[1], target[2]))
            _check_keepable(cursor, spec, target[0])
            columns = _key_columns(spec, key) or resolve.unique_key(spec, cursor)
            rehash.rehash(current, cursor, target[0])
            earlier = releases.entries(cursor, target[0], "schema_name = ? AND lower(name) = lower(?)", target[1:])
            published = [e for e in earlier if e.status == "published"]
            to = later.toward(target, there, is_new=not published, replace=replace)
            if (taken := release_target.existing_tables(cursor, target, TABLES)) and not (replace and published):
                raise errors.ReleaseExistsError("materialize", name, taken, bool(published))
            if not earlier and current.on_review is not None:
                current.on_review(pre_release_review.review_lines(call, spec, name))
            spec, given = search_budget.count_timed_moves("materialize", current, cursor, spec, given)
            version, how = max((e.version for e in earlier), default=0) + 1, "recluster" if published else "first"
            entry = _entry(target, _definition(algorithm, spec, source, given), spec, columns, version, how, cursor)
            entry = replace_(
                entry, disjoint_from=disjoint_sources.disjoint_names(cursor, entry, disjoint_from, earlier)
            )
            making = VersionOptions("materialize", allow_delta, composition, to=to)
            if not published:
                return _create_first(cursor, entry, spec, name, making)
            return _create_next(
                cursor, entry, _without_withheld(cursor, entry, spec, published[-1]), published[-1], making
            )


def _check_keepable(cursor: Any, spec: ReleaseSpec, database: str) -> None:
    """Check that a release can be stored.

    Raises:
        NoiseNotMaterializableError: It would be published with noise.
        ReadOnlyDatabaseError: The ledger cannot be written.
    """
    if spec.run.noise is not None:
        raise errors.NoiseNotMaterializableError("materialize", spec.run.noise.asked, spec.function)
    release_target.check_writable(cursor, "materialize", database)


def _definition(algorithm: str, spec: ReleaseSpec, source: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the call of a release as the ledger stores it."""
    kept, schema = release_target.stored_source_name(spec.source, source), release_target.source_schema(spec.source)
    return {"function": algorithm, "source": kept, "schema": schema, "parameters": given}


def refresh_release(
    connection: Any,
    name: str,
    *,
    refresh: str = "keep",
    allow_delta: bool = False,
    composition: str = "warn",
    if_stale: bool = False,
    erase: bool = False,
) -> Release:
    """Make the next version of a release from its source as it is now; readers see the old one until it is whole.

    `refresh="keep"` leaves published records in their classes and clusters only those that came; "recluster" clusters
    all anew, and a reader of both versions can intersect their classes. Rows that a class gains or loses between the
    versions must be none or meet the model by themselves, else SmallDifferencesRefusedError is raised and the old
    version stays; `allow_delta` publishes them anyway, and the ledger says so. Where classes cannot be kept,
    CannotKeepClassesError says why; nothing but `refresh="recluster"` clusters anew. "hold" keeps classes too, and
    those that came wait where they are too few, or miss the model, until a later refresh has enough of them; the ledger
    counts them. Where that is all, the version that is there stays the published one. `if_stale` makes no new version
    where source, policy and hierarchies are as they were (see `release_status`), and gives the one that is there.

    `erase` honours an erasure that would be refused, in one statement: classes that somebody left go whole, who is
    left of them stays out until the versions that show them are forgotten, and nobody new comes; the next refresh takes
    those. DisclosureWarning says how many are held back and what readers of earlier versions can still tell apart.
    """
    transactions.check_no_transaction("refresh", connection)
    release_target.check_choice("refresh", "refresh", refresh, REFRESH_MODES)
    release_target.check_choice("refresh", "composition", composition, ("warn", "refuse"))
    with _release_session("refresh", connection) as (current, cursor, later):
        here = release_target.current_location(connection)
        path = catalog.SearchPath.of(*here)
        database = releases.find_published("refresh", name, cursor, path).database
        with publishing_lock.publishing_turn(current, "refresh", name, database):
            release_target.check_writable(cursor, "refresh", database)
            rehash.rehash(current, cursor, database)
            old = releases.find_published("refresh", name, cursor, path)
            to = later.known((old.database, old.schema, old.name), deliveries.target_alias(name, cursor, here[0]))
            publication = releases.current_spec(old, current, cursor)
            if if_stale and release_status.is_fresh(old, publication, cursor):
                return current_release(cursor, old, with_deferred=refresh == "hold")
            return _refresh(
                cursor,
                old,
                publication,
                refresh,
                VersionOptions("refresh", allow_delta, composition, erase=erase, to=to),
            )


def _refresh(cursor: Any, old: LedgerEntry, publication: ReleaseSpec, how: str, making: VersionOptions) -> Release:
    """Create the next version of a release from the spec of its source as it is now."""
    entry = _entry(
        (old.database, old.schema, old.name), old.call, publication, old.person_key, old.version + 1, how, cursor
    )
    entry = replace_(entry, disjoint_from=old.disjoint_from)
    if entry.keeps or making.erase:
        release_status.check_roles(old, publication)
    publication = resolve.with_person_key(publication, old.person_key).continued(
        held=release_status.withheld_records(old, cursor)
    )
    if entry.keeps:
        publication = publication.continued(keep=old.settled)
    if making.erase:
        publication = erasure.without_erased(old, publication, cursor)
        if not cursor.execute(f"SELECT 1 FROM {publication.continuity.only} LIMIT 1").fetchall():
            raise errors.ErasureEmptiesReleaseError(old.shown)
        publication = publication if entry.keeps else publication.continued(keep=None)
    if how != "hold" or making.erase:
        return _create_next(cursor, entry, publication, old, making)
    for group in deferred_records.DEFERRED_GROUPS[:-1]:
        with contextlib.suppress(*_DEFERRABLE_ERRORS, _NothingNewError):
            return _create_next(cursor, entry, publication, old, replace_(making, wait=group))
    return _create_next(cursor, entry, publication, old, replace_(making, wait=deferred_records.DEFERRED_GROUPS[-1]))


@contextlib.contextmanager
def _release_session(
    function: str, connection: Any
) -> Iterator[tuple[session.Session, Any, postgres_delivery.PendingDelivery]]:
    """Yield the session of a connection, a cursor, and the delivery that is due at the end."""
    current = session.find_session(getattr(connection, "raw", connection))
    with current.cursor() as cursor, postgres_delivery.deliver_afterwards(function, current, cursor) as later:
        yield current, cursor, later


def _create_first(
    cursor: Any, entry: LedgerEntry, publication: ReleaseSpec, name: str, making: VersionOptions
) -> Release:
    """Create the first version, or the first since the release was dropped; `name` is its name in messages."""
    with transactions.transaction(cursor, making.function, name, [publication]):
        if release_target.existing_tables(cursor, (entry.database, entry.schema, entry.name), TABLES):
            raise errors.LedgerBusyError(making.function, name, "its tables were made meanwhile")
        return create_version(cursor, entry, publication, making)


def _without_withheld(cursor: Any, entry: LedgerEntry, publication: ReleaseSpec, old: LedgerEntry) -> ReleaseSpec:
    """Return the spec without records withheld after an erasure, if they can be identified."""
    if old.person_key != entry.person_key:
        return publication
    return resolve.with_person_key(publication, entry.person_key).continued(
        held=release_status.withheld_records(old, cursor)
    )


_DEFERRABLE_ERRORS = (
    errors.CannotKeepClassesError,
    errors.SmallDifferencesRefusedError,
    errors.CompositionRefusedError,
    errors.LinkedVersionsNotAnonymousError,
)
"""Errors that deferring new records can avoid."""


class _NothingNewError(Exception):
    """No record would remain to be published."""


def _create_next(
    cursor: Any, entry: LedgerEntry, publication: ReleaseSpec, old: LedgerEntry, making: VersionOptions
) -> Release:
    """Create the next version in place of the old one, in one transaction."""
    function, making = making.function, replace_(making, old=old)
    with transactions.transaction(cursor, function, old.shown, [publication]):
        _check_published(cursor, function, old)
        if entry.how == "hold":
            with _refused_as_cannot_keep(entry, old):
                publication = deferred_records.defer_records(cursor, entry, old, publication, making.wait)
            if release_status.is_fresh(old, publication, cursor, old.known):
                if making.wait in ("back", "new"):  # the others may go out
                    raise _NothingNewError
                return current_release(
                    cursor, deferred_records.move_to_old_version(cursor, entry, old), with_deferred=True
                )
        n_small_differences = 0
        if entry.keeps and not making.erase:
            n_small_differences = len(
                {row[1] for row in cursor.execute(release_status.pending_differences(old, publication)).fetchall()}
            )
            if n_small_differences and not making.allow_delta:
                raise errors.SmallDifferencesRefusedError(
                    function, old.shown, n_small_differences, [f"version {old.version}"]
                )
        for ending in TABLES:
            cursor.execute(f"ALTER TABLE {old.table(ending)} RENAME TO {identifier(old.name + ending + OLD_SUFFIX)}")
        _set_status(cursor, old, "replaced")
        with _refused_as_cannot_keep(entry, old):
            result = create_version(cursor, entry, publication, making, n_small_differences)
        deferred_records.delete_deferred(cursor, old)
        for ending in TABLES:
            cursor.execute(f"DROP TABLE {qualified(old.database, old.schema, old.name + ending + OLD_SUFFIX)}")
        return result


@contextlib.contextmanager
def _refused_as_cannot_keep(entry: LedgerEntry, old: LedgerEntry) -> Iterator[None]:
    """Raise CannotKeepClassesError if a statement of a version that keeps classes refuses it."""
    try:
        yield
    except duckdb.InvalidInputException as error:
        if entry.keeps and not INTERRUPTED.search(str(error)):
            raise errors.CannotKeepClassesError(old.shown, _reason(error)) from None
        raise


def drop_release(connection: Any, name: str, *, if_exists: bool = False) -> None:
    """Drop the tables of a release, and first those in PostgreSQL that show it.

    The ledger keeps its versions until `forget_release`.
    """
    transactions.check_no_transaction("drop", connection)
    current = session.find_session(getattr(connection, "raw", connection))
    with current.cursor() as cursor:
        here = release_target.current_location(connection)
        try:
            with publishing_lock.publishing_turn(current, "drop", name, _release_database("drop", name, cursor, here)):
                _drop(cursor, name, here)
        except errors.UnknownReleaseError:
            if not if_exists:
                raise


def _release_database(function: str, name: str, cursor: Any, here: Sequence[str]) -> str:
    """Return the database of a release, of one table or of related ones.

    Raises:
        UnknownReleaseError: There is no such release.
    """
    path = catalog.SearchPath.of(*here)
    tables = related_releases.find_related_release(cursor, name, path)
    return tables.database if tables is not None else releases.find_release(function, name, cursor, path).database


def _drop(cursor: Any, name: str, here: Sequence[str]) -> None:
    path = catalog.SearchPath.of(*here)
    tables = related_releases.find_related_release(cursor, name, path)
    if tables is not None and tables.status == "published":
        related_release.drop(cursor, tables)
        return
    old = releases.find_published("drop", name, cursor, path)
    release_target.check_writable(cursor, "drop", old.database)
    alias = deliveries.target_alias(name, cursor, here[0])
    with postgres_delivery.drop_copy_after("drop", cursor, old, alias), transactions.transaction(cursor, "drop", name):
        _check_published(cursor, "drop", old)
        deliveries.forget_target(cursor, (old.database, old.schema, old.name))
        for ending in TABLES:
            cursor.execute(f"DROP TABLE IF EXISTS {old.table(ending)}")
        _set_status(cursor, old, "dropped")


def forget_release(connection: Any, name: str, version: int | None = None) -> int:
    """Delete versions of a release (default: all but the published one) from ledger and membership; how many.

    What is forgotten can no longer be held against later releases, though readers may still have it. A published
    version cannot be forgotten: drop it first.
    """
    transactions.check_no_transaction("forget_release", connection)
    current = session.find_session(getattr(connection, "raw", connection))
    with current.cursor() as cursor:
        path = catalog.SearchPath.of(*release_target.current_location(connection))
        with publishing_lock.publishing_turn(
            current,
            "forget_release",
            name,
            _release_database("forget_release", name, cursor, release_target.current_location(connection)),
        ):
            return _forget(cursor, name, version, path)


def _forget(cursor: Any, name: str, version: int | None, path: catalog.SearchPath) -> int:
    tables = related_releases.find_related_release(cursor, name, path)
    if tables is not None and tables.status == "dropped":
        related_release.forget(cursor, tables)
        return 1
    last = releases.find_release("forget_release", name, cursor, path)
    versions = releases.entries(
        cursor, last.database, "schema_name = ? AND lower(name) = lower(?)", [last.schema, last.name]
    )
    forgotten = [e for e in versions if e.status != "published" and version in (None, e.version)]
    if version is not None and not forgotten:
        raise errors.UnknownVersionError(last.shown, version, [(e.version, e.status) for e in versions])
    release_target.check_writable(cursor, "forget_release", last.database)
    with transactions.transaction(cursor, "forget_release", name):
        for entry in forgotten:
            key = [entry.schema, entry.name, entry.version]
            for table, column in (("release", "name"), ("membership", "release")):
                cursor.execute(
                    f"DELETE FROM {qualified(entry.database, catalog.SCHEMA, table)} "
                    f"WHERE (schema_name, {column}, version) = (?, ?, ?)",
                    key,
                )
    return len(forgotten)


# --- names and transactions ----------------------------------------------------------------------------------


def _entry(
    target: tuple[str, str, str],
    call: Mapping[str, Any],
    publication: ReleaseSpec,
    key: tuple[str, ...] | None,
    version: int,
    how: str,
    cursor: Any,
) -> LedgerEntry:
    release_target.remember_database(cursor, publication.source)
    arguments = "".join(f", {identifier(n)} := {argument(v)}" for n, v in call["parameters"].items())
    return LedgerEntry(
        *target,
        version=version,
        status="published",
        call=call,
        statement=f"SELECT * FROM {identifier(call['function'])}({text(call['source'])}{arguments})",
        policy_fingerprint=publication.policy.fingerprint,
        hierarchy_fingerprint=resolve.hierarchy_fingerprint(publication, cursor),
        person_key=key,
        k=publication.k,
        roles=plan.role_by_column(publication),
        how=how,
        bases=same_source.bases(publication.source, cursor),
        options=publication.options,
        keys=transformed_columns.transform_descriptions(publication.made),
        hash_format=FORMAT,
    )


def _key_columns(publication: ReleaseSpec, key: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the columns of `key`, as the source spells them; None if there is a person column or no key."""
    if key is None or publication.roles.person is not None:
        return None
    columns = [key] if isinstance(key, str) else key
    return tuple(publication.source.column("materialize", column, "key") for column in columns)


def _check_published(cursor: Any, function: str, entry: LedgerEntry) -> None:
    """Check that a version is still the published one.

    Raises:
        LedgerBusyError: Another connection created another version meanwhile, or dropped it.
    """
    condition = "(schema_name, name, version, status) = (?, ?, ?, 'published')"
    if not releases.entries(cursor, entry.database, condition, [entry.schema, entry.name, entry.version]):
        raise errors.LedgerBusyError(
            function, entry.shown, f"version {entry.version} is not the published one any more"
        )


def _set_status(cursor: Any, entry: LedgerEntry, status: str) -> None:
    cursor.execute(
        f"UPDATE {qualified(entry.database, catalog.SCHEMA, 'release')} SET status = ? "
        "WHERE (schema_name, name, version) = (?, ?, ?)",
        [status, entry.schema, entry.name, entry.version],
    )


def _reason(error: Exception) -> str:
    """Return the reason in an error of a statement, without its text about algorithms."""
    message = transactions.first_line(error)
    match = re.search(r"the release gate refused the result: (.*?)\. Nothing was released", message)
    return f"{match[1] if match else message.removeprefix('Invalid Input Error: ').rstrip('.')}."


__all__ = ["Release", "create_release", "drop_release", "forget_release", "refresh_release"]
