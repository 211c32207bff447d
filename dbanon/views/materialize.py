"""Materialized anonymized views: tables with a definition, a ledger row and a membership, created atomically.

DuckDB's transactions do the work: readers see the old version or the new one, and a crash leaves one of them.
"""

import contextlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace as replace_
from typing import Any, overload

import duckdb

from dbanon import errors
from dbanon.errors import renamed_names
from dbanon.ledger import (
    deliveries,
    publishing_lock,
    release_status,
    releases,
    same_source,
    transactions,
    version_state,
)
from dbanon.ledger.people import disjoint_sources, rehash
from dbanon.ledger.releases import TABLES, LedgerEntry
from dbanon.publishing import postgres_delivery
from dbanon.release import search_budget
from dbanon.release.functions import DEFAULT_ALGORITHM
from dbanon.release.plan import plan
from dbanon.release.spec import related_parameters as several, resolve, transformed_columns
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.runtime import session
from dbanon.runtime.progress import report_progress
from dbanon.source import catalog
from dbanon.source.canonical_text import FORMAT
from dbanon.sqltext.quote import identifier
from dbanon.table_functions.dispatch import make_call
from dbanon.table_functions.registry import check_algorithm
from dbanon.views import (
    deferred_records,
    erasure,
    pre_release_review,
    related_release,
    step_tables,
    target as release_target,
)
from dbanon.views.build_version import (
    INTERRUPTED,
    Release,
    create_version,
    current_release,
    library_versions,
    version_statements,
)
from dbanon.views.compare_version import OLD_SUFFIX, VersionOptions

REFRESH_MODES = ("keep", "hold", "recluster")
"""How a refresh treats published and new records."""


@overload
def create_release(
    connection: Any, name: str, source: str, *, algorithm: str = DEFAULT_ALGORITHM, **parameters: Any
) -> Release: ...


@overload
def create_release(connection: Any, name: str, algorithm: str, source: str, **parameters: Any) -> Release: ...


