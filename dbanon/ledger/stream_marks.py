"""Positions up to which a streaming view has read its source: row ids, or `order_by` once rows are deleted.

DuckDB reuses the row ids of deleted rows after a checkpoint, so a row id identifies a row only as long as the rows
before it are known to exist. The mark of a stream is the greatest value of the `order_by` columns that it has read.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dbanon import errors
from dbanon.source.catalog import Source
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

FORMAT = 1
"""The format of a mark in the ledger."""

TAIL_ROWS = 1000
"""Number of row ids whose rows are hashed, up to the row that was read last."""

MAX_ROWS_AT_MARK = 1000
"""Maximum number of rows with the greatest `order_by` of a source from which rows are deleted."""

_TAIL = f"tail {TAIL_ROWS}: "


@dataclass(frozen=True)
class Mark:
    """The mark of a stream: the greatest value of the `order_by` columns that it has read.

    Attributes:
        columns: The columns of `order_by`.
        values: Their values as text, independent of the session's time zone.
        rows: Hashes of the rows of the source that have these values; None if there are more than MAX_ROWS_AT_MARK.
        n_late: Number of records that were added with an `order_by` before that of a record read earlier.
    """

    columns: tuple[str, ...]
    values: tuple[str, ...]
    rows: tuple[str, ...] | None
    n_late: int = 0

    @classmethod
    def from_json(cls, stored: str | None) -> Mark | None:
        """Return the mark that `to_json` wrote; None if `stored` is None or of another format."""
        fields = {} if stored is None else json.loads(stored)
        if fields.pop("format", None) != FORMAT:
            return None
        rows = fields.pop("rows")
        return cls(
            tuple(fields["columns"]), tuple(fields["values"]), None if rows is None else tuple(rows), fields["n_late"]
        )

    def to_json(self) -> str:
        """Return the mark as JSON, as the ledger stores it."""
        return json.dumps({"format": FORMAT, **asdict(self)}, ensure_ascii=False)


@dataclass(frozen=True)
class ArrivalOrder:
    """The `order_by` of a stream: its columns with their types, and SQL conditions that compare rows with a mark.

    A mark has the greatest `order_by` values that the stream has read.
    """

    types: Mapping[str, str]

    @classmethod
    def from_source(cls, source: Source, columns: tuple[str, ...]) -> ArrivalOrder:
        """Return the order of a source by some of its columns.

        Raises:
            KeyError: The source has no such column.
        """
        return cls({name: source.columns[name] for name in columns})

    def is_valid(self, mark: Mark, cursor: Any) -> bool:
        """Return whether the mark has exactly the `order_by` columns and its values can be cast to their types.

        The types are those that the columns have now.
        """
        if mark.columns != tuple(self.types):
            return False
        values = join_sql(f"TRY({self._value(c, v)}) IS NOT NULL" for c, v in zip(self.types, mark.values, strict=True))
        return all(_rows(cursor, f"SELECT {values}")[0])

    def is_at(self, mark: Mark) -> Sql:
        """Return the SQL condition for rows whose `order_by` values equal those of the mark."""
        equal = (f"{identifier(c)} = {self._value(c, v)}" for c, v in zip(self.types, mark.values, strict=True))
        return Sql(join_sql(equal, " AND "))

    def is_before(self, mark: Mark) -> Sql:
        """Return the SQL condition for rows whose `order_by` values come before those of the mark."""
        pairs = [(identifier(c), self._value(c, v)) for c, v in zip(self.types, mark.values, strict=True)]
        equal = [f"{column} = {value}" for column, value in pairs]
        cases = [
            f"({join_sql([*equal[:number], f'{column} < {value}'], ' AND ')})"
            for number, (column, value) in enumerate(pairs)
        ]
        return Sql(f"({join_sql(cases, ' OR ')})")

    def is_after(self, mark: Mark) -> Sql:
        """Return the SQL condition for rows whose `order_by` values come after those of the mark, or contain a NULL.

        Rows with NULL are included so that the refresh reads and reports them.
        """
        missing = join_sql((f"{identifier(c)} IS NULL" for c in self.types), " OR ")
        return Sql(f"({missing} OR NOT ({self.is_before(mark)} OR {self.is_at(mark)}))")

    @property
    def texts(self) -> list[str]:
        """SQL expressions, one per `order_by` column, of a row's value as text; instants in UTC."""
        return [
            f"(({identifier(c)}) AT TIME ZONE 'UTC')::VARCHAR" if _is_zoned(t) else f"({identifier(c)})::VARCHAR"
            for c, t in self.types.items()
        ]

    @property
    def descending(self) -> Sql:
        """The terms of an ORDER BY that sorts rows from the last one to the first; NULL is last."""
        return Sql(join_sql(f"{identifier(c)} DESC NULLS LAST" for c in self.types))

    def _value(self, column: str, value: str) -> str:
        """Return SQL of a value of the mark, cast to the present type of its column; instants are read as UTC."""
        type_ = self.types[column]
        if _is_zoned(type_):
            return f"CAST({text(value if 'infinity' in value else f'{value}+00')} AS TIMESTAMPTZ)"
        return f"({text(value)})::{type_}"


