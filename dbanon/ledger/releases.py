"""The ledger of releases: the versions that were published, their sources, and the class of every record."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbanon import errors
from dbanon.errors.example import SAFE, Example
from dbanon.ledger import deliveries, earlier_names, related_releases, streams
from dbanon.policy.transforms.settings import TRANSFORM_SETTINGS
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.runtime.session import Session
from dbanon.source import catalog, earlier_schema
from dbanon.source.canonical_text import FORMAT
from dbanon.source.catalog import SCHEMA, Cursor
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, literal_rows, qualified, text
from dbanon.table_functions.dispatch import make_call
from dbanon.table_functions.table_function import Call, TableFunction

TABLES = ("", "_classes", "_metrics")
"""Endings of the names of a release's tables."""


@dataclass(frozen=True)
class LedgerEntry(related_releases.NamedRelease):
    """One version of a release, as its row in `dbanon.release` describes it.

    Attributes:
        version: Its number.
        status: `published`, `replaced` or `dropped`.
        call: Its call: function, source, schema of the source, and parameters.
        statement: The call as a SQL statement.
        policy_fingerprint: A fingerprint of the policy with which it was created.
        hierarchy_fingerprint: A fingerprint of the hierarchies with which it was created.
        person_key: The columns that identify people; None without any.
        k: The k of its call.
        roles: The role of each column of the source.
        refresh_mode: How it was created: first, keep, hold or recluster.
        bases: Tables and files behind its source; None if it was created before they were stored.
        options: All parameters of its call, including those that were not given.
        n_deferred: Number of new records that the last refresh deferred.
        keys: What the values of each transformed column are derived from: the id of a key, and the scope of its
            pseudonyms.
        hash_format: The format of the hashes in the membership, see `dbanon.source.canonical_text`; 1 depends on the
            version of DuckDB.
        disjoint_from: Releases and sources that are declared to be about other people.
        composition_rule: The requested reaction to other releases that narrow its people: warn or refuse.
        same_people: A table (their_key, person_key) of people who have other keys in the version with which this one is
            compared.
        same_values: A table (their_value, value_hash) of values with other spellings in that version.
    """

    version: int
    status: str
    call: Mapping[str, Any]
    statement: str
    policy_fingerprint: str
    hierarchy_fingerprint: str
    person_key: tuple[str, ...] | None
    k: int
    roles: Mapping[str, str]
    refresh_mode: str = "first"
    bases: tuple[str, ...] | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    n_deferred: int = 0
    keys: Mapping[str, str] = field(default_factory=dict)
    hash_format: int = 1
    disjoint_from: tuple[str, ...] = ()
    composition_rule: str = "warn"
    same_people: Sql | None = None
    same_values: Sql | None = None

    @property
    def keeps_classes(self) -> bool:
        """Whether a refresh that kept records in their classes created this version (mode keep or hold)."""
        return self.refresh_mode in ("keep", "hold")

    @property
    def place(self) -> tuple[str, str, str, int]:
        """Database, schema, lower-case name and version number, which identify the version."""
        return self.database, self.schema, self.name.lower(), self.version

    @property
    def version_name(self) -> str:
        """Name and version as messages show them."""
        return f"{self.display_name} version {self.version}"

    @property
    def pseudonym_keys(self) -> tuple[str, ...]:
        """The key id and scope of each pseudonymized column, as one text per column.

        Versions that have such a text in common can be joined by the pseudonyms. Columns whose key was not stored are
        omitted.
        """
        return tuple(self.keys[c] for c, role in self.roles.items() if role == "pseudonym" and c in self.keys)

    @property
    def counts_persons(self) -> bool:
        """Whether privacy models count distinct persons, not rows: a column has the role person or pseudonym."""
        return bool({"person", "pseudonym"} & set(self.roles.values()))

    @property
    def quasi(self) -> tuple[str, ...]:
        """The names of the quasi-identifiers, in the order of their hashes in the membership."""
        return tuple(c for c, role in self.roles.items() if role == "quasi")

    @property
    def values(self) -> tuple[str, ...]:
        """The names of the columns published without generalization, except pseudonyms, in the order of their hashes.

        The hashes are those in the membership. The roles of the columns are sensitive, insensitive, mask or shift.
        """
        return tuple(c for c, role in self.roles.items() if role in ("sensitive", "insensitive", "mask", "shift"))

    def has_comparable_values(self, other: LedgerEntry, column: str) -> bool:
        """Return whether equal values of a column are published as equal values in this version and in `other`.

        A transformed column must have the same key and scope in both; any other column must be untransformed in both.
        """
        mine, theirs = ({fold_case(c): basis for c, basis in e.keys.items()} for e in (self, other))
        return mine.get(fold_case(column)) == theirs.get(fold_case(column))

    @property
    def members(self) -> Sql:
        """SQL of the version's rows of dbanon.membership, including deferred records."""
        return self._rows()

    @property
    def settled_members(self) -> Sql:
        """SQL of the version's rows of dbanon.membership without deferred records, which are not published yet.

        Requires a ledger with today's columns.
        """
        return self._rows(" AND waiting IS NOT TRUE")

    @property
    def retained_members(self) -> Sql:
        """SQL of the version's rows of dbanon.membership without deferred records and withheld ones.

        Records are withheld after an erasure.
        """
        return self._rows(" AND waiting IS NOT TRUE AND held IS NOT TRUE")

    @property
    def deferred_members(self) -> Sql:
        """SQL of the version's rows of dbanon.membership for deferred records only."""
        return self._rows(" AND waiting")

    @property
    def membership(self) -> Sql:
        """The SQL name of the table dbanon.membership, which has the class of every record for all versions."""
        return qualified(self.database, SCHEMA, "membership")

    @property
    def row(self) -> Sql:
        """The SQL condition for the rows of this version in the membership."""
        return Sql(f"(schema_name, release, version) = ({text(self.schema)}, {text(self.name)}, {self.version})")

    def _rows(self, condition: str = "") -> Sql:
        """Return SQL of the version's rows of dbanon.membership that meet a further condition, as a subquery.

        `condition` begins with AND. Person keys and value hashes are replaced according to `same_people` and
        `same_values`.
        """
        rows = (
            f"(SELECT {self._person_key}, class_id, cluster_id, row_hash, value_hash, records{self._added_columns} "
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
        """SQL for a SELECT list: the column person_key, as canonical text.

        In hash format 1 a key of one column is DuckDB's text of the value: `.0` at the end of a number is removed. In
        all other cases it is the column as stored.
        """
        if self.hash_format == FORMAT or self.person_key is None or len(self.person_key) > 1:
            return "person_key"
        return r"system.main.regexp_replace(person_key, '^(-?\d+)\.0+$', '\1') AS person_key"

    @property
    def _added_columns(self) -> str:
        """SQL of further columns of the membership, with a leading comma, as far as this version has them."""
        if self.bases is None:
            return ""
        return ", label_hash, cells" + (", quasi_cells" if self.hash_format == FORMAT else "")


def entries(cursor: Cursor, database: str, condition: str = "true", values: Sequence[object] = ()) -> list[LedgerEntry]:
    """Return the versions in a database's ledger, by schema, name and version number; none if it has no ledger.

    Versions of every status are included. `condition` is SQL that restricts the rows, `values` are those of its
    placeholders.
    """
    order, columns = "schema_name ASC, name ASC, version ASC", "* EXCLUDE (library_versions, achieved, metrics)"
    rows = earlier_schema.current_rows(cursor, database, "release", condition, values, order, columns)
    return [_entry(database, row) for row in rows]


def _entry(database: str, row: Mapping[str, Any]) -> LedgerEntry:
    """Return a ledger row (values by column) as a version; names from earlier versions of dbanon become today's.

    A read-only ledger may lack columns that were added later; they get default values.
    """
    call = json.loads(row["call"])
    bases = row.get("source_tables")
    options = earlier_names.current_parameters(call["function"], json.loads(row["parameters"]))
    return LedgerEntry(
        database,
        row["schema_name"],
        row["name"],
        row["version"],
        row["status"],
        earlier_names.current_call(call),
        earlier_names.current_statement(row["statement"], call["function"], options),
        row["policy_fingerprint"],
        row["hierarchy_fingerprint"],
        None if row["person_key"] is None else tuple(row["person_key"]),
        int(options["k"]),
        earlier_names.current_roles(json.loads(row["roles"])),
        row["refresh_mode"],
        None if bases is None else tuple(bases),
        options,
        row.get("waiting") or 0,
        dict(row.get("keys") or {}),
        row.get("hash_format") or 1,
        tuple(row.get("disjoint_from") or ()),
        row.get("composition_rule") or "warn",
    )


def find_release(function: str, release_name: str, cursor: Cursor, path: catalog.SearchPath) -> LedgerEntry:
    """Return the latest version of a release, of any status, by its name or by that of its copy in PostgreSQL.

    Args:
        function: The name of the calling function, for the message.
        release_name: The name of the release or of its copy.
        cursor: A cursor.
        path: The search path of the session.

    Raises:
        UnknownReleaseError: There is no such release. The message says so if the name is that of a stream or of a
            release of related tables.
    """
    delivered_release = deliveries.find_delivered_release(function, release_name, cursor, path)
    name, places = (
        path.lookup_places(release_name)
        if delivered_release is None
        else (delivered_release[2], [delivered_release[:2]])
    )
    databases = list(dict.fromkeys(d for d, _ in places))
    versions_by_database = {d: entries(cursor, d, "lower(name) = lower(?)", [name]) for d in databases}
    for database, schema in places:
        versions = [e for e in versions_by_database[database] if e.schema.lower() == schema.lower()]
        if versions:
            return max(versions, key=lambda e: e.version)
    published_names = [e.display_name for d in databases for e in entries(cursor, d) if e.status == "published"]
    related_release = related_releases.find_related_release(cursor, release_name, path)
    raise errors.UnknownReleaseError(
        function,
        release_name,
        published_names,
        is_stream=streams.lookup_active_stream(cursor, release_name, path) is not None,
        is_several=related_release is not None and related_release.status == "published",
    )


def find_published(function: str, release_name: str, cursor: Cursor, path: catalog.SearchPath) -> LedgerEntry:
    """Return the latest version of a release, which must be published.

    The release is found by its name or that of its copy in PostgreSQL, as in `find_release`.

    Raises:
        UnknownReleaseError: There is no such release, or it was dropped.
    """
    entry = find_release(function, release_name, cursor, path)
    if entry.status != "published":
        raise errors.UnknownReleaseError(function, release_name, [])
    return entry


def check_published(cursor: Any, function: str, entry: LedgerEntry) -> None:
    """Check that a version is still the published one.

    Raises:
        LedgerBusyError: Another connection has replaced or dropped it.
    """
    condition = "(schema_name, name, version, status) = (?, ?, ?, 'published')"
    if not entries(cursor, entry.database, condition, [entry.schema, entry.name, entry.version]):
        raise errors.LedgerBusyError(
            function, entry.display_name, f"version {entry.version} is no longer the published one"
        )


def set_status(cursor: Any, entry: LedgerEntry, status: str) -> None:
    """Write the status of a version to the ledger."""
    cursor.execute(
        f"UPDATE {qualified(entry.database, SCHEMA, 'release')} SET status = ? "
        "WHERE (schema_name, name, version) = (?, ?, ?)",
        [status, entry.schema, entry.name, entry.version],
    )


def current_spec(entry: LedgerEntry, session: Session, cursor: Any, kind: str = "release") -> ReleaseSpec:
    """Return the release spec for what a release would publish now: the call of `entry`, planned again.

    Args:
        entry: The version; the columns that identify people are those of it.
        session: The session.
        cursor: A cursor.
        kind: The requested result of the spec, such as "release" or "membership".

    Raises:
        DbanonError: Any error of the call, for example because its source does not exist any more.
    """
    call = make_call(
        session,
        cursor,
        entry.call["function"],
        {"tbl": entry.call["source"]},
        entry.call["parameters"],
        (entry.database, entry.call["schema"], ""),
    )
    return resolve.with_person_key(resolve.resolve_spec(call, (entry.schema, entry.name)), entry.person_key, kind)


def changed_roles(entry: LedgerEntry, current_roles: Mapping[str, str]) -> list[str]:
    """Return descriptions of columns whose role differs between a version and `current_roles`; empty if none does.

    A difference counts only if the earlier or the present role is in COMPARED_ROLES. A column without a role is
    described as `not there`.
    """
    roles = (
        (column, entry.roles.get(column, "not there"), current_roles.get(column, "not there"))
        for column in {**entry.roles, **current_roles}
    )
    return [
        f"{column} was {old_role} and is {new_role}"
        for column, old_role, new_role in roles
        if old_role != new_role and (old_role in COMPARED_ROLES or new_role in COMPARED_ROLES)
    ]


def same_roles(entry: LedgerEntry, current_roles: Mapping[str, str]) -> bool:
    """Return whether the columns with a role in COMPARED_ROLES are the same, with equal roles, in `current_roles`.

    Other columns and the order do not matter.
    """
    old_roles, new_roles = (
        [i for i in roles.items() if i[1] in COMPARED_ROLES] for roles in (entry.roles, current_roles)
    )
    return sorted(old_roles) == sorted(new_roles)


COMPARED_ROLES = ("quasi", "sensitive", "insensitive", "person", *TRANSFORM_SETTINGS)
"""Roles of columns by which records are compared."""


def table_columns(entry: LedgerEntry, table_suffix: str, cursor: Cursor) -> dict[str, str]:
    """Return the column types, by name and in order, of the table whose name is that of the release and `table_suffix`.

    `table_suffix` is "" (the released rows), "_classes" or "_metrics", and may have a suffix. Empty if there is no such
    table.
    """
    rows = cursor.execute(
        "SELECT column_name, data_type FROM system.main.duckdb_columns() "
        "WHERE database_name = ? AND schema_name = ? AND table_name = ? ORDER BY column_index ASC",
        [entry.database, entry.schema, entry.name + table_suffix],
    ).fetchall()
    return {str(name): str(type_) for name, type_ in rows}


_RELATED_RELEASE_COLUMNS = (
    "schema_name, name, 1 AS version, status, source, algorithm, statement, call, parameters, library_versions, "
    "persons AS records, released_at, metrics, hashes, 'first' AS refresh_mode, "
    "COLUMNS('^(source_tables|bases)$') AS source_tables"
)
"""The columns that releases() returns for a release of related tables: those that all releases have."""


def releases(call: Call) -> Sql:
    """Return the SQL of the table function releases(): all versions in the ledgers of all attached databases.

    Releases of related tables are included, as version 1. Without any ledger the result is empty, and has only the
    columns database_name, schema_name and name.
    """
    databases = [d for d in call.attached_databases() if catalog.has_table(call.cursor, d, "release")]
    related_databases = [d for d in databases if catalog.has_table(call.cursor, d, "related_release")]
    if not databases:
        return literal_rows({"database_name": "VARCHAR", "schema_name": "VARCHAR", "name": "VARCHAR"}, [])
    return Sql(
        "FROM ("
        + " UNION ALL BY NAME ".join(
            [f"SELECT {text(d)} AS database_name, * FROM {qualified(d, SCHEMA, 'release')}" for d in databases]
            + [
                f"SELECT {text(d)} AS database_name, {_RELATED_RELEASE_COLUMNS} "
                f"FROM {qualified(d, SCHEMA, 'related_release')}"
                for d in related_databases
            ]
        )
        + ") ORDER BY database_name ASC, schema_name ASC, name ASC, version ASC"
    )


FUNCTIONS = (
    TableFunction(
        "releases",
        (),
        (),
        "Lists the ledger: every version of every materialized anonymized view.",
        handler=releases,
        example=Example("SELECT name, version, status, records FROM releases();", SAFE),
    ),
)
