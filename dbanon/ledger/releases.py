"""The release ledger: what was published when, from what, and who is in which class of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbanon import errors
from dbanon.errors.example import SAFE, Example
from dbanon.ledger import deliveries, related_releases, streams
from dbanon.policy.transforms.settings import KNOWN
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.runtime.session import Session
from dbanon.source import catalog
from dbanon.source.canonical_text import FORMAT
from dbanon.source.catalog import SCHEMA, Cursor
from dbanon.sqltext.quote import Sql, literal_rows, qualified, text
from dbanon.table_functions.dispatch import make_call
from dbanon.table_functions.table_function import Call, TableFunction

TABLES = ("", "_classes", "_metrics")
"""Endings of the tables of one release."""


@dataclass(frozen=True)
class Entry(related_releases.NamedRelease):
    """One version of a release, as the ledger has it."""

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
    """How it was made: first, keep, hold or recluster."""
    bases: tuple[str, ...] | None = None
    """Tables and files behind its source; None where it was made before they were kept."""
    options: Mapping[str, object] = field(default_factory=dict)
    """Every parameter of its call, those that were not given too."""
    waiting: int = 0
    """Records that came and wait until enough have come, by the last refresh."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """What the values of each column that is made follow from; of a key its id, and the scope of its pseudonyms."""
    hash_format: int = 1
    """Of the hashes in the membership, see `dbanon.source.canonical_text`; 1 depends on the version of DuckDB."""
    disjoint_from: tuple[str, ...] = ()
    """Releases and sources that are declared to be about other people."""
    composition_rule: str = "warn"
    """What was asked to happen where other releases narrow its people: warn or refuse."""
    same_people: Sql | None = None
    """A table (their_key, person_key) of people who have other keys in the version that this one is compared with."""
    same_values: Sql | None = None
    """A table (their_value, value_hash) of values that are spelled otherwise there."""

    @property
    def keeps(self) -> bool:
        """Whether records of the version before stayed in their classes."""
        return self.how in ("keep", "hold")

    @property
    def place(self) -> tuple[str, str, str, int]:
        """Database, schema, name and version, however the name is spelled."""
        return self.database, self.schema, self.name.lower(), self.version

    @property
    def named(self) -> str:
        """Name and version as messages show them."""
        return f"{self.shown} version {self.version}"

    @property
    def links(self) -> tuple[str, ...]:
        """The key's id and the scope of each column's pseudonyms: versions that share one can be linked by it."""
        return tuple(self.keys[c] for c, role in self.roles.items() if role == "pseudonym" and c in self.keys)

    @property
    def counts_persons(self) -> bool:
        """Whether it counts distinct persons."""
        return bool({"person", "pseudonym"} & set(self.roles.values()))

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers, in the order of their hashes."""
        return tuple(c for c, role in self.roles.items() if role == "quasi")

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are not generalized, without pseudonyms, in the order of their hashes."""
        return tuple(c for c, role in self.roles.items() if role in ("sensitive", "other", "mask", "shift"))

    def alike(self, other: Entry, column: str) -> bool:
        """Return whether equal values of a column are published as equal ones here and in another version."""
        mine, theirs = ({c.lower(): basis for c, basis in e.keys.items()} for e in (self, other))
        return mine.get(column.lower()) == theirs.get(column.lower())

    @property
    def members(self) -> Sql:
        """Its rows of dbanon.membership."""
        return self._rows()

    @property
    def settled(self) -> Sql:
        """The same without those that wait; not to be read before the ledger has the columns of this version."""
        return self._rows(" AND waiting IS NOT TRUE")

    @property
    def known(self) -> Sql:
        """The same without those that are held back since an erasure, too: in a class or left out by the call."""
        return self._rows(" AND waiting IS NOT TRUE AND held IS NOT TRUE")

    @property
    def waits(self) -> Sql:
        """Those that wait, likewise."""
        return self._rows(" AND waiting")

    @property
    def membership(self) -> Sql:
        """The table that says who is in which class, of all versions."""
        return qualified(self.database, SCHEMA, "membership")

    @property
    def row(self) -> Sql:
        """What tells its rows of the membership from others."""
        return Sql(f"(schema_name, release, version) = ({text(self.schema)}, {text(self.name)}, {self.version})")

    def _rows(self, condition: str = "") -> Sql:
        rows = (
            f"(SELECT {self._person_key}, class_id, cluster_id, row_hash, value_hash, records{self._later} "
            f"FROM {self.membership} WHERE {self.row}{condition})"
        )
        if self.same_people is not None:
            rows = (
                f"(SELECT m.* REPLACE (coalesce(p.person_key, m.person_key) AS person_key) FROM {rows} AS m "
                f"LEFT JOIN {self.same_people} AS p ON p.their_key = m.person_key)"
            )
        if self.same_values is not None:
            rows = (
                f"(SELECT m.* REPLACE (coalesce(v.value_hash, m.value_hash) AS value_hash) FROM {rows} AS m "
                f"LEFT JOIN {self.same_values} AS v ON v.their_value = m.value_hash)"
            )
        return Sql(rows)

    @property
    def _person_key(self) -> str:
        """The canonical text of who a record is about; format 1 kept what DuckDB makes of the value."""
        if self.hash_format == FORMAT or self.person_key is None or len(self.person_key) > 1:
            return "person_key"
        return r"system.main.regexp_replace(person_key, '^(-?\d+)\.0+$', '\1') AS person_key"

    @property
    def _later(self) -> str:
        """Columns of the membership that came later."""
        if self.bases is None:
            return ""
        return ", label_hash, cells" + (", quasi_cells" if self.hash_format == FORMAT else "")


def entries(cursor: Cursor, database: str, where: str = "true", values: Sequence[object] = ()) -> list[Entry]:
    """Return versions in a database's ledger, latest last; none where it has no ledger."""
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
    """Return a row of the ledger; one that cannot be written may lack the columns that came later."""
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
        row.get("waiting") or 0,
        dict(row.get("keys") or {}),
        row.get("hash_format") or 1,
        tuple(row.get("disjoint_from") or ()),
        row.get("composition_rule") or "warn",
    )


