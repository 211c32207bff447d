"""The schema `dbanon` of a database: the tables of the policy, the hierarchies and the ledger."""

from __future__ import annotations

import re
from typing import Any

from dbanon import session
from dbanon.source import foreign
from dbanon.sqltext import resources
from dbanon.sqltext.builtin import bound
from dbanon.sqltext.quote import identifier


def create(connection: Any, database: str | None = None) -> None:
    """Creates the schema `dbanon` in a database (default: the current one), where it is missing and can be written;
    in one of another system never.

    It is created on a cursor, so the caller's transaction neither sees the work nor can undo it.
    """
    if database is None:
        database = connection.execute("SELECT system.main.current_database()").fetchall()[0][0]
    with session.own_cursor(connection) as cursor:
        row = cursor.execute(
            "SELECT readonly FROM system.main.duckdb_databases() WHERE database_name = ?", [database]
        ).fetchall()[0]
        if row is None or row[0] or foreign.kind(cursor, database) is not None:
            return
        try:
            cursor.execute(_LAST_COLUMNS.format(database=identifier(database)))
        except Exception:  # whatever is missing is made; if something else is wrong, making it says so
            cursor.execute(f"USE {identifier(database)}")
            cursor.execute(_VIEW.sub(lambda view: view[1] + bound(view[2]), resources.sql("source/schema.sql")))


_LAST_COLUMNS = """
PREPARE present AS
SELECT d.delivered_at, f.identity, e.entity_schema, g.hashes, a.refused, q.most, p.missing, p.form, h.ord, n.leaf,
    r.hashes, r.waiting_persons, r.keys, m.waiting, s.state
FROM {database}.dbanon.delivery AS d, {database}.dbanon.foreign_database AS f,
    {database}.dbanon.relation AS e, {database}.dbanon.related_release AS g,
    {database}.dbanon.asked AS a, {database}.dbanon.permission AS q,
    {database}.dbanon.stream AS s, {database}.dbanon.policy AS p, {database}.dbanon.hierarchy AS h,
    {database}.dbanon.hierarchy_path AS n,
    {database}.dbanon.release AS r, {database}.dbanon.membership AS m
"""
"""Fails where a table or a view of the schema, or what came last to it, is missing; asking the catalog costs more."""

_VIEW = re.compile(r"(^CREATE OR REPLACE VIEW \S+ AS$)(.*?;)$", re.MULTILINE | re.DOTALL)
"""A view that stays in the database: the functions of its query are DuckDB's own, too."""