def create_release(
    connection: Any,
    name: str,
    *algorithm_and_source: str,
    key: str | Sequence[str] | None = None,
    composition: str = "warn",
    allow_small_differences: bool = False,
    replace: bool = False,
    disjoint_from: str | Sequence[str] = (),
    progress: Callable[[float, float], None] | None = None,
    **parameters: Any,
) -> Release:
    """Create the tables `name`, `name_classes` and `name_metrics`, with a row in `dbanon.release`.

    The release is stored in the database of its source; if `name` is in an attached PostgreSQL database, it is copied
    there once it is in the ledger. With `entity` or `children` all tables of a release of related tables are created.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied. It
            must have no open transaction.
        name: The name of the release.
        *algorithm_and_source: The table to release; or the algorithm and the table, which are also parameters
            (`algorithm`, `source`). Without an algorithm it is `best`.
        key: Columns that identify people, if no column has the role person and the source has no primary key.
        composition: The reaction if this release and others of the same source together narrow people to fewer than
            k records (or l values): "warn" or "refuse".
        allow_small_differences: Publish versions even if they differ by sets of too few records.
        replace: Create the next version of a release with another definition.
        disjoint_from: Releases or tables about other people, with which nothing is compared; the ledger stores this.
        progress: Called as `progress(fraction_done, loss_removed)`: the fraction of the search that is done, and of the
            loss that has been removed.
        **parameters: Parameters of the table function of the algorithm. With `improve="5s"` classes are improved for
            that time (Ctrl-C ends the search), and the ledger stores the number of moves.

    Returns:
        The release that was created.

    Raises:
        MissingArgumentError, RepeatedArgumentError: The call names no table, several tables, or several algorithms.
        ReleaseExistsError: A table has the name, and `replace` is false.
        CompositionRefusedError: People are narrowed, and `composition` is "refuse".
        SmallDifferencesRefusedError: The version differs from an earlier one by too few records.
        DeliveryFailedError: The release was created, but could not be copied to PostgreSQL.

    Also raises the errors of a call of the table function. Issues DisclosureWarning if people are narrowed, and
    `composition` is "warn".

    Examples:
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE people AS SELECT unnest([21, 23, 61, 65]) AS age")
        >>> release = dbanon.create_release(con, "safe", "mdav", "people", k=2, qi=["age"])
        >>> release.name, release.version, release.records
        ('safe', 1, 4)
    """
    transactions.check_no_transaction("create_release", connection)
    release_target.check_choice("create_release", "composition", composition, ("warn", "refuse"))
    algorithm, source = _algorithm_and_source(algorithm_and_source, parameters)
    check_algorithm("create_release", algorithm)
    if several.has_related_tables(parameters):
        call_parameters = parameters if key is None else {**parameters, "key": key}
        return related_release.create_related_release(
            connection, name, algorithm, source, call_parameters, allow_small_differences, composition
        )
    call_parameters = json.loads(json.dumps(parameters, default=str))
    with (
        release_target.open_session(connection) as (current_session, cursor, location),
        postgres_delivery.deliver_afterwards("create_release", current_session, cursor) as delivery,
        report_progress(current_session, progress),
    ):
        name, delivery_place = deliveries.local_name_and_target(name, cursor, location[0])
        limited_parameters = search_budget.replace_time_limit("create_release", call_parameters)
        call = make_call(current_session, cursor, algorithm, {"tbl": source}, limited_parameters, location)
        target = release_target.release_place("create_release", name, call.source(), location, cursor)
        # Before planning: a policy table that is new is a change.
        with publishing_lock.publishing_turn(current_session, "create_release", name, target[0]):
            spec = resolve.resolve_spec(call, (target[1], target[2]))
            _check_keepable(cursor, spec, target[0])
            person_key = _key_columns(spec, key) or resolve.unique_key(spec, cursor)
            earlier_versions = _earlier_versions(current_session, cursor, target)
            published_versions = [e for e in earlier_versions if e.status == "published"]
            delivery_target = delivery.requested_target(
                target, delivery_place, is_new=not published_versions, replace=replace
            )
            _check_name_unused(cursor, name, target, bool(published_versions), replace)
            if not earlier_versions and current_session.on_review is not None:
                current_session.on_review(pre_release_review.review_lines(call, spec, target))
            spec, call_parameters = search_budget.count_timed_moves(
                "create_release", current_session, cursor, spec, call_parameters
            )
            definition = _definition(algorithm, spec, source, call_parameters)
            entry = _created_entry(cursor, target, definition, spec, person_key, earlier_versions, disjoint_from)
            version_options = VersionOptions(
                "create_release",
                allow_small_differences,
                composition,
                delivery_target=delivery_target,
                with_members=not current_session.has_private_database,
            )
            if not published_versions:
                return _create_first(cursor, entry, spec, name, version_options)
            spec = _without_withheld(cursor, entry, spec, published_versions[-1])
            return _create_next(cursor, entry, spec, published_versions[-1], version_options)


def _earlier_versions(current_session: session.Session, cursor: Any, target: tuple[str, str, str]) -> list[LedgerEntry]:
    """Return the versions of a release in the ledger, the latest last, with hashes of this version of dbanon.

    `target` is its database, its schema and its name.
    """
    rehash.rehash(current_session, cursor, target[0])
    return releases.entries(cursor, target[0], "schema_name = ? AND lower(name) = lower(?)", target[1:])


def _algorithm_and_source(positional: Sequence[str], parameters: dict[str, Any]) -> tuple[str, str]:
    """Return the algorithm and the source of a call, and remove them from its named parameters.

    Args:
        positional: The source, or the algorithm and the source, as far as they are not named.
        parameters: The named parameters.

    Raises:
        MissingArgumentError: There is no source.
        RepeatedArgumentError: There are two sources or algorithms.
    """
    sources, algorithms = ([parameters.pop(name)] if name in parameters else [] for name in ("source", "algorithm"))
    names = [*positional, *sources]
    if not names:
        raise errors.MissingArgumentError(
            "create_release", "source", "a table's name", "dbanon.create_release(con, 'safe', 'patients', k=10)"
        )
    algorithms += names[:-1]
    if len(algorithms) > 1:
        raise errors.RepeatedArgumentError("create_release", "algorithm")
    return (algorithms or [DEFAULT_ALGORITHM])[0], names[-1]


