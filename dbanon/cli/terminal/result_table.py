"""Writes a result: as a table that fits the screen, CSV, JSON, Markdown, or one line a value."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dbanon.cli.terminal.value_format import as_json, short, shown, unlike
from dbanon.errors.display import harmless, one_line
from dbanon.runtime import csv_formulas

MODES = ("table", "csv", "json", "markdown", "line")

WIDEST = 60
"""Most characters of a cell in a table, where columns must share the screen."""

NARROWEST = 12
"""A column is not cut below this; where that is not enough, columns are left out."""

_NUMBERS = ("INT", "DECIMAL", "DOUBLE", "FLOAT", "REAL")

_QUOTED = re.compile(r'[",\r\n]')

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Result:
    """Columns, their types, and the rows as they come, in chunks. Reading rows may take long."""

    names: tuple[str, ...]
    types: tuple[str, ...]
    chunks: Iterator[Sequence[Row]]
    quasi: tuple[str, ...] = ()
    """Of a release, its quasi-identifiers: a table on a screen has them first, and whole."""

    @property
    def rows(self) -> Iterator[Row]:
        for chunk in self.chunks:
            yield from chunk

    def first(self, count: int | None) -> tuple[list[Row], int]:
        """Return the first rows (all: None), and how many there are in all."""
        kept: list[Row] = []
        total = 0
        for chunk in self.chunks:
            kept.extend(chunk if count is None else chunk[: max(0, count - len(kept))])
            total += len(chunk)
        return kept, total


@dataclass(frozen=True)
class Page:
    """Where a result goes: most rows of a table (None: all), and whether a person watches."""

    console: Console
    limit: int | None = None
    watched: bool = True
    is_escaped: bool = True
    """Whether text cells of CSV that a spreadsheet would execute are escaped."""

    def write(self, text: str) -> None:
        """Write text as it is; a terminal gets no control characters from it."""
        self.console.file.write(harmless(text) if self.watched else text)


def render(result: Result, mode: str, page: Page) -> None:
    """Write a result in a mode; `table`, `markdown` and `line` keep to the page's limit and say what is left."""
    _WRITERS[mode](result, page)


# --- tables ----------------------------------------------------------------------------------------------


def _table(result: Result, page: Page) -> None:
    rows, total = result.first(page.limit)
    numeric = [_is_number(t) for t in result.types]
    number = short if page.watched else str
    cells = [[one_line(shown(v, number)) for v in row] for row in rows]
    heads = [one_line(n) for n in result.names]
    types = [one_line(t.lower()) if len(t) <= 20 else t.split("(")[0].lower() for t in result.types]
    wide = [
        max([cell_len(h), cell_len(t), *(cell_len(c) for c in column)])
        for h, t, column in zip(heads, types, zip(*cells, strict=True) if cells else [()] * len(heads), strict=True)
    ]
    screen = page.console.width if page.watched else None
    first = [result.names.index(name) for name in result.quasi] if page.watched else []
    kept, widths = led(wide, first, screen) if first and screen else fitted(wide, screen)
    table = Table(box=box.ROUNDED if page.watched else box.ASCII2, show_edge=True, header_style="", pad_edge=True)
    for i in kept:
        if i is None:
            table.add_column(Text("…", style="dim"), no_wrap=True)
            continue
        head = Text(cut(heads[i], widths[i]), style="bold")
        head.append("\n" + cut(types[i], widths[i]), style="not bold dim")
        table.add_column(head, no_wrap=True, justify="right" if numeric[i] else "left", min_width=widths[i])
    for row, values in zip(cells, rows, strict=True):
        table.add_row(
            *(
                Text("…", style="dim")
                if i is None
                else Text(cut(row[i], widths[i]), style="dim italic" if values[i] is None else "")
                for i in kept
            )
        )
    page.console.print(table)
    left_out = len(result.names) - sum(i is not None for i in kept)
    _footer(page, len(rows), total, f"{len(heads)} columns, {len(heads) - left_out} shown" if left_out else "")


def _footer(page: Page, rows: int, total: int, columns: str = "") -> None:
    """How much there is, and how much of it is not shown."""
    if not page.watched:
        if rows < total:
            page.console.print(f"({total - rows:,} more rows)", highlight=False)
        return
    said = [f"{total:,} row{'' if total == 1 else 's'}"]
    if rows < total:
        said[0] += f", {rows:,} shown (.rows all shows the other {total - rows:,})"
    if columns:
        said.append(f"{columns} (.mode line shows all)")
    page.console.print(Text("; ".join(said), style="dim"))


def _is_number(type_: str) -> bool:
    return type_.startswith(_NUMBERS) or type_.split("(")[0].endswith("INT")


