"""Attached databases of other systems: their identity, and which DuckDB database has their policy.

A name such as `pg` is chosen with every ATTACH. A policy is about the database behind the name, so the DuckDB database
that holds the policy also states which database it means (`dbanon.foreign_database`).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from dbanon import errors
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, join_sql, qualified, text

Place = tuple[str, str, str]
"""Database, schema and name of a table or view."""


@dataclass(frozen=True)
class _ForeignSystem:
    """A database system other than DuckDB that DuckDB can attach.

    Attributes:
        schema: The schema that a bare name means; None: it depends on the connection.
        query: The DuckDB function that runs a query in that system.
        identity: A query, in the SQL of that system, for the identity of a database.
        relations: A query, in the SQL of that system, for the schemas and names of its tables and views.
        looks_once: Whether DuckDB's own list of the system's tables is not updated after the first access.
    """

    schema: str | None
    query: Sql
    identity: str
    relations: str
    looks_once: bool = False


_SYSTEMS = {
    # The number that a server draws when it is made, and that of the database in it: both outlive a new name.
    "postgres": _ForeignSystem(
        "public",
        Sql("system.main.postgres_query"),
        "SELECT 'postgres:' || (SELECT system_identifier FROM pg_catalog.pg_control_system()) || '/' || oid "
        "AS identity FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()",
        "SELECT n.nspname::pg_catalog.text AS nspname, c.relname::pg_catalog.text AS relname FROM pg_catalog.pg_class "
        "AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'v', 'm', 'p', 'f')",
        looks_once=True,
    ),
    # The server alone: a database of it is the schema of a table. Each reads its own of the two comments.
    "mysql": _ForeignSystem(
        None,
        Sql("system.main.mysql_query"),
        "SELECT CONCAT('mysql:', NULLIF(/*!50701 @@server_uuid */ /*M! @@server_uid */, '')) AS identity",
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_type <> 'SYSTEM VIEW'",
        looks_once=True,
    ),
    "sqlite": _ForeignSystem(
        "main",
        Sql("system.main.sqlite_query"),
        "SELECT 'sqlite:' || file AS identity FROM pragma_database_list WHERE name = 'main' AND file <> ''",
        "SELECT 'main' AS schema, name FROM sqlite_master WHERE type IN ('table', 'view')",
    ),
}


@dataclass(frozen=True)
class ForeignSource:
    """A source in another database system, such as PostgreSQL.

    Attributes:
        kind: The system: postgres, mysql or sqlite.
        home: The DuckDB database with its policy.
        identity: The identity of the database behind its attached name; None if the system does not report one; then it
            has no policy.
        names: All lower-case names by which the policy may call that database.
    """

    kind: str
    home: str
    identity: str | None
    names: tuple[str, ...]
    others: tuple[str, ...] = ()
    """Databases that have a policy, but no rows about the source."""


def database_kind(cursor: Any, database: str) -> str | None:
    """Return the system of an attached database (postgres, mysql or sqlite); None for DuckDB and unknown databases."""
    rows = cursor.execute(
        "SELECT type FROM system.main.duckdb_databases() WHERE system.main.lower(database_name) = "
        f"{text(database.lower())}"
    ).fetchall()
    return rows[0][0] if rows and rows[0][0] in _SYSTEMS else None


def databases(cursor: Any, kind: str) -> dict[str, str]:
    """Return the names of the attached databases of a system, by lower-case name.

    `kind` is postgres, mysql or sqlite.
    """
    rows = cursor.execute(
        f"SELECT database_name FROM system.main.duckdb_databases() WHERE type = {text(kind)}"
    ).fetchall()
    return {row[0].lower(): row[0] for row in rows}


def relations(cursor: Any, database: str, kind: str) -> list[Place]:
    """Return (database, schema, name) of all tables and views that a database of another system has now.

    `kind` is the system of the database: postgres, mysql or sqlite.
    """
    query = _SYSTEMS[kind].relations
    rows = cursor.execute(f"SELECT * FROM {_SYSTEMS[kind].query}({text(database)}, {text(query)})").fetchall()
    return [(database, schema, table) for schema, table in rows]


def queried_databases(cursor: Any) -> dict[str, tuple[str, str]]:
    """Return (database, kind), by lower-case name, of attached databases that must be queried for their tables.

    These are PostgreSQL and MySQL: DuckDB's own list of their tables is not updated after the first access.
    """
    kinds = join_sql(text(kind) for kind, system in _SYSTEMS.items() if system.looks_once)
    rows = cursor.execute(
        f"SELECT database_name, type FROM system.main.duckdb_databases() WHERE type IN ({kinds})"
    ).fetchall()
    return {database.lower(): (database, kind) for database, kind in rows}


def default_schema(cursor: Any, database: str) -> str:
    """Return the schema that `database.table` means; "" if there is none.

    It is `main` for DuckDB and unknown databases. A MySQL database is asked for its current database.
    """
    system = database_kind(cursor, database)
    schema = "main" if system is None else _SYSTEMS[system].schema
    if system is None or schema is not None:
        return schema or ""
    query = f"SELECT * FROM {_SYSTEMS[system].query}({text(database)}, 'SELECT DATABASE()')"
    return str(cursor.execute(query).fetchall()[0][0] or "")


def identity_sql(database: str, kind: str) -> Sql:
    """Return a scalar subquery for the identity of an attached database, evaluated when the statement runs.

    `kind` is the system of the database: postgres, mysql or sqlite.
    """
    system = _SYSTEMS[kind]
    return Sql(f"(SELECT identity FROM {system.query}({text(database)}, {text(system.identity)}))")


def identity(function: str, cursor: Any, database: str, kind: str) -> str:
    """Return the identity of an attached database of another system, which does not depend on its attached name.

    `kind` is the system: postgres, mysql or sqlite.

    Raises:
        DatabaseIdentityUnavailableError: The database does not report one.
    """
    try:
        rows = cursor.execute(f"SELECT {identity_sql(database, kind)}").fetchall()
    except Exception as error:
        raise errors.DatabaseIdentityUnavailableError(function, database, kind, str(error).split("\n")[0]) from None
    if rows[0][0] is None:
        raise errors.DatabaseIdentityUnavailableError(
            function, database, kind, "it is in memory" if kind == "sqlite" else "what it says is empty"
        )
    return str(rows[0][0])


def foreign_source(
    function: str, cursor: Any, place: Place, current: str, is_declaring: bool = False
) -> ForeignSource | None:
    """Return the home database and identity of a source in another system; None for a source in a DuckDB database.

    The home is the DuckDB database whose policy has rows about the source. Without such rows it is that of the session,
    or the only attached DuckDB database if the session is in another system.

    Args:
        function: The function that reads the source, for messages.
        cursor: A cursor that sees committed objects.
        place: Database, schema and name of the source.
        current: The database of the session.
        is_declaring: The caller is about to record which database a name means, so that it need not be recorded yet.

    Raises:
        NamesDifferOnlyByCaseError: Names of several tables differ from this one only by case.
        DatabaseIdentityUnavailableError: A policy has rows about the table, and the database reports no identity.
        AmbiguousPolicyError: Several databases have rows about the table.
        NoDatabaseForPolicyError: It is unclear in which database its policy would be.
        DatabaseIdentityMismatchError: The policy means another database by this name.
        UnknownDatabaseError: The policy has rows about the table, but does not record which database it means.
        PolicyRowNeedsSchemaError: A policy row names no schema, so that its table depends on the connection (MySQL).
    """
    system = database_kind(cursor, place[0])
    if system is None:
        return None
    same_names = _tables_differing_by_case(cursor, place, system)
    if len(same_names) > 1:
        raise errors.NamesDifferOnlyByCaseError(function, same_names)
    alias, holders = place[0].lower(), _policy_databases(cursor)
    try:
        current_identity = identity(function, cursor, place[0], system)
    except errors.DatabaseIdentityUnavailableError:  # which only a policy needs
        if is_declaring or any(_has_rows(cursor, holder, {alias}, place, system) for holder in holders):
            raise
        return ForeignSource(system, _policy_database(function, cursor, place, current), None, (alias,), tuple(holders))
    recorded_identities = {holder: _recorded_identities(cursor, holder) for holder in holders}
    aliases = {
        h: {
            alias,
            *(
                name
                for name, recorded_identity in recorded_identities[h].items()
                if recorded_identity == current_identity
            ),
        }
        for h in holders
    }
    for holder in holders:
        _check_schema_named(function, cursor, holder, aliases[holder], place, system)
    holders_with_rows = [holder for holder in holders if _has_rows(cursor, holder, aliases[holder], place, system)]
    if len(holders_with_rows) > 1:
        raise errors.AmbiguousPolicyError(function, holders_with_rows, str(qualified(*place)))
    home = holders_with_rows[0] if holders_with_rows else _policy_database(function, cursor, place, current)
    home_identities = recorded_identities.get(home, {})
    if home_identities.get(alias, current_identity) != current_identity:
        raise errors.DatabaseIdentityMismatchError(function, home, home_identities[alias], place[0], current_identity)
    if (
        holders_with_rows
        and alias not in home_identities
        and not is_declaring
        and _has_rows(cursor, home, {alias}, place, system)
    ):
        raise errors.UnknownDatabaseError(function, place[0], home, str(_table(home)))
    return ForeignSource(
        system,
        home,
        current_identity,
        tuple(sorted(aliases.get(home, {alias}))),
        tuple(holder for holder in holders if holder != home),
    )


def check_read(function: str, cursor: Any, place: Place, kind: str, columns: Iterable[str]) -> None:
    """Check that DuckDB can read a table of another system by its name; only for MySQL this can fail.

    Args:
        function: The function that reads the table, for messages.
        cursor: A cursor; it is not used.
        place: Database, schema and name of the table.
        kind: The system of the database: postgres, mysql or sqlite.
        columns: The names of the table's columns as DuckDB lists them.

    Raises:
        StaleTableListError: DuckDB's list of tables is older than the table, so that it has no columns.
        UnsafeNameError: A name contains characters that DuckDB does not quote for MySQL.
    """
    if kind != "mysql":
        return
    table_name, column_names = str(qualified(*place)), list(columns)
    unsafe = [name for name in (*place[1:], *column_names) if "`" in name or "\\" in name]
    if unsafe:
        raise errors.UnsafeNameError(function, table_name, unsafe)
    if not column_names:
        raise errors.StaleTableListError(function, table_name)


def record_identity(function: str, cursor: Any, database: str, foreign: ForeignSource) -> None:
    """Record in `foreign.home` the identity of an attached database under its name, unless the name has one already.

    Raises:
        DatabaseIdentityUnavailableError: The database reports no identity.
    """
    current_identity = foreign.identity or identity(function, cursor, database, foreign.kind)
    if _recorded_identities(cursor, foreign.home).get(database.lower()) is None:
        cursor.execute(
            f"INSERT INTO {_table(foreign.home)} VALUES (?, ?, ?)", [database.lower(), foreign.kind, current_identity]
        )


def is_about(place: Place, foreign: ForeignSource, schema_name: str, table_name: str) -> bool:
    """Return whether a policy row is about the table at `place`, which is in another system.

    Args:
        place: Database, schema and name of the table.
        foreign: It has the names of the database; the row's table_name must begin with one of them.
        schema_name: The column schema_name of the row.
        table_name: The column table_name of the row.
    """
    return _is_named_by(place, foreign.kind, foreign.names, schema_name, table_name)


def policy_key(place: Place) -> tuple[str, str]:
    """Return schema_name and table_name for policy rows about a table of another system: `main` and the full name.

    `place` is database, schema and name of the table. Parts of the full name are quoted if needed.
    """
    return "main", ".".join(p if names.table_parts(p) == (p,) else identifier(p) for p in place)


def tables_named_by_row(cursor: Any, schema_name: str, table_name: str) -> list[Place]:
    """Return the tables, in attached databases of other systems, that a policy row names; empty if it names none.

    A name without schema can mean several tables of MySQL; all are returned. `schema_name` and `table_name` are those
    of the row. The database must be named as it is attached.
    """
    parts = names.table_parts(table_name) or ()
    system = database_kind(cursor, parts[0]) if len(parts) > 1 else None
    if system is None:
        return []
    tables = relations(cursor, databases(cursor, system)[parts[0].lower()], system)
    aliases = (parts[0].lower(),)
    return [
        p
        for p in tables
        if _is_named_by(p, system, aliases, schema_name, table_name) or _may_be_named_by(p, system, aliases, table_name)
    ]


def has_recorded_database(cursor: Any, holder: str, table_name: str) -> bool:
    """Return whether the table_name of a policy row begins with a recorded database of another system.

    Other systems are PostgreSQL, MySQL and SQLite. Whether the database is attached now is not checked.

    Args:
        cursor: A cursor.
        holder: The DuckDB database that stores the policy row and the identities of such databases.
        table_name: The column table_name of the row.
    """
    parts = names.table_parts(table_name) or ()
    return len(parts) > 1 and parts[0].lower() in _recorded_identities(cursor, holder)


def ledger_name(function: str, cursor: Any, place: Place) -> str:
    """Return the full name of a table for the ledger; a database of another system is named by its identity.

    `place` is database, schema and name of the table; the database is its attached name.

    Raises:
        DatabaseIdentityUnavailableError: The database does not report one.
    """
    system = database_kind(cursor, place[0])
    return str(qualified(place[0] if system is None else identity(function, cursor, place[0], system), *place[1:]))


def _table(home: str) -> Sql:
    """Return the SQL name of dbanon.foreign_database in a database."""
    return qualified(home, "dbanon", "foreign_database")


def _policy_databases(cursor: Any) -> list[str]:
    """Return the attached databases with a table dbanon.policy, sorted, except those of other systems."""
    rows = cursor.execute(
        "SELECT DISTINCT database_name, type FROM system.main.duckdb_tables() "
        "JOIN system.main.duckdb_databases() USING (database_name) "
        "WHERE (schema_name, table_name) = ('dbanon', 'policy') ORDER BY ALL ASC"
    ).fetchall()
    return [database for database, type_ in rows if type_ not in _SYSTEMS]


def _recorded_identities(cursor: Any, holder: str) -> dict[str, str]:
    """Return the identities of other systems' databases that `holder` records, by lower-case attached name.

    Empty for a policy of an older schema, without the table for them.
    """
    exists = cursor.execute(
        "SELECT 1 FROM system.main.duckdb_tables() "
        "WHERE database_name = ? AND schema_name = 'dbanon' AND table_name = 'foreign_database'",
        [holder],
    ).fetchall()
    rows = cursor.execute(f"SELECT name, identity FROM {_table(holder)}").fetchall() if exists else []
    return {name.lower(): identity for name, identity in rows}


def _tables_differing_by_case(cursor: Any, place: Place, kind: str) -> list[str]:
    """Return the full names of all tables whose names equal that of one table without regard to case, itself included.

    `place` is database, schema and name of the table; `kind` is the system of the database: postgres, mysql or sqlite.
    """
    lower = [part.lower() for part in place]
    matches = (p for p in relations(cursor, place[0], kind) if [part.lower() for part in p] == lower)
    return sorted(str(qualified(*p)) for p in matches)


def _has_rows(cursor: Any, holder: str, aliases: Iterable[str], place: Place, kind: str) -> bool:
    """Return whether the policy in the database `holder` has a row about a table of another system.

    `place` is database, schema and name of the table; `kind` is the system of the database, and `aliases` are the
    lower-case names by which rows may call the database.
    """
    return any(_is_named_by(place, kind, aliases, *row) for row in _policy_names(cursor, holder))


def _policy_names(cursor: Any, holder: str) -> list[tuple[str, str]]:
    """Return the distinct schema_name and table_name of all rows of the policy in `holder`, sorted."""
    policy = qualified(holder, "dbanon", "policy")
    return list(cursor.execute(f"SELECT DISTINCT schema_name, table_name FROM {policy} ORDER BY ALL ASC").fetchall())


def _is_named_by(place: Place, kind: str, aliases: Iterable[str], schema_name: str, table_name: str) -> bool:
    """Return whether a policy row names the table at `place`, as in `pg.public.patients` or `pg.patients`.

    Case does not matter. Without a schema the system's default schema is meant; MySQL has none.

    Args:
        place: Database, schema and name of the table.
        kind: The system of the database: postgres, mysql or sqlite.
        aliases: The lower-case names by which rows may call the database.
        schema_name: The column schema_name of the row; it must be main or the schema of the table.
        table_name: The column table_name of the row.
    """
    parts = tuple(part.lower() for part in names.table_parts(table_name) or ())
    schema, table = place[1].lower(), place[2].lower()
    if schema_name.lower() not in ("main", schema) or len(parts) < 2 or parts[0] not in aliases:
        return False
    return parts[1:] == (schema, table) or (parts[1:] == (table,) and schema == _SYSTEMS[kind].schema)


def _check_schema_named(
    function: str, cursor: Any, holder: str, aliases: Iterable[str], place: Place, kind: str
) -> None:
    """Check that no policy row about the table depends on the connection, since it names no schema (MySQL only).

    Args:
        function: The function that reads the table, for messages.
        cursor: A cursor that sees committed objects.
        holder: The database with the policy.
        aliases: The lower-case names by which rows may call the database of the table.
        place: Database, schema and name of the table.
        kind: The system of its database; nothing is checked unless it is mysql.

    Raises:
        PolicyRowNeedsSchemaError: A row names the table without a schema.
    """
    for _, table_name in _policy_names(cursor, holder) if _SYSTEMS[kind].schema is None else ():
        if _may_be_named_by(place, kind, aliases, table_name):
            raise errors.PolicyRowNeedsSchemaError(function, holder, table_name, policy_key(place)[1])


def _may_be_named_by(place: Place, kind: str, aliases: Iterable[str], table_name: str) -> bool:
    """Return whether a name without schema, such as `my.patients`, means the table on some connections (MySQL only).

    Args:
        place: Database, schema and name of the table.
        kind: The system of its database; false unless it is mysql.
        aliases: The lower-case names by which rows may call the database.
        table_name: The name in a policy row.
    """
    parts = tuple(part.lower() for part in names.table_parts(table_name) or ())
    if _SYSTEMS[kind].schema is not None or len(parts) != 2:
        return False
    return parts[0] in aliases and parts[1] == place[2].lower()


def _policy_database(function: str, cursor: Any, place: Place, current: str) -> str:
    """Return the database for the policy of a source in another system: the session's, or the only DuckDB database.

    `place` is the source, for messages; `current` is the database of the session.

    Raises:
        NoDatabaseForPolicyError: The session is in another system, and several DuckDB databases are attached, or none.
    """
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
