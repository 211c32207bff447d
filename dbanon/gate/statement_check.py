"""The release gate's check of the last SELECT of a statement: it reads what the gate judged, once and in order.

What the gate judges are relations of the WITH clause. The SELECT after them could still repeat, drop or reorder rows.
The statement therefore has to end with the SELECT that is written here, word for word, and is refused when it is
planned otherwise. Nothing is taken from the templates that make the statement.
"""

import re

from dbanon import errors
from dbanon.sqltext.quote import Sql, joined

_PASSED = "WHERE (SELECT passed FROM gate)"
_STATED = f"{_PASSED} AND (SELECT passed FROM stated)"


def checked(function: str, statement: str, last_select: str) -> str:
    """Return a statement whose last SELECT is the one that the gate expects.

    The SELECT has to follow a line that only closes the WITH clause, so that nothing can be between the two.

    Raises:
        GateRefusedError: The statement ends with another SELECT.
    """
    last = r"\s+".join(re.escape(word) for word in last_select.split())
    if not (re.match(r"WITH\s", statement) and re.search(rf"\n[ ]*\)\s+{last}\s*\Z", statement)):
        raise errors.GateRefusedError(function, "a statement that reads other rows than the gate judged, statements", 1)
    return statement


def released_rows(copies: Sql, place: Sql, copy: Sql) -> str:
    """Return the SELECT of released rows: each row as often as it has copies, in the order of its place."""
    return f"""
        SELECT * EXCLUDE ({copies}, {place}, {copy})
        FROM ( SELECT *, unnest({copies}) AS {copy} FROM (FROM leaving {_PASSED} ORDER BY {place} ASC) )
    """


def released_classes(class_id: Sql, reason: Sql | None) -> str:
    """Return the SELECT of NAME_classes; `reason` is the column that states why records are suppressed, if any are."""
    last = "" if reason is None else f", {reason} ASC"
    return f"SELECT * FROM class_rows {_STATED} ORDER BY {class_id} ASC NULLS LAST{last}"


def released_metrics() -> str:
    """Return the SELECT of NAME_metrics."""
    columns = "metric, value, better, description, published"
    return f"SELECT {columns} FROM metric_rows {_STATED} ORDER BY place ASC, metric ASC"


def related_metrics() -> str:
    """Return the SELECT of NAME_metrics of related tables."""
    return f"SELECT metric, value, better, description, published FROM metric_rows {_STATED} ORDER BY place ASC"


def related_rows(leaving: Sql, row: Sql, place: Sql) -> str:
    """Return the SELECT of the released rows of one of several related tables."""
    return f"SELECT * EXCLUDE ({row}, {place}) FROM {leaving} {_PASSED} ORDER BY {place} ASC"


def stream_rows(published: Sql, class_id: Sql, arrived: Sql) -> str:
    """Return the SELECT of the rows of a stream, in the order in which they are published."""
    order = joined((f"{published} ASC", f"{class_id} ASC NULLS LAST", f"{arrived} ASC"))
    return f"SELECT * FROM leaving {_PASSED} ORDER BY {order}"


def stream_metrics() -> str:
    """Return the SELECT of NAME_metrics of a stream."""
    columns = "metric, value, better, description, published"
    return f"SELECT {columns} FROM metric_rows {_STATED} AND value IS NOT NULL ORDER BY position ASC"


def stream_step(cluster: Sql, place: Sql, row: Sql, arrived: Sql) -> str:
    """Return the SELECT of one refresh of a streaming view: every record that was read, with its row if it has one."""
    return f"""
        SELECT v.*, l.cluster AS {cluster}, l.rid AS {place}, s.source_row AS {row}
        FROM left_with AS l JOIN source AS s ON s.rid = l.rid LEFT JOIN leaving AS v ON v.{arrived} = l.rid {_PASSED}
    """
