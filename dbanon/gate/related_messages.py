"""Write the messages of the release gate about related tables, as SQL that is completed while the statement runs."""

from collections.abc import Mapping

from dbanon import errors
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.quote import Sql, text

ALL_TABLES_CHECKS = {
    "people": ("people are missing or published twice, of", "(SELECT count(*) FROM reader)"),
    "small": ("classes below k over all tables", "classes.small"),
    "confused": ("classes that several class_ids have, or class_ids that several classes have", "classes.confused"),
    "pseudonyms": ("pseudonyms that do not follow from what is published", "pseudonyms.people"),
    "stated": ("figures that do not follow from the released rows, people", "(SELECT count(*) FROM reader)"),
}
"""The checks of all tables together by name: the problem that each reports, and SQL that counts its cases."""

TABLE_CHECKS = {
    "columns": ("other columns than the policy lets out, or in another order, of rows", "judged{i}.rows"),
    "unknown": ("rows that stand for none of the source, or for one that another row stands for", "judged{i}.unknown"),
    "untrue": ("rows with another unchanged value than the source", "judged{i}.untrue"),
    "uncovered": ("rows with published values that do not cover the original", "judged{i}.uncovered"),
    "finer": ("values that the policy does not let out as they are", "judged{i}.finer"),
    "order": ("rows that are not in the order of what they publish", "ordered{i}.rows"),
    "foreign": ("rows under the pseudonym of nobody or of another person", "foreign{i}.rows"),
    "lost": ("classes with fewer or more rows of a person than all of the class have", "classes.lost{i}"),
}
"""The checks of the table with number i."""

NOT_DIVERSE = "classes in which a value of {} is held by too many, or that have too few"
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


def table_refusals(function: str, checks: Mapping[str, tuple[str, str]], table: str, i: int = 0) -> dict[str, Sql]:
    """Return the gate's messages about a related table, by check name.

    Each message is a SQL expression whose count of cases is computed when the statement runs.

    Args:
        function: The function that was called.
        checks: For each check, the problem that the message states and SQL that counts its cases, with `{i}` for the
            number.
        table: The table as messages name it.
        i: The number of the table.
    """
    return {
        name: error_sql(errors.GateRefusedError(function, f"{table}: {problem}", sql_placeholder(count.format(i=i))))
        for name, (problem, count) in checks.items()
    }
