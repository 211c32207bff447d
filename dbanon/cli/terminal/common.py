"""Functions shared by commands: open a database, report errors, print results as text, tables or JSON."""

import contextlib
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dbanon.cli.options.connection_options import attach, attach_options, memory_arguments
from dbanon.cli.options.message_options import with_option_names
from dbanon.cli.terminal.command_group import JSON, ExitError
from dbanon.cli.terminal.compiling import BAR_WIDTH, COMPILING_MESSAGE, compiling_text
from dbanon.cli.terminal.value_format import as_json as json_text
from dbanon.errors import DbanonError, redaction
from dbanon.errors.display import single_line
from dbanon.errors.exit_codes import error_outcome
from dbanon.kernels import compile_events
from dbanon.release.key_metrics import key_metric_positions, shorten_description
from dbanon.runtime import csv_formulas, interrupts, output_files
from dbanon.source import catalog

DATABASE = click.argument("database", type=click.Path(exists=True, dir_okay=False, path_type=Path))


def database_argument(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument DATABASE and the options --attach and --attach-rw to a command."""
    return DATABASE(attach_options(command))


CSV_FORMULAS = click.option(
    "--csv-formulas",
    type=click.Choice(csv_formulas.CHOICES),
    default=csv_formulas.CHOICES[0],
    show_default=True,
    help="Escape or keep text cells of CSV that a spreadsheet would execute: those that begin with =, +, - or @.",
)


REPLACE = click.option("--replace", is_flag=True, help="Replace existing files.")


CLASSES = click.option("--classes", is_flag=True, help="Write the classes too.")


ALLOW_SMALL_DIFFERENCES = click.option(
    "--allow-small-differences",
    is_flag=True,
    help="Publish even if versions differ by too few records; the ledger records it.",
)


AS_JSON = click.option(JSON, "as_json", is_flag=True, help="Write JSON, also for errors.")


def open_database(database: Path | str, read_only: bool = False) -> Any:
    """Return a connection to a database with dbanon's functions, and with the databases of --attach attached.

    `database` is a file or `:memory:`. The options --memory and --temp-directory of the command apply. The caller
    closes the connection.
    """
    from dbanon.api.connection import connect

    con = connect(database, read_only=read_only, **memory_arguments())
    try:
        attach(con)
    except BaseException:
        con.close()
        raise
    return con


@contextlib.contextmanager
def errors_as_messages() -> Iterator[None]:
    """Return a context manager that turns errors into messages of the command, and prints warnings at its end.

    Errors of dbanon, of DuckDB and of the system are raised as click exceptions with one line and the exit code of
    their outcome. They name options of the command, and quote no value of the input. Warnings go to stderr. After
    Ctrl-C, KeyboardInterrupt is raised instead.
    """
    import duckdb

    n_ctrl_c_before = interrupts.ctrl_c_count()
    interrupts.watch_ctrl_c()
    context = click.get_current_context(silent=True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except (DbanonError, duckdb.Error, OSError, RuntimeError) as error:
        if interrupts.ctrl_c_count() != n_ctrl_c_before:
            raise KeyboardInterrupt from None
        if isinstance(error, RuntimeError):
            raise
        meant = error_outcome(error)
        command = context.info_name if context and context.info_name else "dbanon"
        error = redaction.redacted_error(command, ["the input"], error) or error
        first_line = str(error).split("\n")[0].removeprefix("Invalid Input Error: ")
        reason = None if isinstance(error, DbanonError) else output_files.os_reason(error)
        message = first_line if reason is None else f"{reason[0].upper()}{reason[1:]}: {first_line}"
        raise ExitError(with_option_names(message, context), meant) from None
    finally:
        for warning in caught:
            click.echo(f"Warning: {with_option_names(str(warning.message), context)}", err=True)


def print_result(value: object, as_json: bool, text: str = "") -> None:
    """Print the result of a command: `value` as JSON if `as_json`, else `text`; an empty text prints nothing."""
    if as_json:
        click.echo(json_text(value))
    elif text:
        click.echo(text)


def query_rows(con: Any, query: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Return the rows of a query as dictionaries by column name; `values` are its parameters."""
    return catalog.rows_by_column(con.execute(query, list(values)) if values else con.execute(query))


def print_query(
    con: Any,
    title: str,
    query: str,
    as_json: bool = False,
    values: Sequence[object] = (),
    columns: Sequence[str] | None = None,
) -> None:
    """Print the result of a query as a table, or with `as_json` as a JSON list of objects.

    The table has those of `columns` (default: all) that are not NULL in every row; JSON has all columns.
    """
    result_rows = query_rows(con, query, values)
    if as_json:
        print_result(result_rows, as_json)
        return
    shown_columns = list(result_rows[0]) if result_rows and columns is None else list(columns or ())
    print_table(
        title, [{n: row[n] for n in shown_columns if any(r[n] is not None for r in result_rows)} for row in result_rows]
    )


WIDTH = 80
"""Width of texts where there is no terminal, in columns."""


def text_width() -> int:
    """Return the width of the terminal, or WIDTH where the output is no terminal."""
    return shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH


def key_metric_lines(metric_rows: Sequence[Mapping[str, Any]], rest: str) -> str:
    """Return the key metrics of a release as text, one per line with name, value and description.

    Args:
        metric_rows: All metrics: rows with metric, value and description.
        rest: How to see the other metrics, for the last line, which states their number.
    """
    key_metrics = [metric_rows[i] for i in key_metric_positions([row["metric"] for row in metric_rows])]
    name = max(len(row["metric"]) for row in key_metrics)
    value = max(len(_cell_text(row["value"])) for row in key_metrics)
    room = text_width() - name - value - 6
    lines = [
        f"  {row['metric']:{name}}  {_cell_text(row['value']):>{value}}  "
        f"{shorten_description(row['description'], room)}"
        for row in key_metrics
    ]
    return "\n".join([*lines, f"  {len(metric_rows) - len(key_metrics)} more: {rest}"])


def print_table(title: str, rows: Sequence[Mapping[str, object]]) -> None:
    """Print rows, which have the same columns, as a table with a title.

    If the table is wider than the screen, columns that have the same value in all rows (except the first column) are
    printed in a line below it.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    names = list(rows[0]) if rows else []
    widths = {n: max(len(n), *(len(_cell_text(row[n])) for row in rows)) + 2 for n in names}
    same = [n for n in names[1:] if len(rows) > 1 and len({_cell_text(row[n]) for row in rows}) == 1]
    same = same if sum(widths.values()) > console.width else []
    rich_table = Table(
        title=title, title_justify="left", title_style="bold",
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip
    for name in (n for n in names if n not in same):
        values = [row[name] for row in rows if row[name] is not None]
        numbers = bool(values) and all(isinstance(value, (int, float)) for value in values)
        rich_table.add_column(name, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        rich_table.add_row(*(_cell_text(value) for name, value in row.items() if name not in same))
    console.print(rich_table)
    if same:
        console.print(f"In all rows: {', '.join(f'{n} {_cell_text(rows[0][n])}' for n in same)}.", highlight=False)


def _cell_text(value: object) -> str:
    """Return the text of a cell for rich: "" for NULL, floats with 6 significant digits, others on one line.

    Markup and control characters in it are escaped.
    """
    from rich.markup import escape

    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else escape(single_line(str(value)))


@contextlib.contextmanager
def show_progress(quiet: bool) -> Iterator[Any]:
    """Show a line with a bar, the current step and its running time on a terminal during the block.

    Yields a function that sets the text of the step, and optionally the fraction of it that is complete. The first
    time that a kernel is compiled, a message is printed on stderr, also if it is no terminal. With `quiet` nothing is
    shown.
    """
    if quiet:
        yield lambda what, fraction_done=None: None
        return
    from rich.console import Console  # slow to import
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    compiled: list[str] = []

    def compiles(kernel: str) -> None:
        """Note a compiled kernel, and show how many there are; print a message the first time."""
        if not compiled:
            console.print(COMPILING_MESSAGE)
        compiled.append(kernel)
        bar.update(bar.task_ids[0], description=compiling_text(len(compiled)).capitalize())

    bar = Progress(
        BarColumn(BAR_WIDTH), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True,
        disable=not console.is_terminal,
    )  # fmt: skip
    with bar, compile_events.listen(compiles):
        task = bar.add_task("", total=None)

        def show_step(what: str, fraction_done: float | None = None) -> None:
            """Show the text of the step, with the fraction of it that is complete, or a moving bar if it is None."""
            bar.update(task, description=what, completed=fraction_done or 0, total=None if fraction_done is None else 1)

        yield show_step


def search_progress(step: Callable[[str, float], None]) -> Callable[[float, float], None]:
    """Return a callback that shows the progress of clustering and the estimated remaining time.

    `step` sets the text of the progress line. The callback takes the fraction of the work that is complete, and the
    fraction of the loss that a search has saved.
    """
    from dbanon.algorithms.base.progress import remaining_text

    began = time.monotonic()

    def on_progress(fraction_done: float, loss_removed: float) -> None:
        """Set the text of the progress line."""
        loss_text = f", {loss_removed:.1%} less loss" if loss_removed > 0 else ""
        remaining = remaining_text(time.monotonic() - began, fraction_done)
        step(f"Clustering: {fraction_done:.0%} of the work{remaining}{loss_text}", fraction_done)

    return on_progress
