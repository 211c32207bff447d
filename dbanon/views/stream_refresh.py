"""One refresh of a streaming view: read the rows added to its source, publish what is due, keep the rest pending.

All of it happens inside a transaction of the caller, and published records have passed the gate of streams.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dbanon import errors
from dbanon.algorithms import streams
from dbanon.algorithms.streams.checkpoint import StreamSegment
from dbanon.ledger import stream_check, stream_marks, streams as stream_ledger
from dbanon.ledger.stream_marks import ArrivalOrder, Mark
from dbanon.ledger.streams import StreamEntry
from dbanon.release.spec.published_columns import unused_name
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.streams import plan
from dbanon.release.streams.plan import AppendStatement
from dbanon.source.catalog import Source
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import Sql, identifier, join_sql
from dbanon.table_functions.options import Options

_STEP = Sql('temp.main."dbanon step"')
_NUMBER = Sql('"dbanon number of the row"')


@dataclass(frozen=True)
class StreamRefreshResult:
    """The result of one refresh of a streaming view.

    Attributes:
        name: The name of the view.
        read: The number of rows of the source that this refresh read.
        published: The number of records that it published.
        suppressed: The number of records that it suppressed.
        waiting: The number of records that are pending now.
        classes: The number of all classes that were ever published.
    """

    name: str
    read: int
    published: int
    suppressed: int
    waiting: int
    classes: int

    def __str__(self) -> str:
        """Return the name and the counts as one line; suppressed records only if there are any."""
        summary = f"{self.name}: {self.read:,} read, {self.published:,} published"
        summary += f", {self.suppressed:,} suppressed" if self.suppressed else ""
        return f"{summary}, {self.waiting:,} pending"


@dataclass(frozen=True)
class UnreadRows:
    """The rows of a source that a stream has not read.

    Attributes:
        is_new: The SQL condition for these rows.
        last_row: The greatest row id that was read. Unread rows have greater ones, unless there is a mark.
        mark: The greatest `order_by` that was read. If it is given, unread rows are those after it.
    """

    is_new: Sql
    last_row: int
    mark: Mark | None = None

    @classmethod
    def after_row(cls, last_row: int) -> UnreadRows:
        """Return the rows with a greater row id than `last_row`."""
        return cls(Sql(f"rowid > {last_row}"), last_row)


@dataclass(frozen=True)
class _RowsToRead:
    """The unread rows of a source that a refresh reads, and names of the columns that it needs.

    Attributes:
        columns: The columns of the source that the call uses.
        unread: The unread rows, with the SQL condition for them.
        last: The greatest row id of the source; later rows are not read.
        new: The number of unread rows.
        place: The column with the position of a pending record in the order of arrival.
        row: The column with the row id of a pending record in the source.
        cluster: The column with the cluster of a record of this refresh.
    """

    columns: tuple[str, ...]
    unread: UnreadRows
    last: int
    new: int
    place: Sql
    row: Sql
    cluster: Sql

    @property
    def read(self) -> Sql:
        """The `columns` as SQL, quoted and separated by commas."""
        return Sql(join_sql(identifier(name) for name in self.columns))

    def relation(self, entry: StreamEntry, source: Sql) -> Sql:
        """Return a relation of the pending (read, not published) records of `entry` and the unread rows of `source`.

        Its columns are `columns`, the position in the order of arrival, which is NULL for unread rows, and the row id.
        """
        return Sql(
            f"(SELECT {self.read}, {self.place}, {self.row} FROM {entry.pending_table} "
            f"UNION ALL SELECT {self.read}, NULL, rowid FROM {source} "
            f"WHERE {self.unread.is_new} AND rowid <= {self.last})"
        )


def create_tables(cursor: Any, entry: StreamEntry, spec: ReleaseSpec, options: Options) -> StreamRefreshResult:
    """Create the tables of a streaming view, then read the rows that the source has now, and return that first refresh.

    The tables are the view, its classes, and the pending records.
    """
    source = spec.source
    unread = UnreadRows.after_row(entry.last_row)
    reading = _rows_to_read(cursor, entry, spec, unread)
    cursor.execute(
        f"CREATE TABLE {entry.pending_table} AS SELECT {reading.read}, NULL::BIGINT AS {reading.place}, "
        f"NULL::BIGINT AS {reading.row} FROM {source.sql} LIMIT 0"
    )
    statement = _statement(
        entry, spec, options, reading, StreamSegment.from_bytes(None, 0, is_last=False), is_first=True
    )
    shown = [*statement.column_names, statement.added_names["suppressed"]]
    types = {name: type_ for name, type_, *_ in cursor.execute(f"DESCRIBE {statement.sql}").fetchall()}
    cursor.execute(f"CREATE TABLE {entry.table()} ({join_sql(f'{identifier(c)} {types[c]}' for c in shown)})")
    classes = {statement.class_id: types[statement.class_id], _size_column_name(statement): "BIGINT"}
    classes |= {name: types[name] for name in statement.quasi_names}
    cursor.execute(
        f"CREATE TABLE {entry.table('_classes')} "
        f"({join_sql(f'{identifier(c)} {type_}' for c, type_ in classes.items())})"
    )
    return read_new_rows(cursor, entry, spec, options, unread)


def read_new_rows(
    cursor: Any,
    entry: StreamEntry,
    spec: ReleaseSpec,
    options: Options,
    unread: UnreadRows,
    *,
    flush: bool = False,
    allow_deleted_rows: bool = False,
    is_kept: bool = True,
) -> StreamRefreshResult:
    """Read unread rows, publish the records that are due, and keep the others pending.

    All of this happens in the transaction of the caller. Without unread rows (and without pending records that `flush`
    has to publish) at most the position in the ledger is updated, and the result has only zeros for this refresh.

    Args:
        cursor: A cursor within the transaction of the refresh.
        entry: The view as the ledger has it.
        spec: The release spec of its call.
        options: The parameters of its call.
        unread: The rows to read.
        flush: Publish or suppress all records, so that none stays pending.
        allow_deleted_rows: Whether rows that are no longer pending were deleted from the source.
        is_kept: Whether source and view keep rows that were read; a pipe deletes them.

    Raises:
        GateRefusedError: The tables that were written differ from the records that passed the release gate.
    """
    reading = _rows_to_read(cursor, entry, spec, unread)
    if not reading.new and not (flush and entry.waiting):
        if allow_deleted_rows or entry.mark is None:
            _update_position(cursor, entry, spec, reading)
        return StreamRefreshResult(entry.display_name, 0, 0, 0, entry.waiting, entry.classes)
    segment = StreamSegment.from_bytes(entry.state, entry.arrived, is_last=flush)
    statement = _statement(entry, spec, options, reading, segment)
    cursor.execute(f"CREATE TEMP TABLE {_STEP} AS {statement.sql}")
    last = stream_check.last_row(cursor, entry)
    result = _publish(cursor, entry, statement, reading)
    _update_pending(cursor, entry, spec.source, reading)
    class_id = identifier(statement.class_id)
    ids = f"SELECT DISTINCT {reading.cluster}, {class_id} FROM {_STEP} WHERE {reading.cluster} >= 0"
    _update_ledger(
        cursor, entry, spec, statement, reading, result, segment.to_bytes(dict(cursor.execute(ids).fetchall()))
    )
    step = stream_check.RefreshRecords(
        table=_STEP,
        values=statement.column_names,
        suppressed=identifier(statement.added_names["suppressed"]),
        class_id=class_id,
        size=identifier(_size_column_name(statement)),
        cluster=reading.cluster,
        place=reading.place,
        drops_suppressed=options["suppress"] == "drop",
    )
    order = ArrivalOrder.from_source(spec.source, spec.reading.order_columns)
    entry_before = replace(entry, last_row=unread.last_row, mark=unread.mark)
    stream_check.check_refresh(cursor, entry_before, step, last, spec.source.sql, order, is_kept)
    cursor.execute(f"DROP TABLE {_STEP}")
    return result


def unread_rows(cursor: Any, entry: StreamEntry, spec: ReleaseSpec, *, allow_deleted_rows: bool = False) -> UnreadRows:
    """Return the rows of its source that a stream has not read, after checking those that it has read.

    Args:
        cursor: A cursor within the transaction of the refresh.
        entry: The stream as the ledger has it.
        spec: The release spec of its call.
        allow_deleted_rows: Whether rows that are no longer pending were deleted. Then row ids identify no row: the
            pending records are found by their values, and new rows by `order_by`.

    Raises:
        SourceNotAppendOnlyError: Rows that were read are missing or changed.
        PrunedWithoutOrderError: Rows were deleted, and `order_by` does not identify those that were read.
    """
    source = spec.source
    if allow_deleted_rows:
        _check_pending(cursor, entry, source, by_row=False)
        return _unread_of_pruned(cursor, entry, spec)
    n_lost = abs(entry.source_rows - _rows_until(cursor, source, entry.last_row))
    if n_lost:
        raise errors.SourceNotAppendOnlyError(
            source.shown, f"lost or moved {n_lost:,} {plural_form(n_lost, 'row', 'rows')}", entry.display_name
        )
    if not stream_marks.is_tail_unchanged(cursor, source, entry.last_row, entry.last_hash):
        raise errors.SourceNotAppendOnlyError(
            source.shown, "has another row in the place of an earlier one", entry.display_name
        )
    _check_pending(cursor, entry, source, by_row=True)
    return UnreadRows.after_row(entry.last_row)


def _unread_of_pruned(cursor: Any, entry: StreamEntry, spec: ReleaseSpec) -> UnreadRows:
    """Return the unread rows of a source from which rows were deleted, by `order_by`.

    If the source has as many rows as there are pending records, no row is unread.

    Raises:
        PrunedWithoutOrderError: `order_by` does not identify the rows that were read.
    """
    source, order = spec.source, ArrivalOrder.from_source(spec.source, spec.reading.order_columns)
    rows, last = cursor.execute(f"SELECT count(*), coalesce(max(rowid), -1) FROM {source.sql}").fetchall()[0]
    if rows == entry.waiting:  # the pending records, and no others
        return UnreadRows.after_row(last)
    mark = entry.mark
    if mark is None and stream_marks.is_tail_unchanged(cursor, source, entry.last_row, entry.last_hash):
        mark = stream_marks.mark_of_row(cursor, source, order, entry.last_row)
    mark = stream_marks.check_pruned(cursor, entry.display_name, source, order, mark, entry.source_rows)
    return UnreadRows(order.is_after(mark), entry.last_row, mark)


def _check_pending(cursor: Any, entry: StreamEntry, source: Source, *, by_row: bool) -> None:
    """Check that every pending record is in the source with unchanged values.

    With `by_row` it must have the row id with which it was read; otherwise any row with its values is enough.

    Raises:
        SourceNotAppendOnlyError: A pending record is missing or changed, or their number is not that in the ledger.
    """
    columns = [c[0] for c in cursor.execute(f"FROM {entry.pending_table} LIMIT 0").description]
    read, row = columns[:-2], identifier(columns[-1])
    same = join_sql((f"s.{identifier(c)} IS NOT DISTINCT FROM w.{identifier(c)}" for c in read), " AND ")
    is_searched = "true"
    if by_row:
        ends = f"SELECT coalesce(min({row}), 0), coalesce(max({row}), 0) FROM {entry.pending_table}"
        is_searched = "rowid BETWEEN {} AND {}".format(*cursor.execute(ends).fetchall()[0])
        same = Sql(f"s.{_NUMBER} = w.{row} AND {same}")
    is_found = f"EXISTS (FROM (SELECT *, rowid AS {_NUMBER} FROM {source.sql} WHERE {is_searched}) AS s WHERE {same})"
    waiting, unchanged = cursor.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {is_found}) FROM {entry.pending_table} AS w"
    ).fetchall()[0]
    if waiting != entry.waiting or unchanged != waiting:
        raise errors.SourceNotAppendOnlyError(source.shown, "changed rows that are pending", entry.display_name)


def _rows_until(cursor: Any, source: Source, last: int) -> int:
    """Return the number of rows of the source whose row id is at most `last`."""
    return int(cursor.execute(f"SELECT count(*) FROM {source.sql} WHERE rowid <= {last}").fetchall()[0][0])


def _rows_to_read(cursor: Any, entry: StreamEntry, spec: ReleaseSpec, unread: UnreadRows) -> _RowsToRead:
    """Return the unread rows up to the last row that the source has now, with the columns that the call uses.

    These are the quasi-identifiers, the sensitive, unchanged and person columns, and those of `order_by`.
    """
    roles, source = spec.roles, spec.source
    read = {
        *(a.quasi.column for a in spec.attributes),
        *roles.sensitive,
        *roles.insensitive,
        *spec.reading.order_columns,
    }
    columns = tuple(c for c in source.columns if c in read or c == roles.person)
    new = cursor.execute(f"SELECT count(*) FROM {source.sql} WHERE {unread.is_new}").fetchall()[0][0]
    last = cursor.execute(f"SELECT coalesce(max(rowid), -1) FROM {source.sql}").fetchall()[0][0]
    names = (unused_name(f"dbanon {name}", source.columns) for name in ("place", "row", "cluster"))
    return _RowsToRead(columns, unread, last, new, *map(identifier, names))


def _statement(
    entry: StreamEntry,
    spec: ReleaseSpec,
    options: Options,
    reading: _RowsToRead,
    segment: StreamSegment,
    is_first: bool = False,
) -> AppendStatement:
    """Return the SQL that clusters pending and unread records and returns all of them with the values to publish.

    Args:
        entry: The view as the ledger has it.
        spec: The release spec of its call.
        options: The parameters of its call.
        reading: The rows to read.
        segment: The state of the stream algorithm from which it continues.
        is_first: Whether the table of classes does not exist yet.
    """
    source = replace(spec.source, sql=reading.relation(entry, spec.source.sql), bare=False)
    trees = [i for i, a in enumerate(spec.attributes) if not a.is_number]
    refresh = plan.StreamContinuation(
        segment=segment.key,
        n_before=entry.arrived,
        max_class_id=entry.classes,
        classes=None if is_first else entry.table("_classes"),
        nodes={i: segment.node_names(i) for i in trees},
        place=reading.place,
        row=reading.row,
        cluster=reading.cluster,
    )
    return plan.append_statement(replace(spec, source=source), options, streams.find(entry.system), refresh)


def _size_column_name(statement: AppendStatement) -> str:
    """Return the name of the column with the size of a class: `size`, or a variation if that name is taken."""
    return unused_name("size", (statement.class_id, *statement.quasi_names))


def _publish(cursor: Any, entry: StreamEntry, statement: AppendStatement, reading: _RowsToRead) -> StreamRefreshResult:
    """Append the published records of this refresh to the view, update its table of classes, and return the counts.

    Rows are ordered by class and by a hash of their values, so that their order does not reveal when each record
    arrived.
    """
    reserved = {name: identifier(column) for name, column in statement.added_names.items()}
    columns, class_id = join_sql(identifier(c) for c in statement.column_names), identifier(statement.class_id)
    cursor.execute(
        f"INSERT INTO {entry.table()} SELECT {columns}, {reserved['suppressed']} FROM {_STEP} "
        f"WHERE {reserved['suppressed']} IS NOT NULL ORDER BY {class_id} ASC NULLS LAST, "
        f"md5(row({columns})::VARCHAR) ASC"
    )
    size, quasi = identifier(_size_column_name(statement)), join_sql(identifier(c) for c in statement.quasi_names)
    published_classes = (
        f"SELECT {class_id}, count(*) AS records, {quasi} FROM {_STEP} WHERE {class_id} IS NOT NULL GROUP BY ALL"
    )
    classes = entry.table("_classes")
    cursor.execute(
        f"UPDATE {classes} AS c SET {size} = c.{size} + n.records FROM ({published_classes}) AS n "
        f"WHERE n.{class_id} = c.{class_id}"
    )
    cursor.execute(
        f"INSERT INTO {classes} FROM ({published_classes}) AS n "
        f"WHERE {class_id} NOT IN (SELECT {class_id} FROM {classes}) ORDER BY {class_id} ASC"
    )
    n_published, n_suppressed, n_pending = cursor.execute(
        f"SELECT count({class_id}), count(*) FILTER (WHERE {reading.cluster} = -1), "
        f"count(*) FILTER (WHERE {reading.cluster} = -2) FROM {_STEP}"
    ).fetchall()[0]
    n_classes = cursor.execute(f"SELECT count(*) FROM {classes}").fetchall()[0][0]
    return StreamRefreshResult(entry.display_name, reading.new, n_published, n_suppressed, n_pending, n_classes)


def _update_pending(cursor: Any, entry: StreamEntry, source: Source, reading: _RowsToRead) -> None:
    """Update the table of pending records: delete those that this refresh published or suppressed, insert new ones.

    New ones are rows of the source that this refresh read and that stay pending.
    """
    of_source = join_sql(f"s.{identifier(name)}" for name in reading.columns)
    cursor.execute(
        f"DELETE FROM {entry.pending_table} WHERE {reading.place} IN "
        f"(SELECT {reading.place} FROM {_STEP} WHERE {reading.cluster} <> -2)"
    )
    cursor.execute(
        f"INSERT INTO {entry.pending_table} SELECT {of_source}, p.{reading.place}, p.{reading.row} FROM "
        f"(SELECT {reading.read}, rowid AS {_NUMBER} FROM {source.sql} WHERE {reading.unread.is_new}) AS s "
        f"JOIN {_STEP} AS p ON p.{reading.row} = s.{_NUMBER} "
        f"WHERE p.{reading.cluster} = -2 AND p.{reading.place} > {entry.arrived} ORDER BY p.{reading.place} ASC"
    )


def _update_position(cursor: Any, entry: StreamEntry, spec: ReleaseSpec, reading: _RowsToRead) -> None:
    """Write to the ledger up to where the source was read: row id, hash of the last rows, number of rows, and mark.

    The mark is the greatest `order_by` that was read; NULL if there is no valid one.
    """
    source, order = spec.source, ArrivalOrder.from_source(spec.source, spec.reading.order_columns)
    old = entry.mark if reading.unread.mark is None else reading.unread.mark
    if old is not None and not order.is_valid(old, cursor):
        old = None
    mark = stream_marks.next_mark(
        cursor, source, order, old, stream_marks.count_late(cursor, source, order, old, reading.unread.is_new)
    )
    changes = {
        "last_row": reading.last,
        "last_hash": stream_marks.tail_hash(cursor, source, reading.last),
        "source_rows": _rows_until(cursor, source, reading.last),
        "mark": None if mark is None else mark.to_json(),
    }
    stream_ledger.update_stream(cursor, entry, changes)


def _update_ledger(
    cursor: Any,
    entry: StreamEntry,
    spec: ReleaseSpec,
    statement: AppendStatement,
    reading: _RowsToRead,
    result: StreamRefreshResult,
    state: bytes,
) -> None:
    """Write the position in the source, the counts, the delays and the algorithm's state to the ledger.

    Args:
        cursor: A cursor within the transaction of the refresh.
        entry: The view as the ledger had it before the refresh.
        spec: The release spec of its call.
        statement: The SQL that clustered the records; it has the names of the columns with class and delay.
        reading: The rows that were read.
        result: The counts of this refresh, which are added to those of earlier ones.
        state: The state from which the stream algorithm continues at the next refresh.
    """
    delay, class_id = identifier(statement.added_names["delay"]), identifier(statement.class_id)
    total, longest = cursor.execute(
        f"SELECT coalesce(sum({delay}), 0)::BIGINT, coalesce(max({delay}), 0) FROM {_STEP} WHERE {class_id} IS NOT NULL"
    ).fetchall()[0]
    _update_position(cursor, entry, spec, reading)
    stream_ledger.update_stream(
        cursor,
        entry,
        {
            "arrived": entry.arrived + result.read,
            "waiting": result.waiting,
            "published": entry.published + result.published,
            "suppressed": entry.suppressed + result.suppressed,
            "classes": result.classes,
            "total_delay": entry.total_delay + total,
            "longest_delay": max(entry.longest_delay, longest),
            "state": state,
        },
    )
