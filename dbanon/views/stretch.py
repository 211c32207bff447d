"""One stretch of a streaming view: what was added to its source is read, what is due is published, the rest waits.

All of it happens inside a transaction of the caller, and what is published has passed the gate of streams.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from dbanon import errors, stream
from dbanon.functions.options import Options
from dbanon.release import stream_plan
from dbanon.release.publication import Publication
from dbanon.release.published_schema import free
from dbanon.release.stream_plan import GrownStatement
from dbanon.session import Session
from dbanon.source.catalog import Source
from dbanon.sqltext.quote import Sql, identifier, joined
from dbanon.stream.growing import Growing
from dbanon.views import stream_gate, stream_ledger
from dbanon.views.stream_ledger import Grows

_STEP = Sql('temp.main."dbanon step"')
_NUMBER = Sql('"dbanon number of the row"')


@dataclass(frozen=True)
class Grown:
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
class _Reading:
    """What is read of a source: the `columns` of the call, and of its rows the `new` ones up to row `last`; `place` and
    `row` are columns of the records that wait, `cluster` one of what leaves."""

    columns: tuple[str, ...]
    last: int
    new: int
    place: Sql
    row: Sql
    cluster: Sql

    @property
    def read(self) -> Sql:
        """Its columns."""
        return Sql(joined(identifier(name) for name in self.columns))

    def relation(self, grows: Grows, source: Sql) -> Sql:
        """Those that wait and those that are new."""
        return Sql(
            f"(SELECT {self.read}, {self.place}, {self.row} FROM {grows.waits} "
            f"UNION ALL SELECT {self.read}, NULL, rowid FROM {source} "
            f"WHERE rowid > {grows.last_row} AND rowid <= {self.last})"
        )


def first(cursor: Any, session: Session, grows: Grows, publication: Publication, options: Options) -> Grown:
    """Makes the tables of a view and reads what there is."""
    source = publication.source
    reading = _reading(cursor, grows, publication)
    cursor.execute(
        f"CREATE TABLE {grows.waits} AS SELECT {reading.read}, NULL::BIGINT AS {reading.place}, "
        f"NULL::BIGINT AS {reading.row} FROM {source.sql} LIMIT 0"
    )
    statement = _statement(grows, publication, options, reading, Growing.of(None, 0, ends=False), is_first=True)
    shown = [*statement.shown, statement.own["suppressed"]]
    types = {name: type_ for name, type_, *_ in cursor.execute(f"DESCRIBE {statement.sql}").fetchall()}
    cursor.execute(f"CREATE TABLE {grows.table()} ({joined(f'{identifier(c)} {types[c]}' for c in shown)})")
    classes = {statement.class_id: types[statement.class_id], _size(statement): "BIGINT"}
    classes |= {name: types[name] for name in statement.quasi}
    cursor.execute(
        f"CREATE TABLE {grows.table('_classes')} ({joined(f'{identifier(c)} {type_}' for c, type_ in classes.items())})"
    )
    return following(cursor, session, grows, publication, options)


def following(
    cursor: Any,
    session: Session,
    grows: Grows,
    publication: Publication,
    options: Options,
    *,
    flush: bool = False,
    pruned: bool = False,
    is_kept: bool = True,
) -> Grown:
    """Reads what was added. With `flush` nobody goes on waiting; `pruned` says that rows of the source are gone, and
    not `is_kept` that rows are deleted from source and view once they are read."""
    reading = _reading(cursor, grows, publication)
    if not reading.new and not (flush and grows.waiting):
        if pruned:
            _note_rows(cursor, grows, publication.source, reading)
        return Grown(grows.shown, 0, 0, 0, grows.waiting, grows.classes)
    session.growing = stretch = Growing.of(grows.state, grows.arrived, ends=flush)
    statement = _statement(grows, publication, options, reading, stretch)
    try:
        cursor.execute(f"CREATE TEMP TABLE {_STEP} AS {statement.sql}")
    finally:
        session.growing = None
    last = stream_gate.last_row(cursor, grows)
    made = _publish(cursor, grows, statement, reading)
    _keep_waiting(cursor, grows, publication.source, reading)
    class_id = identifier(statement.class_id)
    ids = f"SELECT DISTINCT {reading.cluster}, {class_id} FROM {_STEP} WHERE {reading.cluster} >= 0"
    _note(cursor, grows, publication, statement, reading, made, stretch.written(dict(cursor.execute(ids).fetchall())))
    step = _step(statement, reading, options)
    stream_gate.check(cursor, grows, step, last, publication.source.sql, is_kept=is_kept)
    cursor.execute(f"DROP TABLE {_STEP}")
    return made


def _step(statement: GrownStatement, reading: _Reading, options: Options) -> stream_gate.Step:
    """The records of this refresh, for the check of what it wrote."""
    return stream_gate.Step(
        table=_STEP,
        values=statement.shown,
        suppressed=identifier(statement.own["suppressed"]),
        class_id=identifier(statement.class_id),
        size=identifier(_size(statement)),
        cluster=reading.cluster,
        place=reading.place,
        drops=options["suppress"] == "drop",
    )


def check_appended(cursor: Any, grows: Grows, source: Source, *, pruned: bool = False) -> None:
    """NotAppended where what was read of a source is not there as it was: by the number of its rows, the row that was
    read last, and those that wait. Where it was `pruned`, those that wait alone have to be there."""
    last, there = _rows_until(cursor, source, grows.last_row)
    if there != grows.source_rows and not pruned:
        raise errors.NotAppended(grows.shown, source.shown, f"lost or moved {abs(grows.source_rows - there):,} rows")
    if last != grows.last_hash and not pruned:
        raise errors.NotAppended(grows.shown, source.shown, "has another row in the place of one")
    columns = [c[0] for c in cursor.execute(f"FROM {grows.waits} LIMIT 0").description]
    read, row = columns[:-2], identifier(columns[-1])
    same = joined((f"s.{identifier(c)} IS NOT DISTINCT FROM w.{identifier(c)}" for c in read), " AND ")
    ends = f"SELECT coalesce(min({row}), 0), coalesce(max({row}), 0) FROM {grows.waits}"
    least, most = cursor.execute(ends).fetchall()[0]
    numbered = f"SELECT *, rowid AS {_NUMBER} FROM {source.sql} WHERE rowid BETWEEN {least} AND {most}"
    waiting, alike = cursor.execute(
        f"SELECT count(*), count(*) FILTER (WHERE s.{_NUMBER} IS NOT NULL AND {same}) FROM {grows.waits} AS w "
        f"LEFT JOIN ({numbered}) AS s ON s.{_NUMBER} = w.{row}"
    ).fetchall()[0]
    if waiting != grows.waiting or alike != waiting:
        raise errors.NotAppended(grows.shown, source.shown, "changed rows that wait to be published")


def _rows_until(cursor: Any, source: Source, last: int) -> tuple[str | None, int]:
    """A hash of a row, the same in every time zone, and how many there are up to it."""
    values = joined(f"epoch_us({identifier(c)})" if "ZONE" in t else identifier(c) for c, t in source.columns.items())
    found = cursor.execute(
        f"SELECT (SELECT md5(row({values})::VARCHAR) FROM {source.sql} WHERE rowid = {last}), "
        f"(SELECT count(*) FROM {source.sql} WHERE rowid <= {last})"
    ).fetchall()[0]
    return found[0], int(found[1])


def _reading(cursor: Any, grows: Grows, publication: Publication) -> _Reading:
    """What there is to read now."""
    roles, source = publication.roles, publication.source
    read = {*(a.quasi.column for a in publication.attributes), *roles.sensitive, *roles.other, *publication.order}
    columns = tuple(c for c in source.columns if c in read or c == roles.person)
    new, last = cursor.execute(
        f"SELECT count(*), coalesce(max(rowid), -1) FROM {source.sql} WHERE rowid > {grows.last_row}"
    ).fetchall()[0]
    names = (free(f"dbanon {name}", source.columns) for name in ("place", "row", "cluster"))
    return _Reading(columns, max(last, grows.last_row), new, *map(identifier, names))


def _statement(
    grows: Grows,
    publication: Publication,
    options: Options,
    reading: _Reading,
    stretch: Growing,
    is_first: bool = False,
) -> GrownStatement:
    """What leaves, as SQL."""
    source = replace(publication.source, sql=reading.relation(grows, publication.source.sql), bare=False)
    trees = [i for i, a in enumerate(publication.attributes) if not a.is_number]
    grown = stream_plan.Grown(
        before=grows.arrived,
        number=grows.classes,
        classes=None if is_first else grows.table("_classes"),
        nodes={i: stretch.nodes(i) for i in trees},
        place=reading.place,
        row=reading.row,
        cluster=reading.cluster,
    )
    return stream_plan.grown_statement(replace(publication, source=source), options, stream.find(grows.system), grown)


def _size(statement: GrownStatement) -> str:
    return free("size", (statement.class_id, *statement.quasi))


def _publish(cursor: Any, grows: Grows, statement: GrownStatement, reading: _Reading) -> Grown:
    """Adds what leaves to the tables: the rows of a class in an order that does not tell when each came."""
    own = {name: identifier(of) for name, of in statement.own.items()}
    shown, class_id = joined(identifier(c) for c in statement.shown), identifier(statement.class_id)
    cursor.execute(
        f"INSERT INTO {grows.table()} SELECT {shown}, {own['suppressed']} FROM {_STEP} "
        f"WHERE {own['suppressed']} IS NOT NULL ORDER BY {class_id} ASC NULLS LAST, md5(row({shown})::VARCHAR) ASC"
    )
    size, quasi = identifier(_size(statement)), joined(identifier(c) for c in statement.quasi)
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
    return Grown(grows.shown, reading.new, published, out, waiting, number)


def _keep_waiting(cursor: Any, grows: Grows, source: Source, reading: _Reading) -> None:
    """Those that left wait no more; of the new ones some do now."""
    of_source = joined(f"s.{identifier(name)}" for name in reading.columns)
    cursor.execute(
        f"DELETE FROM {grows.waits} WHERE {reading.place} IN "
        f"(SELECT {reading.place} FROM {_STEP} WHERE {reading.cluster} <> -2)"
    )
    cursor.execute(
        f"INSERT INTO {grows.waits} SELECT {of_source}, p.{reading.place}, p.{reading.row} FROM {source.sql} AS s "
        f"JOIN {_STEP} AS p ON p.{reading.row} = s.rowid "
        f"WHERE s.rowid > {grows.last_row} AND p.{reading.cluster} = -2 AND p.{reading.place} > {grows.arrived} "
        f"ORDER BY p.{reading.place} ASC"
    )


def _note_rows(cursor: Any, grows: Grows, source: Source, reading: _Reading) -> None:
    """Writes what rows the source has up to the last one that was read."""
    last, rows = _rows_until(cursor, source, reading.last)
    stream_ledger.go_on(cursor, grows, {"last_row": reading.last, "last_hash": last, "source_rows": rows})


def _note(
    cursor: Any,
    grows: Grows,
    publication: Publication,
    statement: GrownStatement,
    reading: _Reading,
    made: Grown,
    state: bytes,
) -> None:
    """Writes how the view goes on."""
    delay, class_id = identifier(statement.own["delay"]), identifier(statement.class_id)
    total, longest = cursor.execute(
        f"SELECT coalesce(sum({delay}), 0)::BIGINT, coalesce(max({delay}), 0) FROM {_STEP} WHERE {class_id} IS NOT NULL"
    ).fetchall()[0]
    _note_rows(cursor, grows, publication.source, reading)
    stream_ledger.go_on(
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
