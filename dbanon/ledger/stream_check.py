"""Check a refresh of a streaming view: read the tables that it wrote, before the commit.

The release gate checks the records of one refresh. The tables of the view, the pending records and the counts in the
ledger are written from them afterwards. Here they are compared with these records by other queries than those that
wrote them.
"""

from dataclasses import dataclass
from typing import Any

from dbanon import errors
from dbanon.ledger import streams
from dbanon.ledger.stream_marks import ArrivalOrder
from dbanon.ledger.streams import StreamEntry
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, join_sql


@dataclass(frozen=True)
class RefreshRecords:
    """The records of one refresh of a streaming view: a table with them, and the names of its columns.

    Attributes:
        table: The table: one row for each record that was pending before the refresh or is new.
        values: The columns of the view except its last column, `suppressed`; `class_id` is one of them.
        suppressed: The column that is the last one of the view.
        class_id: The column with the published class.
        size: The column of the table of classes with the number of records.
        cluster: The column with the cluster of a record: -1 for suppressed, -2 for pending records.
        place: The column with the position of a record in the order of arrival.
        drops_suppressed: Whether suppressed records have no row in the view.
    """

    table: Sql
    values: tuple[str, ...]
    suppressed: Sql
    class_id: Sql
    size: Sql
    cluster: Sql
    place: Sql
    drops_suppressed: bool

    @property
    def is_in_view(self) -> Sql:
        """The SQL condition for records that have a row in the view."""
        suppressed = "false" if self.drops_suppressed else f"{self.cluster} = -1"
        return Sql(f"({self.cluster} NOT IN (-1, -2) OR {suppressed})")

    @property
    def row_hash(self) -> Sql:
        """SQL of an MD5 hash of the values that the view shows for a record, without `suppressed`."""
        return Sql(f"md5(row({join_sql(identifier(name) for name in self.values)})::VARCHAR)")


def last_row(cursor: Any, entry: StreamEntry) -> int:
    """Return the greatest row id of a streaming view, after which the next refresh appends rows; -1 if it is empty."""
    return int(cursor.execute(f"SELECT coalesce(max(rowid), -1) FROM {entry.table()}").fetchall()[0][0])


def check_refresh(
    cursor: Any,
    old_entry: StreamEntry,
    refresh: RefreshRecords,
    last: int,
    source: Sql,
    order: ArrivalOrder,
    is_kept: bool = True,
) -> None:
    """Compare the tables and counts that a refresh wrote with the records that passed the release gate.

    Args:
        cursor: A cursor within the transaction of the refresh.
        old_entry: The view as the ledger had it before the refresh. If it has a mark (the greatest `order_by` read),
            new rows are those after the mark; otherwise those after its last row.
        refresh: The records of the refresh.
        last: The last row of the view before the refresh (`last_row`).
        source: The table that the view reads.
        order: The columns by which rows of the source arrive.
        is_kept: Whether the view has the rows of earlier refreshes, too; a pipe deletes them once they are read.

    Raises:
        GateRefusedError: A row was added, lost, changed or reordered, or a count in the ledger does not follow.
    """
    (new_entry,) = streams.entries(cursor, old_entry.database, old_entry.row)
    checks = (
        (
            "rows of the view that are not published records of this refresh",
            _query_wrong_rows(old_entry, refresh, last),
        ),
        ("rows of the view that are in the order of their arrival", _query_misplaced_rows(old_entry, refresh, last)),
        ("classes of the view with a wrong number of records", _query_wrong_sizes(old_entry, refresh, is_kept)),
        ("pending records that differ from those of this refresh", _query_wrong_pending(old_entry, refresh)),
        (
            "records in the ledger of the stream that were not read",
            _query_wrong_counts(old_entry, new_entry, refresh, source, order),
        ),
    )
    for description, query in checks:
        n_wrong = cursor.execute(qualify_builtins(query)).fetchall()[0][0]
        if n_wrong:
            raise errors.GateRefusedError("refresh_stream", description, n_wrong)


def _query_wrong_rows(old_entry: StreamEntry, refresh: RefreshRecords, last: int) -> str:
    """Return a query for a number that is 0 if the rows appended to the view are the published records.

    Otherwise it is positive: it adds up the difference of the numbers of rows, 1 if the hashes of the rows differ, and
    the number of appended rows whose value of `suppressed` contradicts whether they have a class.

    Args:
        old_entry: The view.
        refresh: The records of the refresh.
        last: The last row of the view before the refresh.
    """
    return f"""
        SELECT abs(w.records - p.records) + (w.marks IS DISTINCT FROM p.marks)::INTEGER + w.empty
        FROM (
            SELECT
                count(*) AS records, sum(md5_number_lower(mark)::HUGEINT) AS marks,
                count(*) FILTER (WHERE is_pending) AS empty
            FROM (
                SELECT
                    {refresh.row_hash} AS mark,
                    {refresh.suppressed} IS DISTINCT FROM ({refresh.class_id} IS NULL) AS is_pending
                FROM {old_entry.table()} WHERE rowid > {last}
            )
        ) AS w, (
            SELECT count(*) AS records, sum(md5_number_lower(mark)::HUGEINT) AS marks
            FROM (SELECT {refresh.row_hash} AS mark FROM {refresh.table} WHERE {refresh.is_in_view})
        ) AS p
    """