def find(function: str, given: str, cursor: Cursor, path: catalog.SearchPath) -> Entry:
    """Return the latest version of a release by its name, or by that of its copy in PostgreSQL; UnknownReleaseError."""
    of_copy = deliveries.release(function, given, cursor, path)
    name, places = path.named(given) if of_copy is None else (of_copy[2], [of_copy[:2]])
    databases = list(dict.fromkeys(d for d, _ in places))
    found = {d: entries(cursor, d, "lower(name) = lower(?)", [name]) for d in databases}
    for database, schema in places:
        of = [e for e in found[database] if e.schema.lower() == schema.lower()]
        if of:
            return max(of, key=lambda e: e.version)
    known = [e.shown for d in databases for e in entries(cursor, d) if e.status == "published"]
    grows = streams.among(cursor, given, path) is not None
    several = related_releases.among(cursor, given, path)
    raise errors.UnknownReleaseError(
        function, given, known, grows=grows, is_several=several is not None and several.status == "published"
    )


def published(function: str, given: str, cursor: Cursor, path: catalog.SearchPath) -> Entry:
    """Return the published version of a release; UnknownReleaseError."""
    entry = find(function, given, cursor, path)
    if entry.status != "published":
        raise errors.UnknownReleaseError(function, given, [])
    return entry


def publication(entry: Entry, session: Session, cursor: Any, kind: str = "release") -> ReleaseSpec:
    """What a release would publish now: its call, planned again. Errors are those of the call."""
    call = make_call(
        session,
        cursor,
        entry.call["function"],
        {"tbl": entry.call["source"]},
        entry.call["parameters"],
        (entry.database, entry.call["schema"], ""),
    )
    return resolve.keyed(resolve.resolve_spec(call, (entry.schema, entry.name)), entry.person_key, kind)


def changed_roles(entry: Entry, now: Mapping[str, str]) -> list[str]:
    """Return columns that a record was or is known by and that have another role now, in words."""
    found = []
    for column in {**entry.roles, **now}:
        was, known = (of.get(column, "not there") for of in (entry.roles, now))
        if was != known and (was in ROLES or known in ROLES):
            found.append(f"{column} was {was} and is {known}")
    return found


def same_roles(entry: Entry, now: Mapping[str, str]) -> bool:
    """Return whether the columns that a version shows, and the person, are the same in the same roles."""
    was, known = ([i for i in of.items() if i[1] in ROLES] for of in (entry.roles, now))
    return sorted(was) == sorted(known)


ROLES = ("quasi", "sensitive", "other", "person", *KNOWN)
"""Roles of columns that a record is known by."""


def columns(entry: Entry, ending: str, cursor: Cursor) -> dict[str, str]:
    """Return types of the columns of one of a release's tables, by name and in order."""
    rows = cursor.execute(
        "SELECT column_name, data_type FROM system.main.duckdb_columns() "
        "WHERE (database_name, schema_name, table_name) = (?, ?, ?) ORDER BY column_index ASC",
        [entry.database, entry.schema, entry.name + ending],
    ).fetchall()
    return {str(name): str(type_) for name, type_ in rows}


_OF_SEVERAL = (
    "schema_name, name, 1 AS version, status, source, algorithm, statement, call, parameters, library_versions, "
    "persons AS records, released_at, metrics, bases, hashes, 'first' AS refresh"
)
"""What releases() says of a release of related tables: of its people, in columns that all releases have."""


def releases(call: Call) -> Sql:
    """releases(): every ledger of the attached databases."""
    found = [d for d in call.attached() if catalog.has_table(call.cursor, d, "release")]
    several = [d for d in found if catalog.has_table(call.cursor, d, "related_release")]
    if not found:
        return literal_rows({"database_name": "VARCHAR", "schema_name": "VARCHAR", "name": "VARCHAR"}, [])
    return Sql(
        "FROM ("
        + " UNION ALL BY NAME ".join(
            [f"SELECT {text(d)} AS database_name, * FROM {qualified(d, SCHEMA, 'release')}" for d in found]
            + [
                f"SELECT {text(d)} AS database_name, {_OF_SEVERAL} FROM {qualified(d, SCHEMA, 'related_release')}"
                for d in several
            ]
        )
        + ") ORDER BY database_name ASC, schema_name ASC, name ASC, version ASC"
    )


FUNCTIONS = (
    TableFunction(
        "releases",
        (),
        (),
        "The ledger: every version of every materialized anonymized view.",
        handler=releases,
        example=Example("SELECT name, version, status, records FROM releases();", SAFE),
    ),
)
