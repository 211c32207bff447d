"""The release ledger: what was published when, from what, and who is in which class of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from dbanon import errors
from dbanon.functions import table_function
from dbanon.functions.call import Call, literal_rows
from dbanon.release import plan, prepare
from dbanon.release.publication import Publication
from dbanon.session import Session
from dbanon.source import catalog
from dbanon.source.catalog import SCHEMA, Cursor
from dbanon.sqltext import names, template
from dbanon.sqltext.quote import Sql, qualified, text

TABLES = ("", "_classes", "_metrics")
"""Endings of the tables of one release."""


@dataclass(frozen=True)
class Entry:
    """One version of a release, as the ledger has it."""

    database: str
    schema: str
    name: str
    version: int
    status: str
    call: Mapping[str, Any]
    statement: str
    policy_fingerprint: str
    hierarchy_fingerprint: str
    person_key: tuple[str, ...] | None
    k: int
    roles: Mapping[str, str]
    how: str = "first"
    """How it was made: first, keep or recluster."""
    bases: tuple[str, ...] | None = None
    """Tables and files behind its source; None where it was made before they were kept."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Every parameter of its call, those that were not given too."""

    @property
    def place(self) -> tuple[str, str, str, int]:
        """Database, schema, name and version, however the name is spelled."""
        return self.database, self.schema, self.name.lower(), self.version

    @property
    def named(self) -> str:
        """Name and version as messages show them."""
        return f"{self.shown} version {self.version}"

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are published as they are, in the order of their hashes."""
        return tuple(c for c, role in self.roles.items() if role in ("sensitive", "other"))

    @property
    def shown(self) -> str:
        """The name as messages show it."""
        return self.name if self.schema == "main" else f"{self.schema}.{self.name}"

    def table(self, ending: str = "") -> Sql:
        """One of its tables."""
        return qualified(self.database, self.schema, self.name + ending)

    @property
    def members(self) -> Sql:
        """Its rows of dbanon.membership."""
        return Sql(
            f"(SELECT person_key, class_id, cluster_id, row_hash, value_hash, records{self._later} "
            f"FROM {qualified(self.database, SCHEMA, 'membership')} "
            f"WHERE (schema_name, release, version) = ({text(self.schema)}, {text(self.name)}, {self.version}))"
        )

    @property
    def _later(self) -> str:
        """Columns of the membership that came later."""
        return "" if self.bases is None else ", label_hash, cells"


def entries(cursor: Cursor, database: str, where: str = "true", values: Sequence[object] = ()) -> list[Entry]:
    """Versions in a database's ledger, latest last; none where it has no ledger."""
    if not catalog.has_table(cursor, database, "release"):
        return []
    found = cursor.execute(
        "SELECT * EXCLUDE (library_versions, achieved, metrics) "
        f"FROM {qualified(database, SCHEMA, 'release')} WHERE {where} ORDER BY schema_name ASC, name ASC, version ASC",
        list(values),
    )
    columns = [column[0] for column in found.description]
    return [_entry(database, dict(zip(columns, row, strict=True))) for row in found.fetchall()]


def _entry(database: str, row: Mapping[str, Any]) -> Entry:
    """A row of the ledger; one that cannot be written may lack the columns that came later."""
    bases = row.get("bases")
    options = json.loads(row["parameters"])
    return Entry(
        database,
        row["schema_name"],
        row["name"],
        row["version"],
        row["status"],
        json.loads(row["call"]),
        row["statement"],
        row["policy_fingerprint"],
        row["hierarchy_fingerprint"],
        None if row["person_key"] is None else tuple(row["person_key"]),
        int(options["k"]),
        json.loads(row["roles"]),
        row["refresh"],
        None if bases is None else tuple(bases),
        options,
    )


def find(function: str, given: str, cursor: Cursor, path: catalog.SearchPath) -> Entry:
    """The latest version of a release by its name; UnknownRelease."""
    parts = names.table_parts(given) or (given,)
    places = path.places
    if len(parts) == 3:
        places = [(parts[0], parts[1])]
    elif len(parts) == 2:  # a schema, or a database
        places = [*((d, parts[0]) for d, _ in places), (parts[0], "main")]
    databases = list(dict.fromkeys(d for d, _ in places))
    found = {d: entries(cursor, d, "lower(name) = lower(?)", [parts[-1]]) for d in databases}
    for database, schema in places:
        of = [e for e in found[database] if e.schema.lower() == schema.lower()]
        if of:
            return max(of, key=lambda e: e.version)
    known = [e.shown for d in databases for e in entries(cursor, d) if e.status == "published"]
    raise errors.UnknownRelease(function, given, known)