def _query_misplaced_rows(old_entry: StreamEntry, refresh: RefreshRecords, last: int) -> str:
    """Return a query that counts the appended rows which are out of order; 0 if the refresh is correct.

    The order is by class, rows without a class last, and within a class by the hash of the row's values, so that the
    order of arrival is not revealed.

    Args:
        old_entry: The stream before the refresh; its view contains the rows.
        refresh: The records of the refresh; `class_id` and `row_hash` are the SQL expressions of class and hash.
        last: The rowid of the last row that is not appended.
    """
    return f"""
        SELECT count(*)
        FROM (
            SELECT
                class_id, mark, row_number() OVER earlier AS number,
                lag(class_id) OVER earlier AS class_before, lag(mark) OVER earlier AS mark_before
            FROM (
                SELECT rowid AS number, {refresh.class_id} AS class_id, {refresh.row_hash} AS mark
                FROM {old_entry.table()} WHERE rowid > {last}
            )
            WINDOW earlier AS (ORDER BY number ASC)
        )
        WHERE number > 1 AND (
            class_before IS NULL AND class_id IS NOT NULL
            OR class_id < class_before
            OR class_id IS NOT DISTINCT FROM class_before AND mark < mark_before
        )
    """


def _query_wrong_sizes(old_entry: StreamEntry, refresh: RefreshRecords, is_kept: bool) -> str:
    """Return a query for the number of classes with a wrong size, among those that this refresh published.

    A size is wrong if it is not the number of rows of the class in the view. If `is_kept` is false, rows of earlier
    refreshes were deleted from the view, and only a size below the number of rows is wrong.
    """
    touched = f"{refresh.class_id} IN (SELECT {refresh.class_id} FROM {refresh.table})"
    wrong = "r.size IS DISTINCT FROM c.size" if is_kept else "r.size > coalesce(c.size, 0)"
    return f"""
        SELECT count(*)
        FROM (
            SELECT {refresh.class_id} AS class_id, {refresh.size} AS size
            FROM {old_entry.table("_classes")} WHERE {touched}
        ) AS c
        FULL JOIN (
            SELECT {refresh.class_id} AS class_id, count(*) AS size
            FROM {old_entry.table()} WHERE {touched} GROUP BY ALL
        ) AS r ON r.class_id = c.class_id
        WHERE {wrong}
    """


def _query_wrong_pending(old_entry: StreamEntry, refresh: RefreshRecords) -> str:
    """Return a query for the number of differences between the table of pending records and those that are pending.

    A record counts if it is pending and not in the table, or in the table and not pending. Records are compared by
    their position in the order of arrival.
    """
    return f"""
        SELECT count(*)
        FROM {old_entry.pending_table} AS w
        FULL JOIN (SELECT {refresh.place} AS arrived FROM {refresh.table} WHERE {refresh.cluster} = -2) AS p
            ON p.arrived = w.{refresh.place}
        WHERE p.arrived IS NULL OR w.{refresh.place} IS NULL
    """


def _query_wrong_counts(
    old_entry: StreamEntry, new_entry: StreamEntry, refresh: RefreshRecords, source: Sql, order: ArrivalOrder
) -> str:
    """Return a query for the number of records by which the counts in the ledger are wrong; 0 if they are right.

    Each record that was read must be published, suppressed or pending, and no row of the source may be unread.

    Args:
        old_entry: The view in the ledger before the refresh.
        new_entry: The view in the ledger after it.
        refresh: The records of the refresh.
        source: The table that the view reads.
        order: The columns by which rows of the source arrive.
    """
    is_new = f"rowid > {old_entry.last_row}" if old_entry.mark is None else order.is_after(old_entry.mark)
    read = f"(SELECT count(*) FROM {source} WHERE {is_new} AND rowid <= {new_entry.last_row})"
    unread = f"rowid > {new_entry.last_row}" + (
        "" if new_entry.mark is None else f" OR {order.is_after(new_entry.mark)}"
    )
    n_accounted = new_entry.published + new_entry.suppressed + new_entry.waiting
    new = new_entry.published - old_entry.published, new_entry.suppressed - old_entry.suppressed
    return f"""
        SELECT
            abs({new_entry.classes} - (SELECT count(*) FROM {old_entry.table("_classes")}))
            + abs({new_entry.arrived} - {n_accounted}) + abs({new_entry.arrived - old_entry.arrived} - {read})
            + (SELECT count(*) FROM {source} WHERE {unread})
            + abs({new[0]} - count(*) FILTER (WHERE {refresh.cluster} NOT IN (-1, -2)))
            + abs({new[1]} - count(*) FILTER (WHERE {refresh.cluster} = -1))
            + abs({new_entry.waiting} - count(*) FILTER (WHERE {refresh.cluster} = -2))
            + abs({new_entry.waiting} - (SELECT count(*) FROM {old_entry.pending_table}))
        FROM {refresh.table}
    """
