"""Write the messages of the release gate about related tables, as SQL that is completed while the statement runs."""

from collections.abc import Mapping

from dbanon import errors
from dbanon.sqltext.column_labels import derived_reference
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.quote import Sql, text

ALL_TABLES_CHECKS = {
    "people": ("people are missing or published twice, of", "(SELECT count(*) FROM reader)"),
    "small": ("classes below k over all tables", "classes.small"),
    "confused": ("classes with several class_ids, or class_ids with several classes", "classes.confused"),
    "pseudonyms": ("pseudonyms that do not follow from the published values", "pseudonyms.people"),
    "stated": ("metrics that do not follow from the released rows, people", "(SELECT count(*) FROM reader)"),
}
"""The checks of all tables together by name: the problem that each reports, and SQL that counts its cases."""

TABLE_CHECKS = {
    "columns": ("other columns than the policy publishes, or in another order, of rows", "{judged}.rows"),
    "unknown": ("rows without a row of the source, or with the same one as another row", "{judged}.unknown"),
    "untrue": ("rows with an unchanged column that differs from the source", "{judged}.untrue"),
    "uncovered": ("rows with published values that do not cover the original", "{judged}.uncovered"),
    "finer": ("values that the policy does not publish unchanged", "{judged}.finer"),
    "order": ("rows that are not in the order of what they publish", "{ordered}.rows"),
    "foreign": ("rows under a pseudonym of no person or of another person", "{foreign}.rows"),
    "lost": ("classes with fewer or more rows of a person than all of the class have", "classes.{lost}"),
}
"""The checks of one table; `{judged}` and so on stand for the names that the statement gives to what it counts."""

NOT_DIVERSE = "classes in which too many people have the same value of {}, or that have too few"
"""The problem of a sensitive column that is not diverse enough."""


def diversity_refusal(function: str, table: str, column: str) -> Sql:
    """Return the gate's message that a related table's classes are not diverse in a sensitive column, as a SQL string.

    The message states no count.

    Args:
        function: The function that was called.
        table: The related table as messages name it.
        column: The sensitive column.
    """
    return text(str(errors.GateRefusedError(function, f"{table}: {NOT_DIVERSE.format(column)}", "l")))


def table_refusals(
    function: str, checks: Mapping[str, tuple[str, str]], table: str, raw_name: str = ""
) -> dict[str, Sql]:
    """Return the gate's messages about a related table, by check name.

    Each message is a SQL expression whose count of cases is computed when the statement runs.

    Args:
        function: The function that was called.
        checks: For each check, the problem that the message states and SQL that counts its cases, with placeholders for
            relations.
        table: The table as messages name it.
        raw_name: The name of the table in statements.
    """
    relations = {step: derived_reference(step, raw_name) for step in ("judged", "ordered", "foreign", "lost")}
    return {
        name: error_sql(
            errors.GateRefusedError(function, f"{table}: {problem}", sql_placeholder(count.format_map(relations)))
        )
        for name, (problem, count) in checks.items()
    }
