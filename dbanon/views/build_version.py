"""Making one version of a release: its tables, membership and ledger row, and what it shows beside others."""

from __future__ import annotations

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
from dbanon.ledger import hashes as ledger_hashes, releases, same_source
from dbanon.ledger.composition import composition_function, linked_versions, overlap, version_differences
from dbanon.ledger.deliveries import Target
from dbanon.ledger.people import disjoint_sources, recognized_people, unknown_sources
from dbanon.ledger.people.recognized_people import Recognized
from dbanon.ledger.releases import Entry
from dbanon.privacy_models import registry
from dbanon.publishing import postgres_delivery, written_tables
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.summary import ROWS, Glance
from dbanon.runtime.version import __version__
from dbanon.source.catalog import SCHEMA
from dbanon.sqltext.quote import Sql, identifier, joined, literal, qualified, text
from dbanon.views import deferred_records, erasure, warnings

OLD = " before refresh"
INTERRUPTED = re.compile("interrupted", re.IGNORECASE)


@dataclass(frozen=True, repr=False)
class Release:
    """One version that was made: its name, number and size, and how many people its other releases expose.
    `waiting`: how many records came and wait (None: none may).

    On a terminal and in a notebook it shows its head, quasi-identifiers first, and five measures (`glance`).
    """

    name: str
    version: int
    records: int
    classes: int
    composition: Mapping[str, int] | None
    glance: Glance | None = field(default=None, compare=False)
    waiting: int | None = None

    def __repr__(self) -> str:
        said = f"{self.name}, version {self.version}: {self.records:,} records in {self.classes:,} classes"
        said += f", {self.waiting:,} wait" if self.waiting else ""
        return said if self.glance is None else f"{said}\n{self.glance.text()}"

    def _repr_html_(self) -> str:
        return html.escape(repr(self)) if self.glance is None else self.glance.html()


@dataclass(frozen=True)
class Making:
    """How a version is made: by which function, and in place of which version (`old`).

    `allow_delta` publishes what differs by too few, `composition` says what happens where other releases and this one
    narrow people together: warn or refuse. With `erase` what its differences to earlier versions show is said, not
    refused. Where newcomers may wait, those do who cannot be published, and those who `wait` (see `holding.WHO`).
    `to`: where it is to be shown, too.
    """

    function: str
    allow_delta: bool
    composition: str
    old: Entry | None = None
    erase: bool = False
    wait: str = deferred_records.WHO[0]
    to: Target | None = None

    @property
    def lets_differ(self) -> bool:
        """Whether versions of the same name may differ by too few."""
        return self.allow_delta or self.erase


@dataclass(frozen=True)
class _Beside:
    """What a version shows beside others of the same people.

    `mine` are versions of its own name, `checked` those whose exposure is refused on request, `unchecked` those that it
    cannot be held against; `differences` are sets that tell it apart from its own, `elsewhere` from all. `together`:
    people by version, None where nobody knows who is who. `unknown` are releases that may be about the same people.
    """

    mine: Sequence[Entry]
    checked: Sequence[Entry]
    unchecked: Sequence[Entry]
    differences: Sequence[version_differences.Apart]
    elsewhere: list[version_differences.Apart]
    together: Mapping[str, int] | None
    unknown: Mapping[str, str] = field(default_factory=dict)

    @property
    def exposed(self) -> dict[str, int]:
        """How many people each other version helps to narrow or tell apart."""
        return _exposed(self.together, self.elsewhere)

    @property
    def composition(self) -> dict[str, int] | None:
        """The same of every version, for the ledger."""
        if self.together is None:
            return None
        return dict.fromkeys(self.together, 0) | _exposed(self.together, [*self.elsewhere, *self.differences])


def build(cursor: Any, entry: Entry, publication: ReleaseSpec, making: Making, short: int = 0) -> Release:
    """Tables, membership and ledger row of a version, inside a transaction. `short`: how many of its classes are known
    to differ by too few.

    Raises SamePeople, UnstableSource, DeltaRefused, CompositionUnchecked or CompositionRefused.
    """
    overlap.refuse_beside(cursor, entry)
    recognized: list[Recognized] = []
    try:
        return _built(cursor, entry, publication, making, short, recognized)
    finally:
        with contextlib.suppress(duckdb.Error):  # in a transaction that was aborted, whose tables are gone
            recognized_people.forget(cursor, len(recognized))


