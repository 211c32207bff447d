"""Write hierarchies to `dbanon.hierarchy`, and stored ones to ARX files."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.policy.hierarchies import hierarchy_sql, storage
from dbanon.runtime import input_files, output_files, session
from dbanon.source import catalog, schema
from dbanon.sqltext import resources, templates
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import text


def load_hierarchy(connection: Any, name: str, rows: str | Path | Sequence[Sequence[str]] | None = None) -> None:
    """Write a hierarchy to `dbanon.hierarchy` of the current database, replacing one of that name.

    The schema `dbanon` is created if needed.

    Args:
        connection: An open connection.
        name: The hierarchy's name.
        rows: The path of an ARX file (`value;level1;...;*`), rows from the leaf to the root, or None for the shipped
            hierarchy of that name.

    Raises:
        MalformedHierarchyError: The rows are not a tree; nothing is written.
        UnreadableFileError, RemoteFileError: The file cannot be read.
        UnknownHierarchyError: The package has no such hierarchy.
        ReadOnlyDatabaseError: The database cannot be written.

    Examples:
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> dbanon.load_hierarchy(con, "wards", [["GP", "outpatient", "*"], ["Surgery", "inpatient", "*"]])
        >>> con.sql("SELECT DISTINCT name FROM dbanon.hierarchy").fetchall()
        [('wards',)]
    """
    hierarchy: storage.InlineHierarchy | None
    if rows is None:
        hierarchy = storage.shipped_hierarchy(name)
        if hierarchy is None:
            raise errors.UnknownHierarchyError("load_hierarchy", name, "shipped", resources.shipped_hierarchies())
    elif isinstance(rows, (str, Path)):
        with session.builtin_cursor(connection) as cursor:
            hierarchy = storage.parse_arx(name, input_files.read_text("load_hierarchy", str(rows), cursor))
    else:
        hierarchy = storage.hierarchy_from_rows(name, rows)
    database = catalog.SearchPath.from_connection(connection).database
    with session.builtin_cursor(connection) as cursor:
        table = schema.writable_table("load_hierarchy", connection, cursor, database, "hierarchy")
        with session.transaction(cursor):
            cursor.execute(f"DELETE FROM {table} WHERE name = ?", [name])
            rows = hierarchy_sql.rows_from_paths(hierarchy_sql.paths(hierarchy))
            cursor.execute(f"INSERT INTO {table} SELECT {text(name)}, * FROM ({rows})")


def save_hierarchy(connection: Any, name: str, path: str | Path) -> None:
    """Write a stored hierarchy to an ARX file (`value;level1;...;*`), replacing an existing file.

    Args:
        connection: An open connection; the hierarchy is stored in its current database.
        name: The hierarchy's name.
        path: The path of the file.

    Raises:
        UnknownHierarchyError: No such hierarchy is stored.
        TargetNotLocalError, WriteFailedError: The file cannot be written.
        TargetInUseError: The connection reads from the file.

    Examples:
        >>> import pathlib, tempfile
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> dbanon.load_hierarchy(con, "wards", [["GP", "outpatient", "*"], ["Surgery", "inpatient", "*"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder, "wards.csv")
        ...     dbanon.save_hierarchy(con, "wards", file)
        ...     file.read_text().splitlines()
        ['GP;outpatient;*', 'Surgery;inpatient;*']
    """
    target = output_files.local_target("save_hierarchy", path)
    output_files.check_not_source("save_hierarchy", [target], output_files.source_files(connection))
    stored_names, database = (
        partial(catalog.stored_hierarchies, connection),
        catalog.SearchPath.from_connection(connection).database,
    )
    stored = catalog.hierarchy_table(name, [database], stored_names)
    if stored is None:
        raise errors.UnknownHierarchyError("save_hierarchy", name, "stored", stored_names(database))
    lines = connection.execute(
        qualify_builtins(
            templates.fill("policy/hierarchies/to_arx.sql", rows=hierarchy_sql.rows(storage.StoredHierarchy(*stored)))
        )
    ).fetchall()
    with output_files.open_draft("save_hierarchy", target) as draft:
        draft.write_text("".join(line + "\n" for (line,) in lines), encoding="utf-8")