def _is_zoned(type_: str) -> bool:
    """Return whether a column type is that of an instant with time zone."""
    return type_ == "TIMESTAMP WITH TIME ZONE"


def row_hash(source: Source) -> str:
    """Return SQL of an MD5 hash of all columns of a row; equal in every time zone and version of DuckDB."""
    values = (f"epoch_us({identifier(n)})" if _is_zoned(t) else identifier(n) for n, t in source.columns.items())
    cells = (f"coalesce(md5(({value})::VARCHAR), '-')" for value in values)
    return f"md5({join_sql(cells, ' || ')})"


def tail_hash(cursor: Any, source: Source, last: int) -> str:
    """Return a hash of the rows with the TAIL_ROWS row ids up to `last`, in their order.

    The text begins with `tail 1000: `, which distinguishes it from hashes of earlier versions. O(TAIL_ROWS).
    """
    rows = (
        f"SELECT rowid AS number, {row_hash(source)} AS hash FROM {source.sql} "
        f"WHERE rowid > {last - TAIL_ROWS} AND rowid <= {last}"
    )
    query = f"SELECT coalesce(md5(string_agg(hash, '' ORDER BY number ASC)), '-') FROM ({rows})"
    return _TAIL + str(_rows(cursor, query)[0][0])


def is_tail_unchanged(cursor: Any, source: Source, last: int, stored: str | None) -> bool:
    """Return whether the rows read last, with row ids up to `last`, have the hash that the ledger stored.

    The hash covers the last TAIL_ROWS row ids; ledgers of earlier versions have a hash of one row. If `stored` is None,
    the result is whether there is no row `last`.
    """
    if stored is not None and stored.startswith(_TAIL):
        return tail_hash(cursor, source, last) == stored
    return _last_row_hash(cursor, source, last) == stored


def _last_row_hash(cursor: Any, source: Source, last: int) -> str | None:
    """Return a hash of the row with id `last` as earlier versions computed it; None if there is no such row."""
    values = join_sql(f"epoch_us({identifier(c)})" if "ZONE" in t else identifier(c) for c, t in source.columns.items())
    hashes = _rows(cursor, f"SELECT md5(row({values})::VARCHAR) FROM {source.sql} WHERE rowid = {last}")
    return hashes[0][0] if hashes else None


def check_pruned(
    cursor: Any, view: str, source: Source, order: ArrivalOrder, mark: Mark | None, source_rows: int
) -> Mark:
    """Check that `order_by` still identifies the rows that were read, in a source from which rows were deleted.

    Args:
        cursor: A cursor within the transaction of the refresh.
        view: The name of the streaming view, for messages.
        source: The source.
        order: Its order of arrival.
        mark: The mark in the ledger; None if there is none.
        source_rows: Number of rows of the source when the mark was stored; all of them had been read.

    Returns:
        The mark as given.

    Raises:
        PrunedWithoutOrderError: There is no valid mark, rows were added before or at it, or too many rows are at it to
            compare them.
    """

    def refusal(reason: str) -> errors.PrunedWithoutOrderError:
        """Return the error with a reason."""
        return errors.PrunedWithoutOrderError(view, tuple(order.types), source.shown, reason)

    if mark is None or not order.is_valid(mark, cursor):
        raise refusal("the ledger of this stream has no greatest order_by of the last refresh")
    if mark.n_late:
        was_added = plural_form(mark.n_late, "record was added", "records were added")
        raise refusal(f"{mark.n_late:,} {was_added} whose order_by precedes that of a record read earlier")
    if mark.rows is None:
        raise refusal(f"more than {MAX_ROWS_AT_MARK:,} records have the greatest order_by that was read")
    is_known = f"{order.is_before(mark)} OR {order.is_at(mark)}"
    n_known = _rows(cursor, f"SELECT count(*) FROM {source.sql} WHERE {is_known}")[0][0]
    added = Counter(_rows_at(cursor, source, order, mark)) - Counter(mark.rows)
    n_late = max(added.total(), n_known - source_rows)
    if n_late > 0:
        was_added = plural_form(n_late, "record was added", "records were added")
        raise refusal(f"{n_late:,} {was_added} whose order_by does not follow that of all records read earlier")
    return mark


