"""Create one version of a release: its tables, its membership and its row in the ledger."""

import contextlib
import html
import json
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version as installed
from typing import Any

import duckdb

from dbanon import errors
from dbanon.errors.warnings import DisclosureWarning, warn
from dbanon.ledger import hashes as ledger_hashes, same_source, version_state
from dbanon.ledger.composition import linked_versions, overlap, version_differences
from dbanon.ledger.people import disjoint_sources, recognized_people, unknown_sources
from dbanon.ledger.releases import LedgerEntry
from dbanon.privacy_models import registry
from dbanon.publishing import postgres_delivery, record_groups, written_tables
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.summary import SHOWN_ROWS, ReleaseSummary
from dbanon.runtime.version import __version__
from dbanon.source.catalog import SCHEMA
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, qualified, text
from dbanon.views import compare_version, deferred_records, step_tables, warnings
from dbanon.views.compare_version import OLD_SUFFIX, VersionComparison, VersionOptions

INTERRUPTED = re.compile("interrupted", re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class Release:
    """A version of a release that was created.

    On a terminal and in a notebook it shows its first rows, quasi-identifiers first, and five metrics (`summary`).

    Attributes:
        name: The name of the release.
        version: The number of the version.
        records: The number of published records.
        classes: The number of classes.
        composition: By the name of each other compared version, the number of people whom both versions together
            expose; None if people cannot be matched.
        summary: The rows and metrics to show.
        waiting: The number of deferred records; None if no records can be deferred.
        is_new: Whether the call created this version; otherwise it was published before, and nothing was to be changed.
    """

    name: str
    version: int
    records: int
    classes: int
    composition: Mapping[str, int] | None
    summary: ReleaseSummary | None = field(default=None, compare=False)
    waiting: int | None = None
    is_new: bool = field(default=True, compare=False)

    @property
    def unchanged_note(self) -> str:
        """A sentence that says that the call created no version, and why; empty if it created one."""
        if self.is_new:
            return ""
        return f"No version was created: nothing to publish has changed since version {self.version}, which stays."

    def __repr__(self) -> str:
        """Return the name, the counts and, if there is a `summary`, the first rows and metrics as text."""
        records, classes = plural_form(self.records, "record", "records"), plural_form(self.classes, "class", "classes")
        summary = f"{self.name}, version {self.version}: {self.records:,} {records} in {self.classes:,} {classes}"
        summary += f", {self.waiting:,} wait" if self.waiting else ""
        return summary if self.summary is None else f"{summary}\n{self.summary.text()}"

    def _repr_html_(self) -> str:
        """Return the first rows and metrics as HTML for a notebook; without a `summary` the text, escaped."""
        return html.escape(repr(self)) if self.summary is None else self.summary.html()


def version_statements(entry: LedgerEntry, spec: ReleaseSpec, with_members: bool) -> dict[str, str]:
    """Return the SQL of the rows, the classes, the metrics and, if it is stored, the membership of a version, by kind.

    The kinds are "release", "classes", "metrics" and "membership". `spec` is the release spec of the version.
    """
    spec = resolve.with_person_key(spec, entry.person_key)
    kinds = ("release", "classes", "metrics", *(["membership"] if with_members else []))
    return {kind: plan.release_sql(replace(spec, kind=kind), with_losses=True) for kind in kinds}


def create_version(
    cursor: Any,
    entry: LedgerEntry,
    spec: ReleaseSpec,
    version_options: VersionOptions,
    n_small_differences: int = 0,
    statements: Mapping[str, str] | None = None,
) -> Release:
    """Create the tables, membership and ledger row of a version, inside a transaction, and return it.

    The version is compared with other versions of the same people before its ledger row is written. Issues
    DisclosureWarning, UtilityWarning and PersonSpellingsWarning where these apply.

    Args:
        cursor: A cursor within the transaction.
        entry: The ledger entry of the version.
        spec: Its release spec.
        version_options: Its options.
        n_small_differences: The number of small differences from the replaced version that are known already. It is
            added to the number in the ledger.
        statements: The statements of `version_statements`, which may read tables in place of some steps; None to plan
            them.

    Raises:
        OverlappingReleaseError: A release of related tables is about the same people.
        UnstableSourceError: The source returned different rows while the version was created.
        SmallDifferencesRefusedError: It differs from earlier versions by too few records.
        CompositionUncheckedError: Under composition = 'refuse', other releases cannot be compared.
        CompositionRefusedError: Under composition = 'refuse', other releases and this one narrow people.
    """
    overlap.refuse_overlapping(cursor, entry)
    recognized: list[recognized_people.Recognized] = []
    statements = statements or version_statements(entry, spec, version_options.with_members)
    try:
        return _create_version(cursor, entry, spec, version_options, n_small_differences, statements, recognized)
    finally:
        with contextlib.suppress(duckdb.Error):  # in a transaction that was aborted, whose tables are gone
            recognized_people.drop_temporary_tables(cursor, len(recognized))


def _create_version(
    cursor: Any,
    entry: LedgerEntry,
    spec: ReleaseSpec,
    version_options: VersionOptions,
    n_small_differences: int,
    statements: Mapping[str, str],
    recognized: list[recognized_people.Recognized],
) -> Release:
    """Create the tables, membership and ledger row of a version, compare it with others, and return it.

    See `create_version` for the other arguments, errors and warnings.

    Args:
        recognized: An empty list, to which the results of `recognized_people.recognize` are appended: one for each
            version that may be about the same people, also if none were recognized in it. The caller needs the
            length of the list to drop the temporary tables, also after an error.
    """
    spec = resolve.with_person_key(spec, entry.person_key)
    source: str | None = version_state.source_state(cursor, spec) if version_options.with_members else None
    metrics = _write_tables(cursor, entry, spec, statements)
    written_tables.check_tables(version_options.function, cursor, entry, spec, not version_options.with_members)
    related_versions = same_source.versions_of_same_people(entry, cursor)
    recognized += recognized_people.recognize(cursor, entry, disjoint_sources.without_disjoint(entry, related_versions))
    others = [r.other for r in recognized if not r.are_others]
    n_small_differences += _count_differences_from_old(cursor, entry, spec, version_options, others)
    same_name = version_differences.versions_of_release(entry, others)
    compare_version.check_changed_keys(cursor, entry, version_options, recognized, same_name)
    linked_versions.check_linked_versions(cursor, entry, spec, others, OLD_SUFFIX)
    differences = version_differences.small_differences(cursor, entry, spec, same_name, old_suffix=OLD_SUFFIX)
    if entry.keeps_classes:
        differences += version_differences.returned_people(cursor, entry, spec, same_name, old_suffix=OLD_SUFFIX)
    respelled_others = compare_version.respelled_versions(recognized)
    if respelled_others:
        own_respelled = version_differences.versions_of_release(entry, respelled_others)
        differences += version_differences.small_differences(cursor, entry, spec, own_respelled, old_suffix=OLD_SUFFIX)
    n_small_differences += sum(t.n_sets for t in differences)
    if differences and not version_options.allows_small_differences:
        versions = sorted({o.version for t in differences for o in t.others})
        raise errors.SmallDifferencesRefusedError(
            version_options.function, entry.display_name, n_small_differences, [f"version {v}" for v in versions]
        )
    unknown = unknown_sources.unknown_relations(cursor, entry, version_options.composition, related_versions)
    streams = compare_version.streams_of_same_people(cursor, entry, version_options)
    comparison = replace(
        compare_version.compare_versions(cursor, entry, spec, version_options, others, same_name, differences),
        unknown=unknown,
    )
    if respelled_others:
        comparison.elsewhere.extend(
            version_differences.small_differences(cursor, entry, spec, respelled_others, old_suffix=OLD_SUFFIX)
        )
    if not spec.source.is_table and version_state.source_state(cursor, spec) != source:
        source = None  # a file may have been replaced since
    _insert_ledger_row(
        cursor, entry, spec, metrics, version_options, n_small_differences, comparison, recognized, source
    )
    postgres_delivery.record_pending_delivery(version_options.function, cursor, entry, version_options.delivery_target)
    checked_names = {o.version_name for o in comparison.checked}
    exposed_by_checked = {name: people for name, people in comparison.exposed.items() if name in checked_names}
    if version_options.composition == "refuse" and exposed_by_checked:
        raise errors.CompositionRefusedError(entry.display_name, exposed_by_checked)
    compare_version.warn_of_disclosure(cursor, entry, version_options, comparison)
    unknown_sources.warn_of_unknown(entry, unknown)
    _warn_of_streams(entry, streams)
    _warn_of_values(cursor, entry, spec, metrics)
    return current_release(
        cursor, entry, comparison.composition, with_deferred=entry.refresh_mode == "hold", is_new=True
    )


def _warn_of_values(cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, metrics: Mapping[str, float]) -> None:
    """Warn if a version has one class only (see its `metrics`), or if persons of its source are spelled differently."""
    warnings.warn_of_one_class(entry.display_name, metrics)
    warnings.warn_of_person_spellings(cursor, spec.cleaned_source.rows, spec.source, spec.roles.person)


def _warn_of_streams(entry: LedgerEntry, streams: Sequence[str]) -> None:
    """Warn that streaming views (`streams`, their names) published the same people as a version."""
    if streams:
        warn(
            f"{entry.display_name}: the streaming views {', '.join(streams)} published the same people; their classes "
            "are not checked against those of releases, so a reader who has both can intersect them.",
            DisclosureWarning,
        )


def _count_differences_from_old(
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, version_options: VersionOptions, others: list[LedgerEntry]
) -> int:
    """Return the number of sets of too few records by which a version differs from the one that it replaces.

    Returns 0 if it replaces none. A set is too small if it misses k or the privacy models. `others` are the other
    versions of the same people.

    Raises:
        SmallDifferencesRefusedError: There are some, and the options do not allow them.
    """
    if version_options.old is None:
        return 0
    old = next((o for o in others if o.place == version_options.old.place), version_options.old)
    count = compare_version.count_small_differences(cursor, entry, old, spec)
    if count and not version_options.allows_small_differences:
        raise errors.SmallDifferencesRefusedError(
            version_options.function,
            version_options.old.display_name,
            count,
            [f"version {version_options.old.version}"],
        )
    return count


def _write_tables(
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, statements: Mapping[str, str]
) -> dict[str, float]:
    """Create the tables of a version, insert its records into the membership, and return all its metrics by name.

    Args:
        cursor: A cursor within the transaction.
        entry: The ledger entry of the version.
        spec: Its release spec.
        statements: The SQL of each kind (see `version_statements`). Without "membership", the membership does not get
            its records, and they are not compared with the tables either.

    Raises:
        UnstableSourceError: The source returned different rows while the tables were created.
    """
    with_members = "membership" in statements
    with step_tables.common_steps_computed(cursor, statements) as statements:
        for ending, kind in (("", "release"), ("_classes", "classes")):
            cursor.execute(f"CREATE TABLE {entry.table(ending)} AS {statements[kind]}")
        metrics = _write_metrics(cursor, entry, statements["metrics"])
        if with_members:
            _insert_members(cursor, entry, statements["membership"])
    if not with_members:
        record_groups.store(cursor, entry)
        return metrics
    _check_unchanged_source(cursor, entry, spec, metrics)
    if spec.version_constraints.withheld_members is not None:
        _insert_members(cursor, entry, plan.fill_release_template("views/withheld.sql", spec))
    return metrics


def current_release(
    cursor: Any,
    entry: LedgerEntry,
    composition: Mapping[str, int] | None = None,
    *,
    with_deferred: bool = False,
    is_new: bool = False,
) -> Release:
    """Return a version with the counts and first rows of its tables as they are now.

    Args:
        cursor: A cursor.
        entry: The version.
        composition: The number of exposed people by version, which is passed on.
        with_deferred: Count the deferred records, too; otherwise `waiting` is None.
        is_new: Whether the call created the version.
    """
    records, classes = cursor.execute(
        f"SELECT (SELECT count(*) FROM {entry.table()}), (SELECT count(*) FROM {entry.table('_classes')})"
    ).fetchall()[0]
    waiting = deferred_records.count_deferred(cursor, entry)[0] if with_deferred else None
    return Release(
        entry.display_name,
        entry.version,
        records,
        classes,
        composition,
        _release_summary(cursor, entry, records),
        waiting,
        is_new,
    )


def _release_summary(cursor: Any, entry: LedgerEntry, records: int) -> ReleaseSummary:
    """Return what is shown of a version: its first rows, its quasi-identifiers and its published metrics.

    `records` is the number of its records.
    """
    rows = cursor.execute(f"FROM {entry.table()} LIMIT {SHOWN_ROWS}").fetchall()
    columns = [column[0] for column in cursor.description]
    classes = {column[0] for column in cursor.execute(f"FROM {entry.table('_classes')} LIMIT 0").description}
    measures = cursor.execute(f"SELECT metric, value, description FROM {entry.table('_metrics')}").fetchall()
    quasi_names = tuple(c for c in columns[:-1] if c in classes and c not in entry.values)
    return ReleaseSummary(tuple(columns), tuple(rows), records, quasi_names, tuple(measures))


def _insert_members(cursor: Any, entry: LedgerEntry, members: str) -> None:
    """Insert rows into the membership for a version; `members` is a query for them."""
    cursor.execute(
        f"INSERT INTO {entry.membership} BY NAME "
        f'SELECT {text(entry.schema)} AS schema_name, {text(entry.name)} AS "release", {entry.version} AS version, * '
        f"FROM ({members})"
    )


def _write_metrics(cursor: Any, entry: LedgerEntry, statement: str) -> dict[str, float]:
    """Create the table with the publishable metrics of a version; return the values of all metrics by name.

    `statement` is the query for the metrics.
    """
    rows = cursor.execute(statement).fetchall()
    types = {"metric": "VARCHAR", "value": "DOUBLE", "better": "VARCHAR", "description": "VARCHAR"}
    table = entry.table("_metrics")
    cursor.execute(f"CREATE TABLE {table} ({join_sql(f'{name} {type_}' for name, type_ in types.items())})")
    cursor.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", [row[:4] for row in rows if row[4]])
    return {row[0]: row[1] for row in rows}


def _check_unchanged_source(cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, metrics: Mapping[str, float]) -> None:
    """Check that the tables and the membership of a version agree, and that the source returns the same rows again.

    A view may return different rows each time; it is read again. The gate has read a table again already, so the
    records are only counted. With deferred records, published, suppressed and deferred records together must be the
    records of the source.

    Args:
        cursor: A cursor within the transaction.
        entry: The ledger entry of the version.
        spec: Its release spec.
        metrics: All its metrics by name.

    Raises:
        UnstableSourceError: Different rows were read.
    """
    has_deferred = spec.version_constraints.deferred_members is not None
    counted = [value for name, value in metrics.items() if name in ("records", "suppressed", "dropped:null")]
    query = plan.fill_release_template(
        "views/unchanged_source_check.sql",
        spec.with_version_constraints(deferred_members=None),
        version=entry.table(),
        classes=entry.table("_classes"),
        members=entry.members if has_deferred else entry.settled_members,
        n_records=int(sum(counted)) if plan.is_read_by_gate(spec) else None,
    )
    if cursor.execute(query).fetchall()[0][0]:
        raise errors.UnstableSourceError(entry.display_name, spec.source.shown)


def _definition_columns(entry: LedgerEntry, spec: ReleaseSpec) -> dict[str, Sql]:
    """Return the columns of a ledger row that state what was released and by which definition, as SQL expressions."""
    return {
        "schema_name": text(entry.schema),
        "name": text(entry.name),
        "version": literal(entry.version),
        "status": text("published"),
        "source": text(entry.call["source"]),
        "algorithm": text(spec.algorithm),
        "statement": text(entry.statement),
        "call": text(json.dumps(entry.call, ensure_ascii=False)),
        "parameters": text(json.dumps(dict(spec.options), ensure_ascii=False, default=list)),
        "roles": text(json.dumps(entry.roles, ensure_ascii=False)),
        "withheld": list_literal(
            [n for n, role in entry.roles.items() if role in ("withheld", "identifier", "person")]
        ),
        "policy_fingerprint": text(spec.policy.stored_fingerprint),
        "hierarchy_fingerprint": text(entry.hierarchy_fingerprint),
        "library_versions": map_literal({k: text(v) for k, v in library_versions().items()}, "VARCHAR"),
        "person_key": Sql("NULL") if entry.person_key is None else list_literal(entry.person_key),
        "refresh_mode": text(entry.refresh_mode),
        "source_tables": list_literal(entry.bases or ()),
        "keys": map_literal({k: text(v) for k, v in entry.keys.items()}, "VARCHAR"),
        "hash_format": literal(entry.hash_format),
        "disjoint_from": list_literal(entry.disjoint_from),
    }


def _insert_ledger_row(
    cursor: Any,
    entry: LedgerEntry,
    spec: ReleaseSpec,
    metrics: Mapping[str, float],
    version_options: VersionOptions,
    n_small_differences: int,
    comparison: VersionComparison,
    recognized: Sequence[recognized_people.Recognized],
    source: str | None,
) -> None:
    """Insert the row of a version into the ledger, with hashes of its tables and of the row.

    Args:
        cursor: A cursor within the transaction.
        entry: The ledger entry of the version.
        spec: Its release spec.
        metrics: All its metrics by name.
        version_options: Its options.
        n_small_differences: The number of sets of too few records by which it differs from earlier versions.
        comparison: Its comparison with other versions.
        recognized: The result of recognizing its people in each other version.
        source: The state of the source (see `version_state`); None if the version must not be recognized by it.
    """
    achieved = {m: v for m, v in metrics.items() if m.split(":")[0] in _ACHIEVED_METRICS}
    fingerprint, source_records = cursor.execute(
        f"SELECT coalesce(sum(row_hash::HUGEINT * records), 0)::VARCHAR, coalesce(sum(records), 0) FROM {entry.members}"
    ).fetchall()[0]
    row = _definition_columns(entry, spec) | {
        "source_fingerprint": text(fingerprint),
        "source_records": literal(int(source_records)),
        "records": literal(int(metrics["records"])),
        "suppressed": literal(int(metrics["suppressed"])),
        "dropped": literal(int(metrics["dropped:null"])),
        "released_at": Sql(f"{text(str(datetime.now(UTC).replace(tzinfo=None)))}::TIMESTAMP"),
        "achieved": map_literal({k: literal(v) for k, v in achieved.items()}, "DOUBLE"),
        "metrics": map_literal({k: literal(v) for k, v in metrics.items()}, "DOUBLE"),
        "small_differences": literal(n_small_differences),
        "allow_small_differences": literal(version_options.allows_small_differences),
        "composition": Sql("NULL")
        if comparison.composition is None
        else map_literal({k: literal(v) for k, v in comparison.composition.items()}, "BIGINT"),
        "unchecked_against": list_literal(
            [o.version_name for o in comparison.unchecked]
            + [name + unknown_sources.RELATION_UNKNOWN for name in comparison.unknown]
        ),
        "recognized": map_literal({r.other.version_name: literal(r.total) for r in recognized}, "BIGINT"),
        "withheld_after_erasure": literal(compare_version.count_withheld(cursor, entry)),
        "composition_rule": text(version_options.composition),
    }
    if entry.refresh_mode == "hold":
        counts = zip(("waiting", "waiting_persons"), deferred_records.count_deferred(cursor, entry), strict=True)
        row |= {name: literal(count) for name, count in counts if count is not None}
    hashed_columns = join_sql(f"{row[c]} AS {identifier(c)}" for c in ledger_hashes.LEDGER_COLUMNS)
    if version_options.with_members:  # no other process can change the tables of a release for files
        hashes = ledger_hashes.hash_tables(cursor, entry) | {
            "ledger": ledger_hashes.hash_ledger_row(cursor, entry.database, Sql(f"(SELECT {hashed_columns})"))
        }
        if source is not None:
            hashes[version_state.STATE] = version_state.state_hash(cursor, entry, library_versions(), source)
        row["hashes"] = map_literal({k: text(v) for k, v in hashes.items()}, "VARCHAR")
    columns = join_sql(identifier(c) for c in row)
    cursor.execute(
        f"INSERT INTO {qualified(entry.database, SCHEMA, 'release')} ({columns}) SELECT {join_sql(row.values())}"
    )


_ACHIEVED_METRICS = ("k", *(metric.name for _, _, metric in registry.metrics()))


def library_versions() -> dict[str, str]:
    """Return the versions of dbanon, DuckDB and Python, under the keys dbanon, duckdb and python."""
    return {"dbanon": __version__, "duckdb": installed("duckdb"), "python": platform.python_version()}


def list_literal(values: Sequence[str]) -> Sql:
    """Return a SQL literal of type VARCHAR[] with the texts."""
    return Sql(f"[{join_sql(text(i) for i in values)}]::VARCHAR[]")


def map_literal(values: Mapping[str, Sql], type_: str) -> Sql:
    """Return a SQL literal of type MAP(VARCHAR, type_); the values are SQL expressions."""
    return Sql(f"MAP {{{join_sql(f'{text(k)}: {v}' for k, v in values.items())}}}::MAP(VARCHAR, {type_})")
