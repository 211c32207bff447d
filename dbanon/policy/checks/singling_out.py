"""Find unchanged columns that together single people out, whatever k is."""

from collections.abc import Iterable, Iterator

from dbanon import errors
from dbanon.policy.profiling.repeated_identifiers import (
    DeclaredRelation,
    can_plan,
    withhold_statement,
)
from dbanon.source.catalog import Cursor
from dbanon.source.column_types import person_value
from dbanon.source.stored_policy import PolicyRow, person_columns
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, join_sql, text
from dbanon.sqltext.templates import fill

MIN_UNIQUE_SHARE = 0.1
"""Minimum share of unique records for a problem; metrics count every unique record."""


def problem_values(relation: DeclaredRelation, rows: Iterable[PolicyRow], cursor: Cursor) -> Iterator[dict[str, Sql]]:
    """Yield template values of policy_problems.sql that count records unique by the unchanged columns of a relation.

    The statement withholds the column among them that has most values.

    Unchanged are columns with the role sensitive or insensitive, compared together. Persons are counted instead of
    records if a person column is declared.

    Args:
        relation: The table or view.
        rows: The rows of the policy about it.
        cursor: A cursor.

    Yields:
        The values; none if the relation has no such columns, or if it cannot be read, which other checks report.
    """
    types = {fold_case(name): (name, type_) for name, type_ in relation.columns().items()}
    existing_rows = [row for row in rows if fold_case(row.column) in types]
    unchanged = [row for row in existing_rows if row.role.lower() in ("sensitive", "insensitive")]
    if not unchanged:
        return
    person_names = person_columns((row.column, row.role, dict(row.settings.settings)) for row in existing_rows)
    person_types = [types[fold_case(row.column)] for row in existing_rows if [row.column] == person_names]
    person = next((person_value(identifier(name), type_) for name, type_ in person_types), None)
    values = [
        Sql(f"{identifier(name)} COLLATE POSIX") if type_ == "VARCHAR" else identifier(name)
        for name, type_ in (types[fold_case(row.column)] for row in unchanged)
    ]
    count_sql = Sql(
        fill(
            "policy/checks/unique_values.sql",
            source=relation.sql,
            values=values,
            person=person,
            share=Sql(str(MIN_UNIQUE_SHARE)),
        )
    )
    if relation.is_visible and not can_plan(cursor, count_sql):
        return
    first, names = unchanged[0], [row.column for row in unchanged]
    yield {
        "database": text(first.database),
        "schema": text(first.schema_name),
        "table": text(first.table_name),
        "column": text(", ".join(names)),
        "problem": error_sql(
            errors.UniqueByUnchangedColumnsError(
                first.table_name, names, sql_placeholder("repeated"), person is not None
            )
        ),
        "statement": Sql(f"[{join_sql(text(withhold_statement(row)) for row in unchanged)}][most_values]"),
        "count": count_sql,
    }
