"""The policy and the hierarchies for a DataFrame, as rows of dbanon.policy and dbanon.hierarchy.

A caller gives them, or a DuckDB database declares them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import duckdb
import pyarrow as pa

from dbanon import errors
from dbanon.api import missing_codes
from dbanon.api.connection import Connection, connect
from dbanon.integrations.spark.session_call import quoted_name
from dbanon.integrations.spark.table_names import duckdb_name, duckdb_parts
from dbanon.policy import policy_files
from dbanon.policy.declare import declare, insert_row, row_cells
from dbanon.policy.hierarchies.store import load_hierarchy
from dbanon.runtime import session
from dbanon.source import catalog, schema, stored_policy
from dbanon.source.applicable_policy import applicable_policy
from dbanon.source.catalog import SCHEMA
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, qualified

_FUNCTION = "anonymize"


@dataclass(frozen=True)
class DatabasePolicy:
    """The policy that a DuckDB database has for one table.

    Attributes:
        declared: The policy rows about the table.
        columns: The folded names of the table's columns and of those in the policy.
        hierarchies: The rows of the database's table dbanon.hierarchy; empty if there is none.
    """

    declared: tuple[DeclaredColumn, ...]
    columns: frozenset[str]
    hierarchies: pa.Table

    @property
    def hierarchy_names(self) -> set[str]:
        """The names of the hierarchies that are stored in the database."""
        return set(self.hierarchies.column("name").to_pylist())


def database_policy(path: Path, name: str) -> DatabasePolicy:
    """Open a DuckDB database read-only and return its policy for one table, resolved as DuckDB's catalog does.

    Args:
        path: The file of the database.
        name: The name of the table, which may have a schema; it need not exist in the database.

    Raises:
        InvalidPolicyFileError: The file is no DuckDB database, cannot be opened, or has no policy.
        TableNotInPolicyError: No policy row is about the table.
        DbanonError: Whatever `applicable_policy` raises; the table may be a view there.
    """
    with _open_database(path) as con:
        if not catalog.has_table(con.raw, _database_name(con), "policy"):
            raise errors.InvalidPolicyFileError(_FUNCTION, f"{str(path)!r}, which has no table dbanon.policy")
        source, declared = _governing_rows(con, duckdb_name(name))
        if not declared:
            table = qualified(_database_name(con), catalog.SCHEMA, "policy")
            policy_tables = con.raw.execute(
                f"SELECT DISTINCT schema_name, table_name FROM {table} ORDER BY ALL"
            ).fetchall()
            raise errors.TableNotInPolicyError(_FUNCTION, name, path.name, policy_tables)
        columns = frozenset(fold_case(column) for column in [*source.columns, *(row.column for row in declared)])
        return DatabasePolicy(declared, columns, _hierarchies(con))


def _open_database(path: Path) -> Connection:
    """Open a database file read-only; InvalidPolicyFileError if DuckDB cannot open it."""
    try:
        return connect(path, read_only=True)
    except duckdb.Error as error:
        why = str(error).splitlines()[0]
        raise errors.InvalidPolicyFileError(
            _FUNCTION, f"{str(path)!r}, which is not a readable TOML file, CSV file or DuckDB database ({why})"
        ) from None


def _database_name(con: Connection) -> str:
    """Return the name of the connection's current database."""
    return catalog.SearchPath.from_connection(con.raw).database


def _governing_rows(con: Connection, name: str) -> tuple[catalog.Source, tuple[DeclaredColumn, ...]]:
    """Return the source of the name and the policy rows about it.

    For a table or view in the database, these include rows that apply to it through what it reads. A name that is not
    in the database can have rows, too; its source has no columns.
    """
    current_session = session.find_session(con.raw)
    with current_session.cursor() as cursor:
        path, parts = catalog.SearchPath.from_connection(con.raw), duckdb_parts(name)
        if catalog.find_stored(_FUNCTION, cursor, name, parts, path) is not None:
            source = catalog.resolve_source(_FUNCTION, name, cursor, path, {})
            return source, applicable_policy(_FUNCTION, source, cursor, path, current_session).declared
        database, schema, table = [path.database, "main"][: 3 - len(parts)] + list(parts)
        source = catalog.Source(name, Sql(""), {}, database, schema, table)
        return source, tuple(stored_policy.policy_rows(source, cursor))