def _built(
    cursor: Any, entry: Entry, publication: ReleaseSpec, making: Making, short: int, recognized: list[Recognized]
) -> Release:
    publication = resolve.keyed(publication, entry.person_key)
    metrics = _written(cursor, entry, publication)
    written_tables.check(making.function, cursor, entry, publication)
    related_versions = same_source.related(entry, cursor)
    recognized += recognized_people.recognize(cursor, entry, disjoint_sources.without_disjoint(entry, related_versions))
    others = [r.other for r in recognized if not r.are_others]
    if making.old is not None:
        old = next((o for o in others if o.place == making.old.place), making.old)
        short += _delta(cursor, entry, old, publication)
        if short and not making.lets_differ:
            raise errors.DeltaRefused(making.function, making.old.shown, short, [f"version {making.old.version}"])
    mine = version_differences.same_name(entry, others)
    _check_recognized(cursor, entry, making, recognized, mine)
    linked_versions.check(cursor, entry, publication, others, OLD)
    differences = version_differences.apart(cursor, entry, publication, mine, moved=OLD)
    if entry.keeps:
        differences += version_differences.came_back(cursor, entry, publication, mine, moved=OLD)
    respelled = _respelled(recognized)
    if respelled:
        own = version_differences.same_name(entry, respelled)
        differences += version_differences.apart(cursor, entry, publication, own, moved=OLD)
    short += sum(t.sets for t in differences)
    if differences and not making.lets_differ:
        versions = sorted({o.version for t in differences for o in t.others})
        raise errors.DeltaRefused(making.function, entry.shown, short, [f"version {v}" for v in versions])
    unknown = unknown_sources.unknown_relations(cursor, entry, making.composition, related_versions)
    streams = _streams(cursor, entry, making)
    beside = replace(_beside(cursor, entry, publication, making, others, mine, differences), unknown=unknown)
    beside.elsewhere.extend(
        version_differences.apart(cursor, entry, publication, respelled, moved=OLD) if respelled else []
    )
    _insert(cursor, entry, publication, metrics, making, short, beside, recognized)
    postgres_delivery.intend(making.function, cursor, entry, making.to)
    checked = {o.named for o in beside.checked}
    refused = {name: people for name, people in beside.exposed.items() if name in checked}
    if making.composition == "refuse" and refused:
        raise errors.CompositionRefused(entry.shown, refused)
    _disclose(cursor, entry, making, beside)
    unknown_sources.warn_of_unknown(entry, unknown)
    if streams:
        _warn(
            f"{entry.shown}: the streaming views {', '.join(streams)} published the same people; their classes are not "
            "held against those of releases: who has both can intersect them."
        )
    warnings.one_class(entry.shown, metrics)
    warnings.person_spellings(cursor, publication.cleaned.rows, publication.source, publication.roles.person)
    return current_release(cursor, entry, beside.composition, entry.how == "hold")


def _respelled(recognized: Sequence[Recognized]) -> list[Entry]:
    """The other versions with their values as the new one spells them; none where all are spelled alike."""
    same = [r for r in recognized if not r.are_others]
    return [r.respelled or r.other for r in same] if any(r.respelled for r in same) else []


def _check_recognized(
    cursor: Any, entry: Entry, making: Making, recognized: Sequence[Recognized], mine: Sequence[Entry]
) -> None:
    """Refuse or report versions of which the people are probably the same, though their keys are others.

    Raises:
        PeopleNotRecognizedError: Under composition = 'refuse'.
        DeltaRefused: Versions of one name, whose people are not told apart, differ by too few records.
    """
    for found in recognized:
        other = found.other
        lets = making.lets_differ and other in mine
        if found.is_comparable and found.by_records is None:
            if found.by_spelling:
                _warn(str(errors.PeopleNotRecognizedError(entry.shown, other.named, found)))
            continue
        if recognized_people.is_same_release(cursor, entry, other):
            continue
        too_few = [n for n in found.unmatched if 0 < n < max(entry.k, other.k)]
        if (
            too_few
            and found.is_comparable
            and other in mine
            and not lets
            and not version_differences.comparable(entry, other)
        ):
            raise errors.DeltaRefused(making.function, entry.shown, len(too_few), [f"version {other.version}"])
        error = errors.PeopleNotRecognizedError(entry.shown, other.named, found)
        if making.composition == "refuse" and not lets:
            raise error
        _warn(str(error))


def _written(cursor: Any, entry: Entry, publication: ReleaseSpec) -> dict[str, float]:
    """Makes the tables and the membership of a version; gives its measures."""
    for ending, kind in (("", "release"), ("_classes", "classes")):
        cursor.execute(f"CREATE TABLE {entry.table(ending)} AS {plan.statement(replace(publication, kind=kind))}")
    metrics = _measured(cursor, entry, publication)
    _remember(cursor, entry, plan.statement(replace(publication, kind="membership")))
    _one_table(cursor, entry, publication)
    if publication.continuity.held is not None:
        _remember(cursor, entry, erasure.statement(publication))
    return metrics