def _check_name_unused(cursor: Any, name: str, target: tuple[str, str, str], is_published: bool, replace: bool) -> None:
    """Check that no tables of the new release exist, unless they belong to a published release that is to be replaced.

    Args:
        cursor: A cursor.
        name: The name of the release, for the message.
        target: Database, schema and name of the release.
        is_published: Whether a published release has the name.
        replace: Whether it is to be replaced.

    Raises:
        ReleaseExistsError: Other tables exist.
    """
    existing_names = release_target.existing_tables(cursor, target, TABLES)
    if existing_names and not (replace and is_published):
        raise errors.ReleaseExistsError("create_release", name, existing_names, is_published)


def _created_entry(
    cursor: Any,
    target: tuple[str, str, str],
    definition: Mapping[str, Any],
    spec: ReleaseSpec,
    person_key: tuple[str, ...] | None,
    earlier_versions: Sequence[LedgerEntry],
    disjoint_from: str | Sequence[str],
) -> LedgerEntry:
    """Return the ledger entry of the next version that `create_release` creates; nothing is written.

    Its number is one more than that of the latest of `earlier_versions`, or 1. It stores which releases the caller
    declared to be about other people (`disjoint_from`).
    """
    version = max((e.version for e in earlier_versions), default=0) + 1
    is_published = any(e.status == "published" for e in earlier_versions)
    disjoint_names = disjoint_sources.disjoint_names(cursor, target[0], disjoint_from, earlier_versions)
    refresh_mode = "recluster" if is_published else "first"
    return _entry(cursor, target, definition, spec, person_key, version, refresh_mode, disjoint_names)


def _check_keepable(cursor: Any, spec: ReleaseSpec, database: str) -> None:
    """Check that a release can be stored as a materialized view.

    Raises:
        NoiseNotMaterializableError: It would be published with noise.
        ReadOnlyDatabaseError: The ledger cannot be written.
    """
    if spec.run.noise is not None:
        raise errors.NoiseNotMaterializableError("create_release", spec.run.noise.asked, spec.function)
    release_target.check_writable(cursor, "create_release", database)


