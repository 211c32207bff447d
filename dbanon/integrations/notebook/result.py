"""The rows of a statement, shown as a table in a notebook and available as DataFrames."""

import html
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from dbanon.api import duckdb_relations, frame_adapters
from dbanon.release.summary import NO_MATH_CLASSES, display_width, format_value

MAX_ROWS = 10
"""The most rows that are shown."""

MAX_CELL_LENGTH = 200
"""The most characters of a cell that are shown."""


@dataclass(frozen=True)
class NotebookResult:
    """All rows that a statement returned, in an Arrow table.

    A notebook shows the first MAX_ROWS; `df()`, `pl()` and `arrow()` return all of them.
    """

    rows: pa.Table

    def df(self) -> Any:
        """Return the rows as a DataFrame of pandas."""
        return frame_adapters.to_pandas(self.rows)

    def pl(self) -> Any:
        """Return the rows as a DataFrame of polars.

        Raises:
            ImportError: polars is not installed.
        """
        import polars

        return polars.from_arrow(self.rows)

    def arrow(self) -> pa.Table:
        """Return the rows as an Arrow table."""
        return self.rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Return an Arrow C stream of all rows, for other libraries."""
        return self.rows.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        """Return the first rows as a text table, with the number of rows below; only this number if there are none.

        Numbers are aligned to the right, everything else to the left, with their headings.
        """
        return "\n".join([*self._text_lines(), self._caption]) if len(self) else self._caption

    def _repr_html_(self) -> str:
        """Return the first MAX_ROWS rows as an HTML table, with the number of rows below."""
        styles = [f' style="text-align: {"right" if number else "left"}"' for number in self._is_number]
        heads = "".join(
            f'<th scope="col"{style}>{html.escape(name)}</th>'
            for name, style in zip(self.rows.column_names, styles, strict=True)
        )
        lines = "".join(
            "<tr>"
            + "".join(f"<td{s}>{html.escape(format_cell(v))}</td>" for v, s in zip(row, styles, strict=True))
            + "</tr>"
            for row in zip(*map(duckdb_relations.display_values, self.rows.slice(0, MAX_ROWS).columns), strict=True)
        )
        return f'<div class="{NO_MATH_CLASSES}"><table><tr>{heads}</tr>{lines}</table><p>{self._caption}</p></div>'

    @property
    def _is_number(self) -> list[bool]:
        """For each column, whether it has numbers, which are aligned to the right."""
        return [
            pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_decimal(t) for t in self.rows.schema.types
        ]

    def _text_lines(self) -> list[str]:
        """Return the heading and the first MAX_ROWS rows as lines of printable text."""
        head = self.rows.slice(0, MAX_ROWS)
        columns = [
            [format_cell(name, printable=True), *(format_cell(value, printable=True) for value in values)]
            for name, values in zip(head.column_names, map(duckdb_relations.display_values, head.columns), strict=True)
        ]
        aligned = [
            [_pad(cell, max(map(display_width, column)), is_number) for cell in column]
            for column, is_number in zip(columns, self._is_number, strict=True)
        ]
        return ["  ".join(cells).rstrip() for cells in zip(*aligned, strict=True)]

    @property
    def _caption(self) -> str:
        """The number of rows as text, such as "25 rows, 10 shown"."""
        caption = f"{len(self):,} row{'' if len(self) == 1 else 's'}"
        return f"{caption}, {MAX_ROWS} shown" if len(self) > MAX_ROWS else caption


def _pad(cell: str, width: int, is_number: bool) -> str:
    """Return a cell padded to a width: numbers are aligned to the right, everything else to the left."""
    padding = " " * (width - display_width(cell))
    return padding + cell if is_number else cell + padding


def format_cell(value: object, *, printable: bool = False) -> str:
    """Return a value as text of at most MAX_CELL_LENGTH characters; a longer one ends with an ellipsis.

    With `printable`, characters that could control a terminal become blanks.
    """
    text = format_value(value)
    text = text if len(text) <= MAX_CELL_LENGTH else text[: MAX_CELL_LENGTH - 1] + "…"
    return "".join(c if c.isprintable() else " " for c in text) if printable else text
