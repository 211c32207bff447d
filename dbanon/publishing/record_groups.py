"""The distinct rows of a release with their numbers, stored once for the checks of a release that becomes files.

Only a database that no other process can read or change (`Session.has_private_database`) has them. They are grouped
from the released table, byte by byte, so a query that groups the released rows by some of these columns can read them.
"""

from collections.abc import Collection
from typing import Any

from dbanon.ledger.releases import LedgerEntry
from dbanon.publishing.recompute_queries import distinct_rows, group_size_column
from dbanon.source import catalog
from dbanon.sqltext.quote import Sql, qualified

_NAME = "record_groups"


def store(cursor: Any, entry: LedgerEntry) -> Sql | None:
    """Create the table of the distinct rows of a release, and return it as SQL; None if persons are counted.

    O(rows) time.
    """
    if entry.counts_persons:
        return None
    columns = catalog.columns_of(cursor, (entry.database, entry.schema, entry.name))
    table = _table(entry)
    rows = distinct_rows([*columns.items()], entry.table(), group_size_column(columns))
    cursor.execute(f"CREATE TABLE {table} AS {rows}")
    return table


def stored(cursor: Any, entry: LedgerEntry, columns: Collection[str]) -> Sql | None:
    """Return the table that `store` created as SQL; None if there is none, or if a column is missing in it."""
    place = (entry.database, catalog.SCHEMA, _NAME)
    if not catalog.has_table(cursor, entry.database, _NAME):
        return None
    return _table(entry) if set(columns) <= set(catalog.columns_of(cursor, place)) else None


def _table(entry: LedgerEntry) -> Sql:
    """Return the table's name as SQL."""
    return qualified(entry.database, catalog.SCHEMA, _NAME)