def _streams(cursor: Any, entry: Entry, making: Making) -> list[str]:
    """Streaming views of the same people; StreamBeside."""
    streams = list(dict.fromkeys(s.shown for s in same_source.streams_beside(entry, cursor)))
    if streams and making.composition == "refuse":
        raise errors.StreamBeside(entry.shown, streams)
    return streams


def _beside(
    cursor: Any,
    entry: Entry,
    publication: ReleaseSpec,
    making: Making,
    others: Sequence[Entry],
    mine: Sequence[Entry],
    differences: Sequence[version_differences.Apart],
) -> _Beside:
    """What a version shows beside others; CompositionUnchecked."""
    checked = [o for o in others if not (making.lets_differ and o in mine)]
    unchecked = [o for o in others if not version_differences.comparable(entry, o)]
    unchecked = [o for o in unchecked if not recognized_people.is_same_release(cursor, entry, o)]
    if making.composition == "refuse" and (unknown := [o for o in unchecked if o in checked]):
        raise errors.CompositionUnchecked(entry.shown, entry.person_key, {o.named: o.person_key for o in unknown})
    together = _together(cursor, entry, others)
    elsewhere = (
        [] if len(others) == len(mine) else version_differences.apart(cursor, entry, publication, others, moved=OLD)
    )
    elsewhere += version_differences.sums(cursor, entry, publication, others, moved=OLD)
    if making.composition == "refuse":
        elsewhere += version_differences.apart(cursor, entry, publication, checked, refined=True, moved=OLD)
    return _Beside(mine, checked, unchecked, differences, elsewhere, together)


def _disclose(cursor: Any, entry: Entry, making: Making, beside: _Beside) -> None:
    """Warns of what readers of other versions can tell."""
    exposed, old = beside.exposed, making.old
    if making.erase:
        for said in erasure.learned(entry.shown, _held_back(cursor, entry), _exposed(None, beside.differences)):
            _warn(said)
    if entry.how == "recluster" and old is not None:
        narrowed = {o.named: exposed.pop(o.named) for o in beside.mine if o.named in exposed}
        counts = ", ".join(f"{people} with {name}" for name, people in narrowed.items())
        _warn(
            f"{entry.shown} was clustered anew: who has version {old.version} too can intersect its classes with those "
            f"of version {entry.version}"
            + (
                f"; candidate sets fall below k or l, or sums of classes can be subtracted: people {counts}."
                if counts
                else "."
            )
        )
        changed = releases.changed_roles(old, entry.roles)
        if changed:
            _warn(f"{entry.shown}: roles have changed since version {old.version}: {', '.join(changed)}.")
    if exposed:
        _warn(str(errors.CompositionRefused(entry.shown, exposed)))


def current_release(
    cursor: Any, entry: Entry, together: Mapping[str, int] | None = None, holds: bool = False
) -> Release:
    """A version as its tables are; `holds`: with how many records wait."""
    records, classes = cursor.execute(
        f"SELECT (SELECT count(*) FROM {entry.table()}), (SELECT count(*) FROM {entry.table('_classes')})"
    ).fetchall()[0]
    waiting = deferred_records.counted(cursor, entry)[0] if holds else None
    return Release(entry.shown, entry.version, records, classes, together, _glance(cursor, entry, records), waiting)


def _glance(cursor: Any, entry: Entry, records: int) -> Glance:
    """What is shown of a version."""
    rows = cursor.execute(f"FROM {entry.table()} LIMIT {ROWS}").fetchall()
    columns = [column[0] for column in cursor.description]
    classes = {column[0] for column in cursor.execute(f"FROM {entry.table('_classes')} LIMIT 0").description}
    measures = cursor.execute(f"SELECT metric, value, description FROM {entry.table('_metrics')}").fetchall()
    quasi = tuple(c for c in columns[:-1] if c in classes and c not in entry.values)
    return Glance(tuple(columns), tuple(rows), records, quasi, tuple(measures))


def _remember(cursor: Any, entry: Entry, members: str) -> None:
    """Writes who is in a version."""
    cursor.execute(
        f"INSERT INTO {qualified(entry.database, SCHEMA, 'membership')} BY NAME "
        f'SELECT {text(entry.schema)} AS schema_name, {text(entry.name)} AS "release", {entry.version} AS version, * '
        f"FROM ({members})"
    )


