"""Find identifiers whose values repeat: they may be keys of people with several rows, whom k counts several times."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from dbanon import errors
from dbanon.policy.column_names.hints import hints_from_name
from dbanon.policy.profiling import thresholds
from dbanon.source import catalog
from dbanon.source.column_types import person_value
from dbanon.source.stored_policy import PolicyRow
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, text
from dbanon.sqltext.templates import fill


@dataclass(frozen=True)
class DeclaredRelation:
    """A table, view or file that rows of the policy are about; `sql` is SQL of it.

    Attributes:
        columns: Returns the types of its columns by name.
        is_visible: Whether the cursor of the planner can read it; false for temporary relations.
        table: SQL of its name if it is a table that can be changed, not a view or a file; else None.
    """

    sql: Sql
    columns: Callable[[], Mapping[str, str]]
    is_visible: bool = True
    table: Sql | None = None


@dataclass(frozen=True)
class RepeatedIdentifier:
    """A column with the role identifier, its type, and SQL that counts its repeated values; it may have none."""

    declared: PolicyRow
    type: str
    count: Sql


@dataclass(frozen=True)
class UnreadableIdentifier:
    """A column with the role identifier in a relation that cannot be read."""

    declared: PolicyRow

    @property
    def problem(self) -> str:
        """The message about the unreadable relation that policy_problems() shows."""
        return (
            f"unreadable: '{self.declared.table_name}' cannot be read here, so it is unknown whether values of the "
            f"identifier '{self.declared.column}' repeat. Hint: SELECT from it to see why."
        )


def repeated_identifiers(
    relation: DeclaredRelation, rows: Iterable[PolicyRow], cursor: catalog.Cursor
) -> Iterator[RepeatedIdentifier | UnreadableIdentifier]:
    """Yield the declared identifiers of a relation, each with a query that counts its repeated values.

    Nothing is yielded if a person or pseudonym is declared. Columns that do not exist are skipped; an identifier whose
    query cannot be planned is yielded as unreadable. Nothing is counted here. Of names and free text of which nearly
    every record has its own, none is counted, because some of them are equal by chance.

    `rows` are the policy rows about the relation.
    """
    rows = list(rows)
    identifiers = [row for row in rows if row.role.lower() == "identifier"]
    if not identifiers or any(row.role.lower() in ("person", "pseudonym") for row in rows):
        return
    columns = {fold_case(name): (name, type_) for name, type_ in relation.columns().items()}
    for row in identifiers:
        if fold_case(row.column) not in columns:
            continue
        name, type_ = columns[fold_case(row.column)]
        value = person_value(identifier(name), type_) or Sql(f"CAST({identifier(name)} AS VARCHAR) COLLATE POSIX")
        by_chance = Sql(str(thresholds.NEARLY_ALL_SHARE if names_people(name) else 1))
        count_sql = Sql(
            fill("policy/profiling/repeated_values.sql", source=relation.sql, value=value, by_chance=by_chance)
        )
        yield (
            RepeatedIdentifier(row, type_, count_sql)
            if (not relation.is_visible or can_plan(cursor, count_sql))
            else UnreadableIdentifier(row)
        )


def can_plan(cursor: catalog.Cursor, query: Sql) -> bool:
    """Return whether DuckDB can plan a query (EXPLAIN); false if any error occurs. The query does not run."""
    try:
        cursor.execute(f"EXPLAIN {query}").fetchall()
    except Exception:
        return False
    return True


def problem_values(candidate: RepeatedIdentifier) -> dict[str, Sql]:
    """Return template values of policy_problems.sql for an identifier whose repeated values can be counted.

    They include the statement that changes the role in the policy row to person; it is NULL if the column's type cannot
    identify persons.
    """
    row = candidate.declared
    can_be_person = person_value(identifier(row.column), candidate.type) is not None
    declare_person = f"UPDATE {row.policy_table} SET role = 'person' WHERE {row.condition}"
    return {
        "database": text(row.database),
        "schema": text(row.schema_name),
        "table": text(row.table_name),
        "column": text(row.column),
        "problem": error_sql(
            errors.RepeatedIdentifierError(row.table_name, row.column, sql_placeholder("repeated"), can_be_person)
        ),
        "statement": text(declare_person) if can_be_person else Sql("NULL"),
        "count": candidate.count,
    }


def withhold_statement(row: PolicyRow) -> str:
    """Return the statement that withholds a column: it deletes its policy row."""
    return f"DELETE FROM {row.policy_table} WHERE {row.condition}"


def names_people(column: str) -> bool:
    """Return whether the name of a column says that it names or describes people and is no number or key.

    >>> names_people("Surname"), names_people("patient_id")
    (True, False)
    """
    hints = hints_from_name(column)
    return bool(hints.direct or hints.prose) and not (hints.number or hints.subject or hints.key)
