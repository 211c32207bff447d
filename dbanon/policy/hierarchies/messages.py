"""What is said about hierarchies that do not fit their columns."""

from dbanon import errors
from dbanon.sqltext.quote import Sql
from dbanon.sqltext.templates import later, message


def tree_messages(table: str, column: str, shown: str, given: str | None) -> dict[str, Sql]:
    """What is said about a hierarchy that does not fit; `given`: how the call named it.

    Columns of the names of the messages say how many values they are about.
    """
    malformed = {
        "roots": "it must have exactly one root (a row without parent).",
        "unreachable": "some nodes are not reachable from the root.",
        "siblings": "two nodes under one parent have the same label.",
        "ambiguous": "a value of the column is the label of several leaves.",
        "same_name": "two inner nodes would be published under one name.",
        "inner_star": "an inner node below the root would be published as *, which stands for every value and NULL.",
    }
    return {key: message(errors.MalformedHierarchyError(shown, why)) for key, why in malformed.items()} | {
        "uncovered": message(errors.UncoveredValueError(table, column, later("uncovered"), shown, given)),
        "other_zone": message(
            errors.UncoveredValueError(table, column, later("uncovered"), shown, given, is_of_zone=True)
        ),
        "reserved": message(errors.ReservedValueError(table, column, later("reserved"))),
        "several_nodes": message(errors.AmbiguousValueError(table, column, later("several_nodes"))),
    }
