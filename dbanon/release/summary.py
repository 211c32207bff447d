"""A release at a glance: its first rows, quasi-identifiers first and whole, and five of its measures."""

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from dbanon.release.key_metrics import brief, headline

ROWS = 5
"""Rows that are shown."""

MEASURES = 5
"""Measures that are shown."""

WIDTH = 80
"""Columns of a terminal."""

INERT = "tex2jax_ignore mathjax_ignore"
"""Classes of HTML within which a notebook takes no dollar signs for formulas."""

_WIDEST = 24
"""A column that is no quasi-identifier is cut to this."""


@dataclass(frozen=True)
class Glance:
    """What is shown of a release: names of its columns, first rows, how many there are in all (`records`), which of
    the columns are quasi-identifiers, and its measures as (name, value, description)."""

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    records: int
    quasi: tuple[str, ...]
    measures: tuple[tuple[str, float, str], ...]

    def text(self, width: int = WIDTH) -> str:
        """Return lines of at most so many columns; quasi-identifiers that are wider together go below each other.

        >>> print(Glance(("ward", "age"), (("A", "[25, 29]"),), 1, ("age",), (("k", 1.0, "Size."),)).text())
        age       ward
        [25, 29]  A
        1 row
        <BLANKLINE>
        k  1  Size
        """
        blocks, left = self._blocks(width)
        lines = [line.rstrip() for block in blocks for line in self._lines(block)]
        said = f"{self.records:,} row{'' if self.records == 1 else 's'}"
        if len(self.rows) < self.records:
            said += f", {len(self.rows)} shown"
        if left:
            said += f"; {len(left)} more column{'' if len(left) == 1 else 's'}: {', '.join(left)}"
        measures = self._measures()
        names, values = (max((_wide(m[i]) for m in measures), default=0) for i in (0, 1))
        room = max(width - names - values - 4, 10)
        told = [f"{_padded(n, names)}  {v.rjust(values)}  {brief(what, room)}".rstrip() for n, v, what in measures]
        return "\n".join([*lines, _cut(said, width), "", *(_cut(line, width) for line in told)])

    def html(self) -> str:
        """Return the same as tables for a notebook, with all columns."""
        order = [*self.quasi, *(name for name in self.columns if name not in self.quasi)]
        places = [self.columns.index(name) for name in order]
        rows = [[shown(row[i]) for i in places] for row in self.rows]
        said = f"{self.records:,} row{'' if self.records == 1 else 's'}"
        measures = [[n, v, what] for n, v, what in self._measures()]
        tables = f"{_table(order, rows)}<p>{said}</p>{_table(('measure', 'value', ''), measures)}"
        return f'<div class="{INERT}">{tables}</div>'

    def _measures(self) -> list[tuple[str, str, str]]:
        chosen = headline([name for name, _, _ in self.measures])[:MEASURES]
        return [(name, shown(value), what) for name, value, what in (self.measures[i] for i in chosen)]

    def _column(self, name: str) -> list[str]:
        """Return the head and the cells of a column, all as wide."""
        i = self.columns.index(name)
        cells = [_line(name), *(_line(shown(row[i])) for row in self.rows)]
        most = max(map(_wide, cells)) if name in self.quasi else min(max(map(_wide, cells)), _WIDEST)
        return [_padded(_cut(cell, most), most) for cell in cells]

    def _blocks(self, width: int) -> tuple[list[list[str]], list[str]]:
        """Return names of columns that stand beside each other, and those that are left out."""
        blocks: list[list[str]] = [[]]
        left: list[str] = []
        room = width
        for name in self.quasi:
            wide = _wide(self._column(name)[0]) + 2
            if blocks[-1] and wide - 2 > room:
                blocks.append([])
                room = width
            blocks[-1].append(name)
            room -= wide
        for name in (n for n in self.columns if n not in self.quasi):
            wide = _wide(self._column(name)[0]) + 2
            if left or wide - 2 > room:
                left.append(name)
            else:
                blocks[-1].append(name)
                room -= wide
        return blocks, left

    def _lines(self, block: Sequence[str]) -> list[str]:
        return ["  ".join(cells) for cells in zip(*(self._column(name) for name in block), strict=True)]


def shown(value: object) -> str:
    """Return a value on a screen: fractions with six digits that count.

    >>> shown(0.30000000000000004), shown(None)
    ('0.3', 'NULL')
    """
    if value is None or value != value:
        return "NULL"
    return short(value) if isinstance(value, float) else str(value)


def short(number: float) -> str:
    """Return a fraction with six digits that count, a large number with all before its point.

    >>> short(2 / 3), short(20000.0), short(1234567.5), short(1e20), short(-0.000012345678)
    ('0.666667', '20000', '1234568', '1e+20', '-1.23457e-05')
    """
    return f"{number:.0f}" if 1e6 <= abs(number) < 1e15 else f"{number:.6g}"


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return f"<table>{line(names, 'th')}{''.join(line(row, 'td') for row in rows)}</table>"


def _line(text: str) -> str:
    """Return a text on one line, without what would move a terminal's cursor."""
    return "".join(c if c.isprintable() else " " for c in text)


def _wide(text: str) -> int:
    """Return columns of a terminal that a text takes."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _wide(text))


def _cut(text: str, width: int) -> str:
    if _wide(text) <= width:
        return text
    while _wide(text) > width - 1:
        text = text[:-1]
    return text + "…"
