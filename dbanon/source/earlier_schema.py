"""Tables, columns and values of the schema `dbanon` that version 5 renamed, and their migration."""

from collections.abc import Mapping, Sequence
from typing import Any

from dbanon.source.catalog import Cursor, has_table, rows_by_column
from dbanon.sqltext.quote import identifier, qualified, text

RENAMED_TABLES: Mapping[str, str] = {"asked": "release_request"}

RENAMED_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "delivery": {"mark": "ownership_tag"},
    "hierarchy": {"ord": "position"},
    "permission": {"most": "max_requests"},
    "policy": {"grid": "rounding", "missing": "missing_codes", "form": "settings"},
    "related_release": {"bases": "source_tables", "people": "person_tables"},
    "release": {
        "allow_delta": "allow_small_differences",
        "bases": "source_tables",
        "delta_classes": "small_differences",
        "held_back": "withheld_after_erasure",
        "refresh": "refresh_mode",
        "unchecked": "unchecked_against",
    },
    "release_request": {"asked_at": "requested_at", "refused": "refusal"},
    "stream": {"bases": "source_tables"},
}
"""New names of columns by table and earlier name."""

_RENAMED_VALUES = (("policy", "role", "other", "insensitive"), ("stream", "status", "grows", "active"))
"""Table, column, earlier value and new value."""


def current_row(table: str, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a row (values by column) of a table in the schema dbanon, with the new names of its columns.

    A database that cannot be written still has the earlier names. `table` is the table's name.

    Raises:
        KeyError: No column of this table was renamed.
    """
    renamed = RENAMED_COLUMNS[table]
    return {renamed.get(name, name): value for name, value in row.items()}


def current_rows(
    cursor: Cursor, database: str, table: str, condition: str, values: Sequence[object], order: str, columns: str = "*"
) -> list[dict[str, Any]]:
    """Return rows of a table in the schema dbanon of a database, with the new names of columns; [] without the table.

    Args:
        cursor: A cursor.
        database: The database.
        table: The name of the table.
        condition: SQL that restricts the rows.
        values: The values of its placeholders.
        order: SQL of the order of the rows, after ORDER BY.
        columns: SQL of the columns to read. A database that cannot be written may lack some that were added later.
    """
    if not has_table(cursor, database, table):
        return []
    query = f"SELECT {columns} FROM {qualified(database, 'dbanon', table)} WHERE {condition} ORDER BY {order}"
    return [current_row(table, row) for row in rows_by_column(cursor.execute(query, list(values)))]


def rename(cursor: Any, database: str) -> None:
    """Rename tables, columns and values in the schema dbanon of a database that an earlier version wrote.

    What was renamed before is not changed; tables that do not exist are skipped.
    """
    for earlier_name, name in RENAMED_TABLES.items():
        if _columns(cursor, database, earlier_name) and not _columns(cursor, database, name):
            cursor.execute(f"ALTER TABLE {qualified(database, 'dbanon', earlier_name)} RENAME TO {identifier(name)}")
    for table, renamed in RENAMED_COLUMNS.items():
        columns = _columns(cursor, database, table)
        for earlier_name, name in renamed.items():
            if earlier_name in columns and name not in columns:
                cursor.execute(
                    f"ALTER TABLE {qualified(database, 'dbanon', table)} "
                    f"RENAME COLUMN {identifier(earlier_name)} TO {identifier(name)}"
                )
    for table, column, earlier_value, value in _RENAMED_VALUES:
        if _columns(cursor, database, table):
            cursor.execute(
                f"UPDATE {qualified(database, 'dbanon', table)} SET {identifier(column)} = {text(value)} "
                f"WHERE system.main.lower({identifier(column)}) = {text(earlier_value)}"
            )


def _columns(cursor: Any, database: str, table: str) -> set[str]:
    """Return the names of a table's columns; empty if there is no such table."""
    rows = cursor.execute(
        "SELECT column_name FROM system.main.duckdb_columns() "
        "WHERE database_name = ? AND schema_name = 'dbanon' AND table_name = ?",
        [database, table],
    ).fetchall()
    return {str(name) for (name,) in rows}
