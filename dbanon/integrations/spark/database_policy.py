"""What a DuckDB database declares of one table, for a DataFrame of its rows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    """The rows that govern a table, the folded names of its columns and theirs, and the hierarchies stored there."""

    declared: tuple[DeclaredColumn, ...]
    columns: frozenset[str]
    hierarchies: pa.Table

    @property
    def hierarchy_names(self) -> set[str]:
        """The names of the hierarchies."""
        return set(self.hierarchies.column("name").to_pylist())


def database_policy(path: Path, name: str) -> DatabasePolicy:
    """Return what a database declares of a table, whose name is resolved as DuckDB's catalog does.

    Raises:
        InvalidPolicyFileError: The file is no DuckDB database, cannot be opened, or has no policy.
        TableNotInPolicyError: No row is about the table.

    And what `applicable_policy` raises: the table may be a view there.
    """
    with _opened(path) as con:
        if not catalog.has_table(con.raw, _database(con), "policy"):
            raise errors.InvalidPolicyFileError(_FUNCTION, f"{str(path)!r}, which has no table dbanon.policy")
        source, declared = _governed(con, duckdb_name(name))
        if not declared:
            table = qualified(_database(con), catalog.SCHEMA, "policy")
            known = con.raw.execute(f"SELECT DISTINCT schema_name, table_name FROM {table} ORDER BY ALL").fetchall()
            raise errors.TableNotInPolicyError(_FUNCTION, name, path.name, known)
        columns = frozenset(fold_case(column) for column in [*source.columns, *(row.column for row in declared)])
        return DatabasePolicy(declared, columns, _hierarchies(con))


def _opened(path: Path) -> Connection:
    try:
        return connect(path, read_only=True)
    except duckdb.Error as error:
        why = str(error).splitlines()[0]
        raise errors.InvalidPolicyFileError(
            _FUNCTION, f"{str(path)!r}, which is no TOML, CSV or DuckDB database that can be read ({why})"
        ) from None


def _database(con: Connection) -> str:
    return catalog.SearchPath.here(con.raw).database


def _governed(con: Connection, name: str) -> tuple[catalog.Source, tuple[DeclaredColumn, ...]]:
    """Return the table and the rows that govern it; a table that is not in the database may have rows, too."""
    current = session.find_session(con.raw)
    with current.cursor() as cursor:
        path, parts = catalog.SearchPath.here(con.raw), duckdb_parts(name)
        if catalog.find_stored(_FUNCTION, cursor, name, parts, path) is not None:
            source = catalog.resolve_source(_FUNCTION, name, cursor, path, {})
            return source, applicable_policy(_FUNCTION, source, cursor, path, current).declared
        database, schema, table = [path.database, "main"][: 3 - len(parts)] + list(parts)
        source = catalog.Source(name, Sql(""), {}, database, schema, table)
        return source, tuple(row.declared for row in stored_policy.policy_rows(source, cursor))


def _hierarchies(con: Connection) -> pa.Table:
    database = _database(con)
    if not catalog.has_table(con.raw, database, "hierarchy"):
        return pa.table({"name": pa.array([], pa.string())})
    rows: Any = con.raw.sql(f"FROM {qualified(database, catalog.SCHEMA, 'hierarchy')}")
    return rows.to_arrow_table()
