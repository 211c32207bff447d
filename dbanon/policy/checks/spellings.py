"""Find spellings of one value: of a person's id, and of a sensitive value.

Ids of persons that differ only by blanks, case or leading zeros would count as different people; spellings of a
sensitive value as different values, and so as diversity.
"""

from collections.abc import Iterable, Iterator

from dbanon import errors
from dbanon.policy.profiling.repeated_identifiers import DeclaredRelation, can_plan
from dbanon.source.catalog import Cursor
from dbanon.source.stored_policy import PolicyRow, person_columns
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, text
from dbanon.sqltext.templates import fill

NORMALIZED_VALUE = Sql(
    r"lower(regexp_replace(regexp_replace(value, '[\s\x{00A0}\x{2000}-\x{200D}\x{3000}]+', '', 'g'), "
    r"'(^|[^0-9])0+', '\1', 'g'))"
)
"""SQL of a `value` without blanks, capitals and leading zeros."""


_BLANKS = r"[\s\x{00A0}\x{2000}-\x{200D}\x{3000}]+"

_NORMALIZATION = f"lower(trim(regexp_replace(nfc_normalize({{}}), '{_BLANKS}', ' ', 'g')))"

NORMALIZED_SPELLING = Sql(_NORMALIZATION.replace("{}", "value"))
"""SQL of a text `value` without capitals, in Unicode's composed form (NFC), and with single blanks inside only."""


def has_spellings(type_: str) -> bool:
    """Return whether a DuckDB type is a text (VARCHAR or ENUM), so that one id can be written in several ways."""
    return type_ == "VARCHAR" or type_.startswith("ENUM(")


def count_spellings_sql(source: Sql, column: str, normalized: Sql = NORMALIZED_VALUE) -> Sql:
    """Return the query that counts the values of a column that differ from another value only by their spelling.

    `source` is SQL of the relation, `normalized` SQL of a `value` without what counts as spelling: by default blanks,
    case and leading zeros.
    """
    value = Sql(f"CAST({identifier(column)} AS VARCHAR)")
    return Sql(fill("policy/checks/person_spellings.sql", source=source, value=value, plain=normalized))


def person_problem_values(
    relation: DeclaredRelation, rows: Iterable[PolicyRow], cursor: Cursor
) -> Iterator[dict[str, object]]:
    """Yield template values of policy_problems.sql that count spellings in the person column of a relation.

    Args:
        relation: The table or view.
        rows: The rows of the policy about it.
        cursor: A cursor.

    Yields:
        The values; none if there is no single person column, it is not a text, or the relation cannot be read.
    """
    types = {fold_case(name): (name, type_) for name, type_ in relation.columns().items()}
    existing_rows = [row for row in rows if fold_case(row.column) in types]
    person_names = person_columns((row.column, row.role, dict(row.settings.settings)) for row in existing_rows)
    person = next((row for row in existing_rows if [row.column] == person_names), None)
    if person is None or not has_spellings(types[fold_case(person.column)][1]):
        return
    query = count_spellings_sql(relation.sql, types[fold_case(person.column)][0])
    if relation.is_visible and not can_plan(cursor, query):
        return
    yield {
        "database": text(person.database),
        "schema": text(person.schema_name),
        "table": text(person.table_name),
        "column": text(person.column),
        "problem": error_sql(
            errors.PersonSpellingsError(person.table_name, person.column, sql_placeholder("repeated"))
        ),
        "statement": Sql("NULL"),
        "count": query,
    }


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


def value_problem_values(
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
