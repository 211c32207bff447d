"""Show a summary of a release: its first rows, quasi-identifiers first, and five of its metrics."""

import html
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from dbanon.release.key_metrics import key_metric_positions, shorten_description

SHOWN_ROWS = 5
"""The number of rows shown."""

SHOWN_METRICS = 5
"""The number of metrics shown."""

TERMINAL_WIDTH = 80
"""The width of a terminal in characters."""

NO_MATH_CLASSES = "tex2jax_ignore mathjax_ignore"
"""HTML classes in which notebooks do not read dollar signs as formulas."""

_MAX_COLUMN_WIDTH = 24
"""The greatest width of a column that is no quasi-identifier; longer values are cut."""


@dataclass(frozen=True)
class ReleaseSummary:
    """A summary of a release, as text or HTML.

    Attributes:
        columns: The names of the release's columns.
        rows: The first rows of the release.
        n_rows: The number of all rows of the release.
        quasi_names: The names of the columns that are quasi-identifiers.
        metrics: The release's metrics as (name, value, description).
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    n_rows: int
    quasi_names: tuple[str, ...]
    metrics: tuple[tuple[str, float, str], ...]

    def text(self, width: int = TERMINAL_WIDTH) -> str:
        """Return the summary as lines of at most `width` characters: rows, their number, then up to five metrics.

        Quasi-identifiers come first. If they do not fit next to each other, they are printed in several blocks of
        columns; a quasi-identifier that is wider than a line is not shortened. Other columns that do not fit are only
        named.

        >>> print(ReleaseSummary(("ward", "age"), (("A", "[25, 29]"),), 1, ("age",), (("k", 1.0, "Size."),)).text())
        age       ward
        [25, 29]  A
        1 row
        <BLANKLINE>
        k  1  Size
        """
        blocks, omitted_names = self._blocks(width)
        lines = [
            "  ".join(cells).rstrip()
            for block in blocks
            for cells in zip(*(self._column_lines(name) for name in block), strict=True)
        ]
        row_text = f"{self.n_rows:,} row{'' if self.n_rows == 1 else 's'}"
        if len(self.rows) < self.n_rows:
            row_text += f", {len(self.rows)} shown"
        if omitted_names:
            plural = "" if len(omitted_names) == 1 else "s"
            row_text += f"; {len(omitted_names)} more column{plural}: {', '.join(omitted_names)}"
        key_metrics = self._key_metrics()
        name_width, value_width = (max((display_width(m[i]) for m in key_metrics), default=0) for i in (0, 1))
        text_width = max(width - name_width - value_width - 4, 10)
        metric_lines = [
            f"{_pad(name, name_width)}  {value.rjust(value_width)}  {shorten_description(description, text_width)}"
            for name, value, description in key_metrics
        ]
        return "\n".join(
            [*lines, _truncate(row_text, width), "", *(_truncate(line.rstrip(), width) for line in metric_lines)]
        )

    def html(self) -> str:
        """Return the summary as two HTML tables: rows with all columns, quasi-identifiers first, and metrics."""
        order = [*self.quasi_names, *(name for name in self.columns if name not in self.quasi_names)]
        positions = [self.columns.index(name) for name in order]
        rows = [[format_value(row[i]) for i in positions] for row in self.rows]
        numeric = [column for column, i in enumerate(positions) if all(_is_number(row[i]) for row in self.rows)]
        row_text = f"{self.n_rows:,} row{'' if self.n_rows == 1 else 's'}"
        release_table = _html_table(order, rows, numeric)
        metrics_table = _html_table(("metric", "value", ""), self._key_metrics(), [1])
        return f'<div class="{NO_MATH_CLASSES}">{release_table}<p>{row_text}</p>{metrics_table}</div>'

    def _key_metrics(self) -> list[tuple[str, str, str]]:
        """Return (name, value, description), as texts, of the up to five metrics that are worth reading first."""
        positions = key_metric_positions([name for name, _, _ in self.metrics])[:SHOWN_METRICS]
        return [
            (name, format_value(value), description)
            for name, value, description in (self.metrics[i] for i in positions)
        ]

    def _column_lines(self, name: str) -> list[str]:
        """Return the name and the cells of the column `name`, padded to equal width.

        Cells of columns that are no quasi-identifiers are cut to 24 characters. Line breaks become spaces.
        """
        i = self.columns.index(name)
        cells = [_single_line(name), *(_single_line(format_value(row[i])) for row in self.rows)]
        width = (
            max(map(display_width, cells))
            if name in self.quasi_names
            else min(max(map(display_width, cells)), _MAX_COLUMN_WIDTH)
        )
        return [_pad(_truncate(cell, width), width) for cell in cells]

    def _blocks(self, width: int) -> tuple[list[list[str]], list[str]]:
        """Return groups of column names that fit next to each other in `width` characters, and the names in no group.

        All quasi-identifiers are in groups. Of the other columns, the first that does not fit in the last group and all
        after it are omitted.
        """
        blocks: list[list[str]] = [[]]
        omitted_names: list[str] = []
        remaining_width = width
        for name in self.quasi_names:
            column_width = display_width(self._column_lines(name)[0]) + 2
            if blocks[-1] and column_width - 2 > remaining_width:
                blocks.append([])
                remaining_width = width
            blocks[-1].append(name)
            remaining_width -= column_width
        for name in (n for n in self.columns if n not in self.quasi_names):
            column_width = display_width(self._column_lines(name)[0]) + 2
            if omitted_names or column_width - 2 > remaining_width:
                omitted_names.append(name)
            else:
                blocks[-1].append(name)
                remaining_width -= column_width
        return blocks, omitted_names


def format_value(value: object) -> str:
    """Return a value as text: 'NULL' for None and NaN; floating-point numbers as `format_number` writes them.

    >>> format_value(0.30000000000000004), format_value(None)
    ('0.3', 'NULL')
    """
    if value is None or value != value:
        return "NULL"
    return format_number(value) if isinstance(value, float) else str(value)


def format_number(number: float) -> str:
    """Return a number with six significant digits; from 1e6 to below 1e15 with all digits before the point.

    >>> [format_number(n) for n in (2 / 3, 20000.0, 1234567.5, 1e20, -0.000012345678)]
    ['0.666667', '20000', '1234568', '1e+20', '-1.23457e-05']
    """
    return f"{number:.0f}" if 1e6 <= abs(number) < 1e15 else f"{number:.6g}"


def _is_number(value: object) -> bool:
    """Return whether a value is a number; NULL counts as one, a truth value does not."""
    return value is None or (isinstance(value, int | float | Decimal) and not isinstance(value, bool))


def _html_table(headers: Sequence[str], rows: Sequence[Sequence[str]], right_aligned: Sequence[int] = ()) -> str:
    """Return an HTML table of a header line and rows; headers and cells are escaped.

    Columns are aligned to the left (notebooks align them to the right), those at the positions `right_aligned` to the
    right.
    """
    styles = [f' style="text-align: {"right" if i in right_aligned else "left"}"' for i in range(len(headers))]

    def table_row(cells: Sequence[str], tag: str) -> str:
        """Return a table row of escaped cells with the tag `th` or `td`."""
        return (
            "<tr>"
            + "".join(f"<{tag}{s}>{html.escape(cell)}</{tag}>" for cell, s in zip(cells, styles, strict=True))
            + "</tr>"
        )

    return f"<table>{table_row(headers, 'th')}{''.join(table_row(row, 'td') for row in rows)}</table>"


def _single_line(text: str) -> str:
    """Return a text with each line break or other unprintable character replaced by a space."""
    return "".join(c if c.isprintable() else " " for c in text)


def display_width(text: str) -> int:
    """Return the number of terminal columns that a text takes: two for wide characters, none for combining ones."""
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _pad(text: str, width: int) -> str:
    """Return a text padded with spaces on the right to a display width; a wider text is unchanged."""
    return text + " " * (width - display_width(text))


def _truncate(text: str, width: int) -> str:
    """Return a text, cut to a display width with an ellipsis at its end if it is wider."""
    if display_width(text) <= width:
        return text
    while display_width(text) > width - 1:
        text = text[:-1]
    return text + "…"
