"""Making one version of a release: its tables, membership and ledger row, and what it shows beside others."""

from __future__ import annotations

import json
import platform
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

from dbanon import __version__, errors, ledger, plan, publishing, seal
from dbanon.catalog import SCHEMA
from dbanon.ledger import Entry
from dbanon.publication import Publication
from dbanon.quote import Sql, identifier, joined, literal, qualified, text

OLD = " before refresh"
INTERRUPTED = re.compile("interrupted", re.IGNORECASE)


class DisclosureWarning(UserWarning):
    """Releases that can be held against each other: see composition() and delta_problems()."""


@dataclass(frozen=True)
class Release:
    """One version that was made: its name, number and size, and how many people its other releases expose."""

    name: str
    version: int
    records: int
    classes: int
    composition: Mapping[str, int] | None


def build(
    cursor: Any,
    entry: Entry,
    made: Publication,
    how: str,
    allow_delta: bool,
    short: int,
    composition: str,
    old: Entry | None = None,
) -> Release:
    """Tables, membership and ledger row of a version, inside a transaction."""
    made = publishing.keyed(made, entry.person_key)
    for ending, kind in (("", "release"), ("_classes", "classes")):
        cursor.execute(f"CREATE TABLE {entry.table(ending)} AS {plan.statement(replace(made, kind=kind))}")
    metrics = _measured(cursor, entry, made)
    members = plan.statement(replace(made, kind="ledger/membership"))
    cursor.execute(
        f"INSERT INTO {qualified(entry.database, SCHEMA, 'membership')} BY NAME "
        f'SELECT {text(entry.schema)} AS schema_name, {text(entry.name)} AS "release", {entry.version} AS version, * '
        f"FROM ({members})"
    )
    _one_table(cursor, entry, made)
    if old is not None:
        short += _delta(cursor, entry, old, made, how)
        if short and not allow_delta:
            raise errors.DeltaRefused(old.shown, short)
    together = _composition(cursor, entry)
    _insert(cursor, entry, made, metrics, how, allow_delta, short, together)
    exposed = {name: people for name, people in (together or {}).items() if people}
    if exposed and composition == "refuse":
        raise errors.CompositionRefused(entry.shown, exposed)
    if exposed:
        _warn(str(errors.CompositionRefused(entry.shown, exposed)))
    if how == "recluster" and old is not None:
        _warn(
            f"{entry.shown} was clustered anew: who has version {old.version} too can intersect its classes with those "
            f"of version {entry.version}."
        )
    records, classes = cursor.execute(
        f"SELECT (SELECT count(*) FROM {entry.table()}), (SELECT count(*) FROM {entry.table('_classes')})"
    ).fetchall()[0]
    return Release(entry.shown, entry.version, records, classes, together)


