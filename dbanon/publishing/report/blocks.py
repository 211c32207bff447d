"""What a report is made of: sentences, numbers with their SQL, tables, plots."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dbanon.publishing.certificate import Line
from dbanon.sqltext.quote import Sql, one_line

MOST = 240
"""Characters of a value that are shown."""


@dataclass(frozen=True)
class Query:
    """SQL as it is shown to whoever recomputes a number, and as it runs here.

    They say the same: what runs names the database, and each function of DuckDB by its whole name.
    """

    shown: Sql
    run: Sql


@dataclass(frozen=True)
class Facts:
    """Single numbers and words, as the lines of a certificate."""

    lines: Sequence[Line]


@dataclass(frozen=True)
class Table:
    """The result of one query, cell by cell."""

    caption: str
    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    sql: Sql


@dataclass(frozen=True)
class Beside:
    """Tables that are read beside each other, where there is room."""

    tables: Sequence[Table]


@dataclass(frozen=True)
class Plot:
    """A picture in SVG, what it shows in words, and the query whose result it draws."""

    svg: str
    caption: str
    sql: Sequence[Sql]


@dataclass(frozen=True)
class Note:
    """Sentences under a heading; without one, they stand apart: what could not be told, and why."""

    text: str
    title: str | None = None


Part = Facts | Table | Beside | Plot | Note


@dataclass(frozen=True)
class Section:
    """A chapter: its anchor, its title, what it says in plain sentences, and what that rests on."""

    anchor: str
    title: str
    sentences: Sequence[str] = ()
    parts: Sequence[Part] = field(default_factory=tuple)


def shown(value: Any) -> str | None:
    """Return a cell as it is read: one line of at most MOST characters, numbers to six digits; None for NULL.

    >>> [shown(1234567), shown(0.1 + 0.2), shown("a\\nb"), shown(None)]
    ['1,234,567', '0.3', 'a\\\\nb', None]
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{int(value):,}" if value.is_integer() else f"{value:.6g}"
    said = one_line(str(value))
    return said if len(said) <= MOST else said[: MOST - 1] + "…"
