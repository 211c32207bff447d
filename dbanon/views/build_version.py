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
from dbanon.ledger import hashes as ledger_hashes, same_source
from dbanon.ledger.composition import linked_versions, overlap, version_differences
from dbanon.ledger.people import disjoint_sources, recognized_people, unknown_sources
from dbanon.ledger.releases import LedgerEntry
from dbanon.privacy_models import registry
from dbanon.publishing import postgres_delivery, written_tables
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.summary import SHOWN_ROWS, ReleaseSummary
from dbanon.runtime.version import __version__
from dbanon.source.catalog import SCHEMA
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, qualified, text
from dbanon.views import compare_version, deferred_records, erasure, warnings
from dbanon.views.compare_version import OLD_SUFFIX, VersionComparison, VersionOptions

INTERRUPTED = re.compile("interrupted", re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class Release:
    """The version of a release that was created: name, number and size, and the people its other releases expose.

    `waiting`: number of deferred records (None: none can be deferred).

    On a terminal and in a notebook it shows its first rows, quasi-identifiers first, and five metrics (`summary`).
    """

    name: str
    version: int
    records: int
    classes: int
    composition: Mapping[str, int] | None
    summary: ReleaseSummary | None = field(default=None, compare=False)
    waiting: int | None = None

    def __repr__(self) -> str:
        summary = f"{self.name}, version {self.version}: {self.records:,} records in {self.classes:,} classes"
        summary += f", {self.waiting:,} wait" if self.waiting else ""
        return summary if self.summary is None else f"{summary}\n{self.summary.text()}"

    def _repr_html_(self) -> str:
        return html.escape(repr(self)) if self.summary is None else self.summary.html()


def create_version(
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, version_options: VersionOptions, n_small_differences: int = 0
) -> Release:
    """Create the tables, membership and ledger row of a version, inside a transaction.

    `n_small_differences`: number of its classes that are known to differ by too few records.

    Raises:
        OverlappingReleaseError: A release of related tables is about the same people.
        UnstableSourceError: The source returned different rows while the version was created.
        SmallDifferencesRefusedError: It differs from earlier versions by too few records.
        CompositionUncheckedError: Under composition = 'refuse', other releases cannot be compared.
        CompositionRefusedError: Under composition = 'refuse', other releases and this one narrow people.
    """
    overlap.refuse_overlapping(cursor, entry)
    recognized: list[recognized_people.Recognized] = []
    try:
        return _create_version(cursor, entry, spec, version_options, n_small_differences, recognized)
    finally:
        with contextlib.suppress(duckdb.Error):  # in a transaction that was aborted, whose tables are gone
            recognized_people.drop_temporary_tables(cursor, len(recognized))


def _create_version(
    cursor: Any,
    entry: LedgerEntry,
    spec: ReleaseSpec,
    version_options: VersionOptions,
    n_small_differences: int,
    recognized: list[recognized_people.Recognized],
) -> Release:
    spec = resolve.with_person_key(spec, entry.person_key)
    metrics = _write_tables(cursor, entry, spec)
    written_tables.check_tables(version_options.function, cursor, entry, spec)
    related_versions = same_source.versions_of_same_people(entry, cursor)
    recognized += recognized_people.recognize(cursor, entry, disjoint_sources.without_disjoint(entry, related_versions))
    others = [r.other for r in recognized if not r.are_others]
    if version_options.old is not None:
        old = next((o for o in others if o.place == version_options.old.place), version_options.old)
        n_small_differences += compare_version.count_small_differences(cursor, entry, old, spec)
        if n_small_differences and not version_options.allows_small_differences:
            raise errors.SmallDifferencesRefusedError(
                version_options.function,
                version_options.old.display_name,
                n_small_differences,
                [f"version {version_options.old.version}"],
            )
    same_name = version_differences.same_name(entry, others)
    compare_version.check_recognized(cursor, entry, version_options, recognized, same_name)
    linked_versions.check_linked_versions(cursor, entry, spec, others, OLD_SUFFIX)
    differences = version_differences.small_differences(cursor, entry, spec, same_name, old_suffix=OLD_SUFFIX)
    if entry.keeps_classes:
        differences += version_differences.returned_people(cursor, entry, spec, same_name, old_suffix=OLD_SUFFIX)
    respelled_others = compare_version.respelled_versions(recognized)
    if respelled_others:
        differences += version_differences.small_differences(
            cursor, entry, spec, version_differences.same_name(entry, respelled_others), old_suffix=OLD_SUFFIX
        )
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
    comparison.elsewhere.extend(
        version_differences.small_differences(cursor, entry, spec, respelled_others, old_suffix=OLD_SUFFIX)
        if respelled_others
        else []
    )
    _insert_ledger_row(cursor, entry, spec, metrics, version_options, n_small_differences, comparison, recognized)
    postgres_delivery.record_pending_delivery(version_options.function, cursor, entry, version_options.delivery_target)
    checked_names = {o.version_name for o in comparison.checked}
    exposed_by_checked = {name: people for name, people in comparison.exposed.items() if name in checked_names}
    if version_options.composition == "refuse" and exposed_by_checked:
        raise errors.CompositionRefusedError(entry.display_name, exposed_by_checked)
    compare_version.warn_of_disclosure(cursor, entry, version_options, comparison)
    unknown_sources.warn_of_unknown(entry, unknown)
    if streams:
        warn(
            f"{entry.display_name}: the streaming views {', '.join(streams)} published the same people; their classes "
            "are not held against those of releases: who has both can intersect them.",
            DisclosureWarning,
        )
    warnings.warn_of_one_class(entry.display_name, metrics)
    warnings.warn_of_person_spellings(cursor, spec.cleaned_source.rows, spec.source, spec.roles.person)
    return current_release(cursor, entry, comparison.composition, entry.refresh_mode == "hold")


def _write_tables(cursor: Any, entry: LedgerEntry, spec: ReleaseSpec) -> dict[str, float]:
    """Create the tables and the membership of a version; return its metrics."""
    for ending, kind in (("", "release"), ("_classes", "classes")):
        cursor.execute(f"CREATE TABLE {entry.table(ending)} AS {plan.release_sql(replace(spec, kind=kind))}")
    metrics = _write_metrics(cursor, entry, spec)
    _insert_members(cursor, entry, plan.release_sql(replace(spec, kind="membership")))
    _check_unchanged_source(cursor, entry, spec)
    if spec.version_constraints.withheld_members is not None:
        _insert_members(cursor, entry, erasure.withheld_members_sql(spec))
    return metrics


def current_release(
    cursor: Any, entry: LedgerEntry, composition: Mapping[str, int] | None = None, with_deferred: bool = False
) -> Release:
    """Return a version as its tables are; `with_deferred` adds the number of deferred records."""
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
    )


