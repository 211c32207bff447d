"""Declare from Python which table has the persons of a table's rows: rows of dbanon.relation."""

from collections.abc import Mapping, Sequence
from typing import Any

from dbanon import errors
from dbanon.runtime import session
from dbanon.source import catalog, schema, stored_policy, stored_relation
from dbanon.sqltext.quote import Sql, join_sql, text
from dbanon.table_functions.parameter_types import Key
from dbanon.table_functions.parameters import format_value


def relate(connection: Any, table: str, entity: str, key: str | Sequence[str] | Mapping[str, str]) -> None:
    """Write to `dbanon.relation` that the rows of a table are about the people of another one.

    A previous relation of these two tables is replaced. The schema `dbanon` is created if needed.

    Args:
        connection: An open connection.
        table: The table's name.
        entity: The name of the table of people.
        key: The columns that both share: a column, a list of columns, or a dict from columns of the table to those of
            the table of people.

    Raises:
        UnknownTableError, UnknownColumnError: A name does not exist; nothing is written.
        InvalidArgumentError: The key is not valid, or the tables are equal or in different databases; nothing is
            written.
        ReadOnlyDatabaseError: The database cannot be written.

    Examples:
        ```python
        import dbanon

        dbanon.relate(con, "visits", "people", "patient_number")
        dbanon.relate(con, "visits", "people", {"patient_id": "id"})
        ```
    """
    with session.builtin_cursor(connection) as cursor:
        path = catalog.SearchPath.from_connection(connection)
        child, people = (catalog.resolve_source("relate", name, cursor, path, {}) for name in (table, entity))
        if child.sql == people.sql or child.home != people.home:
            raise errors.InvalidArgumentError(
                "relate", "entity", f"another table of the database of {child.shown}", format_value(entity)
            )
        try:
            column_pairs = Key().check(dict(key) if isinstance(key, Mapping) else key)
        except ValueError:
            raise errors.InvalidArgumentError("relate", "key", str(Key()), format_value(key)) from None
        child_key = [child.column("relate", a, "key") for a, _ in column_pairs]
        people_key = [people.column("relate", b, "key") for _, b in column_pairs]
        relation_table = schema.writable_table("relate", connection, cursor, child.home, "relation")
        key_parts = (*stored_policy.policy_key(child), *stored_policy.policy_key(people))
        values: list[Sql] = [text(part) for part in key_parts]
        values += [_list_literal(child_key), _list_literal(people_key) if people_key != child_key else Sql("NULL")]
        columns = "schema_name, table_name, entity_schema, entity_name, key, entity_key"
        with session.transaction(cursor):
            for row in stored_relation.relation_rows(cursor, child.home):
                if row.is_about(child, people):
                    condition = "(schema_name, table_name, entity_schema, entity_name) = (?, ?, ?, ?)"
                    cursor.execute(
                        f"DELETE FROM {relation_table} WHERE {condition}",
                        [row.schema, row.table, row.entity_schema, row.entity],
                    )
            cursor.execute(f"INSERT INTO {relation_table} ({columns}) VALUES ({join_sql(values)})")


def _list_literal(names: Sequence[str]) -> Sql:
    """Return names as a SQL list of texts."""
    return Sql(f"[{join_sql(map(text, names))}]")
