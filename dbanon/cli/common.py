"""What commands share: opening a database, reading parameters, errors as messages, tables on the screen."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import click

from dbanon import session
from dbanon.cli.spelling import spelled
from dbanon.engine import cells
from dbanon.errors import DbanonError, UnreadableValue
from dbanon.files import writing

DATABASE = click.argument("database", type=click.Path(exists=True, dir_okay=False, path_type=Path))


def opened(database: Path, read_only: bool = False) -> Any:
    """An attached connection to a database file."""
    from dbanon.client.connection import connect

    return connect(database, read_only=read_only)


@contextlib.contextmanager
def errors_as_messages() -> Iterator[None]:
    """Errors as one line, in the words of the command line, and warnings too; what Ctrl-C caused as
    KeyboardInterrupt."""
    import duckdb

    before = session.ctrl_c_count()
    session.watch_ctrl_c()
    context = click.get_current_context(silent=True)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            yield
    except (DbanonError, duckdb.Error, OSError, RuntimeError) as error:
        if session.ctrl_c_count() != before:
            raise KeyboardInterrupt from None
        if isinstance(error, RuntimeError):
            raise
        if (kind := cells.quoted(error)) is not None:
            error = UnreadableValue(
                context.info_name if context and context.info_name else "dbanon", ["the input"], kind
            )
        said = str(error).split("\n")[0].removeprefix("Invalid Input Error: ")
        reason = None if isinstance(error, DbanonError) else writing.why(error)
        shown = said if reason is None else f"{reason[0].upper()}{reason[1:]}: {said}"
        raise click.ClickException(spelled(shown, context)) from None
    finally:
        for warning in warned:
            click.echo(f"Warning: {spelled(str(warning.message), context)}", err=True)


def parameter(given: str) -> tuple[str, Any]:
    """`name=value`, the value being a SQL literal."""
    import duckdb

    name, equals, value = given.partition("=")
    if not equals:
        raise click.BadParameter(f"{given} is not NAME=VALUE.", param_hint="-p")
    with duckdb.connect(config={"enable_external_access": "false"}) as scratch:
        try:
            read = scratch.execute(f"SELECT {value.lstrip('=')}").fetchall()
        except duckdb.Error as error:
            problem = str(error).split("\n")[0]
            raise click.BadParameter(f"{value} is no SQL literal ({problem}).", param_hint="-p") from None
    return name.strip().removesuffix(":").strip(), _plain(read[0][0])


def _plain(value: Any) -> Any:
    """A value of DuckDB as parameters take it."""
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def show(con: Any, title: str, query: str, as_json: bool = False, values: Sequence[object] = ()) -> None:
    """Prints the result of a query as a table, or as JSON, a list of objects."""
    from rich.console import Console
    from rich.table import Table

    result = con.execute(query, list(values)) if values else con.execute(query)
    names = [column[0] for column in result.description]
    rows = result.fetchall()
    if as_json:
        click.echo(json.dumps([dict(zip(names, row, strict=True)) for row in rows], default=str))
        return
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in names:
        table.add_column(name)
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    Console().print(table)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)


@contextlib.contextmanager
def progress(quiet: bool) -> Iterator[Any]:
    """A line on the terminal that says what is being done and for how long; nothing elsewhere."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn(), console=console, transient=True,
        disable=quiet or not console.is_terminal,
    ) as bar:  # fmt: skip
        task = bar.add_task("")
        yield lambda what: bar.update(task, description=what)


def improvement(given: str | None) -> dict[str, int | str]:
    """The parameter `improve` of --improve: a number of moves, or a time as text."""
    if given is None:
        return {}
    return {"improve": int(given) if given.strip().isdecimal() else given}


def searched(step: Callable[[str], None]) -> Callable[[float, float], None]:
    """Shows how far a search has come."""
    return lambda done, saved: step(f"Improving: {done:.0%} of the search, {saved:.1%} less loss")