def _hierarchies(con: Connection) -> pa.Table:
    """Return the rows of the database's table dbanon.hierarchy.

    Without that table, no rows and only the column `name`.
    """
    database = _database_name(con)
    if not catalog.has_table(con.raw, database, "hierarchy"):
        return pa.table({"name": pa.array([], pa.string())})
    return con.raw.sql(f"FROM {qualified(database, catalog.SCHEMA, 'hierarchy')}").to_arrow_table()


_EMPTY = "columns of a DataFrame"
_GIVEN = "rows that are given"

Scope = Literal["frame", "table", "session"]
"""The scope of a policy: one DataFrame, one table of a session, or all tables of a session."""


@dataclass(frozen=True)
class PolicySource:
    """A policy as the caller gives it.

    Attributes:
        name: The name of the table whose rows the DataFrame has; None if not given. A database, rows with a
            `table_name`, and a policy for all tables of a session require it.
        policy: A database, a file, roles by column, or rows of dbanon.policy; None for no policy.
        hierarchies: Hierarchies by column or by the name that the policy uses.
        scope: Whether the policy is for one DataFrame, one table of a session, or all tables of a session.
    """

    name: str | None = None
    policy: Any = None
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    scope: Scope = "frame"

    @property
    def display_name(self) -> str:
        """The name of the table in messages; "data" if it has none."""
        return self.name or "data"


@dataclass(frozen=True)
class GivenPolicy:
    """The policy of one DataFrame.

    Attributes:
        policy: Rows of dbanon.policy.
        hierarchy: Rows of dbanon.hierarchy.
        by_column: The names of hierarchies by column, for those that the caller gave for a column.
        table_columns: The folded names of the columns of the policy or of its table; None if the policy was written for
            this DataFrame alone.
    """

    policy: pa.Table
    hierarchy: pa.Table
    by_column: Mapping[str, str]
    table_columns: frozenset[str] | None


def given_policy(source: PolicySource, columns: pa.Table) -> GivenPolicy:
    """Return the policy rows about a DataFrame, and its hierarchies, read in a temporary database.

    Hierarchies that the policy of a database names are stored in that database or built in; those that another policy
    names are given by the caller. All others are given by column.

    Args:
        source: The policy as the caller gives it.
        columns: An empty table with the columns of the DataFrame.

    Raises:
        PolicyNameMissingError: The policy names tables, and the call does not name the table.
        TableNotInPolicyError: The policy does not name the table.
        HierarchyOfPolicyError: The call replaces a hierarchy of the policy's database.
        InvalidPolicyFileError: The policy is invalid.
        DbanonError: Whatever `declare`, `load_hierarchy` and `applicable_policy` raise.
    """
    with connect() as con:
        schema.create(con.raw)
        con.raw.register(_EMPTY, columns)
        con.raw.execute(f"CREATE TABLE {identifier(source.display_name)} AS FROM {identifier(_EMPTY)}")
        stored, table_columns = None, None
        if (path := _database_path(source.policy)) is not None:
            if not source.name:
                raise errors.PolicyNameMissingError(_FUNCTION, path.name)
            stored = database_policy(path, source.name)
            for row in stored.declared:
                insert_row(con.raw, Sql(f"{SCHEMA}.policy"), row_cells("main", source.display_name, row))
            con.raw.register(_GIVEN, stored.hierarchies)
            con.raw.execute(f"INSERT INTO {SCHEMA}.hierarchy BY NAME FROM {identifier(_GIVEN)}")
            con.raw.unregister(_GIVEN)
            table_columns = stored.columns
        elif source.policy is not None:
            roles, is_by_table = _roles(source)
            declare(con.raw, quoted_name(source.display_name), **roles)
            table_columns = frozenset(map(fold_case, roles)) if is_by_table or source.scope != "frame" else None
        by_column = _load_hierarchies(con, source, columns.column_names, stored)
        rows, nodes = (con.raw.sql(f"FROM {SCHEMA}.{table}").to_arrow_table() for table in ("policy", "hierarchy"))
    return GivenPolicy(rows, nodes, by_column, table_columns)