def mark_of_row(cursor: Any, source: Source, order: ArrivalOrder, row: int) -> Mark | None:
    """Return a mark at the row with id `row`, with its `order_by` values.

    None if there is no such row, a value is NULL or not comparable, or the rows up to this row id are not exactly the
    rows up to the mark. `order` has the columns of `order_by`.
    """
    values = _rows(cursor, f"SELECT {join_sql(order.texts)} FROM {source.sql} WHERE rowid = {row}")
    if not values or None in values[0]:
        return None
    mark = Mark(tuple(order.types), tuple(values[0]), ())
    if not order.is_valid(mark, cursor):
        return None
    if _rows(cursor, f"SELECT count(*) FROM {source.sql} WHERE (rowid <= {row}) = ({order.is_after(mark)})")[0][0]:
        return None
    return Mark(mark.columns, mark.values, _stored_row_hashes(_rows_at(cursor, source, order, mark)))


def next_mark(cursor: Any, source: Source, order: ArrivalOrder, mark: Mark | None, n_late: int) -> Mark | None:
    """Return the mark of a source of which all rows were read.

    O(rows): one scan of the columns of `order_by`.

    Args:
        cursor: A cursor within the transaction of the refresh.
        source: The source.
        order: Its order of arrival.
        mark: The mark before the refresh. It stays, with updated row hashes, if the source has no greater row.
        n_late: Records of this refresh that were added before the mark.

    Returns:
        The mark; None if the source has no row and there was no mark, or if the last row has a NULL or invalid value in
        `order_by`.
    """
    total_late = n_late + (0 if mark is None else mark.n_late)
    newer = "true" if mark is None else order.is_after(mark)
    last_values = _rows(
        cursor, f"SELECT {join_sql(order.texts)} FROM {source.sql} WHERE {newer} ORDER BY {order.descending} LIMIT 1"
    )
    if not last_values:
        if mark is None or mark.rows is None:
            return mark
        row_hashes = Counter(mark.rows) | Counter(_rows_at(cursor, source, order, mark))
        return Mark(mark.columns, mark.values, _stored_row_hashes(list(row_hashes.elements())), total_late)
    new_mark = Mark(tuple(order.types), tuple(map(str, last_values[0])), (), total_late)
    if None in last_values[0] or not order.is_valid(new_mark, cursor):
        return None
    return Mark(
        new_mark.columns, new_mark.values, _stored_row_hashes(_rows_at(cursor, source, order, new_mark)), total_late
    )


def count_late(cursor: Any, source: Source, order: ArrivalOrder, mark: Mark | None, is_new: Sql) -> int:
    """Return how many new rows of the source have `order_by` values before the mark; 0 without a valid mark.

    Args:
        cursor: A cursor within the transaction of the refresh.
        source: The source.
        order: The columns of `order_by`.
        mark: The greatest values read before the refresh. A mark of other columns is not valid.
        is_new: The SQL condition for new rows.
    """
    if mark is None or not order.is_valid(mark, cursor):
        return 0
    return int(_rows(cursor, f"SELECT count(*) FROM {source.sql} WHERE {is_new} AND {order.is_before(mark)}")[0][0])


def _rows_at(cursor: Any, source: Source, order: ArrivalOrder, mark: Mark) -> list[str]:
    """Return hashes of rows of the source whose `order_by` values are those of the mark.

    They are at most MAX_ROWS_AT_MARK + 1 hashes, one more than may be stored.
    """
    query = f"SELECT {row_hash(source)} FROM {source.sql} WHERE {order.is_at(mark)} LIMIT {MAX_ROWS_AT_MARK + 1}"
    return [row[0] for row in _rows(cursor, query)]


def _rows(cursor: Any, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query, which runs DuckDB's own functions."""
    return list(cursor.execute(qualify_builtins(query)).fetchall())


def _stored_row_hashes(rows: list[str]) -> tuple[str, ...] | None:
    """Return the row hashes sorted; None if there are more than MAX_ROWS_AT_MARK."""
    return tuple(sorted(rows)) if len(rows) <= MAX_ROWS_AT_MARK else None
