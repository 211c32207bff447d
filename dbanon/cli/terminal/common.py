"""What commands share: opening a database, errors as messages, answers as text or JSON, tables on the screen."""

import contextlib
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dbanon.cli.options.attach_options import attach, attaching
from dbanon.cli.options.memory_options import bounded
from dbanon.cli.options.message_options import spelled
from dbanon.cli.terminal.command_group import JSON
from dbanon.cli.terminal.compiling import COMPILING
from dbanon.cli.terminal.exit_errors import failure
from dbanon.cli.terminal.value_format import as_json as json_text
from dbanon.errors import DbanonError, UnreadableValueError, redaction
from dbanon.errors.display import one_line
from dbanon.errors.exit_codes import outcome
from dbanon.kernels import compile_events
from dbanon.release.key_metrics import brief, headline
from dbanon.runtime import csv_formulas, interrupts, output_files

DATABASE = click.argument("database", type=click.Path(exists=True, dir_okay=False, path_type=Path))


def opening(command: Callable[..., None]) -> Callable[..., None]:
    """DATABASE, and what is attached beside it where it is `opened`."""
    return DATABASE(attaching(command))


CSV_FORMULAS = click.option(
    "--csv-formulas",
    type=click.Choice(csv_formulas.CHOICES),
    default=csv_formulas.CHOICES[0],
    show_default=True,
    help="Escape or keep text cells of CSV that a spreadsheet would execute: those that begin with =, +, - or @.",
)


AS_JSON = click.option(JSON, "as_json", is_flag=True, help="Answer with JSON; errors too.")


def opened(database: Path, read_only: bool = False) -> Any:
    """Return an attached connection to a database file, and beside it what --attach says."""
    from dbanon.api.connection import connect

    con = connect(database, read_only=read_only, **bounded())
    try:
        attach(con)
    except BaseException:
        con.close()
        raise
    return con


@contextlib.contextmanager
def errors_as_messages() -> Iterator[None]:
    """Errors as one line, in the words of the command line, and warnings too; what Ctrl-C caused as
    KeyboardInterrupt."""
    import duckdb

    before = interrupts.ctrl_c_count()
    interrupts.watch_ctrl_c()
    context = click.get_current_context(silent=True)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield
    except (DbanonError, duckdb.Error, OSError, RuntimeError) as error:
        if interrupts.ctrl_c_count() != before:
            raise KeyboardInterrupt from None
        if isinstance(error, RuntimeError):
            raise
        meant = outcome(error)
        if (kind := redaction.quoted(error)) is not None:
            error = UnreadableValueError(
                context.info_name if context and context.info_name else "dbanon", ["the input"], kind
            )
        said = str(error).split("\n")[0].removeprefix("Invalid Input Error: ")
        reason = None if isinstance(error, DbanonError) else output_files.os_reason(error)
        shown = said if reason is None else f"{reason[0].upper()}{reason[1:]}: {said}"
        raise failure(spelled(shown, context), meant) from None
    finally:
        for warning in warned:
            click.echo(f"Warning: {spelled(str(warning.message), context)}", err=True)


def answer(value: object, as_json: bool, text: str = "") -> None:
    """Print what a command did: as JSON, or in words ("": nothing)."""
    if as_json:
        click.echo(json_text(value))
    elif text:
        click.echo(text)


def rows(con: Any, query: str, values: Sequence[object] = ()) -> list[dict[str, Any]]:
    """Return the rows of a query, by column."""
    result = con.execute(query, list(values)) if values else con.execute(query)
    names = [column[0] for column in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def show(
    con: Any,
    title: str,
    query: str,
    as_json: bool = False,
    values: Sequence[object] = (),
    columns: Sequence[str] | None = None,
) -> None:
    """Print the result of a query as a table, or as JSON, a list of objects.

    The table has those of `columns` (default: all) that have a value anywhere; JSON has all.
    """
    found = rows(con, query, values)
    if as_json:
        answer(found, as_json)
        return
    named = list(found[0]) if found and columns is None else list(columns or ())
    table(title, [{n: row[n] for n in named if any(r[n] is not None for r in found)} for row in found])


WIDTH = 80
"""Columns of a terminal that nobody has made wider."""


def headlines(measured: Sequence[Mapping[str, Any]], rest: str) -> str:
    """Return the measures of a release that are worth reading first, a line each, and how to see the `rest`."""
    chosen = [measured[i] for i in headline([row["metric"] for row in measured])]
    name = max(len(row["metric"]) for row in chosen)
    value = max(len(_cell(row["value"])) for row in chosen)
    room = WIDTH - name - value - 6
    lines = [
        f"  {row['metric']:{name}}  {_cell(row['value']):>{value}}  {brief(row['description'], room)}" for row in chosen
    ]
    return "\n".join([*lines, f"  {len(measured) - len(chosen)} more: {rest}"])


def table(title: str, found: Sequence[Mapping[str, object]]) -> None:
    """Prints rows of the same columns as a table; where the screen is narrow, what is the same in all rows stands under
    it."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console()
    names = list(found[0]) if found else []
    wide = {n: max(len(n), *(len(_cell(row[n])) for row in found)) + 2 for n in names}
    same = [n for n in names[1:] if len(found) > 1 and len({_cell(row[n]) for row in found}) == 1]
    same = same if sum(wide.values()) > console.width else []
    made = Table(
        title=title, title_justify="left", title_style="bold",
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0),
    )  # fmt: skip
    for name in (n for n in names if n not in same):
        numbers = all(isinstance(row[name], (int, float)) or row[name] is None for row in found)
        made.add_column(name, justify="right" if numbers else "left", overflow="fold")
    for row in found:
        made.add_row(*(_cell(value) for name, value in row.items() if name not in same))
    console.print(made)
    if same:
        console.print(f"In all rows: {', '.join(f'{n} {_cell(found[0][n])}' for n in same)}.", highlight=False)


def _cell(value: object) -> str:
    from rich.markup import escape

    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else escape(one_line(str(value)))


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Any]:
    """Return a line on the terminal that says what is being done and for how long.

    What is compiled first is said anywhere.
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False, soft_wrap=True)
    compiled: list[str] = []

    def compiles(kernel: str) -> None:
        if not compiled and not quiet:
            console.print(COMPILING)
        compiled.append(kernel)

    bar = Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True,
        disable=quiet or not console.is_terminal,
    )  # fmt: skip
    with bar, compile_events.listen(compiles):
        task = bar.add_task("")
        yield lambda what: bar.update(task, description=what)


def searched(step: Callable[[str], None]) -> Callable[[float, float], None]:
    """Show how far clustering and a search have come, and how long what is left will take."""
    from dbanon.algorithms.base.progress import remaining

    began = time.monotonic()

    def said(done: float, saved: float) -> None:
        less = f", {saved:.1%} less loss" if saved > 0 else ""
        step(f"Clustering: {done:.0%} of the work{remaining(time.monotonic() - began, done)}{less}")

    return said