def publication(entry: Entry, session: Session, cursor: Any, kind: str = "release") -> Publication:
    """What a release would publish now: its call, planned again. Errors are those of the call."""
    made = prepare.call(
        session,
        cursor,
        entry.call["function"],
        {"tbl": entry.call["source"]},
        entry.call["parameters"],
        (entry.database, entry.call["schema"], ""),
    )
    return prepare.keyed(prepare.publication(made), entry.person_key, kind)


# --- the table functions ---------------------------------------------------------------------------------


def releases(call: Call) -> Sql:
    """releases(): every ledger of the attached databases."""
    found = [d for d in call.attached() if catalog.has_table(call.cursor, d, "release")]
    if not found:
        return literal_rows({"database_name": "VARCHAR", "schema_name": "VARCHAR", "name": "VARCHAR"}, [])
    return Sql(
        "FROM ("
        + " UNION ALL BY NAME ".join(
            f"SELECT {text(d)} AS database_name, * FROM {qualified(d, SCHEMA, 'release')}" for d in found
        )
        + ") ORDER BY database_name ASC, schema_name ASC, name ASC, version ASC"
    )


def release_status(call: Call) -> Sql:
    """release_status(): the published version of every release beside its source as it is now."""
    states = []
    for database in call.attached():
        for entry in entries(call.cursor, database, "status = 'published'"):
            states.append(_state(call, entry))
    return Sql(template.fill("views/status.sql", states=states))


def _state(call: Call, entry: Entry) -> dict[str, object]:
    """Template values of one release: its differences, or why they cannot be told."""
    problem: str | None = None
    changes: Sql | None = None
    policy_changed = hierarchy_changed = None
    try:
        now = publication(entry, call.session, call.cursor)
        changes = _changes(entry, now)
        policy_changed = now.fingerprint != entry.policy_fingerprint
        hierarchy_changed = prepare.hierarchy_fingerprint(now, call.cursor) != entry.hierarchy_fingerprint
        call.cursor.execute(f"EXPLAIN {changes}").fetchall()
    except Exception as error:  # a missing source, a policy that no longer fits, a broken view: said, not raised
        problem, changes = str(error).split("\n")[0], None
    return {
        "database": text(entry.database),
        "schema": text(entry.schema),
        "name": text(entry.name),
        "version": entry.version,
        "changes": changes,
        "policy_changed": _flag(policy_changed),
        "hierarchy_changed": _flag(hierarchy_changed),
        "problem": Sql("NULL::VARCHAR") if problem is None else text(problem),
    }


def _changes(entry: Entry, now: Publication) -> Sql:
    """How many records came, went and changed since a version."""
    return Sql(plan.filled("views/changes.sql", now, members=entry.members))


def is_fresh(entry: Entry, now: Publication, cursor: Any) -> bool:
    """Whether source, policy and hierarchies are as they were when the version was made: release_status() of one."""
    if now.fingerprint != entry.policy_fingerprint:
        return False
    if prepare.hierarchy_fingerprint(now, cursor) != entry.hierarchy_fingerprint:
        return False
    return not any(cursor.execute(_changes(entry, now)).fetchall()[0])


def _flag(value: bool | None) -> Sql:
    return Sql("NULL::BOOLEAN" if value is None else str(value).lower())


def delta_problems(call: Call) -> Sql:
    """delta_problems(release): what a refresh would show of too few people."""
    entry = find(call.function.name, call.text("release"), call.cursor, call.path)
    made = publication(entry, call.session, call.cursor)
    return pending(entry, replace(made, left_out=held_back(entry, call.cursor)))


def held_back(entry: Entry, cursor: Cursor) -> dict[str, Sql]:
    """`left_out` of what follows a version: who is held back since an erasure, as long as some version shows them."""
    members = qualified(entry.database, SCHEMA, "membership")
    same = f"(schema_name, release) = ({text(entry.schema)}, {text(entry.name)})"
    if entry.bases is None:
        return {}
    who = "person_key IS NOT DISTINCT FROM w.person_key AND "
    who += "value_hash = w.value_hash" if entry.person_key else "row_hash = w.row_hash"
    relation = Sql(
        f"(SELECT person_key, row_hash, value_hash, records FROM {members} AS w "
        f"WHERE {same} AND version = {entry.version} AND held AND EXISTS "
        f"(SELECT 1 FROM {members} WHERE {same} AND class_id IS NOT NULL AND {who}))"
    )
    if not cursor.execute(f"SELECT 1 FROM {relation} LIMIT 1").fetchall():
        return {}
    return {"held": relation}


