"""Databases of other systems that are attached: which one a name stands for, and where its policy is.

A name such as `pg` is given anew with every ATTACH. What a policy is about is the database behind it, so the DuckDB
database that holds the policy also says which one it means (`dbanon.foreign_database`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dbanon import errors
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, joined, qualified, text

Place = tuple[str, str, str]
"""Database, schema and name of a table or view."""


@dataclass(frozen=True)
class _System:
    """Another system: the schema that a bare name means (None: the connection says), the function that asks it for
    something, and two questions: one row, the identity of a database; and schemas and names of all its tables and
    views; `looks_once`: what DuckDB lists of it is what was there when it looked first."""

    schema: str | None
    query: Sql
    identity: str
    relations: str
    looks_once: bool = False


_SYSTEMS = {
    # The number that a server draws when it is made, and that of the database in it: both outlive a new name.
    "postgres": _System(
        "public",
        Sql("system.main.postgres_query"),
        "SELECT 'postgres:' || (SELECT system_identifier FROM pg_catalog.pg_control_system()) || '/' || oid "
        "AS identity FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()",
        "SELECT n.nspname::pg_catalog.text AS nspname, c.relname::pg_catalog.text AS relname FROM pg_catalog.pg_class "
        "AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f')",
        looks_once=True,
    ),
    # The server alone: a database of it is the schema of a table. Each reads its own of the two comments.
    "mysql": _System(
        None,
        Sql("system.main.mysql_query"),
        "SELECT CONCAT('mysql:', NULLIF(/*!50701 @@server_uuid */ /*M! @@server_uid */, '')) AS identity",
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type <> 'SYSTEM VIEW'",
        looks_once=True,
    ),
    "sqlite": _System(
        "main",
        Sql("system.main.sqlite_query"),
        "SELECT 'sqlite:' || file AS identity FROM pragma_database_list WHERE name = 'main' AND file <> ''",
        "SELECT 'main' AS schema, name FROM sqlite_master WHERE type IN ('table', 'view')",
    ),
}


@dataclass(frozen=True)
class Foreign:
    """Of a source in another system: the DuckDB database with its policy (`home`), which database its name stands for
    (`identity`; None where that does not tell, and has no policy), and all names by which the policy may call that
    (lower case)."""

    kind: str
    home: str
    identity: str | None
    names: tuple[str, ...]
    others: tuple[str, ...] = ()
    """Databases that have a policy, without rows about the source."""


def kind(cursor: Any, database: str) -> str | None:
    """Which other system an attached database is of, as DuckDB calls it; None for one of DuckDB and for others."""
    rows = cursor.execute(
        "SELECT type FROM system.main.duckdb_databases() WHERE system.main.lower(database_name) = "
        f"{text(database.lower())}"
    ).fetchall()
    return rows[0][0] if rows and rows[0][0] in _SYSTEMS else None


def databases(cursor: Any, kind: str) -> dict[str, str]:
    """Return the attached databases of another system, by lower-case name."""
    rows = cursor.execute(
        f"SELECT database_name FROM system.main.duckdb_databases() WHERE type = {text(kind)}"
    ).fetchall()
    return {row[0].lower(): row[0] for row in rows}


def relations(cursor: Any, database: str, kind: str) -> list[Place]:
    """Return all tables and views of a database of another system, as that tells now."""
    query = _SYSTEMS[kind].relations
    rows = cursor.execute(f"SELECT * FROM {_SYSTEMS[kind].query}({text(database)}, {text(query)})").fetchall()
    return [(database, schema, table) for schema, table in rows]


def telling(cursor: Any) -> dict[str, tuple[str, str]]:
    """The attached databases whose tables are asked of them, as DuckDB's list grows old: with their kinds, by
    lower-case name."""
    kinds = joined(text(kind) for kind, system in _SYSTEMS.items() if system.looks_once)
    rows = cursor.execute(
        f"SELECT database_name, type FROM system.main.duckdb_databases() WHERE type IN ({kinds})"
    ).fetchall()
    return {database.lower(): (database, kind) for database, kind in rows}


def default_schema(cursor: Any, database: str) -> str:
    """Return the schema of `database.table`; "" where there is none."""
    of = kind(cursor, database)
    schema = "main" if of is None else _SYSTEMS[of].schema
    if of is None or schema is not None:
        return schema or ""
    query = f"SELECT * FROM {_SYSTEMS[of].query}({text(database)}, 'SELECT DATABASE()')"
    return str(cursor.execute(query).fetchall()[0][0] or "")


def identity_sql(database: str, kind: str) -> Sql:
    """Return a scalar subquery that asks a database who it is, when the statement runs."""
    system = _SYSTEMS[kind]
    return Sql(f"(SELECT identity FROM {system.query}({text(database)}, {text(system.identity)}))")


def identity(function: str, cursor: Any, database: str, kind: str) -> str:
    """Which database an attached one is; DatabaseIdentityUnavailableError where it does not say."""
    try:
        rows = cursor.execute(f"SELECT {identity_sql(database, kind)}").fetchall()
    except Exception as error:
        raise errors.DatabaseIdentityUnavailableError(function, database, kind, str(error).split("\n")[0]) from None
    if rows[0][0] is None:
        raise errors.DatabaseIdentityUnavailableError(
            function, database, kind, "it is in memory" if kind == "sqlite" else "what it says is empty"
        )
    return str(rows[0][0])


def of(function: str, cursor: Any, place: Place, current: str, trusting: bool = False) -> Foreign | None:
    """What is to be known of a source in another system; None where it is in a DuckDB database.

    Its policy is where rows are about it, else where the session is (`current`). Raises NamesDifferOnlyByCaseError,
    DatabaseIdentityUnavailableError, AmbiguousPolicyError and NoDatabaseForPolicyError; DatabaseIdentityMismatchError
    where the policy means another database by this name; UnknownDatabaseError where it has rows and does not say which
    it means, unless `trusting`: who is about to say so; PolicyRowNeedsSchemaError where a row leaves it to the
    connection which table it is about.
    """
    of = kind(cursor, place[0])
    if of is None:
        return None
    alike = _alike(cursor, place, of)
    if len(alike) > 1:
        raise errors.NamesDifferOnlyByCaseError(function, alike)
    alias, holders = place[0].lower(), _holders(cursor)
    try:
        known = identity(function, cursor, place[0], of)
    except errors.DatabaseIdentityUnavailableError:  # which only a policy needs
        if trusting or any(_has_rows(cursor, holder, {alias}, place, of) for holder in holders):
            raise
        return Foreign(of, _place(function, cursor, place, current), None, (alias,), tuple(holders))
    recorded = {holder: _recorded(cursor, holder) for holder in holders}
    called = {h: {alias, *(name for name, means in recorded[h].items() if means == known)} for h in holders}
    for holder in holders:
        _check_named(function, cursor, holder, called[holder], place, of)
    having = [holder for holder in holders if _has_rows(cursor, holder, called[holder], place, of)]
    if len(having) > 1:
        raise errors.AmbiguousPolicyError(function, having, str(qualified(*place)))
    home = having[0] if having else _place(function, cursor, place, current)
    meant = recorded.get(home, {})
    if meant.get(alias, known) != known:
        raise errors.DatabaseIdentityMismatchError(function, home, meant[alias], place[0], known)
    if having and alias not in meant and not trusting and _has_rows(cursor, home, {alias}, place, of):
        raise errors.UnknownDatabaseError(function, place[0], home, str(_table(home)))
    return Foreign(
        of, home, known, tuple(sorted(called.get(home, {alias}))), tuple(holder for holder in holders if holder != home)
    )


def check_read(function: str, cursor: Any, place: Place, kind: str, columns: Iterable[str]) -> None:
    """Whether DuckDB can read a table of another system by its name: StaleTableListError, UnsafeNameError."""
    if kind != "mysql":
        return
    shown, listed = str(qualified(*place)), list(columns)
    unsafe = [name for name in (*place[1:], *listed) if "`" in name or "\\" in name]
    if unsafe:
        raise errors.UnsafeNameError(function, shown, unsafe)
    if not listed:
        raise errors.StaleTableListError(function, shown)


def remember(function: str, cursor: Any, database: str, foreign: Foreign) -> None:
    """Write which database the policy in `foreign.home` means by a name, where that is not said yet.

    DatabaseIdentityUnavailableError.
    """
    known = foreign.identity or identity(function, cursor, database, foreign.kind)
    if _recorded(cursor, foreign.home).get(database.lower()) is None:
        cursor.execute(f"INSERT INTO {_table(foreign.home)} VALUES (?, ?, ?)", [database.lower(), foreign.kind, known])


def is_about(place: Place, foreign: Foreign, schema_name: str, table_name: str) -> bool:
    """Return whether a row of the policy is about a table of another system: only one that names the database is."""
    return _names(place, foreign.kind, foreign.names, schema_name, table_name)


def key(place: Place) -> tuple[str, str]:
    """schema_name and table_name of the rows of the policy about a table of another system."""
    return "main", ".".join(p if names.table_parts(p) == (p,) else identifier(p) for p in place)


def named(cursor: Any, schema_name: str, table_name: str) -> list[Place]:
    """Return the tables of other systems that a row of a policy names, of the databases that are attached."""
    parts = names.table_parts(table_name) or ()
    of = kind(cursor, parts[0]) if len(parts) > 1 else None
    if of is None:
        return []
    of_it = relations(cursor, databases(cursor, of)[parts[0].lower()], of)
    called = (parts[0].lower(),)
    return [p for p in of_it if _names(p, of, called, schema_name, table_name) or _may_name(p, of, called, table_name)]


def is_away(cursor: Any, holder: str, table_name: str) -> bool:
    """Return whether a row of a policy names a table of a database that the policy knows by name."""
    parts = names.table_parts(table_name) or ()
    return len(parts) > 1 and parts[0].lower() in _recorded(cursor, holder)


def base(function: str, cursor: Any, place: Place) -> str:
    """How the ledger names a table of another system: by its database, whatever that is called here."""
    of = kind(cursor, place[0])
    return str(qualified(place[0] if of is None else identity(function, cursor, place[0], of), *place[1:]))


def _table(home: str) -> Sql:
    return qualified(home, "dbanon", "foreign_database")


def _holders(cursor: Any) -> list[str]:
    """Return the attached databases that have a policy; what another system calls so is none."""
    rows = cursor.execute(
        "SELECT DISTINCT database_name, type FROM system.main.duckdb_tables() "
        "JOIN system.main.duckdb_databases() USING (database_name) "
        "WHERE (schema_name, table_name) = ('dbanon', 'policy') ORDER BY ALL ASC"
    ).fetchall()
    return [database for database, type_ in rows if type_ not in _SYSTEMS]


def _recorded(cursor: Any, holder: str) -> dict[str, str]:
    """Return the identities that a policy means, by lower-case name; none where it is older than that."""
    there = cursor.execute(
        "SELECT 1 FROM system.main.duckdb_tables() "
        "WHERE (database_name, schema_name, table_name) = (?, 'dbanon', 'foreign_database')",
        [holder],
    ).fetchall()
    rows = cursor.execute(f"SELECT name, identity FROM {_table(holder)}").fetchall() if there else []
    return {name.lower(): identity for name, identity in rows}


def _alike(cursor: Any, place: Place, kind: str) -> list[str]:
    """Return the tables whose names differ from this one's by capitals at most: a policy does not tell them apart."""
    lower = [part.lower() for part in place]
    found = (p for p in relations(cursor, place[0], kind) if [part.lower() for part in p] == lower)
    return sorted(str(qualified(*p)) for p in found)