def _measured(cursor: Any, entry: Entry, made: Publication) -> dict[str, float]:
    """Makes the table of the measures that go out; gives all of them, which the ledger keeps."""
    rows = cursor.execute(plan.statement(replace(made, kind="metrics"))).fetchall()
    types = {"metric": "VARCHAR", "value": "DOUBLE", "better": "VARCHAR", "description": "VARCHAR"}
    table = entry.table("_metrics")
    cursor.execute(f"CREATE TABLE {table} ({joined(f'{name} {type_}' for name, type_ in types.items())})")
    cursor.executemany(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", [row[:4] for row in rows if row[4]])
    return {row[0]: row[1] for row in rows}


def _warn(message: str) -> None:
    """Warns at the line that called the package, from Python or by a statement."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and Path(frame.f_code.co_filename).parent == Path(__file__).parent:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DisclosureWarning, stacklevel=level)


def _one_table(cursor: Any, entry: Entry, made: Publication) -> None:
    """Raises UnstableSource if the statements did not see the same rows: a view may give others each time."""
    query = plan.filled(
        "ledger/stable.sql", made, version=entry.table(), classes=entry.table("_classes"), members=entry.members
    )
    if cursor.execute(query).fetchall()[0][0]:
        raise errors.UnstableSource(entry.shown, made.source.shown)


def _delta(cursor: Any, entry: Entry, old: Entry, made: Publication, how: str) -> int:
    """How many sets of records tell two versions apart and are too little, either way."""
    before = qualified(old.database, old.schema, old.name + OLD)
    # Versions that show other columns are compared by those that both show, record by record.
    alike = ledger.same_roles(old, entry.roles)
    by_person = alike and made.roles.person is not None and old.person_key == entry.person_key
    shown, shown_before = ledger.columns(entry, "", cursor), ledger.columns(old, OLD, cursor)
    only = None if alike else {name for name, type_ in shown.items() if shown_before.get(name) == type_}
    total = 0
    for is_new, version, other, members, other_members in (
        (True, entry.table(), before, entry.members, old.members),
        (False, before, entry.table(), old.members, entry.members),
    ):
        query = plan.filled(
            "ledger/delta.sql",
            made,
            only,
            version=version,
            other=other,
            members=members,
            other_members=other_members,
            class_id=identifier(list(shown if is_new else shown_before)[-1]),
            other_class_id=identifier(list(shown_before if is_new else shown)[-1]),
            kept_clusters=how == "keep",
            is_new=is_new,
            person=Sql("person") if by_person else None,
            nulls=None,
            suppress=None,
        )
        total += cursor.execute(query).fetchall()[0][0]
    return total


def _composition(cursor: Any, entry: Entry) -> dict[str, int] | None:
    """People whose candidate set is too small over this and another release of the same source, by release."""
    if entry.person_key is None:
        return None
    found = {}
    for other in ledger.entries(cursor, entry.database, "source = ?", [entry.call["source"]]):
        of_it = (other.schema, other.name.lower()) == (entry.schema, entry.name.lower())
        same = of_it and other.status != "dropped"  # versions that follow each other are held against each other
        if same or other.person_key is None or other.person_key != entry.person_key:
            continue
        query = ledger.composed("composition", entry, other, cursor)
        people = cursor.execute(f"SELECT count(DISTINCT person_key) FROM ({query})").fetchall()[0][0]
        found[f"{other.shown} version {other.version}"] = people
    return found


def _insert(
    cursor: Any,
    entry: Entry,
    made: Publication,
    metrics: Mapping[str, float],
    how: str,
    allow_delta: bool,
    short: int,
    together: Mapping[str, int] | None,
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
        "algorithm": text(made.algorithm),
        "statement": text(entry.statement),
        "call": text(json.dumps(entry.call, ensure_ascii=False)),
        "parameters": text(json.dumps(made.options, ensure_ascii=False, default=list)),
        "roles": text(json.dumps(entry.roles, ensure_ascii=False)),
        "withheld": _list([n for n, role in entry.roles.items() if role in ("withheld", "identifier", "person")]),
        "policy_fingerprint": text(made.fingerprint),
        "hierarchy_fingerprint": text(entry.hierarchy_fingerprint),
        "library_versions": _map({k: text(v) for k, v in _versions().items()}, "VARCHAR"),
        "source_fingerprint": text(fingerprint),
        "source_records": literal(int(source_records)),
        "records": literal(int(metrics["records"])),
        "suppressed": literal(int(metrics["suppressed:outlier"])),
        "dropped": literal(int(metrics["dropped"])),
        "released_at": Sql(f"{text(str(datetime.now(UTC).replace(tzinfo=None)))}::TIMESTAMP"),
        "achieved": _map({k: literal(v) for k, v in achieved.items()}, "DOUBLE"),
        "metrics": _map({k: literal(v) for k, v in metrics.items()}, "DOUBLE"),
        "person_key": Sql("NULL") if entry.person_key is None else _list(entry.person_key),
        "refresh": text(how),
        "delta_classes": literal(short),
        "allow_delta": literal(allow_delta),
        "composition": Sql("NULL")
        if together is None
        else _map({k: literal(v) for k, v in together.items()}, "BIGINT"),
    }
    said = joined(f"{row[c]} AS {identifier(c)}" for c in seal.LEDGER)
    hashes = seal.of_tables(cursor, entry) | {"ledger": seal.of_ledger(cursor, entry.database, Sql(f"(SELECT {said})"))}
    row["hashes"] = _map({k: text(v) for k, v in hashes.items()}, "VARCHAR")
    columns = joined(identifier(c) for c in row)
    cursor.execute(
        f"INSERT INTO {qualified(entry.database, SCHEMA, 'release')} ({columns}) SELECT {joined(row.values())}"
    )


_ACHIEVED = ("k", "l_diversity", "recursive_c", "t_closeness", "alpha", "p_sensitivity", "beta_likeness")


def _versions() -> dict[str, str]:
    return {"dbanon": __version__, "duckdb": installed("duckdb"), "python": platform.python_version()}


def _counts(people: Mapping[str, int] | None) -> Sql:
    return Sql("NULL") if people is None else _map({k: literal(v) for k, v in people.items()}, "BIGINT")


def _list(items: Sequence[str]) -> Sql:
    return Sql(f"[{joined(text(i) for i in items)}]::VARCHAR[]")


def _map(items: Mapping[str, Sql], type_: str) -> Sql:
    return Sql(f"MAP {{{joined(f'{text(k)}: {v}' for k, v in items.items())}}}::MAP(VARCHAR, {type_})")
