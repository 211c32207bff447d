"""One refresh of a streaming view: what was added to its source is read, what is due is published, the rest waits.

All of it happens inside a transaction of the caller, and what is published has passed the gate of streams.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dbanon import errors
from dbanon.algorithms import streams
from dbanon.algorithms.streams.checkpoint import StreamSegment
from dbanon.ledger import stream_marks, streams as stream_ledger
from dbanon.ledger.stream_marks import ArrivalOrder, Mark
from dbanon.ledger.streams import StreamEntry
from dbanon.release.spec.published_columns import free
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.streams import plan
from dbanon.release.streams.plan import GrownStatement
from dbanon.source.catalog import Source
from dbanon.sqltext.quote import Sql, identifier, join_sql
from dbanon.table_functions.options import Options
from dbanon.views import stream_check

_STEP = Sql('temp.main."dbanon step"')
_NUMBER = Sql('"dbanon number of the row"')


@dataclass(frozen=True)
class StreamRefreshResult:
    """What one refresh of a streaming view did: records that it read, published and left out, and that wait now;
    `classes` are all that were ever published."""

    name: str
    read: int
    published: int
    suppressed: int
    waiting: int
    classes: int

    def __str__(self) -> str:
        said = f"{self.name}: {self.read:,} read, {self.published:,} published"
        said += f", {self.suppressed:,} left out" if self.suppressed else ""
        return f"{said}, {self.waiting:,} wait"


@dataclass(frozen=True)
class Unread:
    """The rows of a source that a stream has not read: those for which `is_new` holds.

    They come after `last_row`, or after `mark` where there is one.
    """

    is_new: Sql
    last_row: int
    mark: Mark | None = None

    @classmethod
    def after_row(cls, last_row: int) -> Unread:
        """Return the rows after the last one that was read."""
        return cls(Sql(f"rowid > {last_row}"), last_row)


@dataclass(frozen=True)
class _Reading:
    """The rows of a source to read: the `columns` of the call, and the `new` rows that are `unread`, up to row `last`.

    `place` and `row` are columns of the pending records, `cluster` one of the records of this refresh.
    """

    columns: tuple[str, ...]
    unread: Unread
    last: int
    new: int
    place: Sql
    row: Sql
    cluster: Sql

    @property
    def read(self) -> Sql:
        """Its columns."""
        return Sql(join_sql(identifier(name) for name in self.columns))

    def relation(self, grows: StreamEntry, source: Sql) -> Sql:
        """Return those that wait and those that are new."""
        return Sql(
            f"(SELECT {self.read}, {self.place}, {self.row} FROM {grows.waits} "
            f"UNION ALL SELECT {self.read}, NULL, rowid FROM {source} "
            f"WHERE {self.unread.is_new} AND rowid <= {self.last})"
        )


def first(cursor: Any, grows: StreamEntry, publication: ReleaseSpec, options: Options) -> StreamRefreshResult:
    """Make the tables of a view and read what there is."""
    source = publication.source
    unread = Unread.after_row(grows.last_row)
    reading = _reading(cursor, grows, publication, unread)
    cursor.execute(
        f"CREATE TABLE {grows.waits} AS SELECT {reading.read}, NULL::BIGINT AS {reading.place}, "
        f"NULL::BIGINT AS {reading.row} FROM {source.sql} LIMIT 0"
    )
    statement = _statement(grows, publication, options, reading, StreamSegment.of(None, 0, ends=False), is_first=True)
    shown = [*statement.shown, statement.own["suppressed"]]
    types = {name: type_ for name, type_, *_ in cursor.execute(f"DESCRIBE {statement.sql}").fetchall()}
    cursor.execute(f"CREATE TABLE {grows.table()} ({join_sql(f'{identifier(c)} {types[c]}' for c in shown)})")
    classes = {statement.class_id: types[statement.class_id], _size(statement): "BIGINT"}
    classes |= {name: types[name] for name in statement.quasi}
    cursor.execute(
        f"CREATE TABLE {grows.table('_classes')} "
        f"({join_sql(f'{identifier(c)} {type_}' for c, type_ in classes.items())})"
    )
    return following(cursor, grows, publication, options, unread)


def following(
    cursor: Any,
    grows: StreamEntry,
    publication: ReleaseSpec,
    options: Options,
    unread: Unread,
    *,
    flush: bool = False,
    pruned: bool = False,
    is_kept: bool = True,
) -> StreamRefreshResult:
    """Read what was added.

    With `flush` nobody goes on waiting; `pruned` says that rows of the source are gone, and not `is_kept` that rows are
    deleted from source and view once they are read.
    """
    reading = _reading(cursor, grows, publication, unread)
    if not reading.new and not (flush and grows.waiting):
        if pruned or grows.mark is None:
            _note_rows(cursor, grows, publication, reading)
        return StreamRefreshResult(grows.shown, 0, 0, 0, grows.waiting, grows.classes)
    segment = StreamSegment.of(grows.state, grows.arrived, ends=flush)
    statement = _statement(grows, publication, options, reading, segment)
    cursor.execute(f"CREATE TEMP TABLE {_STEP} AS {statement.sql}")
    last = stream_check.last_row(cursor, grows)
    made = _publish(cursor, grows, statement, reading)
    _keep_waiting(cursor, grows, publication.source, reading)
    class_id = identifier(statement.class_id)
    ids = f"SELECT DISTINCT {reading.cluster}, {class_id} FROM {_STEP} WHERE {reading.cluster} >= 0"
    _note(cursor, grows, publication, statement, reading, made, segment.written(dict(cursor.execute(ids).fetchall())))
    step = _step(statement, reading, options)
    order = ArrivalOrder.from_source(publication.source, publication.reading.order)
    before = replace(grows, last_row=unread.last_row, mark=unread.mark)
    stream_check.check(cursor, before, step, last, publication.source.sql, order, is_kept)
    cursor.execute(f"DROP TABLE {_STEP}")
    return made


def _step(statement: GrownStatement, reading: _Reading, options: Options) -> stream_check.Step:
    """Return the records of this refresh, for the check of what it wrote."""
    return stream_check.Step(
        table=_STEP,
        values=statement.shown,
        suppressed=identifier(statement.own["suppressed"]),
        class_id=identifier(statement.class_id),
        size=identifier(_size(statement)),
        cluster=reading.cluster,
        place=reading.place,
        drops=options["suppress"] == "drop",
    )


def unread_rows(cursor: Any, grows: StreamEntry, publication: ReleaseSpec, *, pruned: bool = False) -> Unread:
    """Return what a stream has not read of its source, whose read rows are compared with the ledger.

    Args:
        cursor: A cursor within the transaction of the refresh.
        grows: The stream as the ledger has it.
        publication: What its call publishes.
        pruned: Whether rows that have left were deleted. Then row ids identify no row: the pending records are found by
            their values, and new rows by `order_by`.

    Raises:
        SourceNotAppendOnlyError: Rows that were read are missing or changed.
        PrunedWithoutOrderError: Rows were deleted, and `order_by` does not identify those that were read.
    """
    source = publication.source
    if pruned:
        _check_pending(cursor, grows, source, by_row=False)
        return _unread_of_pruned(cursor, grows, publication)
    n_rows = _rows_until(cursor, source, grows.last_row)
    if n_rows != grows.source_rows:
        raise errors.SourceNotAppendOnlyError(
            source.shown, f"lost or moved {abs(grows.source_rows - n_rows):,} rows", grows.shown
        )
    if not stream_marks.is_tail_unchanged(cursor, source, grows.last_row, grows.last_hash):
        raise errors.SourceNotAppendOnlyError(source.shown, "has another row in the place of one", grows.shown)
    _check_pending(cursor, grows, source, by_row=True)
    return Unread.after_row(grows.last_row)


def _unread_of_pruned(cursor: Any, grows: StreamEntry, publication: ReleaseSpec) -> Unread:
    """What is new where rows were deleted; PrunedWithoutOrderError."""
    source, order = publication.source, ArrivalOrder.from_source(publication.source, publication.reading.order)
    rows, last = cursor.execute(f"SELECT count(*), coalesce(max(rowid), -1) FROM {source.sql}").fetchall()[0]
    if rows == grows.waiting:  # the pending records, and no others
        return Unread.after_row(last)
    mark = grows.mark
    if mark is None and stream_marks.is_tail_unchanged(cursor, source, grows.last_row, grows.last_hash):
        mark = stream_marks.mark_of_row(cursor, source, order, grows.last_row)
    mark = stream_marks.check_pruned(cursor, grows.shown, source, order, mark, grows.source_rows)
    return Unread(order.is_after(mark), grows.last_row, mark)


def _check_pending(cursor: Any, grows: StreamEntry, source: Source, *, by_row: bool) -> None:
    """SourceNotAppendOnlyError where a pending record is not in the source as it was read: in its row, where that is
    known and `by_row` says that rows have not moved, else anywhere."""
    columns = [c[0] for c in cursor.execute(f"FROM {grows.waits} LIMIT 0").description]
    read, row = columns[:-2], identifier(columns[-1])
    same = join_sql((f"s.{identifier(c)} IS NOT DISTINCT FROM w.{identifier(c)}" for c in read), " AND ")
    is_searched = "true"
    if by_row:
        ends = f"SELECT coalesce(min({row}), 0), coalesce(max({row}), 0) FROM {grows.waits}"
        is_searched = "rowid BETWEEN {} AND {}".format(*cursor.execute(ends).fetchall()[0])
        same = Sql(f"s.{_NUMBER} = w.{row} AND {same}")
    is_found = f"EXISTS (FROM (SELECT *, rowid AS {_NUMBER} FROM {source.sql} WHERE {is_searched}) AS s WHERE {same})"
    waiting, unchanged = cursor.execute(
        f"SELECT count(*), count(*) FILTER (WHERE {is_found}) FROM {grows.waits} AS w"
    ).fetchall()[0]
    if waiting != grows.waiting or unchanged != waiting:
        raise errors.SourceNotAppendOnlyError(source.shown, "changed rows that wait to be published", grows.shown)


def _rows_until(cursor: Any, source: Source, last: int) -> int:
    """How many rows there are up to one."""
    return int(cursor.execute(f"SELECT count(*) FROM {source.sql} WHERE rowid <= {last}").fetchall()[0][0])


def _reading(cursor: Any, grows: StreamEntry, publication: ReleaseSpec, unread: Unread) -> _Reading:
    """What there is to read now."""
    roles, source = publication.roles, publication.source
    read = {
        *(a.quasi.column for a in publication.attributes),
        *roles.sensitive,
        *roles.other,
        *publication.reading.order,
    }
    columns = tuple(c for c in source.columns if c in read or c == roles.person)
    new = cursor.execute(f"SELECT count(*) FROM {source.sql} WHERE {unread.is_new}").fetchall()[0][0]
    last = cursor.execute(f"SELECT coalesce(max(rowid), -1) FROM {source.sql}").fetchall()[0][0]
    names = (free(f"dbanon {name}", source.columns) for name in ("place", "row", "cluster"))
    return _Reading(columns, unread, last, new, *map(identifier, names))


def _statement(
    grows: StreamEntry,
    publication: ReleaseSpec,
    options: Options,
    reading: _Reading,
    segment: StreamSegment,
    is_first: bool = False,
) -> GrownStatement:
    """What leaves, as SQL."""
    source = replace(publication.source, sql=reading.relation(grows, publication.source.sql), bare=False)
    trees = [i for i, a in enumerate(publication.attributes) if not a.is_number]
    grown = plan.Grown(
        segment=segment.key,
        before=grows.arrived,
        number=grows.classes,
        classes=None if is_first else grows.table("_classes"),
        nodes={i: segment.nodes(i) for i in trees},
        place=reading.place,
        row=reading.row,
        cluster=reading.cluster,
    )
    return plan.grown_statement(replace(publication, source=source), options, streams.find(grows.system), grown)


def _size(statement: GrownStatement) -> str:
    return free("size", (statement.class_id, *statement.quasi))


def _publish(cursor: Any, grows: StreamEntry, statement: GrownStatement, reading: _Reading) -> StreamRefreshResult:
    """Add what leaves to the tables: the rows of a class in an order that does not tell when each came."""
    own = {name: identifier(of) for name, of in statement.own.items()}
    shown, class_id = join_sql(identifier(c) for c in statement.shown), identifier(statement.class_id)
    cursor.execute(
        f"INSERT INTO {grows.table()} SELECT {shown}, {own['suppressed']} FROM {_STEP} "
        f"WHERE {own['suppressed']} IS NOT NULL ORDER BY {class_id} ASC NULLS LAST, md5(row({shown})::VARCHAR) ASC"
    )
    size, quasi = identifier(_size(statement)), join_sql(identifier(c) for c in statement.quasi)
    left = f"SELECT {class_id}, count(*) AS records, {quasi} FROM {_STEP} WHERE {class_id} IS NOT NULL GROUP BY ALL"
    classes = grows.table("_classes")
    cursor.execute(
        f"UPDATE {classes} AS c SET {size} = c.{size} + n.records FROM ({left}) AS n WHERE n.{class_id} = c.{class_id}"
    )
    cursor.execute(
        f"INSERT INTO {classes} FROM ({left}) AS n "
        f"WHERE {class_id} NOT IN (SELECT {class_id} FROM {classes}) ORDER BY {class_id} ASC"
    )
    published, out, waiting = cursor.execute(
        f"SELECT count({class_id}), count(*) FILTER (WHERE {reading.cluster} = -1), "
        f"count(*) FILTER (WHERE {reading.cluster} = -2) FROM {_STEP}"
    ).fetchall()[0]
    number = cursor.execute(f"SELECT count(*) FROM {classes}").fetchall()[0][0]
    return StreamRefreshResult(grows.shown, reading.new, published, out, waiting, number)


def _keep_waiting(cursor: Any, grows: StreamEntry, source: Source, reading: _Reading) -> None:
    """Those that left wait no more; of the new ones some do now."""
    of_source = join_sql(f"s.{identifier(name)}" for name in reading.columns)
    cursor.execute(
        f"DELETE FROM {grows.waits} WHERE {reading.place} IN "
        f"(SELECT {reading.place} FROM {_STEP} WHERE {reading.cluster} <> -2)"
    )
    cursor.execute(
        f"INSERT INTO {grows.waits} SELECT {of_source}, p.{reading.place}, p.{reading.row} FROM "
        f"(SELECT {reading.read}, rowid AS {_NUMBER} FROM {source.sql} WHERE {reading.unread.is_new}) AS s "
        f"JOIN {_STEP} AS p ON p.{reading.row} = s.{_NUMBER} "
        f"WHERE p.{reading.cluster} = -2 AND p.{reading.place} > {grows.arrived} ORDER BY p.{reading.place} ASC"
    )


def _note_rows(cursor: Any, grows: StreamEntry, publication: ReleaseSpec, reading: _Reading) -> None:
    """Write what rows the source has up to the last one that was read, and its mark."""
    source, order = publication.source, ArrivalOrder.from_source(publication.source, publication.reading.order)
    old = grows.mark if reading.unread.mark is None else reading.unread.mark
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
    stream_ledger.update_stream(cursor, grows, changes)


def _note(
    cursor: Any,
    grows: StreamEntry,
    publication: ReleaseSpec,
    statement: GrownStatement,
    reading: _Reading,
    made: StreamRefreshResult,
    state: bytes,
) -> None:
    """Write how the view goes on."""
    delay, class_id = identifier(statement.own["delay"]), identifier(statement.class_id)
    total, longest = cursor.execute(
        f"SELECT coalesce(sum({delay}), 0)::BIGINT, coalesce(max({delay}), 0) FROM {_STEP} WHERE {class_id} IS NOT NULL"
    ).fetchall()[0]
    _note_rows(cursor, grows, publication, reading)
    stream_ledger.update_stream(
        cursor,
        grows,
        {
            "arrived": grows.arrived + made.read,
            "waiting": made.waiting,
            "published": grows.published + made.published,
            "suppressed": grows.suppressed + made.suppressed,
            "classes": made.classes,
            "total_delay": grows.total_delay + total,
            "longest_delay": max(grows.longest_delay, longest),
            "state": state,
        },
    )
