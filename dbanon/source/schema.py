"""The schema `dbanon` of a database: the tables of the policy, the hierarchies and the ledger."""

from __future__ import annotations

import re
from typing import Any

from dbanon import session
from dbanon.sqltext import resources
from dbanon.sqltext.builtin import bound
from dbanon.sqltext.quote import identifier


def create(connection: Any, database: str | None = None) -> None:
    """Creates the schema `dbanon` in a database (default: the current one), where it is missing and can be written.

    It is created on a cursor, so the caller's transaction neither sees the work nor can undo it.
    """
    if database is None:
        database = connection.execute("SELECT system.main.current_database()").fetchall()[0][0]
    with session.own_cursor(connection) as cursor:
        row = cursor.execute(
            "SELECT readonly FROM system.main.duckdb_databases() WHERE database_name = ?", [database]
        ).fetchall()[0]
        if row is None or row[0]:
            return
        have = cursor.execute(
            "SELECT count(*) FROM system.main.duckdb_columns() WHERE (database_name, schema_name, column_name) IN "
            "((?, 'dbanon', 'grid'), (?, 'dbanon', 'ord'), (?, 'dbanon', 'height_sub'), (?, 'dbanon', 'leaf'), "
            "(?, 'dbanon', 'delta_classes'), (?, 'dbanon', 'hashes'), (?, 'dbanon', 'held'))",
            [database] * 7,
        ).fetchall()[0]
        if have[0] < 7:
            cursor.execute(f"USE {identifier(database)}")
            cursor.execute(_VIEW.sub(lambda view: view[1] + bound(view[2]), resources.sql("source/schema.sql")))


_VIEW = re.compile(r"(^CREATE OR REPLACE VIEW \S+ AS$)(.*?;)$", re.MULTILINE | re.DOTALL)
"""A view that stays in the database: the functions of its query are DuckDB's own, too."""
