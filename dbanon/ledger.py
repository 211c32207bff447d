"""The release ledger: what was published when, from what, and who is in which class of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbanon import catalog, errors, functions, names, plan, publishing, template
from dbanon.call import Call, literal_rows
from dbanon.catalog import SCHEMA, Cursor
from dbanon.publication import Publication
from dbanon.quote import Sql, identifier, qualified, text
from dbanon.session import Session

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
            "(SELECT person_key, class_id, cluster_id, row_hash, value_hash, records "
            f"FROM {qualified(self.database, SCHEMA, 'membership')} "
            f"WHERE (schema_name, release, version) = ({text(self.schema)}, {text(self.name)}, {self.version}))"
        )


def entries(cursor: Cursor, database: str, where: str = "true", values: Sequence[object] = ()) -> list[Entry]:
    """Versions in a database's ledger, latest last; none where it has no ledger."""
    if not catalog.has_table(cursor, database, "release"):
        return []
    rows = cursor.execute(
        "SELECT schema_name, name, version, status, call, statement, policy_fingerprint, hierarchy_fingerprint, "
        "person_key, CAST(json_extract(parameters, '$.k') AS INTEGER), roles "
        f"FROM {qualified(database, SCHEMA, 'release')} WHERE {where} ORDER BY schema_name, name, version",
        list(values),
    ).fetchall()
    return [_entry(database, *row) for row in rows]


def _entry(
    database: str, schema: str, name: str, version: int, status: str, call: str, statement: str, policy: str,
    hierarchy: str, key: list[str] | None, k: int, roles: str,
) -> Entry:  # fmt: skip
    columns = None if key is None else tuple(key)
    return Entry(
        database, schema, name, version, status, json.loads(call), statement, policy, hierarchy, columns, k,
        json.loads(roles),
    )  # fmt: skip


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
    made = publishing.call(
        session,
        cursor,
        entry.call["function"],
        {"tbl": entry.call["source"]},
        entry.call["parameters"],
        (entry.database, entry.call["schema"], ""),
    )
    return publishing.keyed(publishing.publication(made), entry.person_key, kind)


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
        + ") ORDER BY database_name, schema_name, name, version"
    )


def release_status(call: Call) -> Sql:
    """release_status(): the published version of every release beside its source as it is now."""
    states = []
    for database in call.attached():
        for entry in entries(call.cursor, database, "status = 'published'"):
            states.append(_state(call, entry))
    return Sql(template.fill("ledger/status.sql", states=states))


def _state(call: Call, entry: Entry) -> dict[str, object]:
    """Template values of one release: its differences, or why they cannot be told."""
    problem: str | None = None
    changes: Sql | None = None
    policy_changed = hierarchy_changed = None
    try:
        now = publication(entry, call.session, call.cursor)
        changes = Sql(plan.filled("ledger/changes.sql", now, members=entry.members))
        policy_changed = now.fingerprint != entry.policy_fingerprint
        hierarchy_changed = publishing.hierarchy_fingerprint(now, call.cursor) != entry.hierarchy_fingerprint
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


def _flag(value: bool | None) -> Sql:
    return Sql("NULL::BOOLEAN" if value is None else str(value).lower())


def delta_problems(call: Call) -> Sql:
    """delta_problems(release): what a refresh would show of too few people."""
    entry = find(call.function.name, call.text("release"), call.cursor, call.path)
    return pending(entry, publication(entry, call.session, call.cursor))


def pending(entry: Entry, now: Publication) -> Sql:
    """What a refresh that keeps classes would show by itself; KeepRefused where other columns are published now."""
    check_roles(entry, now)
    return Sql(
        plan.filled(
            "ledger/pending.sql",
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
    if not same_roles(entry, plan.roles(now)):
        raise errors.KeepRefused(entry.shown, "other columns of the source are published, or in another role.")


def same_roles(entry: Entry, now: Mapping[str, str]) -> bool:
    """Whether the columns that a version shows, and the person, are the same in the same roles."""
    was, known = ([i for i in of.items() if i[1] in ROLES] for of in (entry.roles, now))
    return sorted(was) == sorted(known)


ROLES = ("quasi", "sensitive", "other", "person")
"""Roles of columns that a record is known by."""


def composition(call: Call) -> Sql:
    """composition(a, b): people whose candidate set over two releases is too small."""
    name = call.function.name
    first, second = (find(name, call.text(p), call.cursor, call.path) for p in ("a", "b"))
    return composed(name, first, second, call.cursor)


def composed(function: str, first: Entry, second: Entry, cursor: Cursor) -> Sql:
    """The same for two versions that are known. CompositionUnknown where people cannot be told apart."""
    for entry in (first, second):
        if entry.person_key is None:
            raise errors.CompositionUnknown(function, entry.shown)
    sides = {"a": first, "b": second}
    known = {side: _sensitive_columns(entry, cursor) for side, entry in sides.items()}
    shared = sorted(known["a"].keys() & known["b"].keys()) if first.status == second.status == "published" else []
    least = [_least(e) for e in sides.values()]
    return Sql(
        template.fill(
            "ledger/composition.sql",
            members={side: entry.members for side, entry in sides.items()},
            classes={side: entry.table("_classes") for side, entry in sides.items()},
            class_id={side: identifier(_class_id(entry, cursor)) for side, entry in sides.items()},
            shared=[
                {"i": i, "a": identifier(known["a"][n]), "b": identifier(known["b"][n])} for i, n in enumerate(shared)
            ],
            k=max(first.k, second.k),
            l=max(least),
        )
    )


def _least(entry: Entry) -> int:
    """l of a release: as its call asks, or as its algorithm does."""
    given = entry.call["parameters"]
    usual = next(p.default for p in functions.called(entry.call["function"], given).parameters if p.name == "l")
    return int(str(given.get("l") or usual or 1))


def columns(entry: Entry, ending: str, cursor: Cursor) -> dict[str, str]:
    """Types of the columns of one of a release's tables, by name and in order."""
    rows = cursor.execute(
        "SELECT column_name, data_type FROM duckdb_columns() "
        "WHERE (database_name, schema_name, table_name) = (?, ?, ?) ORDER BY column_index",
        [entry.database, entry.schema, entry.name + ending],
    ).fetchall()
    return {str(name): str(type_) for name, type_ in rows}


def _class_id(entry: Entry, cursor: Cursor) -> str:
    return next(iter(columns(entry, "_classes", cursor)), "class_id")


def _sensitive_columns(entry: Entry, cursor: Cursor) -> dict[str, str]:
    """Sensitive columns of a release's classes by lower-case name."""
    found = columns(entry, "_classes", cursor)
    return {n.lower(): n for n, type_ in found.items() if type_.startswith('STRUCT("value"') and type_.endswith("[]")}