def _definition(algorithm: str, spec: ReleaseSpec, source: str, call_parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the call of a release as the ledger stores it: function, source, schema of the source, and parameters."""
    return {
        "function": algorithm,
        "source": release_target.stored_source_name(spec.source, source),
        "schema": release_target.source_schema(spec.source),
        "parameters": call_parameters,
    }


@renamed_names.with_renamed_options("allow_delta", "refresh")
def refresh_release(
    connection: Any,
    name: str,
    *,
    mode: str = "keep",
    allow_small_differences: bool = False,
    composition: str = "warn",
    if_stale: bool | None = None,
    erase: bool = False,
) -> Release:
    """Create the next version of a release from its source as it is now.

    Readers see the old version until the new one is complete.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied. It
            must have no open transaction.
        name: The name of the release.
        mode: "keep" leaves published records in their classes and clusters only new ones. "hold" also keeps classes,
            and defers new records that miss k or the privacy models until a later refresh has enough of them.
            "recluster" clusters all records again; a reader of both versions can intersect their classes.
        allow_small_differences: Publish rows that classes gain or lose even if these rows alone miss k or the privacy
            models; the ledger stores this.
        composition: The reaction if this release and others of the same source together narrow people: "warn" or
            "refuse".
        if_stale: True: create no version if source, policy and hierarchies have not changed (see `release_status`).
            None: the same, but only if also definition, software and tables are those of the published version, the
            mode is "keep" or "hold" and `composition` is "warn". False: create one even if nothing has changed.
        erase: Honour an erasure that would be refused otherwise. Classes that lost a person are removed as a whole; the
            other people of these classes are withheld until the versions that show these classes are forgotten. No new
            records are added. DisclosureWarning states how many people are withheld, and what readers of earlier
            versions can still distinguish.

    Returns:
        The new version; the published one if nothing is to be changed.

    Raises:
        UnknownReleaseError: There is no such release.
        SmallDifferencesRefusedError: Classes gain or lose rows that alone miss k or the privacy models; the old version
            stays.
        CannotKeepClassesError: Classes cannot be kept; only `mode="recluster"` clusters them again.
        CompositionRefusedError: People are narrowed, and `composition` is "refuse".

    Also raises the errors of a call of the table function.

    Examples:
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE people AS SELECT unnest([21, 23, 61, 65]) AS age")
        >>> release = dbanon.create_release(con, "safe", "mdav", "people", k=2, qi=["age"])
        >>> dbanon.refresh_release(con, "safe").is_new  # nothing has changed
        False
        >>> _ = con.execute("INSERT INTO people VALUES (22), (63)")
        >>> dbanon.refresh_release(con, "safe").version
        2
    """
    transactions.check_no_transaction("refresh_release", connection)
    release_target.check_choice("refresh_release", "mode", mode, REFRESH_MODES)
    release_target.check_choice("refresh_release", "composition", composition, ("warn", "refuse"))
    with (
        release_target.open_session(connection) as (current_session, cursor, location),
        postgres_delivery.deliver_afterwards("refresh_release", current_session, cursor) as delivery,
    ):
        path = catalog.SearchPath.from_setting(*location)
        database = releases.find_published("refresh_release", name, cursor, path).database
        with publishing_lock.publishing_turn(current_session, "refresh_release", name, database):
            release_target.check_writable(cursor, "refresh_release", database)
            rehash.rehash(current_session, cursor, database)
            old = releases.find_published("refresh_release", name, cursor, path)
            delivery_target = delivery.recorded_target(
                (old.database, old.schema, old.name), deliveries.target_alias(name, cursor, location[0])
            )
            spec = releases.current_spec(old, current_session, cursor)
            if if_stale and release_status.is_fresh(old, spec, cursor):
                return current_release(cursor, old, with_deferred=mode == "hold")
            target, version = (old.database, old.schema, old.name), old.version + 1
            entry = _entry(cursor, target, old.call, spec, old.person_key, version, mode, old.disjoint_from)
            is_recognizable = if_stale is None and entry.keeps_classes and composition == "warn" and not erase
            if is_recognizable and version_state.is_unchanged(cursor, old, entry, spec, library_versions()):
                return current_release(cursor, old, with_deferred=mode == "hold")
            if entry.keeps_classes or erase:
                release_status.check_roles(old, spec)
            return _refresh(
                cursor,
                old,
                entry,
                spec,
                VersionOptions(
                    "refresh_release",
                    allow_small_differences,
                    composition,
                    erase=erase,
                    delivery_target=delivery_target,
                ),
            )


def _refresh(
    cursor: Any, old: LedgerEntry, entry: LedgerEntry, spec: ReleaseSpec, version_options: VersionOptions
) -> Release:
    """Create and return the next version of a release; with "hold" this may be the old version.

    Args:
        cursor: A cursor.
        old: The published version.
        entry: The ledger entry of the next version. In refresh mode "hold" (and no erasure), larger and larger groups
            of new records (DEFERRED_GROUPS) are deferred until a version can be created.
        spec: The spec of the next version, by the source and policy as they are now.
        version_options: The other options of the version.

    Raises:
        ErasureEmptiesReleaseError: After an erasure no class would remain.
    """
    spec = resolve.with_person_key(spec, old.person_key).with_version_constraints(
        withheld_members=release_status.withheld_records(old, cursor)
    )
    if entry.keeps_classes:
        spec = spec.with_version_constraints(kept_members=old.settled_members)
    if version_options.erase:
        spec = erasure.without_erased(old, spec, cursor)
        if not cursor.execute(f"SELECT 1 FROM {spec.version_constraints.remaining_members} LIMIT 1").fetchall():
            raise errors.ErasureEmptiesReleaseError(old.display_name)
        spec = spec if entry.keeps_classes else spec.with_version_constraints(kept_members=None)
    if entry.refresh_mode != "hold" or version_options.erase:
        return _create_next(cursor, entry, spec, old, version_options)
    for group in deferred_records.DEFERRED_GROUPS[:-1]:
        with contextlib.suppress(*_DEFERRABLE_ERRORS, _NothingNewError):
            return _create_next(cursor, entry, spec, old, replace_(version_options, deferred_group=group))
    return _create_next(
        cursor, entry, spec, old, replace_(version_options, deferred_group=deferred_records.DEFERRED_GROUPS[-1])
    )


def _create_first(
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, name: str, version_options: VersionOptions
) -> Release:
    """Create the first version of a release, or the first since it was dropped, in one transaction.

    Args:
        cursor: A cursor.
        entry: The ledger entry of the version.
        spec: Its release spec.
        name: The name of the release, for messages.
        version_options: The options of the version.

    Raises:
        LedgerBusyError: Tables with the name were created by another connection.
    """
    with transactions.transaction(cursor, version_options.function, name, [spec]):
        if release_target.existing_tables(cursor, (entry.database, entry.schema, entry.name), TABLES):
            raise errors.LedgerBusyError(version_options.function, name, "its tables were created in the meantime")
        return create_version(cursor, entry, spec, version_options)


def _without_withheld(cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, old: LedgerEntry) -> ReleaseSpec:
    """Return a spec that excludes records withheld since an erasure from the next version of a release.

    If the new version (`entry`) and the published one (`old`) identify people by different columns, these records
    cannot be identified, and `spec` is returned unchanged.
    """
    if old.person_key != entry.person_key:
        return spec
    return resolve.with_person_key(spec, entry.person_key).with_version_constraints(
        withheld_members=release_status.withheld_records(old, cursor)
    )


_DEFERRABLE_ERRORS = (
    errors.CannotKeepClassesError,
    errors.SmallDifferencesRefusedError,
    errors.CompositionRefusedError,
    errors.LinkedVersionsNotAnonymousError,
)
"""Errors that deferring new records can avoid."""


class _NothingNewError(Exception):
    """Raised if deferring a group of new records would change nothing, so that a larger version may be possible."""


def _create_next(
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, old: LedgerEntry, version_options: VersionOptions
) -> Release:
    """Replace the published version `old` by the next one, in one transaction, and return it.

    With refresh mode "hold", new records are deferred first. If nothing else has changed, no version is created: the
    deferred records are stored with the old version, which is returned.

    Args:
        cursor: A cursor.
        entry: The ledger entry of the next version.
        spec: Its release spec.
        old: The published version.
        version_options: The options of the version.

    Raises:
        LedgerBusyError: `old` is not the published version any more.
        SmallDifferencesRefusedError: Classes gain or lose records that alone miss k or the privacy models.
        CannotKeepClassesError: Classes cannot be kept.
        _NothingNewError: With a deferred group of "back" or "new", nothing else has changed; another group may do.
    """
    function, version_options = version_options.function, replace_(version_options, old=old)
    with transactions.transaction(cursor, function, old.display_name, [spec]):
        releases.check_published(cursor, function, old)
        if entry.refresh_mode == "hold":
            with _refused_as_cannot_keep(entry, old):
                spec = deferred_records.defer_records(cursor, entry, old, spec, version_options.deferred_group)
            if release_status.is_fresh(old, spec, cursor, old.retained_members):
                if version_options.deferred_group in (
                    "back",
                    "new",
                ):  # a smaller group of the new records may be publishable
                    raise _NothingNewError
                return current_release(
                    cursor, deferred_records.move_to_old_version(cursor, entry, old), with_deferred=True
                )
        with _pending_differences_checked(cursor, entry, old, spec, version_options) as (count, statements):
            for ending in TABLES:
                old_name = identifier(old.name + ending + OLD_SUFFIX)
                cursor.execute(f"ALTER TABLE {old.table(ending)} RENAME TO {old_name}")
            releases.set_status(cursor, old, "replaced")
            with _refused_as_cannot_keep(entry, old):
                result = create_version(cursor, entry, spec, version_options, count, statements)
        deferred_records.delete_deferred(cursor, old)
        for ending in TABLES:
            cursor.execute(f"DROP TABLE {old.table(ending + OLD_SUFFIX)}")
        return result


@contextlib.contextmanager
def _pending_differences_checked(
    cursor: Any, entry: LedgerEntry, old: LedgerEntry, spec: ReleaseSpec, version_options: VersionOptions
) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the number of small differences that keeping the classes of `old` causes, and the statements of a version.

    The source is read once for both: in the block the statements (see `version_statements`) read temporary tables. If
    classes are not kept, or an erasure is applied, nothing is checked.

    Args:
        cursor: A cursor within the transaction.
        entry: The ledger entry of the next version.
        old: The published version.
        spec: The release spec of the next version.
        version_options: Its options.

    Raises:
        SmallDifferencesRefusedError: There are some, and the options do not allow them.
    """
    statements = version_statements(entry, spec, version_options.with_members)
    if not entry.keeps_classes or version_options.erase:
        yield 0, statements
        return
    differences = release_status.pending_differences(old, spec)
    with step_tables.first_steps_computed(cursor, differences, statements) as (query, statements):
        count = len({row[1] for row in cursor.execute(query).fetchall()})
        if count and not version_options.allow_small_differences:
            raise errors.SmallDifferencesRefusedError(
                version_options.function, old.display_name, count, [f"version {old.version}"]
            )
        yield count, statements


@contextlib.contextmanager
def _refused_as_cannot_keep(entry: LedgerEntry, old: LedgerEntry) -> Iterator[None]:
    """Replace an error of a statement in the block by CannotKeepClassesError if the version `entry` keeps classes.

    Interrupts and errors of versions that cluster all records again are raised unchanged.
    """
    try:
        yield
    except duckdb.InvalidInputException as error:
        if entry.keeps_classes and not INTERRUPTED.search(str(error)):
            raise errors.CannotKeepClassesError(old.display_name, _reason(error)) from None
        raise


# --- names and transactions ----------------------------------------------------------------------------------


def _entry(
    cursor: Any,
    target: tuple[str, str, str],
    call: Mapping[str, Any],
    spec: ReleaseSpec,
    key: tuple[str, ...] | None,
    version: int,
    refresh_mode: str,
    disjoint_from: tuple[str, ...],
) -> LedgerEntry:
    """Return the ledger entry of a version with the status "published"; the ledger row is not written yet.

    For a source in another system, the identity of that system's database is stored.

    Args:
        cursor: A cursor.
        target: Database, schema and name of the release.
        call: Its call (see `_definition`).
        spec: Its release spec.
        key: The columns that identify people, if no column has the role person.
        version: The number of the version.
        refresh_mode: "first", "keep", "hold" or "recluster".
        disjoint_from: The releases and sources that are declared to be about other people.
    """
    release_target.remember_database(cursor, spec.source)
    return LedgerEntry(
        *target,
        version=version,
        status="published",
        call=call,
        statement=release_target.call_statement(call["function"], call["source"], call["parameters"]),
        policy_fingerprint=spec.policy.stored_fingerprint,
        hierarchy_fingerprint=resolve.hierarchy_fingerprint(spec, cursor),
        person_key=key,
        k=spec.k,
        roles=plan.role_by_column(spec),
        refresh_mode=refresh_mode,
        bases=same_source.bases(spec.source, cursor),
        options=spec.options,
        keys=transformed_columns.transform_descriptions(spec.transformed),
        hash_format=FORMAT,
        disjoint_from=disjoint_from,
    )


def _key_columns(spec: ReleaseSpec, key: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """Return the columns of the argument `key`, as the source spells them.

    Returns None if no key is given, or if the source has a person column, which counts instead.

    Raises:
        UnknownColumnError: The source has no such column.
    """
    if key is None or spec.roles.person is not None:
        return None
    columns = [key] if isinstance(key, str) else key
    return tuple(spec.source.column("create_release", column, "key") for column in columns)


def _reason(error: Exception) -> str:
    """Return the reason in an error of a statement as a sentence, without its hint and the text that surrounds it."""
    message = transactions.first_line(error)
    match = re.search(r"the release gate refused the result: (.*?)\. Nothing was released", message)
    reason = match[1] if match else message.removeprefix("Invalid Input Error: ").partition(" Hint: ")[0]
    return f"{reason.rstrip('.')}."


__all__ = ["Release", "create_release", "refresh_release"]