def pending(entry: Entry, now: Publication) -> Sql:
    """What a refresh that keeps classes would show by itself; KeepRefused where other columns are published now."""
    check_roles(entry, now)
    return Sql(
        plan.filled(
            "views/pending.sql",
            now,
            members=entry.members,
            version=entry.table(),
            by_person=now.roles.person is not None,
        )
    )


def check_roles(entry: Entry, now: Publication) -> None:
    """Raises KeepRefused where a record is no longer known by the same columns."""
    if now.widens:
        raise errors.KeepRefused(entry.shown, f"{now.algorithm} publishes more of a class than its records span.")
    changed = changed_roles(entry, plan.roles(now))
    if changed:
        raise errors.KeepRefused(entry.shown, f"columns have another role: {', '.join(changed)}.")


def changed_roles(entry: Entry, now: Mapping[str, str]) -> list[str]:
    """Columns that a record was or is known by and that have another role now, in words."""
    found = []
    for column in {**entry.roles, **now}:
        was, known = (of.get(column, "not there") for of in (entry.roles, now))
        if was != known and (was in ROLES or known in ROLES):
            found.append(f"{column} was {was} and is {known}")
    return found


def same_roles(entry: Entry, now: Mapping[str, str]) -> bool:
    """Whether the columns that a version shows, and the person, are the same in the same roles."""
    was, known = ([i for i in of.items() if i[1] in ROLES] for of in (entry.roles, now))
    return sorted(was) == sorted(known)


ROLES = ("quasi", "sensitive", "other", "person")
"""Roles of columns that a record is known by."""


def composition(call: Call) -> Sql:
    """composition(a, b): people of whom two releases together tell too little apart, who may be in one of them only."""
    name = call.function.name
    first, second = (_version(call, find(name, call.text(p), call.cursor, call.path), f"version_{p}") for p in "ab")
    return composed(name, first, second, alone=True)


def _version(call: Call, latest: Entry, parameter: str) -> Entry:
    """The version of a release that a parameter asks for; UnknownVersion."""
    wanted = call.options[parameter]
    if wanted is None:
        return latest
    where = "(schema_name, name) = (?, ?)"
    every = entries(call.cursor, latest.database, where, [latest.schema, latest.name])
    found = next((e for e in every if e.version == wanted), None)
    if found is None:
        known = [(e.version, e.status) for e in every]
        raise errors.UnknownVersion(latest.shown, cast(int, wanted), known, call.function.name)
    return found


def composed(function: str, first: Entry, second: Entry, alone: bool = False) -> Sql:
    """The same for two versions that are known; `alone`: with who is in one of them only.

    CompositionUnknown where people cannot be told apart.
    """
    for entry in (first, second):
        if entry.person_key is None:
            raise errors.CompositionUnknown(function, entry.shown)
    sides = {"a": first, "b": second}
    known = {side: _sensitive(entry) for side, entry in sides.items()}
    shared = sorted(known["a"].keys() & known["b"].keys())
    least = {side: _least(entry) for side, entry in sides.items()}
    return Sql(
        template.fill(
            "views/composition.sql",
            members={side: entry.members for side, entry in sides.items()},
            shared=[{"i": i, "a": known["a"][n], "b": known["b"][n]} for i, n in enumerate(shared)],
            own={side: list(of.values()) for side, of in known.items()},
            alone=alone,
            k=max(first.k, second.k),
            l=max(least.values()),
            least=least,
        )
    )


def _sensitive(entry: Entry) -> dict[str, int]:
    """Where the hash of each sensitive column stands among those of a version, by lower-case name."""
    if entry.bases is None:
        return {}
    return {c.lower(): i + 1 for i, c in enumerate(entry.values) if entry.roles[c] == "sensitive"}


def _least(entry: Entry) -> int:
    """l of a release: as its call asks, or as its algorithm does."""
    given = entry.call["parameters"]
    usual = next(p.default for p in table_function.called(entry.call["function"], given).parameters if p.name == "l")
    return int(str(given.get("l") or usual or 1))


def columns(entry: Entry, ending: str, cursor: Cursor) -> dict[str, str]:
    """Types of the columns of one of a release's tables, by name and in order."""
    rows = cursor.execute(
        "SELECT column_name, data_type FROM system.main.duckdb_columns() "
        "WHERE (database_name, schema_name, table_name) = (?, ?, ?) ORDER BY column_index ASC",
        [entry.database, entry.schema, entry.name + ending],
    ).fetchall()
    return {str(name): str(type_) for name, type_ in rows}
