"""The blocks of a report: sentences, metrics with their SQL, tables, plots."""

from collections.abc import Sequence
from dataclasses import dataclass, field
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


@dataclass(frozen=True)
class ResultTable:
    """A block with the result of one query: caption, header, rows, and the SQL to display."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    sql: Sql


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

    Integers get commas between thousands; other numbers are rounded to six significant digits.

    >>> [format_cell(1234567), format_cell(0.1 + 0.2), format_cell("a\nb"), format_cell(None)]
    ['1,234,567', '0.3', 'a\\nb', None]
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{int(value):,}" if value.is_integer() else f"{value:.6g}"
    line = one_line(str(value))
    return line if len(line) <= MAX_CELL_LENGTH else line[: MAX_CELL_LENGTH - 1] + "…"
