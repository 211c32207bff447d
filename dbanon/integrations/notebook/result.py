"""The rows of a statement: as a table in a notebook, and as frames."""

import html
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from dbanon.api import duckdb_relations, frame_adapters
from dbanon.release.summary import NO_MATH_CLASSES, format_value

ROWS = 10
"""Rows that are shown."""

WIDEST = 200
"""Most characters of a cell that are shown."""


@dataclass(frozen=True)
class Answer:
    """The rows that a statement gave, all of them, in an Arrow table.

    A notebook shows the first ten; `df()`, `pl()` and `arrow()` give all as a frame of pandas, of polars, and of Arrow.
    """

    rows: pa.Table

    def df(self) -> Any:
        """Return a DataFrame of pandas."""
        return frame_adapters.to_pandas(self.rows)

    def pl(self) -> Any:
        """Return a DataFrame of polars; ImportError where that is not installed."""
        import polars

        return polars.from_arrow(self.rows)

    def arrow(self) -> pa.Table:
        """Return an Arrow table."""
        return self.rows

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.rows.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"{self._head.to_string(index=False)}\n{self._said}" if len(self) else self._said

    def _repr_html_(self) -> str:
        heads = "".join(f"<th>{html.escape(name)}</th>" for name in self.rows.column_names)
        rows = zip(*map(duckdb_relations.display_values, self.rows.slice(0, ROWS).columns), strict=True)
        lines = "".join("<tr>" + "".join(f"<td>{html.escape(cell(v))}</td>" for v in row) + "</tr>" for row in rows)
        return f'<div class="{NO_MATH_CLASSES}"><table><tr>{heads}</tr>{lines}</table><p>{self._said}</p></div>'

    @cached_property
    def _head(self) -> Any:
        import pandas as pd

        head = self.rows.slice(0, ROWS)
        columns = (
            [cell(value, printable=True) for value in duckdb_relations.display_values(column)]
            for column in head.columns
        )
        return pd.DataFrame(dict(zip(range(head.num_columns), columns, strict=True))).set_axis(
            [cell(name, printable=True) for name in head.column_names], axis=1
        )

    @property
    def _said(self) -> str:
        said = f"{len(self):,} row{'' if len(self) == 1 else 's'}"
        return f"{said}, {ROWS} shown" if len(self) > ROWS else said


def cell(value: object, *, printable: bool = False) -> str:
    """Return a value as it is shown, no longer than `WIDEST`; `printable`: without what would command a terminal."""
    text = format_value(value)
    text = text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"
    return "".join(c if c.isprintable() else " " for c in text) if printable else text
