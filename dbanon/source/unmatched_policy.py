"""Rows of dbanon.policy that match no table: the table was renamed or dropped, or its name is misspelled."""

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from dbanon import errors
from dbanon.errors.warnings import PolicyWarning
from dbanon.source import attached_databases, catalog, stored_policy
from dbanon.sqltext import names
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import qualified


@dataclass(frozen=True)
class UnmatchedRows:
    """Policy rows with one stored table name that matches no table, and the columns that they declare."""

    schema_name: str
    table_name: str
    columns: tuple[str, ...]


def check_unmatched_rows(
    function: str,
    tables: Mapping[attached_databases.Place, Iterable[str]],
    cursor: Any,
    databases: Iterable[str],
    local_names: Collection[str],
) -> None:
    """Refuse a source without a policy if policy rows under another table name may be about it.

    Only policy rows whose table name matches no table are examined, for example those of a table that was renamed.
    They may be about a table if most of their columns are columns of it. If `tables` is not empty, all other unmatched
    rows are reported by a PolicyWarning, one per database.

    Args:
        function: The table function or command, for messages.
        tables: The columns of the source and of the tables that it reads, by place. None of them has a policy.
        cursor: A cursor that sees committed objects.
        databases: Databases whose policy may be about the tables.
        local_names: Folded names of relations that only the caller's connection sees; rows with such a name match.

    Raises:
        UnmatchedPolicyError: More than half of the columns in the unmatched rows of one table name are columns of one
            of `tables`.
    """
    for database in databases:
        unmatched = list(unmatched_rows(cursor, database, local_names))
        for rows in unmatched:
            stored, row_columns = (rows.schema_name, rows.table_name), set(map(names.fold_case, rows.columns))
            for place, columns in tables.items():
                if 2 * len(row_columns & set(map(names.fold_case, columns))) > len(row_columns):
                    key = (
                        place[1:]
                        if attached_databases.database_kind(cursor, place[0]) is None
                        else attached_databases.policy_key(place)
                    )
                    raise errors.UnmatchedPolicyError(function, ".".join(place), database, stored, key)
        if unmatched and tables:
            table_names = ", ".join(repr(rows.table_name) for rows in unmatched[:5])
            warnings.warn(
                f"{function}: rows of {database}.dbanon.policy for {table_names} match no table, and "
                f"{'.'.join(list(tables)[-1])} has no policy. Hint: FROM policy_problems() lists them; correct the "
                "names or delete the rows.",
                PolicyWarning,
                stacklevel=2,
            )


def unmatched_rows(cursor: Any, database: str, local_names: Collection[str] = ()) -> Iterator[UnmatchedRows]:
    """Yield the policy rows of a database, grouped by schema and table name, that match no table or view there.

    Rows about a table in an attached database of another system, or about a recorded one that is not attached, are
    omitted. `local_names` are relations that only the caller's connection sees; they count as tables.
    """
    if not catalog.has_table(cursor, database, "policy"):
        return
    stored = cursor.execute(
        qualify_builtins(
            "SELECT schema_name, table_name, list(column_name ORDER BY column_name COLLATE POSIX ASC) "
            f"FROM {qualified(database, catalog.SCHEMA, 'policy')} GROUP BY ALL ORDER BY ALL ASC"
        )
    ).fetchall()
    if not stored:
        return
    places = [*catalog.relations(cursor, database), *((database, "main", name) for name in local_names)]
    for schema_name, table_name, columns in stored:
        if any(stored_policy.row_matches(place, schema_name, table_name) for place in places):
            continue
        if attached_databases.tables_named_by_row(
            cursor, schema_name, table_name
        ) or attached_databases.has_recorded_database(cursor, database, table_name):
            continue
        yield UnmatchedRows(schema_name, table_name, tuple(columns))
