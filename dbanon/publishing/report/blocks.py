"""The blocks of a report: sentences, metrics with their SQL, tables, plots."""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from dbanon.publishing.certificate import Line
from dbanon.sqltext.quote import Sql, one_line

MAX_CELL_LENGTH = 240
"""Characters of a value that are shown."""


@dataclass(frozen=True)
class ReportQuery:
    """SQL as it is displayed to a reader who recomputes a number, and as it is executed here, with the same result.

    The executed SQL contains the name of the database and qualified names of DuckDB's functions.
    """

    display_sql: Sql
    executable_sql: Sql


@dataclass(frozen=True)
class CertificateLines:
    """A block of single numbers and words, as lines of a certificate."""

    lines: Sequence[Line]


_SHARE_NAME = re.compile("^(?:prosecutor|journalist|marketer)|accuracy$|^(?:confidence|success)$")
"""Names of numbers that are shares or probabilities, whatever their value is."""


@dataclass(frozen=True)
class ResultTable:
    """A block with the result of one query: caption, header, rows, and the SQL to display.

    Attributes:
        caption: The caption.
        head: The header.
        rows: The rows.
        sql: The SQL to display.
        shares: Columns, by their place from 0, in which numbers are shares, shown as percentages.
        mixed: Columns, by their place from 0, in which numbers between 0 and 1, and those with the name of a share,
            are shares, and others are counts.
        names: Columns, by their place from 0, with names such as `prosecutor_highest`, shown without underscores.
    """

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    sql: Sql
    shares: Collection[int] = ()
    mixed: Collection[int] = ()
    names: Collection[int] = ()

    def cell(self, place: int, row: Sequence[Any]) -> str | None:
        """Return the cell of a row in the column at this place (from 0) for display; None for NULL."""
        value = row[place]
        is_share = place in self.shares or (
            place in self.mixed
            and isinstance(value, int | float)
            and (0 < value < 1 or any(_SHARE_NAME.search(str(row[name])) for name in self.names))
        )
        if is_share and isinstance(value, int | float):
            return format_share(value)
        if place in self.names and isinstance(value, str):
            return format_cell(value.replace("_", " "))
        return format_cell(value)

    def is_number(self, place: int) -> bool:
        """Return whether the column at this place (from 0) has numbers, which are aligned to the right."""
        values = [row[place] for row in self.rows if row[place] is not None]
        return bool(values) and all(isinstance(value, int | float) for value in values)


@dataclass(frozen=True)
class AdjacentTables:
    """A block of tables that are displayed next to each other if there is room."""

    tables: Sequence[ResultTable]


@dataclass(frozen=True)
class PlotBlock:
    """A block with an SVG plot, its caption, and the queries whose results it shows."""

    svg: str
    caption: str
    sql: Sequence[Sql]


@dataclass(frozen=True)
class NoteBlock:
    """A block of sentences under a heading; without a title, a note about what could not be computed, and why."""

    text: str
    title: str | None = None


Block = CertificateLines | ResultTable | AdjacentTables | PlotBlock | NoteBlock


@dataclass(frozen=True)
class Section:
    """A section of the report: its anchor, its title, its sentences and its blocks."""

    anchor: str
    title: str
    sentences: Sequence[str] = ()
    parts: Sequence[Block] = field(default_factory=tuple)


def format_cell(value: Any) -> str | None:
    r"""Return a cell for display: one line of at most MAX_CELL_LENGTH characters; None for NULL.

    Integers get commas between thousands; other numbers are rounded to six significant digits, without an exponent.

    >>> [format_cell(1234567), format_cell(0.1 + 0.2), format_cell(0.0000067941), format_cell(2345678.9)]
    ['1,234,567', '0.3', '0.0000067941', '2,345,679']
    >>> [format_cell("a\nb"), format_cell(None)]
    ['a\\nb', None]
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{int(value):,}" if value.is_integer() else _plain_number(value)
    line = one_line(str(value))
    return line if len(line) <= MAX_CELL_LENGTH else line[: MAX_CELL_LENGTH - 1] + "…"


def format_share(value: float) -> str:
    """Return a share as a percentage with four significant digits.

    >>> [format_share(share) for share in (0.0, 0.08155, 0.0000067941, 1.0)]
    ['0%', '8.155%', '0.0006794%', '100%']
    """
    return f"{_plain_number(value * 100, 4)}%"


def _plain_number(value: float, digits: int = 6) -> str:
    """Return a number with this many significant digits, without an exponent."""
    text = f"{value:.{digits}g}"
    if "e" not in text:
        return text
    if abs(value) >= 1:
        return f"{value:,.0f}"
    return f"{Decimal(text):f}" if math.isfinite(value) else text