def fitted(wide: Sequence[int], screen: int | None) -> tuple[list[int | None], list[int]]:
    """Which columns of a table fit a screen, None standing for the columns left out, and how wide each becomes.

    Wide columns are cut first, and never below NARROWEST; where that is not enough, columns in the middle go.

    >>> fitted([4, 100, 4], 40)
    ([0, 1, 2], [4, 22, 4])
    >>> fitted([10] * 8, 40)
    ([0, None, 7], [10, 10, 10, 10, 10, 10, 10, 10])
    """
    every: list[int | None] = list(range(len(wide)))
    if screen is None:
        return every, list(wide)
    most = [w if len(wide) == 1 else min(w, WIDEST) for w in wide]
    least = [min(w, NARROWEST) for w in most]

    def total(kept: Sequence[int | None], widths: Sequence[int]) -> int:
        return sum(3 + (1 if i is None else widths[i]) for i in kept) + 1

    kept = every
    while len(kept) > 3 and total(kept, least) > screen:
        middle = (len(kept) - 1) // 2
        if None not in kept:
            kept = [*kept[:middle], None, *kept[middle + 1 :]]
        else:
            gap = kept.index(None)
            last_longer = len(kept) - gap - 1 > gap
            kept = [*kept[: gap - (not last_longer)], None, *kept[gap + 1 + last_longer :]]
    shown_columns = [i for i in kept if i is not None]
    widths = list(most)
    while (over := total(kept, widths) - screen) > 0:
        widest = max(shown_columns, key=lambda i: widths[i])
        next_widest = max((widths[i] for i in shown_columns if widths[i] < widths[widest]), default=1)
        alike = [i for i in shown_columns if widths[i] == widths[widest]]
        if widths[widest] <= 3:
            break
        step = max(1, min(widths[widest] - next_widest, -(-over // len(alike))))
        for i in alike:
            if (over := total(kept, widths) - screen) <= 0:
                break
            widths[i] = max(3, widths[i] - min(step, over))
    return kept, widths


def led(wide: Sequence[int], first: Sequence[int], screen: int) -> tuple[list[int | None], list[int]]:
    """Return the same where some columns stand first and are not cut: of the others as many as fit, in their order.

    >>> led([30, 9, 8, 30, 30], [1, 2], 60)
    ([1, 2, 0, 3], [18, 9, 8, 12, 12])
    """
    kept: list[int | None] = list(first)
    spare = screen - 1 - sum(3 + wide[i] for i in first)
    if spare < 0:
        return fitted(wide, screen)
    widths = [w if i in first else min(w, NARROWEST) for i, w in enumerate(wide)]
    others = [i for i in range(len(wide)) if i not in first]
    fit = 0
    while fit < len(others) and spare >= 3 + widths[others[fit]]:
        spare -= 3 + widths[others[fit]]
        fit += 1
    for i in others[:fit]:
        more = min(spare, min(wide[i], WIDEST) - widths[i])
        widths[i] += more
        spare -= more
    return [*kept, *others[:fit]], widths


def cut(text: str, width: int) -> str:
    """Return a text of at most so many columns of a terminal, with `…` where something is left out."""
    return text if cell_len(text) <= width else set_cell_size(text, max(0, width - 1)) + "…"


# --- other forms -----------------------------------------------------------------------------------------


def _csv(result: Result, page: Page) -> None:
    headers = csv_formulas.header_cells(result.names, escape=page.is_escaped)
    page.write(",".join(map(_field, headers)) + "\n")
    texts = [page.is_escaped and csv_formulas.is_text(type_) for type_ in result.types]
    is_quasi = [name in result.quasi for name in result.names]
    for chunk in result.chunks:
        page.write("".join(",".join(map(_field, row, texts, is_quasi)) + "\n" for row in chunk))


def _field(value: object, is_escaped: bool = False, is_quasi: bool = False) -> str:
    """Return a value in CSV as COPY writes it: NULL is empty, an empty text is quoted."""
    if value is None:
        return ""
    text = csv_formulas.escape_cell(shown(value), is_quasi=is_quasi) if is_escaped else shown(value)
    return text if text and not _QUOTED.search(text) else '"' + text.replace('"', '""') + '"'


def _json(result: Result, page: Page) -> None:
    names = [as_json(n) for n in unlike(result.names)]
    before = "["
    for row in result.rows:
        page.write(before + "{" + ", ".join(f"{n}: {as_json(v)}" for n, v in zip(names, row, strict=True)) + "}")
        before = ",\n"
    page.write("[]\n" if before == "[" else "]\n")


def _markdown(result: Result, page: Page) -> None:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cells) + " |\n"

    def cell(text: str) -> str:
        return one_line(text).replace("|", "\\|")

    rows, total = result.first(page.limit)
    page.write(line(map(cell, result.names)))
    page.write(line("--:" if _is_number(t) else "---" for t in result.types))
    for row in rows:
        page.write(line(cell(shown(v)) for v in row))
    if len(rows) < total:
        _footer(page, len(rows), total)


def _line(result: Result, page: Page) -> None:
    rows, total = result.first(page.limit)
    names = [one_line(n) for n in result.names]
    width = max(map(cell_len, names), default=0)
    for number, row in enumerate(rows):
        page.write("\n" if number else "")
        for name, value in zip(names, row, strict=True):
            page.write(f"{' ' * (width - cell_len(name))}{name} = {one_line(shown(value))}\n")
    if len(rows) < total:
        _footer(page, len(rows), total)


_WRITERS: dict[str, Callable[[Result, Page], None]] = {
    "table": _table,
    "csv": _csv,
    "json": _json,
    "markdown": _markdown,
    "line": _line,
}