def _release_summary(cursor: Any, entry: LedgerEntry, records: int) -> ReleaseSummary:
    """Return the summary that is shown for a version."""
    rows = cursor.execute(f"FROM {entry.table()} LIMIT {SHOWN_ROWS}").fetchall()
    columns = [column[0] for column in cursor.description]
    classes = {column[0] for column in cursor.execute(f"FROM {entry.table('_classes')} LIMIT 0").description}
    measures = cursor.execute(f"SELECT metric, value, description FROM {entry.table('_metrics')}").fetchall()
    quasi = tuple(c for c in columns[:-1] if c in classes and c not in entry.values)
    return ReleaseSummary(tuple(columns), tuple(rows), records, quasi, tuple(measures))


def _insert_members(cursor: Any, entry: LedgerEntry, members: str) -> None:
    """Insert the members of a version into the membership."""
    cursor.execute(
        f"INSERT INTO {entry.membership} BY NAME "
        f'SELECT {text(entry.schema)} AS schema_name, {text(entry.name)} AS "release", {entry.version} AS version, * '
        f"FROM ({members})"
    )


def _write_metrics(cursor: Any, entry: LedgerEntry, spec: ReleaseSpec) -> dict[str, float]:
    """Create the table of publishable metrics; return all metrics, for the ledger."""
    rows = cursor.execute(plan.release_sql(replace(spec, kind="metrics"))).fetchall()
    types = {"metric": "VARCHAR", "value": "DOUBLE", "better": "VARCHAR", "description": "VARCHAR"}
    table = entry.table("_metrics")
    cursor.execute(f"CREATE TABLE {table} ({join_sql(f'{name} {type_}' for name, type_ in types.items())})")
    cursor.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", [row[:4] for row in rows if row[4]])
    return {row[0]: row[1] for row in rows}


def _check_unchanged_source(cursor: Any, entry: LedgerEntry, spec: ReleaseSpec) -> None:
    """Check that all statements saw the same rows of the source: a view may return different ones each time.

    If records are deferred: that published, suppressed and deferred records are all records of the source, each once.

    Raises:
        UnstableSourceError: They are not.
    """
    has_deferred = spec.version_constraints.deferred_members is not None
    query = plan.fill_release_template(
        "views/unchanged_source_check.sql",
        spec.with_version_constraints(deferred_members=None),
        version=entry.table(),
        classes=entry.table("_classes"),
        members=entry.members if has_deferred else entry.settled_members,
    )
    if cursor.execute(query).fetchall()[0][0]:
        raise errors.UnstableSourceError(entry.display_name, spec.source.shown)


def _definition_columns(entry: LedgerEntry, spec: ReleaseSpec) -> dict[str, Sql]:
    """Return the columns of a row of the ledger that say what was released, by which definition."""
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
        "policy_fingerprint": text(spec.policy.fingerprint),
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
) -> None:
    """Insert the row of a version into the ledger."""
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
    hashes = ledger_hashes.hash_tables(cursor, entry) | {
        "ledger": ledger_hashes.hash_ledger_row(cursor, entry.database, Sql(f"(SELECT {hashed_columns})"))
    }
    row["hashes"] = map_literal({k: text(v) for k, v in hashes.items()}, "VARCHAR")
    columns = join_sql(identifier(c) for c in row)
    cursor.execute(
        f"INSERT INTO {qualified(entry.database, SCHEMA, 'release')} ({columns}) SELECT {join_sql(row.values())}"
    )


_ACHIEVED_METRICS = ("k", *(metric.name for _, _, metric in registry.metrics()))


def library_versions() -> dict[str, str]:
    """Return the versions of dbanon, DuckDB and Python."""
    return {"dbanon": __version__, "duckdb": installed("duckdb"), "python": platform.python_version()}


def list_literal(values: Sequence[str]) -> Sql:
    """Return a VARCHAR[] literal."""
    return Sql(f"[{join_sql(text(i) for i in values)}]::VARCHAR[]")


def map_literal(values: Mapping[str, Sql], type_: str) -> Sql:
    """Return a MAP literal with values of a type."""
    return Sql(f"MAP {{{join_sql(f'{text(k)}: {v}' for k, v in values.items())}}}::MAP(VARCHAR, {type_})")
