"""Check the last SELECT of a statement: it must return the rows that the gate checked, each once and in order.

The gate checks relations of the WITH clause. The SELECT after them could still repeat, drop or reorder rows. The
statement must therefore end with the SELECT that is written here, word for word. Nothing here is taken from the
templates that make the statement.
"""

import re

from dbanon import errors
from dbanon.sqltext.quote import Sql, join_sql

_IF_GATE_PASSED = "WHERE (SELECT passed FROM gate)"
_IF_METRICS_PASSED = f"{_IF_GATE_PASSED} AND (SELECT passed FROM stated_check)"
_METRIC_COLUMNS = "metric, value, better, description, is_publishable"


def check_last_select(function: str, statement: str, last_select: str) -> str:
    """Return the statement unchanged if its last SELECT is the one that the gate expects; white space does not matter.

    The SELECT must follow a line that only closes the WITH clause, so that nothing is between the two.

    Args:
        function: The function that was called, for the message.
        statement: The complete SQL of the release.
        last_select: The expected SELECT.

    Raises:
        GateRefusedError: The statement ends otherwise.
    """
    last_select_pattern = r"\s+".join(re.escape(word) for word in last_select.split())
    if not (re.match(r"WITH\s", statement) and re.search(rf"\n[ ]*\)\s+{last_select_pattern}\s*\Z", statement)):
        raise errors.GateRefusedError(
            function, "a statement that reads other rows than the gate checked, statements", 1
        )
    return statement


def released_rows(copies: Sql, position: Sql, copy: Sql) -> str:
    """Return the SELECT that must end a release: each row as often as it has copies, by position, if the gate passed.

    Args:
        copies: The column with the number of copies of a row; not published.
        position: The column with the place of a row in the result; not published.
        copy: An unused column name for the number of the copy; not published.
    """
    return f"""
        SELECT * EXCLUDE ({copies}, {position}, {copy})
        FROM (
            SELECT *, unnest({copies}) AS {copy} FROM (FROM published_rows {_IF_GATE_PASSED} ORDER BY {position} ASC)
        )
    """


def released_classes(class_id: Sql, reason: Sql | None) -> str:
    """Return the SELECT that must end NAME_classes: all class rows by class_id, NULLs last, if the gate passed.

    `reason` is the column that states why records are suppressed, by which rows are ordered second; None if there is
    none.
    """
    reason_order = "" if reason is None else f", {reason} ASC"
    return f"SELECT * FROM class_rows {_IF_METRICS_PASSED} ORDER BY {class_id} ASC NULLS LAST{reason_order}"


def released_metrics() -> str:
    """Return the SELECT that must end NAME_metrics: the metric rows by place, then name, if the gate passed."""
    return f"SELECT {_METRIC_COLUMNS} FROM metric_rows {_IF_METRICS_PASSED} ORDER BY place ASC, metric ASC"


def related_metrics() -> str:
    """Return the SELECT that must end NAME_metrics of related tables: the metric rows by place, if the gate passed."""
    return f"SELECT {_METRIC_COLUMNS} FROM metric_rows {_IF_METRICS_PASSED} ORDER BY place ASC"


def related_rows(rows_relation: Sql, row: Sql, position: Sql) -> str:
    """Return the SELECT that must end one related table's release: its rows ordered by position, if the gate passed.

    Args:
        rows_relation: The relation that contains the rows.
        row: A helper column that is not published.
        position: The column that gives the order; not published.
    """
    return f"SELECT * EXCLUDE ({row}, {position}) FROM {rows_relation} {_IF_GATE_PASSED} ORDER BY {position} ASC"


def stream_rows(published_at: Sql, class_id: Sql, arrived_at: Sql) -> str:
    """Return the SELECT that must end a stream: rows by time of publication, class and arrival, if the gate passed."""
    order = join_sql((f"{published_at} ASC", f"{class_id} ASC NULLS LAST", f"{arrived_at} ASC"))
    return f"SELECT * FROM published_rows {_IF_GATE_PASSED} ORDER BY {order}"


def stream_metrics() -> str:
    """Return the SELECT with which the statement for a stream's metrics must end, as `check_last_select` requires.

    It returns the metrics that have a value, by position; no rows if the gate did not pass.
    """
    return f"SELECT {_METRIC_COLUMNS} FROM metric_rows {_IF_METRICS_PASSED} AND value IS NOT NULL ORDER BY position ASC"


def stream_step(cluster: Sql, position: Sql, row: Sql, arrived_at: Sql) -> str:
    """Return the SELECT that must end a streaming view's refresh: every record read, with its published row or NULLs.

    The columns of the published row are NULL if the record is not published, or if the gate did not pass. The arguments
    are names of columns: `cluster`, `position` and `row` name the added columns (cluster number, number of the record,
    row of the source), and `arrived_at` is the column of the published rows by which they are joined to the records.
    """
    return f"""
        SELECT v.*, l.cluster AS {cluster}, l.rid AS {position}, s.source_row AS {row}
        FROM departures AS l JOIN source AS s ON s.rid = l.rid
        LEFT JOIN published_rows AS v ON v.{arrived_at} = l.rid {_IF_GATE_PASSED}
    """