# --- a database --------------------------------------------------------------------------------------------


def _database_path(policy: Any) -> Path | None:
    """Return the path of a policy that is a DuckDB database; None if it is a TOML or CSV file or no path.

    Raises:
        InvalidPolicyFileError: The file does not exist.
    """
    if not isinstance(policy, (str, Path)):
        return None
    path = Path(policy).expanduser()
    if not path.is_file():
        raise errors.InvalidPolicyFileError(_FUNCTION, f"{str(policy)!r}, which is not a file")
    return None if path.suffix.lower() in (".toml", ".csv") else path


# --- roles by column, files and rows -----------------------------------------------------------------------


def _roles(source: PolicySource) -> tuple[Mapping[str, Any], bool]:
    """Return the roles and settings by column of a policy that is no database, and whether its rows name tables.

    Raises:
        InvalidPolicyFileError: The policy is invalid or has no column.
        TableNotInPolicyError: No row is about the table, or a policy for a whole session names no tables.
    """
    policy, is_by_table = source.policy, False
    if isinstance(policy, (str, Path)):
        policy, is_by_table = _read_file(source, Path(policy).expanduser())
    elif not isinstance(policy, Mapping):
        rows = _rows(policy)
        is_by_table = any(row.get("table_name") for row in rows)
        policy = _by_column(source, _rows_about(source, rows) if is_by_table else rows)
    if not policy:
        raise errors.InvalidPolicyFileError(_FUNCTION, "without any column")
    if not is_by_table and source.scope == "session":
        raise errors.TableNotInPolicyError(_FUNCTION, source.display_name, "policy", ())
    return policy, is_by_table


def _read_file(source: PolicySource, path: Path) -> tuple[Mapping[str, Any], bool]:
    """Return the roles and settings by column of a TOML or CSV file, and whether it names tables.

    InvalidPolicyFileError if the file is invalid. Parts about other tables are ignored.
    """
    table_names: list[tuple[str, str]] = []

    def is_about_table(schema_name: str | None, table_name: str) -> bool:
        """Return whether a part of the file is about the table, and remember that the file names tables."""
        table_names.append((schema_name or "main", table_name))
        return _is_about(source, *table_names[-1])

    try:
        return policy_files.read_policy_file(path, missing_codes.codes_from_cell, is_about_table=is_about_table), bool(
            table_names
        )
    except ValueError as error:
        raise errors.InvalidPolicyFileError(_FUNCTION, str(error)) from None


