"""Look up a release in the ledger: its source, the roles of its columns, and its parameters.

Roles are those at the time of the release; the policy may have changed since. The source and the hierarchies are read
as they are now. If the hierarchies have changed, published nodes may be at another place in them, and an error is
raised.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from dbanon import errors
from dbanon.audit import column_pairs
from dbanon.ledger import hashes, releases
from dbanon.ledger.releases import LedgerEntry
from dbanon.policy.column_roles import ROLES
from dbanon.policy.hierarchies import lookup
from dbanon.policy.transforms.settings import TRANSFORM_SETTINGS
from dbanon.privacy_models import model_request
from dbanon.release.plan.passthrough_column import UnchangedColumn
from dbanon.release.spec import resolve
from dbanon.source import attached_databases, catalog, stored_policy
from dbanon.source.catalog import SearchPath, Source
from dbanon.source.stored_policy import DeclaredColumn, Settings
from dbanon.sqltext import names
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier
from dbanon.sqltext.templates import fill
from dbanon.table_functions.table_function import Call

_PUBLISHED_ROLES = ("quasi", "sensitive", "insensitive", *TRANSFORM_SETTINGS)
"""Roles of the columns that a release publishes."""


def find_release(call: Call, table: Source) -> LedgerEntry | None:
    """Return the ledger entry of the published release that `table` is, by its name and columns; None if it is none.

    Also None if the policy declares columns of this table. Views, temporary tables and copies in a database without the
    ledger are not releases.
    """
    if not table.is_table or stored_policy.policy_rows(table, call.cursor):
        return None
    condition = "status = 'published' AND (lower(schema_name), lower(name)) = (lower(?), lower(?))"
    entries = releases.entries(call.cursor, table.database, condition, [table.schema, table.table])
    return next((entry for entry in entries if _has_release_columns(entry, table)), None)


def _has_release_columns(entry: LedgerEntry, table: Source) -> bool:
    """Return whether a table has exactly the columns that a release publishes, and one more (the class).

    The order and case of names do not matter. A number may be published as two columns.
    """
    release_columns = {
        fold_case(name) for column in _published_columns(entry) for name in _release_column_names(column, table)
    }
    return (
        release_columns < {fold_case(name) for name in table.columns} and len(table.columns) == len(release_columns) + 1
    )


def _published_columns(entry: LedgerEntry) -> list[str]:
    """Return the columns of the source, by their names in it, that a release publishes, generalized or not."""
    return [column for column, role in entry.roles.items() if role in _PUBLISHED_ROLES]


def _release_column_names(column: str, table: Source) -> list[str]:
    """Return the names of the columns of a release that publish one column of its source.

    They are the column itself if `table`, the release, has it, else the two for the ends of its range, with `_min` and
    `_max`.
    """
    return [column] if table.spelled(column) else [f"{column}_min", f"{column}_max"]


def entry_if_unchanged(call: Call, entry: LedgerEntry, is_required: bool) -> LedgerEntry | None:
    """Return `entry` if neither its ledger row nor the rows of the release have changed; else None. O(rows) time.

    Also returned if no hashes were stored to compare with.

    Raises:
        ReleaseTableMismatchError: They have changed, and `is_required`.
    """
    problems = hashes.version_changes(call.cursor, entry, table_suffixes=("",))
    if problems and is_required:
        raise errors.ReleaseTableMismatchError(call.function.name, entry.display_name, problems[0])
    return None if problems else entry


PERSON_COLUMN = "dbanon person"
"""The column that `add_person_column` adds."""


def add_person_column(call: Call, entry: LedgerEntry, release: Source) -> Source | None:
    """Return the release with an added column PERSON_COLUMN, which identifies persons by keys stored in the ledger.

    O(rows) time.

    Returns:
        The release; None if the release does not count persons, or if its rows are not those of the ledger.
    """
    if not entry.counts_persons:
        return None
    rows = Sql(
        fill(
            "audit/with_persons.sql",
            release=release.rows,
            class_id=identifier(list(release.columns)[-1]),
            unchanged=[UnchangedColumn(name, release.columns[name]) for name in entry.values],
            members=entry.members,
            person=identifier(PERSON_COLUMN),
        )
    )
    query = f"SELECT (SELECT count(*) FROM {rows}) = (SELECT count(*) FROM {release.rows})"
    if not call.cursor.execute(query).fetchall()[0][0]:
        return None
    return replace(release, sql=rows, cleaned=None, columns={**release.columns, PERSON_COLUMN: "VARCHAR"}, bare=False)


# --- its source ----------------------------------------------------------------------------------------------


def choose_source(call: Call, entry: LedgerEntry, call_source: Source | None) -> Source | None:
    """Return the table that a release is compared with: its source, or the given one if the source is gone.

    Args:
        call: The call.
        entry: The ledger entry of the release.
        call_source: The source that the call gives; None if it gives none.

    Returns:
        The table; None if the source is gone and none is given.

    Raises:
        LedgerMismatchError: The call gives another table than the source.
    """
    ledger_source = _find_source(call, entry)
    if ledger_source is None or call_source is None:
        return ledger_source or call_source
    if not _is_same_relation(ledger_source, call_source):
        raise errors.LedgerMismatchError(
            call.function.name, entry.display_name, "source", ledger_source.shown, call_source.shown
        )
    return call_source


def _find_source(call: Call, entry: LedgerEntry) -> Source | None:
    """Return the source of a release as it is now; None if it is gone, ambiguous or unreadable.

    Also None if it lacks a column that the release publishes.
    """
    path = SearchPath(entry.database, str(entry.call["schema"]))
    with contextlib.suppress(errors.UnknownTableError, errors.UnreadableFileError, errors.AmbiguousTableError):
        source = catalog.resolve_source(call.function.name, str(entry.call["source"]), call.cursor, path, {})
        if all(map(source.spelled, _published_columns(entry))):
            return replace(
                source,
                shown=source.shown if source.foreign else names.display_name(source.schema, source.table),
                bare=False,
            )
    return None


def _is_same_relation(source: Source, other: Source) -> bool:
    """Return whether two sources are the same table, view or file; files are compared by their resolved paths."""
    if names.is_file(source.table) and names.is_file(other.table):
        return Path(source.table).resolve() == Path(other.table).resolve()
    return source.sql == other.sql


def source_missing_error(call: Call, entry: LedgerEntry) -> errors.SourceNotFoundError:
    """Return (not raise) the error for a call that needs the source of a release although the source is gone."""
    source = _original_source(entry)
    return errors.SourceNotFoundError(
        call.function.name, entry.display_name, names.display_name(source.schema, source.table)
    )


def _original_source(entry: LedgerEntry) -> Source:
    """Return a Source with database, schema and name of a release's source.

    It has no columns, is not read and may not exist any more.
    """
    name = str(entry.call["source"])
    parts = names.table_parts(name)
    if parts is not None and len(parts) == 3:  # in an attached database of another system
        return Source(name, Sql(""), {}, entry.database, *attached_databases.policy_key((parts[0], parts[1], parts[2])))
    schema, table = (str(entry.call["schema"]), name) if parts is None or len(parts) < 2 else parts[-2:]
    return Source(name, Sql(""), {}, entry.database, schema, table)


# --- what its columns were -----------------------------------------------------------------------------------


def source_declarations(entry: LedgerEntry) -> tuple[DeclaredColumn, ...]:
    """Return the roles of the source's columns at the time of the release.

    Other settings, such as hierarchies, are not included.
    """
    return tuple(DeclaredColumn(column, role, Settings()) for column, role in entry.roles.items() if role in ROLES)


def release_declarations(call: Call, entry: LedgerEntry, table: Source) -> tuple[DeclaredColumn, ...]:
    """Return role and hierarchy (if any) of each column of the release, `table`, under its name in the release.

    Roles are those at the time of the release; hierarchies are those of the release's call, else those declared now.
    """
    hierarchies = _hierarchy_names(call, entry, None)
    return tuple(
        DeclaredColumn(name, entry.roles[column], Settings(hierarchies.get(column)))
        for column in _published_columns(entry)
        for name in _release_column_names(column, table)
    )


def published_quasi_identifiers(
    function: str, entry: LedgerEntry, table: Source, requested: Sequence[str] | None
) -> dict[str, Sql]:
    """Return SQL of the published quasi-identifiers by their names in the source, for a release without its source.

    Args:
        function: The called function, for messages.
        entry: The ledger entry of the release.
        table: The release.
        requested: The columns that the call names; None for all quasi-identifiers of the release.

    Raises:
        UnknownColumnError: One of the columns was not published.
    """
    columns = {}
    for name in requested if requested is not None else [c for c, role in entry.roles.items() if role == "quasi"]:
        published_value = column_pairs.release_value(table, name)
        if published_value is None:
            raise errors.UnknownColumnError(function, table.shown, name, "qi", table.columns)
        columns[name] = published_value
    return columns


def add_hierarchies(
    call: Call, entry: LedgerEntry, source: Source, rows: Sequence[DeclaredColumn]
) -> tuple[DeclaredColumn, ...]:
    """Return declared columns, `rows`, with the hierarchies that the release's call gave, else those declared now.

    Other settings of the columns are dropped. If the hierarchies have changed since the release, no column gets one, so
    that only those that the current call names apply.

    Raises:
        HierarchiesChangedError: The hierarchies have changed, and the current call names none.
    """
    hierarchies = _hierarchy_names(call, entry, source)
    if _hierarchy_fingerprint(call, entry, hierarchies) != entry.hierarchy_fingerprint:
        if not call.options.per_column("hierarchies"):
            raise errors.HierarchiesChangedError(call.function.name, entry.display_name)
        hierarchies = {}
    return tuple(replace(row, settings=Settings(hierarchies.get(row.column))) for row in rows)


def _hierarchy_names(call: Call, entry: LedgerEntry, source: Source | None) -> dict[str, str]:
    """Return the names of hierarchies by column: those of the release's call, else those declared now.

    Columns are spelled as in the release; those without a hierarchy are missing. Hierarchies declared for the original
    source count even if it is gone; if it has no policy, those declared for `source` do.
    """
    rows = stored_policy.policy_rows(_original_source(entry), call.cursor)
    if not rows and source is not None:
        rows = stored_policy.policy_rows(source, call.cursor)
    names_by_column = {fold_case(r.column): r.settings.hierarchy for r in rows if r.settings.hierarchy}
    names_by_column |= {
        fold_case(column): name for column, name in (entry.call["parameters"].get("hierarchies") or {}).items()
    }
    return {
        column: names_by_column[fold_case(column)] for column in entry.roles if fold_case(column) in names_by_column
    }


def _hierarchy_fingerprint(call: Call, entry: LedgerEntry, hierarchy_names: Mapping[str, str]) -> str | None:
    """Return the fingerprint of hierarchies (names by column) as the ledger stores it; None if one does not exist.

    Only those of quasi-identifiers count, and those of sensitive columns if the release's models use an order of
    values.
    """
    fingerprinted_roles = ("quasi", "sensitive") if model_request.uses_value_order(entry.options) else ("quasi",)
    hierarchies = {}
    for column, name in hierarchy_names.items():
        if entry.roles[column] in fingerprinted_roles:
            hierarchy = lookup.find_hierarchy(call, name, _original_source(entry))
            if hierarchy is None:
                return None
            hierarchies[column] = hierarchy
    return resolve.fingerprint_hierarchies(hierarchies, call.cursor)


def source_missing_codes(call: Call, source: Source, entry: LedgerEntry | None) -> dict[str, Sequence[str]]:
    """Return the codes for missing values, by lower-case column: declared ones and those of a release's call.

    The codes that the call gave for a column are added to those that the policy of `source` declares. If the call gave
    one list, it is added to all published columns.

    Args:
        call: The call.
        source: The table.
        entry: The ledger entry of the release; None to use the declared codes only.
    """
    rows = stored_policy.policy_rows(source, call.cursor)
    codes: dict[str, Sequence[str]] = {fold_case(row.column): row.settings.missing_codes for row in rows}
    added = None if entry is None else entry.options.get("missing_codes")
    if entry is not None and isinstance(added, Sequence):
        added = dict.fromkeys(_published_columns(entry), added)
    for column, column_codes in added.items() if isinstance(added, Mapping) else ():
        codes[fold_case(column)] = (*codes.get(fold_case(column), ()), *column_codes)
    return codes


# --- how it was made -----------------------------------------------------------------------------------------


def release_parameter(call: Call, entry: LedgerEntry | None, name: str) -> float | None:
    """Return the value of a numeric parameter: that of the call, else that of the release; None if neither has it.

    Raises:
        LedgerMismatchError: The call and the ledger have different values.
    """
    call_value = call.options.number(name)
    ledger_value = None if entry is None else entry.options.get(name)
    if entry is None or not isinstance(ledger_value, int | float):
        return call_value
    if call_value is not None and call_value != ledger_value:
        raise errors.LedgerMismatchError(
            call.function.name, entry.display_name, name, f"{ledger_value:.12g}", f"{call_value:.12g}"
        )
    return ledger_value