def _has_rows(cursor: Any, holder: str, called: Iterable[str], place: Place, kind: str) -> bool:
    return any(_names(place, kind, called, *row) for row in _policy_names(cursor, holder))


def _policy_names(cursor: Any, holder: str) -> list[tuple[str, str]]:
    """schema_name and table_name of all rows of a policy."""
    rows: list[tuple[str, str]] = cursor.execute(
        f"SELECT DISTINCT schema_name, table_name FROM {qualified(holder, 'dbanon', 'policy')} ORDER BY ALL ASC"
    ).fetchall()
    return rows


def _names(place: Place, kind: str, called: Iterable[str], schema_name: str, table_name: str) -> bool:
    """Return whether a row names a table of the database that is `called` so: `pg.public.patients`, `pg.patients`."""
    parts = tuple(part.lower() for part in names.table_parts(table_name) or ())
    schema, table = place[1].lower(), place[2].lower()
    if schema_name.lower() not in ("main", schema) or len(parts) < 2 or parts[0] not in called:
        return False
    return parts[1:] == (schema, table) or (parts[1:] == (table,) and schema == _SYSTEMS[kind].schema)


def _check_named(function: str, cursor: Any, holder: str, called: Iterable[str], place: Place, kind: str) -> None:
    """PolicyRowNeedsSchemaError where a row leaves it to the connection which table it is about."""
    for _, table_name in _policy_names(cursor, holder) if _SYSTEMS[kind].schema is None else ():
        if _may_name(place, kind, called, table_name):
            raise errors.PolicyRowNeedsSchemaError(function, holder, table_name, key(place)[1])


def _may_name(place: Place, kind: str, called: Iterable[str], table_name: str) -> bool:
    """Return whether a name means another table with each connection, and this one with some: `my.patients`."""
    parts = tuple(part.lower() for part in names.table_parts(table_name) or ())
    if _SYSTEMS[kind].schema is not None or len(parts) != 2:
        return False
    return parts[0] in called and parts[1] == place[2].lower()


def _place(function: str, cursor: Any, place: Place, current: str) -> str:
    """Where the policy would be: the session's database, or the only one of DuckDB; NoDatabaseForPolicyError."""
    rows = cursor.execute(
        "SELECT database_name FROM system.main.duckdb_databases() "
        "WHERE NOT internal AND type = 'duckdb' ORDER BY ALL ASC"
    ).fetchall()
    databases = [str(row[0]) for row in rows]
    if current in databases:
        return current
    if len(databases) != 1:
        raise errors.NoDatabaseForPolicyError(function, str(qualified(*place)), databases)
    return databases[0]
