"""Check the last SELECT of a statement: it must return the rows that the gate checked, each once and in order.

The gate checks relations of the WITH clause. The SELECT after them could still repeat, drop or reorder rows. The
statement must therefore end with the SELECT that is written here, word for word. Nothing here is taken from the
templates that make the statement.
"""

import re

from dbanon import errors
from dbanon.sqltext.quote import Sql, join_sql

_IF_GATE_PASSED = "WHERE (SELECT passed FROM gate)"
_IF_METRICS_PASSED = f"{_IF_GATE_PASSED} AND (SELECT passed FROM stated)"
_METRIC_COLUMNS = "metric, value, better, description, is_publishable"


def check_last_select(function: str, statement: str, last_select: str) -> str:
    """Return a statement unchanged if its last SELECT is the one that the gate expects.

    The SELECT must follow a line that only closes the WITH clause, so that nothing is between the two.

    Raises:
        GateRefusedError: The statement ends with another SELECT.
    """
    last_select_pattern = r"\s+".join(re.escape(word) for word in last_select.split())
    if not (re.match(r"WITH\s", statement) and re.search(rf"\n[ ]*\)\s+{last_select_pattern}\s*\Z", statement)):
        raise errors.GateRefusedError(function, "a statement that reads other rows than the gate judged, statements", 1)
    return statement


def released_rows(copies: Sql, position: Sql, copy: Sql) -> str:
    """Return the SELECT of released rows: each row as often as it has copies, ordered by position."""
    return f"""
        SELECT * EXCLUDE ({copies}, {position}, {copy})
        FROM ( SELECT *, unnest({copies}) AS {copy} FROM (FROM leaving {_IF_GATE_PASSED} ORDER BY {position} ASC) )
    """


def released_classes(class_id: Sql, reason: Sql | None) -> str:
    """Return the SELECT of NAME_classes; `reason` is the column that states why records are suppressed, if any are."""
    reason_order = "" if reason is None else f", {reason} ASC"
    return f"SELECT * FROM class_rows {_IF_METRICS_PASSED} ORDER BY {class_id} ASC NULLS LAST{reason_order}"


def released_metrics() -> str:
    """Return the SELECT of NAME_metrics."""
    return f"SELECT {_METRIC_COLUMNS} FROM metric_rows {_IF_METRICS_PASSED} ORDER BY place ASC, metric ASC"


def related_metrics() -> str:
    """Return the SELECT of NAME_metrics of related tables."""
    return f"SELECT {_METRIC_COLUMNS} FROM metric_rows {_IF_METRICS_PASSED} ORDER BY place ASC"


def related_rows(rows_relation: Sql, row: Sql, position: Sql) -> str:
    """Return the SELECT of the released rows of one of several related tables."""
    return f"SELECT * EXCLUDE ({row}, {position}) FROM {rows_relation} {_IF_GATE_PASSED} ORDER BY {position} ASC"


def stream_rows(published_at: Sql, class_id: Sql, arrived_at: Sql) -> str:
    """Return the SELECT of the rows of a stream, in the order in which they are published."""
    order = join_sql((f"{published_at} ASC", f"{class_id} ASC NULLS LAST", f"{arrived_at} ASC"))
    return f"SELECT * FROM leaving {_IF_GATE_PASSED} ORDER BY {order}"


def stream_metrics() -> str:
    """Return the SELECT of NAME_metrics of a stream."""
    return f"SELECT {_METRIC_COLUMNS} FROM metric_rows {_IF_METRICS_PASSED} AND value IS NOT NULL ORDER BY position ASC"


def stream_step(cluster: Sql, position: Sql, row: Sql, arrived_at: Sql) -> str:
    """Return the SELECT of one refresh of a streaming view: every record read, with its published row if any."""
    return f"""
        SELECT v.*, l.cluster AS {cluster}, l.rid AS {position}, s.source_row AS {row}
        FROM left_with AS l JOIN source AS s ON s.rid = l.rid
        LEFT JOIN leaving AS v ON v.{arrived_at} = l.rid {_IF_GATE_PASSED}
    """
