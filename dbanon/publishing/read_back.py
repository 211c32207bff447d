"""Read files back after they were written and compare them with the rows that the release gate passed."""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dbanon import errors
from dbanon.ledger import hashes
from dbanon.publishing import certificate as certificates, written_columns
from dbanon.publishing.written_tables import withheld_metrics
from dbanon.runtime import csv_formulas
from dbanon.sqltext import names
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import Sql, identifier, join_sql, qualified, text

_EXACT_IN_CSV = re.compile(
    r"VARCHAR|ENUM\(.*\)|U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|DECIMAL\(.*\)|DOUBLE|FLOAT|BOOLEAN|DATE|TIME|TIMESTAMP|UUID",
    re.DOTALL,
)
"""Types whose text is read as the same value again."""

_INTEGER = re.compile(r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?")
"""Types of which equal values have equal texts."""

_LOSSY_TYPES = re.compile("INTERVAL|TIME WITH TIME ZONE")
"""Types of which a Parquet file gives other values back: they have no offset, or no fraction of a millisecond."""


@dataclass(frozen=True)
class ReleasedTable:
    """A table of a release in DuckDB, with which a written file is compared.

    Attributes:
        cursor: A cursor that reads it.
        relation: The table.
        columns: The types of its columns by name, in order.
        hashed: The hash of its rows when the release gate had passed it; None if no hash was stored, because only this
            process can read or change the table.
    """

    cursor: Any
    relation: Sql
    columns: Mapping[str, str]
    hashed: str | None


@dataclass(frozen=True)
class WrittenTable:
    """A table of a release as it was written to a file.

    Attributes:
        connection: A connection that reads the file, and nothing else.
        relation: The written table.
        is_exact: Whether its values can be cast to the types of the release. If not, both tables are compared by the
            narrower types of the written one.
        scan: The call of the table function that reads the file; None for a table of a database.
        cells: SQL of each column by its name, which reads a row of `scan AS written`; None if the names are equal.
        is_escaped: Whether `cells` are still to be restored from escaped formulas.
    """

    connection: Any
    relation: Sql
    is_exact: bool
    scan: Sql | None = None
    cells: Mapping[str, Sql] | None = None
    is_escaped: bool = False

    def difference(self, released_table: ReleasedTable) -> str | None:
        """Return words for a message that say how the written table differs from the released one.

        Returns None if it has the same column names and the same rows in the same order. O(rows).
        """
        types = {
            str(row[0]): str(row[1]) for row in self.connection.execute(f"DESCRIBE FROM {self.relation}").fetchall()
        }
        if list(types) != list(released_table.columns):
            return "it has other columns"
        try:
            if self._is_comparable_by_row(released_table):
                if self._has_rows_of(released_table):
                    return None
                expected, written_hash = "equal rows", "other rows"
            elif self.is_exact:
                expected = released_table.hashed or hashes.hash_relation(
                    released_table.cursor, released_table.relation, released_table.columns
                )
                written_hash = hashes.hash_relation(
                    self.connection, written_columns.cast(self.relation, released_table.columns), released_table.columns
                )
            else:
                comparable_types = {
                    name: "BOOLEAN" if _LOSSY_TYPES.search(type_) else type_ for name, type_ in types.items()
                }
                expected = hashes.hash_relation(
                    released_table.cursor, _comparable(released_table.relation, types), comparable_types
                )
                written_hash = hashes.hash_relation(
                    self.connection, _comparable(self.relation, types), comparable_types
                )
        except duckdb.ConversionException:
            return "it has values of other types"
        if written_hash == expected:
            return None
        rows, released_rows = (
            _count(self.connection, self.relation),
            _count(released_table.cursor, released_table.relation),
        )
        if rows != released_rows:
            return f"it has {rows} {plural_form(rows, 'row', 'rows')}, and the release has {released_rows}"
        return "its values or their order differ from those of the release"

    def _is_comparable_by_row(self, released_table: ReleasedTable) -> bool:
        """Return whether the rows are compared by `_has_rows_of`, which needs no hash of the released table."""
        return (
            released_table.hashed is None
            and self.is_exact
            and self.scan is not None
            and all(_EXACT_IN_CSV.fullmatch(type_) for type_ in released_table.columns.values())
        )

    def _has_rows_of(self, released_table: ReleasedTable) -> bool:
        """Return whether the file has the rows of the released table, in the same order; each value is compared.

        The connection of the released table reads the file. O(rows) time, O(1) memory.

        Raises:
            duckdb.ConversionException: A value has another type.
        """
        released_columns = {name: Sql(f"released.{identifier(name)}") for name in released_table.columns}
        cells = self.cells or {name: Sql(f"written.{identifier(name)}") for name in released_columns}
        differences = " OR ".join(
            _cell_difference(column, cells[name], released_table.columns[name], self.is_escaped)
            for name, column in released_columns.items()
        )
        counts = join_sql(f"count({column})" for column in released_columns.values())
        query = (
            f"SELECT count(*), coalesce(bool_or({differences}), false), greatest({counts}) "
            f"FROM {released_table.relation} AS released POSITIONAL JOIN {self.scan} AS written"
        )
        n_pairs, has_difference, n_filled = released_table.cursor.execute(query).fetchall()[0]
        n_rows = _count(released_table.cursor, released_table.relation)
        # A positional join fills up the shorter side with NULLs. They differ from a column that has no NULL.
        return (
            not has_difference
            and n_pairs == n_rows
            and (n_filled == n_rows or _count(self.connection, self.relation) == n_rows)
        )

    def withheld_metrics(self, leaves: object) -> str | None:
        """Return words for a message that name written metrics that only the custodian may see; None without any.

        `leaves` is the parameter of the release.
        """
        return withheld_metrics(self.connection, self.relation, leaves)

    def other_lines(self, lines: Sequence[certificates.Line]) -> str | None:
        """Return a message if the written certificate differs from `lines` or their order; None otherwise."""
        columns = join_sql(map(identifier, certificates.COLUMNS))
        rows = self.connection.execute(f"SELECT {columns} FROM {self.relation}").fetchall()
        expected = [(line.section, line.label, line.value, line.sql) for line in lines]
        return None if rows == expected else "its lines differ from those of the certificate"


class FileReader:
    """A reader of the files written for `target`, on a connection that reads nothing else.

    `is_escaped`: whether formulas in CSV files are escaped.
    """

    def __init__(self, connection: Any, target: str, *, is_escaped: bool) -> None:
        """Store the connection, the name of the target for messages, and whether formulas in CSV are escaped."""
        self.connection, self.target, self.is_escaped = connection, target, is_escaped

    def parquet(self, file: Path, released_table: ReleasedTable | None = None) -> WrittenTable:
        """Return the table in a Parquet file.

        `released_table` is the table that was written; None for the certificate.
        """
        columns = {} if released_table is None else released_table.columns
        is_exact = not any(written_columns.LOSSY.search(type_) for type_ in columns.values())
        scan = Sql(f"read_parquet({_pattern(file)}, hive_partitioning = false)")
        return WrittenTable(self.connection, scan, is_exact, scan)

    def csv(self, file: Path, released_table: ReleasedTable | None = None) -> WrittenTable:
        """Return the table in a CSV file, with all values as text and escaped formulas restored.

        `released_table` is the table that was written; None for the certificate.
        """
        columns = dict.fromkeys(certificates.COLUMNS, "VARCHAR") if released_table is None else released_table.columns
        header = self._header(file)
        places = [f"c{place}" for place in range(len(header))]
        cells = [Sql(f"written.{place}") for place in places]
        restored = [_unescaped(cell) if self.is_escaped else cell for cell in cells]
        selected = join_sql(f"{cell} AS {identifier(name)}" for cell, name in zip(restored, header, strict=True))
        types = join_sql(f"{text(place)}: 'VARCHAR'" for place in places)
        scan = Sql(
            f"read_csv({_pattern(file)}, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
            "nullstr = '', allow_quoted_nulls = false, hive_partitioning = false, parallel = false, "
            f"columns = {{{types}}})"
        )
        return WrittenTable(
            self.connection,
            Sql(f"(SELECT {selected} FROM {scan} AS written)"),
            all(_EXACT_IN_CSV.fullmatch(type_) for type_ in columns.values()),
            scan,
            dict(zip(header, cells, strict=True)),
            self.is_escaped,
        )

    def table(self, name: str) -> WrittenTable:
        """Return a table of the database file that is attached as `handout`."""
        return WrittenTable(self.connection, qualified("handout", name), is_exact=True)

    def check(self, *differences: str | None) -> None:
        """Raise an error with the first of the messages that is not None.

        Raises:
            OutputDiffersError: There is one.
        """
        for difference in differences:
            if difference is not None:
                raise errors.OutputDiffersError("publish", self.target, difference)

    def _header(self, file: Path) -> list[str]:
        """Return the column names in the first line of a CSV file, with escaped formulas restored.

        Returns an empty list for an empty file.
        """
        with file.open(newline="", encoding="utf-8") as lines:
            first = next(csv.reader(lines), [])
        return [csv_formulas.unescape_cell(cell) for cell in first] if self.is_escaped else first


@contextmanager
def open_reader(target: str, *, is_escaped: bool = False, database: Path | None = None) -> Iterator[FileReader]:
    """Yield a reader on a new in-memory connection, on which `database`, if given, is attached read-only as `handout`.

    Args:
        target: What was written, for messages.
        is_escaped: Whether formulas in CSV files are escaped.
        database: A DuckDB file that was written.
    """
    with duckdb.connect() as connection:
        if database is not None:
            connection.execute(f"ATTACH {text(str(database.absolute()))} AS handout (READ_ONLY)")
        yield FileReader(connection, target, is_escaped=is_escaped)


def _cell_difference(released_cell: Sql, written_cell: Sql, type_: str, is_escaped: bool) -> Sql:
    """Return SQL of whether a written value, cast to the type of the released value, is another value or text.

    `is_escaped`: whether formulas in the written text are escaped.
    """
    if type_ == "VARCHAR":
        is_other = f"{released_cell} COLLATE POSIX IS DISTINCT FROM"
        if not is_escaped:
            return Sql(f"{is_other} {written_cell}")
        # A CASE of conditions, and not of texts, which would all be copied.
        restored = csv_formulas.unescape_sql(written_cell)
        return Sql(
            f"CASE WHEN {_can_be_escaped(written_cell)} THEN {is_other} {restored} ELSE {is_other} {written_cell} END"
        )
    cast = f"CAST({_unescaped(written_cell) if is_escaped else written_cell} AS {type_})"
    is_other = f"{released_cell} IS DISTINCT FROM {cast}"
    if _INTEGER.fullmatch(type_):
        return Sql(is_other)
    return Sql(f"{is_other} OR {released_cell}::VARCHAR COLLATE POSIX IS DISTINCT FROM {cast}::VARCHAR")


def _can_be_escaped(column: Sql) -> Sql:
    """Return SQL of whether a text can be an escaped formula: it begins with an apostrophe."""
    return Sql(f"starts_with({column}, '''')")


def _unescaped(column: Sql) -> Sql:
    """Return SQL of a column of text with escaped formulas restored."""
    return Sql(f"CASE WHEN {_can_be_escaped(column)} THEN {csv_formulas.unescape_sql(column)} ELSE {column} END")


def _pattern(file: Path) -> Sql:
    """Return the absolute path of a file as a SQL literal in which glob characters are escaped."""
    return text(names.escape_glob(str(file.absolute())))


def _comparable(relation: Sql, columns: Mapping[str, str]) -> Sql:
    """Return a relation with its columns cast to the types that a written file has.

    Columns of types whose values Parquet changes (INTERVAL, TIME WITH TIME ZONE) become whether the value is NULL.
    """
    cells = join_sql(
        f"{identifier(name)} IS NULL AS {identifier(name)}"
        if _LOSSY_TYPES.search(type_)
        else f"CAST({identifier(name)} AS {type_}) AS {identifier(name)}"
        for name, type_ in columns.items()
    )
    return Sql(f"(SELECT {cells} FROM {relation})")


def _count(cursor: Any, relation: Sql) -> int:
    """Return the number of rows of a relation."""
    return int(cursor.execute(f"SELECT count(*) FROM {relation}").fetchall()[0][0])