def _by_column(source: PolicySource, rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the roles and settings of policy rows by column.

    Raises:
        ConflictingRolesError: Two rows name one column, also in another case.
    """
    roles: dict[str, str] = {}
    for row in rows:
        column, role = str(row["column_name"]), str(row["role"])
        if fold_case(column) in roles:
            raise errors.ConflictingRolesError(_FUNCTION, source.display_name, column, (roles[fold_case(column)], role))
        roles[fold_case(column)] = role
    return policy_files.columns_from_rows(rows)


def _rows_about(source: PolicySource, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of a policy whose `schema_name` and `table_name` are those of the table.

    Raises:
        TableNotInPolicyError: There are none.
    """
    keys = [(str(row.get("schema_name") or "main"), str(row.get("table_name") or "")) for row in rows]
    matching_rows = [row for row, key in zip(rows, keys, strict=True) if _is_about(source, *key)]
    if not matching_rows:
        raise errors.TableNotInPolicyError(_FUNCTION, source.display_name, "policy", keys)
    return matching_rows


def _is_about(source: PolicySource, schema_name: str, table_name: str) -> bool:
    """Return whether a policy row for this schema and table is about the table that the caller names.

    Args:
        source: The policy as the caller gives it, with the name of the table.
        schema_name: The schema in the policy row.
        table_name: The table in the policy row.

    Raises:
        PolicyNameMissingError: The caller does not name the table.
    """
    if not source.name:
        raise errors.PolicyNameMissingError(_FUNCTION, "policy")
    *place, table = duckdb_parts(source.name)
    database, schema_name_ = ["", "main"][: 2 - len(place)] + place
    return stored_policy.row_matches((database, schema_name_, table), schema_name, table_name)


def _rows(policy: Any) -> list[dict[str, Any]]:
    """Return the rows of a DataFrame (of Spark, pandas or Arrow) with the columns of dbanon.policy, as dictionaries.

    Raises:
        InvalidPolicyFileError: It lacks `column_name` or `role`, or is no DataFrame.
    """
    rows: list[dict[str, Any]] | None = None
    if hasattr(policy, "toArrow"):
        rows = policy.toArrow().to_pylist()
    elif isinstance(policy, pa.Table):
        rows = policy.to_pylist()
    elif hasattr(policy, "to_dict"):
        rows = pa.Table.from_pandas(policy).to_pylist()
    if rows is None or any(not {"column_name", "role"} <= row.keys() for row in rows):
        raise errors.InvalidPolicyFileError(_FUNCTION, f"a {type(policy).__name__}")
    return rows


# --- hierarchies -------------------------------------------------------------------------------------------


def _load_hierarchies(
    con: Connection, source: PolicySource, columns: Sequence[str], stored: DatabasePolicy | None
) -> dict[str, str]:
    """Store the hierarchies that the caller gives, and return the names of those given by column.

    A key that the policy names as a hierarchy is stored under this name, unless the policy is in a database. Other keys
    that are no column are ignored if the policy is for a session.

    Args:
        con: The connection with the policy.
        source: The policy and the hierarchies, as the caller gives them.
        columns: The columns of the DataFrame.
        stored: The policy of a database; None if it is not in a database.

    Raises:
        HierarchyOfPolicyError: A key is the name of a hierarchy of the database's policy.
    """
    declared = {
        name
        for (name,) in con.raw.execute(f"SELECT hierarchy FROM {SCHEMA}.policy WHERE hierarchy IS NOT NULL").fetchall()
    }
    folded_columns = set(map(fold_case, columns))
    by_column: dict[str, Any] = {}
    for key, rows in source.hierarchies.items():
        is_column = fold_case(key) in folded_columns
        if stored is None and key in declared:
            load_hierarchy(con.raw, key, rows)
        elif is_column:
            by_column[key] = rows
        elif stored is not None and key in declared | stored.hierarchy_names:
            raise errors.HierarchyOfPolicyError(_FUNCTION, key)
        elif source.scope == "frame":  # one of several tables need not have what another one has
            by_column[key] = rows
    return _column_hierarchies(con, by_column, declared)


def _column_hierarchies(con: Connection, by_column: Mapping[str, Any], declared: Iterable[str]) -> dict[str, str]:
    """Store the hierarchies that are given as rows, and return the names of all hierarchies by column.

    A hierarchy given by name (text) is not stored. The new names begin with "given for COLUMN", and no hierarchy of the
    policy or of the database has them.

    Args:
        con: The connection with the table dbanon.hierarchy.
        by_column: Hierarchies by column: rows or names.
        declared: The names of hierarchies that the policy uses.
    """
    stored = con.raw.execute(f"SELECT DISTINCT name FROM {SCHEMA}.hierarchy").fetchall()
    used_names = {*declared, *(name for (name,) in stored)}
    names = {}
    for column, hierarchy in by_column.items():
        if isinstance(hierarchy, str):
            names[column] = hierarchy
            continue
        name = f"given for {column}"
        while name in used_names:
            name += "_"
        used_names.add(name)
        load_hierarchy(con.raw, name, hierarchy)
        names[column] = name
    return names
