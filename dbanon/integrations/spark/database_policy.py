"""The policy that a DuckDB database declares for one table, for a DataFrame of its rows."""

from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa

from dbanon import errors
from dbanon.api.connection import Connection, connect
from dbanon.integrations.spark.table_names import duckdb_name, duckdb_parts
from dbanon.runtime import session
from dbanon.source import catalog, stored_policy
from dbanon.source.applicable_policy import applicable_policy
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, qualified

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