def _held_back(cursor: Any, entry: Entry) -> int:
    """Records of the source that are left out since an erasure."""
    table = qualified(entry.database, SCHEMA, "membership")
    key = f"({text(entry.schema)}, {text(entry.name)}, {entry.version})"
    query = f"SELECT coalesce(sum(records), 0) FROM {table} WHERE (schema_name, release, version) = {key} AND held"
    return int(cursor.execute(query).fetchall()[0][0])


def _measured(cursor: Any, entry: Entry, publication: ReleaseSpec) -> dict[str, float]:
    """Makes the table of the measures that go out; gives all of them, which the ledger keeps."""
    rows = cursor.execute(plan.statement(replace(publication, kind="metrics"))).fetchall()
    types = {"metric": "VARCHAR", "value": "DOUBLE", "better": "VARCHAR", "description": "VARCHAR"}
    table = entry.table("_metrics")
    cursor.execute(f"CREATE TABLE {table} ({joined(f'{name} {type_}' for name, type_ in types.items())})")
    cursor.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", [row[:4] for row in rows if row[4]])
    return {row[0]: row[1] for row in rows}


def _warn(message: str) -> None:
    warn(message, DisclosureWarning)


def _one_table(cursor: Any, entry: Entry, publication: ReleaseSpec) -> None:
    """Raises UnstableSource if the statements did not see the same rows: a view may give others each time. Where
    records wait: if those that are published, left out or wait are not all records of the source, each once."""
    waits = publication.continuity.waits is not None
    query = plan.filled(
        "views/unchanged_source_check.sql",
        publication.continued(waits=None),
        version=entry.table(),
        classes=entry.table("_classes"),
        members=entry.members if waits else entry.settled,
    )
    if cursor.execute(query).fetchall()[0][0]:
        raise errors.UnstableSource(entry.shown, publication.source.shown)


def _delta(cursor: Any, entry: Entry, old: Entry, publication: ReleaseSpec) -> int:
    """How many sets of records tell two versions apart and are too little, either way."""
    before = qualified(old.database, old.schema, old.name + OLD)
    # Versions that show other columns are compared by those that both show, record by record.
    alike = releases.same_roles(old, entry.roles)
    by_person = alike and publication.roles.person is not None and old.person_key == entry.person_key
    shown, shown_before = releases.columns(entry, "", cursor), releases.columns(old, OLD, cursor)
    of_both = {name for name, type_ in shown.items() if shown_before.get(name) == type_ and entry.alike(old, name)}
    only = None if alike and of_both == shown.keys() else of_both
    total = 0
    for is_new, version, other, members, other_members in (
        (True, entry.table(), before, entry.members, old.members),
        (False, before, entry.table(), old.members, entry.members),
    ):
        query = plan.filled(
            "ledger/small_differences.sql",
            publication,
            only,
            version=version,
            other=other,
            members=members,
            other_members=other_members,
            class_id=identifier(list(shown if is_new else shown_before)[-1]),
            other_class_id=identifier(list(shown_before if is_new else shown)[-1]),
            kept_clusters=entry.keeps,
            is_new=is_new,
            person=Sql("person") if by_person else None,
            nulls=None,
            suppress=None,
        )
        total += cursor.execute(query).fetchall()[0][0]
    return total


def _together(cursor: Any, entry: Entry, others: Sequence[Entry]) -> dict[str, int] | None:
    """People whose candidate set is too small over this and another version, by version; None: nobody knows who is who.

    Versions whose clusters were kept are left out: what they have in common is judged by what each gained and lost.
    """
    if entry.person_key is None:
        return None
    kept = version_differences.kept_since(entry, others)
    found = {}
    for other in others:
        if version_differences.comparable(entry, other):
            query = "SELECT NULL AS person_key WHERE false"
            if other not in kept:
                query = composition_function.composed("composition", entry, other)
            found[other.named] = cursor.execute(f"SELECT count(DISTINCT person_key) FROM ({query})").fetchall()[0][0]
    return found


def _exposed(together: Mapping[str, int] | None, differences: Sequence[version_differences.Apart]) -> dict[str, int]:
    """How many people each other version helps to narrow or tell apart; versions that do not are left out."""
    found = {name: people for name, people in (together or {}).items() if people}
    by_kind: dict[tuple[str, str], int] = {}
    for t in differences:
        for other in t.others:
            by_kind[other.named, t.kind] = by_kind.get((other.named, t.kind), 0) + t.people
    for (name, _), people in by_kind.items():
        found[name] = max(found.get(name, 0), people)
    return found


