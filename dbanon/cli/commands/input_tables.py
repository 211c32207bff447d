"""The table that a command reads: a table of a database, or a file loaded into a database next to it."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from dbanon.cli.terminal.command_group import ExitError
from dbanon.ledger.releases import TABLES
from dbanon.policy.column_names.category_names import is_category_name
from dbanon.runtime import csv_lines, input_files, session
from dbanon.source import catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, join_sql, qualified, text

FILE_ENDINGS = names.FILE_ENDINGS
"""Endings of files of rows."""

COMPRESSED_ENDINGS = (".gz", ".zst")
"""Endings that may follow them."""

_CSV_ENDINGS = ("csv", "tsv", "txt")


class InputPath(click.Path):
    """The type of an argument that is a local file of rows, or a database."""

    name = "file"

    def __init__(self) -> None:
        """Create the type; its values are paths of files that exist."""
        super().__init__(exists=True, dir_okay=False, path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, context: click.Context | None) -> Any:
        """Return the path; a URL is an error that states how to load it."""
        scheme = names.url_scheme(str(value))
        if scheme is not None and not Path(value).exists():
            extension = input_files.required_extension(scheme)
            load = f"LOAD {extension}; " if extension else ""
            self.fail(
                f"{value} is on a network, and this command reads local files. Hint: dbanon shell FILE.duckdb -c "
                f"\"{load}CREATE TABLE NAME AS FROM '{value}'\", then give FILE.duckdb.",
                param,
                context,
            )
        return super().convert(value, param, context)


def ending(path: Path) -> str:
    """Return the ending of a file in lower case, without that of its compression.

    >>> ending(Path("visits.CSV.gz")), ending(Path("clinic.duckdb"))
    ('.csv', '.duckdb')
    """
    uncompressed_path = Path(path.stem) if path.suffix.lower() in COMPRESSED_ENDINGS else path
    return uncompressed_path.suffix.lower()


def is_row_file(path: Path) -> bool:
    """Return whether a file is one of rows by its ending, and not a database."""
    return ending(path) in FILE_ENDINGS


def default_database(path: Path) -> Path:
    """Return the path of the database next to a file of rows.

    >>> default_database(Path("data/visits.csv.gz")).as_posix()
    'data/visits.duckdb'
    """
    uncompressed_path = path.with_suffix("") if path.suffix.lower() in COMPRESSED_ENDINGS else path
    return uncompressed_path.with_suffix(".duckdb")


def default_table(path: Path) -> str:
    """Return the name of the table that a file of rows becomes.

    >>> default_table(Path("data/visits.csv.gz"))
    'visits'
    """
    return default_database(path).stem


# --- tables of a database ----------------------------------------------------------------------------------------


def source_tables(con: Any, database: str | None = None) -> list[str]:
    """Return the tables and views of a database that can be a source, as SQL names without the database.

    The tables of releases and the schema `dbanon` are omitted. The default is the current database.
    """
    raw = session.plain_connection(con)
    if database is None:
        database = str(raw.execute("SELECT system.main.current_database()").fetchone()[0])
    release_tables = set()
    if catalog.has_table(raw, database, "release"):
        ledger, related_ledger = (qualified(database, catalog.SCHEMA, name) for name in ("release", "related_release"))
        queries = [f"SELECT schema_name, name FROM {ledger} WHERE status = 'published'"]
        if catalog.has_table(raw, database, "related_release"):
            queries.append(
                "SELECT schema_name, name || system.main.unnest(system.main.map_keys(tables)) "
                f"FROM {related_ledger} WHERE status = 'published'"
            )
        release_tables = {
            (schema, f"{name}{suffix}")
            for query in queries
            for schema, name in raw.execute(query).fetchall()
            for suffix in TABLES
        }
    return [
        table_text(schema, name)
        for _, schema, name in sorted(catalog.relations(raw, database))
        if schema != catalog.SCHEMA and (schema, name) not in release_tables
    ]


def identifier_text(name: str) -> str:
    """Return a name as it is typed in SQL: quoted only if it must be.

    >>> identifier_text("visits"), identifier_text("my visits")
    ('visits', '"my visits"')
    """
    return name if names.table_parts(name) == (name,) and name == name.strip() else str(identifier(name))


def table_text(schema: str, name: str) -> str:
    """Return the name of a table as commands take it: with its schema unless that is main, quoted where it must be."""
    return identifier_text(name) if schema == "main" else f"{identifier_text(schema)}.{identifier_text(name)}"


def chosen_table(con: Any, path: Path, table: str | None, database: str | None = None) -> str:
    """Return the table that a command reads: that of --table, otherwise the only one of the database.

    Args:
        con: A connection.
        path: The path of the database, for messages.
        table: The value of --table; None if it is not given.
        database: The name of the database; by default the current one.

    Raises:
        click.UsageError: --table is not given, and the database has several tables, or none.
    """
    if table is not None:
        return table
    tables = source_tables(con, database)
    if len(tables) == 1:
        return tables[0]
    raise no_single_table(path, tables)


def no_single_table(path: Path, tables: Sequence[str]) -> click.UsageError:
    """Return the error about a database that has several tables, or none, and no --table that names one."""
    if not tables:
        return click.UsageError(f"{path} has no table. Hint: dbanon init FILE loads a file into one.")
    return click.UsageError(f"{path} has {len(tables)} tables. Hint: --table names one of {', '.join(tables)}.")


# --- a file as a table -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def private_database(database: Path) -> Iterator[bool]:
    """Return a context in which DuckDB creates files that only their owner can read, and yield if `database` is new.

    The database and what DuckDB writes next to it (its log and temporary files) are such files where the database does
    not exist yet, or is one already. A database that is created in a block that fails is removed.
    """
    is_new = not database.exists()
    is_private = is_new or not database.stat().st_mode & 0o077
    earlier_mask = os.umask(0o077) if is_private else None
    try:
        yield is_new
    except BaseException:
        if is_new:
            for file in (database, database.with_name(f"{database.name}.wal")):
                with contextlib.suppress(OSError):
                    file.unlink()
        raise
    finally:
        if earlier_mask is not None:
            os.umask(earlier_mask)


@contextlib.contextmanager
def table_from_file(con: Any, database: Path, file: Path, table: str, is_replacing: bool) -> Iterator[str]:
    """Create a table of the current database from a file for a block, and yield its name in SQL.

    The table remains if the block ends without an error. Otherwise it is dropped, and a table that it replaced is there
    again.

    Args:
        con: A connection of `dbanon.connect`.
        database: The path of the database, for messages.
        file: The file of rows.
        table: The name of the table.
        is_replacing: Whether a table that has this name is replaced.

    Raises:
        click.ClickException: There is such a table, and `is_replacing` is false; or it is part of a release.
    """
    (current,) = con.execute("SELECT system.main.current_database()").fetchone()
    place, backup = qualified(current, "main", table), identifier(f"{table} before init")
    tables = {names.fold_case(name): name for _, schema, name in catalog.relations(con, current) if schema == "main"}
    existing = tables.get(names.fold_case(table))
    if existing is not None and identifier_text(existing) not in source_tables(con):
        raise ExitError(f"{existing} in {database} is part of a release. Hint: --table gives the new table a name.")
    if existing is not None and not is_replacing:
        raise ExitError(
            f"{database} has a table {existing} already. Hint: --replace loads {file.name} in its place, with a new "
            "policy; --table gives the new table another name."
        )
    with session.transaction(con.duckdb_connection):
        if existing is not None:
            con.duckdb_connection.execute(f"ALTER TABLE {qualified(current, 'main', existing)} RENAME TO {backup}")
        create_table(con, place, file)
    try:
        yield identifier_text(table)
    except BaseException:
        con.duckdb_connection.execute(f"DROP TABLE {place}")
        if existing is not None:
            con.duckdb_connection.execute(
                f"ALTER TABLE {qualified(current, 'main')}.{backup} RENAME TO {identifier(existing)}"
            )
        raise
    if existing is not None:
        con.duckdb_connection.execute(f"DROP TABLE {qualified(current, 'main')}.{backup}")


def create_table(con: Any, table: Sql | str, file: Path) -> None:
    """Create a table from a file of rows; `table` is SQL of its name, `con` a connection of `dbanon.connect`.

    Raises:
        click.ClickException: Lines of a CSV file cannot be read.
    """
    import duckdb

    try:
        con.duckdb_connection.execute(f"CREATE TABLE {table} AS FROM {input_files.file_relation(str(file))}")
        corrected = _corrected_relation(con.duckdb_connection, file, table)
        if corrected is not None:
            con.duckdb_connection.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {corrected}")
    except duckdb.Error:
        with con.duckdb_connection.cursor() as cursor:
            reason = csv_lines.rejected_lines(str(file), cursor)
        if reason is None:
            raise
        raise ExitError(
            f"{file}: {reason} Hint: correct the lines, or load the file into a table with read_csv and options such "
            "as null_padding = true."
        ) from None


def _corrected_relation(connection: Any, path: Path, table: Sql | str) -> Sql | None:
    """Return the SQL expression that reads a file with texts in place of truth values; None if it has no such column.

    A column of a CSV file that DuckDB reads as BOOLEAN is read as text if its name says a category, as `sex` does, or
    if its texts are single letters: F and T are then published as they are, and not as false and true.

    Args:
        connection: A DuckDB connection.
        path: The file.
        table: SQL of the name of a table with its rows, as DuckDB reads them.
    """
    if names.file_ending(str(path)) not in _CSV_ENDINGS:
        return None
    columns = connection.execute(f"SELECT column_name, column_type FROM (DESCRIBE FROM {table})").fetchall()
    booleans = [name for name, type_ in columns if type_ == "BOOLEAN"]
    if not booleans:
        return None
    relation = input_files.file_relation(str(path))
    as_texts = _with_text_columns(relation, booleans)
    has_letters = join_sql(
        f"coalesce(system.main.bool_or(system.main.length({identifier(name)}) = 1), false)" for name in booleans
    )
    letter_flags = connection.execute(f"SELECT {has_letters} FROM {as_texts}").fetchall()[0]
    flagged_names = zip(booleans, letter_flags, strict=True)
    texts = [name for name, has_letter in flagged_names if has_letter or is_category_name(name)]
    return _with_text_columns(relation, texts) if texts else None


def _with_text_columns(relation: Sql, columns: list[str]) -> Sql:
    """Return the expression of a CSV file with these columns as texts."""
    types = join_sql(f"{text(name)}: 'VARCHAR'" for name in columns)
    return Sql(f"{relation.removesuffix(')')}, types = {{{types}}})")


def print_reading_notes(con: Any, file: Path) -> list[str]:
    """Print on stderr what was not read from a CSV file, or not as it is meant, and return these sentences."""
    notes = csv_lines.reading_notes(str(file), con.duckdb_connection)
    for note in notes:
        click.echo(f"{file.name}: {note}", err=True)
    return notes
