"""Pages of the manual on a terminal: Markdown with headings and texts aligned to the left, in the whole width."""

from typing import Any, ClassVar

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown, MarkdownElement, TableElement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

MAX_NAME_SHARE = 0.3
"""Greatest share of the width for each column of a table but the last one, which has texts."""

INDENT = 4
"""Blanks before the text of a row that is written below its other cells."""


class LeftHeading(Heading):
    """A heading that is aligned to the left, whatever its level."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the text of the heading."""
        heading = self.text.copy()
        heading.justify = "left"
        yield heading


class WideTable(TableElement):
    """A table whose last column, which has texts, gets the width that the others do not need.

    If it has three or more columns and is wider than the screen, the last column is below the others.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the table, without its header if that is empty; or one block per row if it is too wide."""
        heads: list[Any] = [] if self.header is None or self.header.row is None else self.header.row.cells
        table = Table(
            box=box.SIMPLE_HEAD, pad_edge=False, style="markdown.table.border", show_edge=False,
            show_header=any(head.content.plain for head in heads),
        )  # fmt: skip
        for i, head in enumerate(heads):
            max_width = None if i == len(heads) - 1 else max(int(options.max_width * MAX_NAME_SHARE), 12)
            table.add_column(head.content.copy(), justify="left", max_width=max_width, overflow="fold")
        rows = [[cell.content for cell in row.cells] for row in ([] if self.body is None else self.body.rows)]
        for row in rows:
            table.add_row(*row)
        widths = [max((cell.cell_len for cell in column), default=0) + 1 for column in zip(*rows, strict=True)]
        if len(heads) < 3 or sum(widths) <= options.max_width:
            yield table
            return
        for first, *others, text in rows:
            yield Text("  ").join([first, *(other for other in others if other.plain)])
            yield Padding(text, (0, 0, 0, INDENT))


class MarkdownPage(Markdown):
    """A page in Markdown with the elements above."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "heading_open": LeftHeading,
        "table_open": WideTable,
    }