def _insert(
    cursor: Any,
    entry: Entry,
    publication: ReleaseSpec,
    metrics: Mapping[str, float],
    making: Making,
    short: int,
    beside: _Beside,
    recognized: Sequence[Recognized],
) -> None:
    """The row of the ledger."""
    achieved = {m: v for m, v in metrics.items() if m.split(":")[0] in _ACHIEVED}
    fingerprint, source_records = cursor.execute(
        f"SELECT coalesce(sum(row_hash::HUGEINT * records), 0)::VARCHAR, coalesce(sum(records), 0) FROM {entry.members}"
    ).fetchall()[0]
    row: dict[str, Sql] = {
        "schema_name": text(entry.schema),
        "name": text(entry.name),
        "version": literal(entry.version),
        "status": text("published"),
        "source": text(entry.call["source"]),
        "algorithm": text(publication.algorithm),
        "statement": text(entry.statement),
        "call": text(json.dumps(entry.call, ensure_ascii=False)),
        "parameters": text(json.dumps(dict(publication.options), ensure_ascii=False, default=list)),
        "roles": text(json.dumps(entry.roles, ensure_ascii=False)),
        "withheld": listed([n for n, role in entry.roles.items() if role in ("withheld", "identifier", "person")]),
        "policy_fingerprint": text(publication.policy.fingerprint),
        "hierarchy_fingerprint": text(entry.hierarchy_fingerprint),
        "library_versions": mapped({k: text(v) for k, v in library_versions().items()}, "VARCHAR"),
        "source_fingerprint": text(fingerprint),
        "source_records": literal(int(source_records)),
        "records": literal(int(metrics["records"])),
        "suppressed": literal(int(metrics["suppressed:outlier"])),
        "dropped": literal(int(metrics["dropped"])),
        "released_at": Sql(f"{text(str(datetime.now(UTC).replace(tzinfo=None)))}::TIMESTAMP"),
        "achieved": mapped({k: literal(v) for k, v in achieved.items()}, "DOUBLE"),
        "metrics": mapped({k: literal(v) for k, v in metrics.items()}, "DOUBLE"),
        "person_key": Sql("NULL") if entry.person_key is None else listed(entry.person_key),
        "refresh": text(entry.how),
        "delta_classes": literal(short),
        "allow_delta": literal(making.lets_differ),
        "composition": Sql("NULL")
        if beside.composition is None
        else mapped({k: literal(v) for k, v in beside.composition.items()}, "BIGINT"),
        "bases": listed(entry.bases or ()),
        "keys": mapped({k: text(v) for k, v in entry.keys.items()}, "VARCHAR"),
        "unchecked": listed(
            [o.named for o in beside.unchecked] + [name + unknown_sources.RELATION_UNKNOWN for name in beside.unknown]
        ),
        "recognized": mapped({r.other.named: literal(r.total) for r in recognized}, "BIGINT"),
        "held_back": literal(_held_back(cursor, entry)),
        "composition_rule": text(making.composition),
        "hash_format": literal(entry.hash_format),
        "disjoint_from": listed(entry.disjoint_from),
    }
    if entry.how == "hold":
        counts = zip(("waiting", "waiting_persons"), deferred_records.counted(cursor, entry), strict=True)
        row |= {name: literal(count) for name, count in counts if count is not None}
    said = joined(f"{row[c]} AS {identifier(c)}" for c in ledger_hashes.LEDGER)
    hashes = ledger_hashes.of_tables(cursor, entry) | {
        "ledger": ledger_hashes.of_ledger(cursor, entry.database, Sql(f"(SELECT {said})"))
    }
    row["hashes"] = mapped({k: text(v) for k, v in hashes.items()}, "VARCHAR")
    columns = joined(identifier(c) for c in row)
    cursor.execute(
        f"INSERT INTO {qualified(entry.database, SCHEMA, 'release')} ({columns}) SELECT {joined(row.values())}"
    )


_ACHIEVED = ("k", *(metric.name for _, _, metric in registry.metrics()))


def library_versions() -> dict[str, str]:
    return {"dbanon": __version__, "duckdb": installed("duckdb"), "python": platform.python_version()}


def listed(items: Sequence[str]) -> Sql:
    return Sql(f"[{joined(text(i) for i in items)}]::VARCHAR[]")


def mapped(items: Mapping[str, Sql], type_: str) -> Sql:
    return Sql(f"MAP {{{joined(f'{text(k)}: {v}' for k, v in items.items())}}}::MAP(VARCHAR, {type_})")
