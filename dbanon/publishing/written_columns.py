"""The SELECT list of a published table for each file format, and how a recipient reads the file."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from dbanon.runtime import csv_formulas
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, join_sql, text

LOSSY = re.compile(r"HUGEINT|\bBIT\b|ENUM|INTERVAL|\bTIME\b")
"""Types that Parquet does not give back as they were."""

ENUMERATION = re.compile(r"""("(?:[^"]|"")*")|\bENUM\((?:'(?:[^']|'')*'(?:, )?)*\)""")
"""A quoted name, or an enumeration."""


def without_enumerations(type_: str) -> str:
    """Return a type in which every ENUM is replaced by VARCHAR, also within nested types.

    >>> without_enumerations("STRUCT(b ENUM('a', 'it''s'), c MAP(VARCHAR, ENUM(')')))[]")
    'STRUCT(b VARCHAR, c MAP(VARCHAR, VARCHAR))[]'
    """
    return ENUMERATION.sub(lambda match: match[1] or "VARCHAR", type_)


def parquet_column(name: str, type_: str, target_type: str) -> Sql:
    """Return SQL of a column as it is stored in Parquet, so that it can be cast to `target_type` without loss.

    That is text for types that Parquet does not give back as they were; otherwise `target_type`. `type_` is the type
    that the column has.
    """
    through = "VARCHAR" if LOSSY.search(target_type) else target_type
    return Sql(identifier(name) if through == type_ else f"CAST({identifier(name)} AS {through})")


def plain_column(name: str, type_: str) -> Sql:
    """Return SQL of a column as it is written to a file: with VARCHAR in place of every ENUM in its type.

    DuckDB 1 would write the list of an enumeration's values into Parquet files, also values that no row has.
    """
    type_without = without_enumerations(type_)
    return Sql(identifier(name) if type_without == type_ else f"CAST({identifier(name)} AS {type_without})")


def cast(relation: Sql, columns: Mapping[str, str]) -> Sql:
    """Return a relation with its columns cast to the given types."""
    cells = join_sql(f"CAST({identifier(name)} AS {type_}) AS {identifier(name)}" for name, type_ in columns.items())
    return Sql(f"(SELECT {cells} FROM {relation})")


def in_order(relation: Sql, columns: Collection[str]) -> Sql:
    """Return a relation with an ORDER BY that keeps the present order of its rows.

    COPY need not keep the order if `preserve_insertion_order` is off. The rows are numbered by an additional column,
    whose name differs from all `columns`.
    """
    place = identifier("place".ljust(5 + max(map(len, columns)), "_"))
    return Sql(f"(SELECT *, row_number() OVER () AS {place} FROM {relation}) ORDER BY {place} ASC")


@dataclass(frozen=True)
class CsvColumns:
    """The columns of a table that is written as CSV.

    Attributes:
        types: The types of the columns by name, in order.
        is_escaped: Whether texts that a spreadsheet would run as formulas are escaped.
        quasi: The quasi-identifiers, in which negative numbers are not escaped.
    """

    types: Mapping[str, str]
    is_escaped: bool
    quasi: Collection[str] = field(default_factory=tuple)

    def selected(self, escaped: Collection[str] | None = None) -> Sql:
        """Return the SELECT list with which the table is written, with formulas escaped if wanted.

        `escaped` are the columns with values that are escaped, if that is known (`with_formulas`).
        """
        return join_sql(
            f"{self._cell(name, escaped)} AS {identifier(header)}"
            for name, header in zip(self.types, self.headers(), strict=True)
        )

    def headers(self) -> list[str]:
        """Return the names of the columns as the header line has them, with formulas escaped if wanted."""
        return csv_formulas.header_cells(list(self.types), escape=self.is_escaped)

    def with_formulas(self, relation: Sql) -> Sql | None:
        """Return a query for one row with one boolean per text column: whether the column has a value that is escaped.

        Returns None if there are no text columns, or if formulas are not escaped.
        """
        conditions = [
            f"coalesce(bool_or({self._is_escaped_cell(name)}), false) AS {identifier(name)}" for name in self._texts()
        ]
        return Sql(f"SELECT {join_sql(conditions)} FROM {relation}") if conditions else None

    def reader(self, file: str, escaped: Collection[str]) -> Sql:
        """Return the relation with which a recipient reads a file of that name.

        Columns in `escaped` are read as text, restored, and cast to their types.
        """
        columns = join_sql(f"{text(n)}: {text('VARCHAR' if n in escaped else t)}" for n, t in self.types.items())
        read = (
            f"read_csv({text(names.escape_glob(file))}, header = true, delim = ',', quote = '\"', escape = '\"', "
            f"allow_quoted_nulls = false, columns = {{{columns}}})"
        )
        if not escaped:
            return Sql(read)
        replaced = join_sql(
            f"CAST({csv_formulas.unescape_sql(identifier(n))} AS {t}) AS {identifier(n)}"
            for n, t in self.types.items()
            if n in escaped
        )
        return Sql(f"(SELECT * REPLACE ({replaced}) FROM {read})")

    def _texts(self) -> list[str]:
        """Return the text columns; none if formulas are not escaped."""
        return [name for name, type_ in self.types.items() if self.is_escaped and csv_formulas.is_text(type_)]

    def _cell(self, name: str, escaped: Collection[str] | None = None) -> Sql:
        """Return SQL of a column as it is written: enumerations as text, and formulas in text columns escaped.

        `escaped` are the columns with values that are escaped, if that is known.
        """
        column = plain_column(name, self.types[name])
        if name not in self._texts():
            return column
        if escaped is not None and name not in escaped:
            return Sql(f"CAST({column} AS VARCHAR)")
        return csv_formulas.escape_sql(f"CAST({column} AS VARCHAR)", is_quasi=name in self.quasi)

    def _is_escaped_cell(self, name: str) -> Sql:
        """Return SQL of whether a text column is escaped in a row."""
        column = plain_column(name, self.types[name])
        return csv_formulas.is_escaped_sql(f"CAST({column} AS VARCHAR)", is_quasi=name in self.quasi)
