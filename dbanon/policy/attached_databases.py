"""List attached databases of other systems with their identity, as rows for dbanon.foreign_database."""

import contextlib

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.source import attached_databases
from dbanon.sqltext.quote import Sql, literal_rows
from dbanon.table_functions.table_function import Call, TableFunction


def attached_databases_sql(call: Call) -> Sql:
    """Return the SQL of the table function attached_databases(): name, type and identity of attached other systems.

    It has one row per attached PostgreSQL, MySQL or SQLite database; one whose identity cannot be determined is
    omitted.
    """
    rows: list[list[object]] = []
    for database in call.attached_databases():
        kind = attached_databases.database_kind(call.cursor, database)
        with contextlib.suppress(errors.DatabaseIdentityUnavailableError):
            if kind is not None:
                identity = attached_databases.identity(call.function.name, call.cursor, database, kind)
                rows.append([database.lower(), kind, identity])
    return literal_rows(dict.fromkeys(("name", "type", "identity"), "VARCHAR"), rows)


FUNCTIONS = (
    TableFunction(
        "attached_databases",
        (),
        (),
        "Lists the attached databases of PostgreSQL, MySQL and SQLite and identifies each, as rows for "
        "dbanon.foreign_database.",
        handler=attached_databases_sql,
        example=Example("SELECT * FROM attached_databases();"),
    ),
)
