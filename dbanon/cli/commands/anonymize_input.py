"""The input of `dbanon anonymize`: its rows and the policy that applies to it, in memory.

A table of a database is resolved as table functions resolve it, and `source.applicable_policy` determines the rows of
the policy that apply. The database is attached read-only, and detached before anything is computed.
"""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dbanon import errors
from dbanon.cli.commands.input_tables import FILE_ENDINGS, chosen_table, create_table, ending
from dbanon.cli.options.role_options import name_predicate
from dbanon.policy.declare import insert_row, row_cells
from dbanon.policy.policy_files import IsAboutTable
from dbanon.runtime import output_files, storage_version
from dbanon.source import catalog, stored_policy
from dbanon.source.applicable_policy import applicable_policy
from dbanon.source.catalog import SCHEMA, SearchPath, Source
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, qualified, text

DATABASE_ENDINGS = (".duckdb", ".db")

INPUT_ENDINGS = (*FILE_ENDINGS, *DATABASE_ENDINGS)

INPUT_TABLE = "input"
"""The table that the rows become."""


@dataclass(frozen=True)
class LoadedInput:
    """The input after it was loaded into the table `input`.

    Attributes:
        table_name: The name of the input in messages.
        read: The files that were read.
        declared: The rows of the database's policy that apply to it; empty for a file of rows.
        is_about: Whether a row of a policy file, by its schema and table names, is about it.
    """

    table_name: str
    read: Sequence[Path]
    declared: Sequence[DeclaredColumn]
    is_about: IsAboutTable


def load_input(con: Any, path: Path, table: str | None) -> LoadedInput:
    """Create the table `input` from a file of rows, or from a table of a DuckDB database with its policy.

    The hierarchies of such a database are copied, too.

    Args:
        con: The in-memory connection in which the table is created.
        path: The file.
        table: The value of --table; None if it is not given.

    Raises:
        click.UsageError: The file has an unknown ending, or --table is missing, names no table, or has no effect.
        DbanonError: A table function would raise it for the same source.
    """
    check_input_ending(path)
    if is_database(path):
        return _load_table(con, path, table)
    if table is not None:
        raise click.BadParameter("only a DuckDB database has tables.", param_hint="--table")
    create_table(con, INPUT_TABLE, path)
    return LoadedInput(path.name, [path], (), name_predicate(INPUT_TABLE, path.stem, path.name))


def check_input_ending(path: Path) -> None:
    """Check that the input has an ending of a file of rows or of a database.

    Raises:
        click.BadParameter: It has another one.
    """
    if ending(path) not in INPUT_ENDINGS:
        raise click.BadParameter(f"{path} is none of {', '.join(INPUT_ENDINGS)}.", param_hint="INPUT")


def is_database(path: Path) -> bool:
    """Return whether the input is a database by its ending."""
    return ending(path) in DATABASE_ENDINGS


def _load_table(con: Any, path: Path, table: str | None) -> LoadedInput:
    """Copy a table of a database, the policy rows that apply to it, and the stored hierarchies into memory.

    Returns what was loaded; `table` is the value of --table, without which the database must have one table.

    Raises:
        click.UsageError: The database has no such table or view, or several tables without --table.
        ConflictingRolesError: The policy names a column twice.
    """
    with _attach_read_only(con, path) as database:
        table = chosen_table(con, path, table, database)
        with con.duckdb_connection.cursor() as cursor:
            source = _resolve_table(cursor, path, database, table)
            policy = applicable_policy("anonymize", source, cursor, SearchPath(database, "main"))
        con.duckdb_connection.execute(f"CREATE TABLE {INPUT_TABLE} AS FROM {source.read}")
        if catalog.has_table(con.duckdb_connection, database, "hierarchy"):
            stored = qualified(database, SCHEMA, "hierarchy")
            con.duckdb_connection.execute(f"INSERT INTO memory.{SCHEMA}.hierarchy BY NAME FROM {stored}")
        _check_repeated(source, policy.declared)
        for row in policy.declared:
            insert_row(con.duckdb_connection, Sql(f"memory.{SCHEMA}.policy"), row_cells("main", INPUT_TABLE, row))
        read = output_files.source_files(con.duckdb_connection)

    def is_about(schema_name: str | None, table_name: str) -> bool:
        """Return whether a row of a policy file names the table.

        A row without a schema matches the schema `main` and that of the table.
        """
        schemas = [schema_name] if schema_name else ["main", source.schema]
        return any(stored_policy.is_about(source, schema, table_name) for schema in schemas)

    return LoadedInput(source.shown, read, policy.declared, is_about)


@contextlib.contextmanager
def _attach_read_only(con: Any, path: Path) -> Iterator[str]:
    """Attach a database file read-only, yield the name by which it is attached, and detach it at the end of the block.

    The name is the one that DuckDB gives to the file; `origin` if that is in use.
    """
    earlier_names = _database_names(con)
    alias = "AS origin" if names.fold_case(path.stem) in (*earlier_names, SCHEMA, INPUT_TABLE) else ""
    with storage_version.translate_version_errors(path):
        con.duckdb_connection.execute(f"ATTACH {text(str(path))} {alias} (READ_ONLY, TYPE duckdb)")
    (database,) = _database_names(con) - earlier_names
    try:
        yield database
    finally:
        con.duckdb_connection.execute(f"DETACH {identifier(database)}")


def _database_names(con: Any) -> set[str]:
    """Return the names of all attached databases."""
    query = "SELECT database_name FROM system.main.duckdb_databases()"
    return {name for (name,) in con.duckdb_connection.execute(query).fetchall()}


def _resolve_table(cursor: Any, path: Path, database: str, table: str) -> Source:
    """Return the table or view of an attached database that --table names.

    Raises:
        click.BadParameter: The database has no such table or view.
    """
    with contextlib.suppress(
        errors.UnknownTableError, errors.UnreadableFileError, errors.NotATableError, errors.DatabaseNotAttachedError
    ):
        source = catalog.resolve_source("anonymize", table, cursor, SearchPath(database, "main"), {})
        if source.database == database and source.sql == qualified(*source.place):  # no file, and no table of ours
            return source
    table_names = [
        name if schema == "main" else f"{schema}.{name}" for _, schema, name in catalog.relations(cursor, database)
    ]
    raise click.BadParameter(
        f"{path} has no table or view {table}.{errors.did_you_mean(table, table_names)}", param_hint="--table"
    )


def _check_repeated(source: Source, declared: Sequence[DeclaredColumn]) -> None:
    """Check that the policy rows of a table, which may spell its name differently, name no column twice.

    Raises:
        ConflictingRolesError: They name a column twice.
    """
    roles: dict[str, str] = {}
    for row in declared:
        if row.column in roles:
            raise errors.ConflictingRolesError("anonymize", source.shown, row.column, (roles[row.column], row.role))
        roles[row.column] = row.role
