"""Write results: as a table that fits the screen, CSV, JSON, Markdown, or one line per value."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dbanon.cli.terminal.value_format import as_json, format_number, format_value, unique_names
from dbanon.errors.display import escape_controls, single_line
from dbanon.runtime import csv_formulas
from dbanon.sqltext.messages import plural_form

MODES = ("table", "csv", "json", "markdown", "line")

MAX_COLUMN_WIDTH = 60
"""Most characters of a cell in a table, where columns must share the screen."""

MIN_COLUMN_WIDTH = 12
"""A column is not cut below this; if that is not enough, columns are omitted."""

MIN_LAST_COLUMN_WIDTH = 8
"""The last column is cut to this, if it is omitted otherwise."""

MIN_ROWS = 5
"""Rows that a table has on a screen of any height."""

TABLE_LINES = 7
"""Lines of a table that are not rows: four with borders, header and types, one border below, and two of the footer."""

LEADING_COLUMNS = (
    (("column_name", "proposed_role"), ("reason", "proposed_hierarchy", "problems", "repairs")),
    (("metric", "value"), ("detail", "description")),
    (("algorithm", "k", "l", "precision", "frontier"), ("risk_highest", "homogeneous_share")),
    (("algorithm", "k", "metric", "mean"), ("stddev", "seconds")),
)
"""Columns that are never cut, and those that follow them, in results that have all of the former."""

_NUMBER_TYPE = re.compile(r"U?(?:TINY|SMALL|BIG|HUGE)?INT(?:EGER)?|BIGNUM|DECIMAL(?:\([\d, ]+\))?|DOUBLE|FLOAT|REAL")
"""DuckDB's types of numbers: no lists of them, and not INTERVAL."""

_NEEDS_QUOTES = re.compile(r'[",\r\n]')

Row = tuple[Any, ...]


