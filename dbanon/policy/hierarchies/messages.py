"""Error messages about hierarchies that do not fit their columns."""

from dbanon import errors
from dbanon.errors.hierarchies import uncovered_values_call
from dbanon.sqltext.messages import Message, error_sql, sql_placeholder

MALFORMED = {
    "roots": "it must have exactly one root (a row without parent).",
    "unreachable": "some nodes are not reachable from the root.",
    "siblings": "two nodes under one parent have the same label.",
    "ambiguous": "a value of the column is the label of several leaves.",
    "same_name": "two inner nodes would be published under one name.",
    "inner_star": "an inner node below the root would be published as *, which represents every value and NULL.",
}
"""Why a hierarchy is not well-formed, by the name of the check."""


def hierarchy_messages(table: str, column: str, hierarchy: str, requested: str | None) -> dict[str, Message]:
    """Return SQL that raises each error about a hierarchy or about values that do not fit it, by the name of the check.

    For values that do not fit, the SQL reads their number from a column: `uncovered` (for the checks uncovered and
    other_zone), `reserved` or `several_nodes`.

    Args:
        table: The table, for messages.
        column: The column, for messages.
        hierarchy: The name of the hierarchy.
        requested: The hierarchy as the call named it; None if it is declared.
    """
    return _messages(table, column, hierarchy, uncovered_values_call(table, column, requested))


def shared_hierarchy_messages() -> dict[str, Message]:
    """Return the messages of `hierarchy_messages` for all columns of a statement.

    Their SQL also reads the names: from the columns table_name, column_name, hierarchy_name and values_call. One
    message is for all reasons why a hierarchy is malformed: `malformed` reads the reason from a column of this name.
    """
    table, column, hierarchy, values_call = (
        sql_placeholder(name) for name in ("table_name", "column_name", "hierarchy_name", "values_call")
    )
    return _messages(table, column, hierarchy, values_call) | {
        "malformed": error_sql(errors.MalformedHierarchyError(hierarchy, sql_placeholder("malformed")))
    }


def _messages(table: str, column: str, hierarchy: str, values_call: str) -> dict[str, Message]:
    """Return the messages of `hierarchy_messages`; `values_call` lists the values that the hierarchy lacks."""
    return {key: error_sql(errors.MalformedHierarchyError(hierarchy, why)) for key, why in MALFORMED.items()} | {
        "uncovered": error_sql(
            errors.UncoveredValueError(
                table, column, sql_placeholder("uncovered"), hierarchy, None, values_call=values_call
            )
        ),
        "other_zone": error_sql(
            errors.UncoveredValueError(
                table, column, sql_placeholder("uncovered"), hierarchy, None, is_of_zone=True, values_call=values_call
            )
        ),
        "reserved": error_sql(errors.ReservedValueError(table, column, sql_placeholder("reserved"))),
        "several_nodes": error_sql(errors.AmbiguousValueError(table, column, sql_placeholder("several_nodes"))),
    }
