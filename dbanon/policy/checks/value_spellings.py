"""Find spellings of one value in a sensitive column: they would count as different values, and so as diversity."""

from collections.abc import Iterable, Iterator

from dbanon import errors
from dbanon.policy.checks.person_spellings import count_spellings_sql, has_spellings
from dbanon.policy.profiling.repeated_identifiers import DeclaredRelation, can_plan
from dbanon.source.catalog import Cursor
from dbanon.source.stored_policy import PolicyRow
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, text

_BLANKS = r"[\s\x{00A0}\x{2000}-\x{200D}\x{3000}]+"

_NORMALIZATION = f"lower(trim(regexp_replace(nfc_normalize({{}}), '{_BLANKS}', ' ', 'g')))"

NORMALIZED_SPELLING = Sql(_NORMALIZATION.replace("{}", "value"))
"""SQL of a text `value` without capitals, in Unicode's composed form (NFC), and with single blanks inside only."""


def unify_statement(table: Sql, column: str) -> str:
    """Return the statement that replaces each spelling of a value by the one that most records have, without blanks.

    It has no value of the table. `table` is SQL of the table, `column` a column of type VARCHAR.
    """
    name = identifier(column)
    normalized = _NORMALIZATION.replace("{}", str(name))
    return (
        f"UPDATE {table} AS record SET {name} = spelling.usual FROM (SELECT {name} AS value, "
        f"nfc_normalize(trim(first_value({name}) OVER (PARTITION BY {normalized} "
        f"ORDER BY count(*) DESC, {name} ASC))) AS usual FROM {table} "
        f"GROUP BY {name}) AS spelling WHERE record.{name} = spelling.value AND record.{name} <> spelling.usual"
    )


def problem_values(
    relation: DeclaredRelation, rows: Iterable[PolicyRow], cursor: Cursor
) -> Iterator[dict[str, object]]:
    """Yield template values of policy_problems.sql that count spellings in each sensitive column of a relation.

    Columns that are no texts, or that cannot be read, are omitted. The statement changes the table; it is NULL for a
    view or a file, or where the column is no VARCHAR.

    Args:
        relation: The table or view.
        rows: The rows of the policy about it.
        cursor: A cursor.
    """
    types = {fold_case(name): (name, type_) for name, type_ in relation.columns().items()}
    for row in rows:
        name, type_ = types.get(fold_case(row.column), (row.column, ""))
        if row.role.lower() != "sensitive" or not has_spellings(type_):
            continue
        query = count_spellings_sql(relation.sql, name, NORMALIZED_SPELLING)
        if relation.is_visible and not can_plan(cursor, query):
            continue
        statement = unify_statement(relation.table, name) if relation.table and type_ == "VARCHAR" else None
        yield {
            "database": text(row.database),
            "schema": text(row.schema_name),
            "table": text(row.table_name),
            "column": text(row.column),
            "problem": error_sql(errors.ValueSpellingsError(row.table_name, row.column, sql_placeholder("repeated"))),
            "statement": Sql("NULL") if statement is None else text(statement),
            "count": query,
        }