@dataclass(frozen=True)
class QueryResult:
    """The result of a query: column names, types, and the rows in chunks, which may still be fetched."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    chunks: Iterator[Sequence[Row]]
    quasi: tuple[str, ...] = ()
    """Of a release, its quasi-identifiers: a table on a screen has them first, and whole."""

    @property
    def rows(self) -> Iterator[Row]:
        """All rows, as they arrive; they can be read once."""
        for chunk in self.chunks:
            yield from chunk

    def first(self, count: int | None) -> tuple[list[Row], int]:
        """Return at most `count` rows (all if it is None) and the number of all rows; all rows are fetched."""
        rows: list[Row] = []
        total = 0
        for chunk in self.chunks:
            rows.extend(chunk if count is None else chunk[: max(0, count - len(rows))])
            total += len(chunk)
        return rows, total


@dataclass(frozen=True)
class ResultPage:
    """The output for results.

    Attributes:
        console: The console to write to.
        limit: The number of rows of a table that are written; None for all.
        watched: Whether the output is a terminal: tables then fit the screen, and values are without control
            characters.
    """

    console: Console
    limit: int | None = None
    watched: bool = True
    is_escaped: bool = True
    """Whether text cells of CSV that a spreadsheet would execute are escaped."""
    lines: int | None = None
    """The lines of the screen that a result may take, with header and footer; None if `limit` says how many rows."""

    def max_rows(self, n_other_lines: int, lines_per_row: int = 1) -> int | None:
        """Return the number of rows to write, given the lines of header and footer; None for all."""
        if self.lines is None:
            return self.limit
        return max(MIN_ROWS if lines_per_row == 1 else 1, (self.lines - n_other_lines) // lines_per_row)

    def write(self, text: str) -> None:
        """Write text; if the output is a terminal (`watched`), control characters are escaped."""
        self.console.file.write(escape_controls(text) if self.watched else text)


def render(result: QueryResult, mode: str, page: ResultPage) -> None:
    """Write a result in a mode: table, csv, json, markdown or line.

    `csv` and `json` write all rows. The others write at most the rows of the page's limit, and state how many are
    omitted.
    """
    _WRITERS[mode](result, page)


# --- tables ----------------------------------------------------------------------------------------------


def _write_table(result: QueryResult, page: ResultPage) -> None:
    """Write a result as a table with names and types in its header, and the number of rows below it.

    On a screen, columns are truncated or omitted (`…`) so that it fits, and quasi-identifiers come first. The types are
    omitted before a column is.
    """
    rows, total = result.first(page.max_rows(TABLE_LINES - 1))
    numeric = [_is_number(t) for t in result.types]
    number = format_number if page.watched else str
    cells = [[single_line(format_value(v, number)) for v in row] for row in rows]
    heads = [single_line(n) for n in result.names]
    types = [single_line(t.lower()) if len(t) <= 20 else t.split("(")[0].lower() for t in result.types]
    value_widths = [
        max([cell_len(h), *(cell_len(c) for c in column)])
        for h, column in zip(heads, zip(*cells, strict=True) if cells else [()] * len(heads), strict=True)
    ]
    with_types = [max(width, cell_len(type_)) for width, type_ in zip(value_widths, types, strict=True)]
    visible_columns, widths = _fit_to_page(result, page, with_types)
    is_typed = None not in visible_columns
    if not is_typed:
        visible_columns, widths = _fit_to_page(result, page, value_widths)
    elif len(rows) == page.max_rows(TABLE_LINES - 1):
        rows = rows[: page.max_rows(TABLE_LINES)]  # the types take the line of one row
    table = Table(box=box.ROUNDED if page.watched else box.ASCII2, show_edge=True, header_style="", pad_edge=True)
    for i in visible_columns:
        if i is None:
            table.add_column(Text("…", style="dim"), no_wrap=True)
            continue
        head = Text(truncate(heads[i], widths[i]), style="bold")
        if is_typed:
            head.append("\n" + truncate(types[i], widths[i]), style="not bold dim")
        table.add_column(head, no_wrap=True, justify="right" if numeric[i] else "left", min_width=widths[i])
    for row, values in zip(cells, rows, strict=False):
        table.add_row(
            *(
                Text("…", style="dim")
                if i is None
                else Text(truncate(row[i], widths[i]), style="dim italic" if values[i] is None else "")
                for i in visible_columns
            )
        )
    page.console.print(table)
    left_out = len(result.names) - sum(i is not None for i in visible_columns)
    _write_footer(page, len(rows), total, f"{len(heads)} columns, {len(heads) - left_out} shown" if left_out else "")


def _fit_to_page(
    result: QueryResult, page: ResultPage, natural_widths: Sequence[int]
) -> tuple[list[int | None], list[int]]:
    """Return the columns of a table that fit a page, by position, and the width of every column; see `fit_columns`."""
    screen = page.console.width if page.watched else None
    first, following = leading_columns(result) if page.watched else ([], [])
    if first and screen:
        return fit_with_pinned_columns(natural_widths, first, screen, following)
    return fit_columns(natural_widths, screen)


def _write_footer(page: ResultPage, rows: int, total: int, columns: str = "") -> None:
    """Write how many rows there are and how many of them are not shown.

    If the output is no terminal, only omitted rows are stated.

    Args:
        page: The output.
        rows: The number of rows that were written.
        total: The number of all rows.
        columns: A note on omitted columns; "" if all are shown.
    """
    if not page.watched:
        if rows < total:
            page.console.print(f"({total - rows:,} more {plural_form(total - rows, 'row', 'rows')})", highlight=False)
        return
    notes = [f"{total:,} row{'' if total == 1 else 's'}"]
    if rows < total:
        notes[0] += f", {rows:,} shown (.rows all shows the other {total - rows:,})"
    if columns:
        notes.append(f"{columns} (.mode line shows all)")
    page.console.print(Text("; ".join(notes), style="dim"))


def _is_number(type_: str) -> bool:
    """Return whether a DuckDB type is one of numbers."""
    return _NUMBER_TYPE.fullmatch(type_) is not None


def fit_columns(natural_widths: Sequence[int], screen: int | None) -> tuple[list[int | None], list[int]]:
    """Return the columns of a table that fit a screen, by position, and the width of every column.

    The first list has None once, in place of all omitted columns. Wide columns are truncated first, to MIN_COLUMN_WIDTH
    at least. If that is not enough, columns in the middle are omitted; if only the first and the last remain, these are
    truncated further.

    Args:
        natural_widths: The widths that the columns need.
        screen: The width of the screen; None shows all columns at their natural widths.

    >>> fit_columns([4, 100, 4], 40)
    ([0, 1, 2], [4, 22, 4])
    >>> fit_columns([10] * 8, 40)
    ([0, None, 7], [10, 10, 10, 10, 10, 10, 10, 10])
    """
    all_columns: list[int | None] = list(range(len(natural_widths)))
    if screen is None:
        return all_columns, list(natural_widths)
    max_widths = [w if len(natural_widths) == 1 else min(w, MAX_COLUMN_WIDTH) for w in natural_widths]
    min_widths = [min(w, MIN_COLUMN_WIDTH) for w in max_widths]

    def total(columns: Sequence[int | None], widths: Sequence[int]) -> int:
        """Return the width of a table of these columns with borders."""
        return sum(3 + (1 if i is None else widths[i]) for i in columns) + 1

    visible = all_columns
    while len(visible) > 3 and total(visible, min_widths) > screen:
        middle = (len(visible) - 1) // 2
        if None not in visible:
            visible = [*visible[:middle], None, *visible[middle + 1 :]]
        else:
            gap = visible.index(None)
            last_longer = len(visible) - gap - 1 > gap
            visible = [*visible[: gap - (not last_longer)], None, *visible[gap + 1 + last_longer :]]
    visible_columns = [i for i in visible if i is not None]
    widths = list(max_widths)
    while (over := total(visible, widths) - screen) > 0:
        widest = max(visible_columns, key=lambda i: widths[i])
        next_widest = max((widths[i] for i in visible_columns if widths[i] < widths[widest]), default=1)
        equally_wide = [i for i in visible_columns if widths[i] == widths[widest]]
        if widths[widest] <= 3:
            break
        step = max(1, min(widths[widest] - next_widest, -(-over // len(equally_wide))))
        for i in equally_wide:
            if (over := total(visible, widths) - screen) <= 0:
                break
            widths[i] = max(3, widths[i] - min(step, over))
    return visible, widths


def leading_columns(result: QueryResult) -> tuple[list[int], list[int]]:
    """Return the positions of the columns that come first on a screen and are not cut, and of those that follow them.

    These are the quasi-identifiers of a release, or the columns of LEADING_COLUMNS. Both are empty for other results.
    """
    if result.quasi:
        return [result.names.index(name) for name in result.quasi], []
    for pinned, following in LEADING_COLUMNS:
        if set(pinned) <= set(result.names):
            positions = [[result.names.index(n) for n in names if n in result.names] for names in (pinned, following)]
            return positions[0], positions[1]
    return [], []


def fit_with_pinned_columns(
    natural_widths: Sequence[int], pinned: Sequence[int], screen: int, following: Sequence[int] = ()
) -> tuple[list[int | None], list[int]]:
    """Return the columns of a table that fit a screen, pinned ones first, and the width of every column.

    Pinned columns are not truncated. `following` come next, each as wide as it can be, then other columns in their
    order, as many as fit, from MIN_COLUMN_WIDTH on; the last of them is cut to MIN_LAST_COLUMN_WIDTH if necessary. None
    stands for omitted columns. If not even the pinned columns fit, the result is that of `fit_columns`.

    >>> fit_with_pinned_columns([30, 9, 8, 30, 30], [1, 2], 60)
    ([1, 2, 0, 3, None], [14, 9, 8, 12, 12])
    """
    spare = screen - 1 - sum(3 + natural_widths[i] for i in pinned)
    if spare < 0:
        return fit_columns(natural_widths, screen)
    widths = [w if i in pinned else min(w, MIN_COLUMN_WIDTH) for i, w in enumerate(natural_widths)]
    others = [i for i in range(len(natural_widths)) if i not in {*pinned, *following}]
    n_others = len(following) + len(others)
    wanted = [min(natural_widths[i], MAX_COLUMN_WIDTH) if others else widths[i] for i in following]
    has_marker = sum(3 + width for width in (*wanted, *(widths[i] for i in others))) > spare >= _MARKER_WIDTH
    spare -= _MARKER_WIDTH if has_marker else 0
    added: list[int] = []
    for part in (following, others):
        fitting: list[int] = []
        for i in part:
            if spare < 3 + min(widths[i], MIN_LAST_COLUMN_WIDTH):
                break
            widths[i] = min(widths[i], spare - 3)
            spare -= 3 + widths[i]
            fitting.append(i)
        for i in fitting:
            extra_width = min(spare, min(natural_widths[i], MAX_COLUMN_WIDTH) - widths[i])
            widths[i] += extra_width
            spare -= extra_width
        added += fitting
        if len(fitting) < len(part):
            break
    visible: list[int | None] = [*pinned, *added]
    return [*visible, None] if has_marker and len(added) < n_others else visible, widths


_MARKER_WIDTH = 4
"""The width of the column `…`, which stands for omitted columns, with its border."""


def truncate(text: str, width: int) -> str:
    """Return a text truncated to a width in columns of a terminal, with `…` at the end if it was longer."""
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)) + "…"


# --- other forms -----------------------------------------------------------------------------------------


def _write_csv(result: QueryResult, page: ResultPage) -> None:
    """Write all rows as CSV with a header line; formulas in text columns are escaped if the page says so."""
    headers = csv_formulas.header_cells(result.names, escape=page.is_escaped)
    page.write(",".join(map(_csv_field, headers)) + "\n")
    texts = [page.is_escaped and csv_formulas.is_text(type_) for type_ in result.types]
    is_quasi = [name in result.quasi for name in result.names]
    for chunk in result.chunks:
        page.write("".join(",".join(map(_csv_field, row, texts, is_quasi)) + "\n" for row in chunk))


def _csv_field(value: object, is_escaped: bool = False, is_quasi: bool = False) -> str:
    """Return a value as a field of CSV, as DuckDB's COPY writes it: NULL is empty, an empty text is quoted.

    Args:
        value: The value.
        is_escaped: Whether a text that a spreadsheet would execute is escaped.
        is_quasi: Whether the column is a quasi-identifier, in which negative numbers are not escaped.
    """
    if value is None:
        return ""
    text = csv_formulas.escape_cell(format_value(value), is_quasi=is_quasi) if is_escaped else format_value(value)
    return text if text and not _NEEDS_QUOTES.search(text) else '"' + text.replace('"', '""') + '"'


def _write_json(result: QueryResult, page: ResultPage) -> None:
    """Write all rows as a JSON list of objects, one per line; repeated column names get a number."""
    names = [as_json(n) for n in unique_names(result.names)]
    separator = "["
    for row in result.rows:
        page.write(separator + "{" + ", ".join(f"{n}: {as_json(v)}" for n, v in zip(names, row, strict=True)) + "}")
        separator = ",\n"
    page.write("[]\n" if separator == "[" else "]\n")


def _write_markdown(result: QueryResult, page: ResultPage) -> None:
    """Write a result as a Markdown table, up to the limit of the page."""

    def line(cells: Iterable[str]) -> str:
        """Return one line of a Markdown table."""
        return "| " + " | ".join(cells) + " |\n"

    def cell(text: str) -> str:
        """Return a text as a cell of a Markdown table: on one line, with `|` escaped."""
        return single_line(text).replace("|", "\\|")

    rows, total = result.first(page.max_rows(4))
    page.write(line(map(cell, result.names)))
    page.write(line("--:" if _is_number(t) else "---" for t in result.types))
    for row in rows:
        page.write(line(cell(format_value(v)) for v in row))
    if len(rows) < total:
        _write_footer(page, len(rows), total)


def _write_lines(result: QueryResult, page: ResultPage) -> None:
    """Write a result with one line `name = value` per value and a blank line between rows.

    At most the rows of the page's limit are written.
    """
    rows, total = result.first(page.max_rows(2, len(result.names) + 1))
    names = [single_line(n) for n in result.names]
    width = max(map(cell_len, names), default=0)
    for number, row in enumerate(rows):
        page.write("\n" if number else "")
        for name, value in zip(names, row, strict=True):
            page.write(f"{' ' * (width - cell_len(name))}{name} = {single_line(format_value(value))}\n")
    if len(rows) < total:
        _write_footer(page, len(rows), total)


_WRITERS: dict[str, Callable[[QueryResult, ResultPage], None]] = {
    "table": _write_table,
    "csv": _write_csv,
    "json": _write_json,
    "markdown": _write_markdown,
    "line": _write_lines,
}
