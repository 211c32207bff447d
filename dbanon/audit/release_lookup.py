"""What the ledger knows of a table that is a release: from what it was made, what its columns were, and how.

Roles are those of the release as it was made; the policy may say something else by now. The source is read as it is
now, and so are hierarchies: where they are others than those of the release, published nodes may stand elsewhere in
them, and they are refused.
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
from dbanon.sqltext.quote import Sql, identifier
from dbanon.sqltext.templates import fill
from dbanon.table_functions.table_function import Call

_PUBLISHED_ROLES = ("quasi", "sensitive", "other", *TRANSFORM_SETTINGS)
"""Roles of the columns of a release."""


def find_release(call: Call, table: Source) -> LedgerEntry | None:
    """Return the published release that a table is by its name and columns.

    None for any other table, and where the policy says what the columns of this one are. Views, temporary tables and
    copies in a database without the ledger are no releases.
    """
    if not table.is_table or stored_policy.policy_rows(table, call.cursor):
        return None
    condition = "status = 'published' AND (lower(schema_name), lower(name)) = (lower(?), lower(?))"
    entries = releases.entries(call.cursor, table.database, condition, [table.schema, table.table])
    return next((entry for entry in entries if _has_release_columns(entry, table)), None)


def _has_release_columns(entry: LedgerEntry, table: Source) -> bool:
    """Return whether a table has the columns of a release, and one beside them, the class."""
    release_columns = {
        name.lower() for column in _published_columns(entry) for name in _release_column_names(column, table)
    }
    return release_columns < {name.lower() for name in table.columns} and len(table.columns) == len(release_columns) + 1


def _published_columns(entry: LedgerEntry) -> list[str]:
    return [column for column, role in entry.roles.items() if role in _PUBLISHED_ROLES]


def _release_column_names(column: str, table: Source) -> list[str]:
    """Return the columns that a release has of one of its source: the ends of a number may be two."""
    return [column] if table.spelled(column) else [f"{column}_min", f"{column}_max"]


def require_unchanged(call: Call, entry: LedgerEntry, is_required: bool) -> LedgerEntry | None:
    """Return the release, where a table is it by its rows too and the ledger says of it what it said when it was made.

    Else None, or ReleaseTableMismatchError where it is needed. O(rows) time.
    """
    problems = hashes.version_changes(call.cursor, entry, endings=("",))
    if problems and is_required:
        raise errors.ReleaseTableMismatchError(call.function.name, entry.shown, problems[0])
    return None if problems else entry


PERSON_COLUMN = "dbanon person"
"""The column that a release has beside its own where the ledger knows who its rows are about."""


def add_person_column(call: Call, entry: LedgerEntry, release: Source) -> Source | None:
    """The release with a column PERSON, where its call declared who records are about; None where it did not, or where
    the ledger tells it of other rows. O(rows) time."""
    if not entry.counts_persons:
        return None
    rows = Sql(
        fill(
            "audit/with_persons.sql",
            release=release.rows,
            columns=[identifier(name) for name in release.columns],
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
    """Return the table that a release is held against: its source, or, where that is gone, the one that is given.

    None where it is gone and none is given. Raises LedgerMismatchError where another one is given.
    """
    ledger_source = _find_source(call, entry)
    if ledger_source is None or call_source is None:
        return ledger_source or call_source
    if not _is_same_relation(ledger_source, call_source):
        raise errors.LedgerMismatchError(
            call.function.name, entry.shown, "source", ledger_source.shown, call_source.shown
        )
    return call_source


def _find_source(call: Call, entry: LedgerEntry) -> Source | None:
    """Return the source of a release as it is now; None where it is gone, or lacks columns that were released."""
    path = SearchPath(entry.database, str(entry.call["schema"]))
    with contextlib.suppress(errors.UnknownTableError, errors.UnreadableFileError, errors.AmbiguousTableError):
        source = catalog.resolve_source(call.function.name, str(entry.call["source"]), call.cursor, path, {})
        if all(map(source.spelled, _published_columns(entry))):
            return replace(
                source, shown=source.shown if source.foreign else _display_name(source.schema, source.table), bare=False
            )
    return None


def _display_name(schema: str, table: str) -> str:
    return table if schema == "main" else f"{schema}.{table}"


def _is_same_relation(source: Source, other: Source) -> bool:
    """Return whether two sources are one table, view or file."""
    if names.is_file(source.table) and names.is_file(other.table):
        return Path(source.table).resolve() == Path(other.table).resolve()
    return source.sql == other.sql


def source_missing_error(call: Call, entry: LedgerEntry) -> errors.SourceNotFoundError:
    """Return the error where a call needs the source of a release, and there is none."""
    source = _original_source(entry)
    return errors.SourceNotFoundError(call.function.name, entry.shown, _display_name(source.schema, source.table))


def _original_source(entry: LedgerEntry) -> Source:
    """Where the source of a release was."""
    name = str(entry.call["source"])
    parts = names.table_parts(name)
    if parts is not None and len(parts) == 3:  # in another system
        return Source(name, Sql(""), {}, entry.database, *attached_databases.policy_key((parts[0], parts[1], parts[2])))
    schema, table = (str(entry.call["schema"]), name) if parts is None or len(parts) < 2 else parts[-2:]
    return Source(name, Sql(""), {}, entry.database, schema, table)


# --- what its columns were -----------------------------------------------------------------------------------


def source_declarations(entry: LedgerEntry) -> tuple[DeclaredColumn, ...]:
    """What the columns of the source were when the release was made."""
    return tuple(DeclaredColumn(column, role, Settings()) for column, role in entry.roles.items() if role in ROLES)


def release_declarations(call: Call, entry: LedgerEntry, table: Source) -> tuple[DeclaredColumn, ...]:
    """The same of the columns of the release, with the hierarchies of its call, or else those that are declared now."""
    hierarchies = _hierarchy_names(call, entry, None)
    return tuple(
        DeclaredColumn(name, entry.roles[column], Settings(hierarchies.get(column)))
        for column in _published_columns(entry)
        for name in _release_column_names(column, table)
    )


def published_quasi_identifiers(
    function: str, entry: LedgerEntry, table: Source, requested: Sequence[str] | None
) -> dict[str, Sql]:
    """The quasi-identifiers of a release without its source: SQL for what was published, by their names in the source;
    UnknownColumnError."""
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
    """What columns were, with the hierarchies of the release: those of its call, else those that are declared now.

    Where these are not the hierarchies of the release any more, only those count that this call names; where it names
    none, HierarchiesChangedError.
    """
    hierarchies = _hierarchy_names(call, entry, source)
    if _hierarchy_fingerprint(call, entry, hierarchies) != entry.hierarchy_fingerprint:
        if not call.options.per_column("hierarchies"):
            raise errors.HierarchiesChangedError(call.function.name, entry.shown)
        hierarchies = {}
    return tuple(replace(row, settings=Settings(hierarchies.get(row.column))) for row in rows)


def _hierarchy_names(call: Call, entry: LedgerEntry, source: Source | None) -> dict[str, str]:
    """Return names of hierarchies, by column as the release has it.

    What is declared of the source counts even where it is gone; where nothing is, what is declared of the one that is
    given.
    """
    rows = stored_policy.policy_rows(_original_source(entry), call.cursor)
    if not rows and source is not None:
        rows = stored_policy.policy_rows(source, call.cursor)
    names_by_column = {
        r.declared.column.lower(): r.declared.settings.hierarchy for r in rows if r.declared.settings.hierarchy
    }
    names_by_column |= {
        column.lower(): name for column, name in (entry.call["parameters"].get("hierarchies") or {}).items()
    }
    return {column: names_by_column[column.lower()] for column in entry.roles if column.lower() in names_by_column}


def _hierarchy_fingerprint(call: Call, entry: LedgerEntry, hierarchy_names: Mapping[str, str]) -> str | None:
    """Return the fingerprint of hierarchies as the ledger keeps it of a release; None where one is not there."""
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
    """Codes for missing values in a source, by lower-case column: those that are declared now, and those that the call
    of the release added."""
    rows = stored_policy.policy_rows(source, call.cursor)
    codes: dict[str, Sequence[str]] = {row.declared.column.lower(): row.declared.settings.missing for row in rows}
    added = None if entry is None else entry.options.get("missing")
    if entry is not None and isinstance(added, Sequence):
        added = dict.fromkeys(_published_columns(entry), added)
    for column, column_codes in added.items() if isinstance(added, Mapping) else ():
        codes[column.lower()] = (*codes.get(column.lower(), ()), *column_codes)
    return codes


# --- how it was made -----------------------------------------------------------------------------------------


def release_parameter(call: Call, entry: LedgerEntry | None, name: str) -> float | None:
    """Return a number of the call, or else what a release was made with; LedgerMismatchError where they differ."""
    call_value = call.options.number(name)
    ledger_value = None if entry is None else entry.options.get(name)
    if entry is None or not isinstance(ledger_value, int | float):
        return call_value
    if call_value is not None and call_value != ledger_value:
        raise errors.LedgerMismatchError(
            call.function.name, entry.shown, name, f"{ledger_value:.12g}", f"{call_value:.12g}"
        )
    return ledger_value
