"""`dbanon shell`: its options, and where it reads statements from: -c, a pipe or a prompt."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import duckdb

from dbanon.cli.options.connection_options import attach_options, memory_options
from dbanon.cli.terminal.command_group import ExitError
from dbanon.errors import DbanonError, MissingExtraError
from dbanon.errors.exit_codes import EXIT_CODES, error_outcome
from dbanon.runtime.csv_formulas import CHOICES
from dbanon.runtime.version import __version__

if TYPE_CHECKING:
    from dbanon.api.connection import Connection
    from dbanon.cli.shell.shell import Shell


@click.command()
@click.argument("database", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("-c", "--command", "texts", metavar="SQL", multiple=True, help="Run this and exit.")
@click.option("--readonly", is_flag=True, help="Open the database read-only.")
@click.option(
    "--mode",
    type=click.Choice(("table", "csv", "json", "markdown", "line")),
    help="Set the format of results; default: table on a terminal, otherwise csv.",
)
@click.option(
    "--csv-formulas",
    type=click.Choice(CHOICES),
    default=CHOICES[0],
    show_default=True,
    help="Escape or keep text cells of CSV that a spreadsheet would execute: those that begin with =, +, - or @.",
)
@click.option("--no-history", is_flag=True, help="Do not store the lines that you type.")
@attach_options
@memory_options
def shell(
    database: Path | None, texts: tuple[str, ...], readonly: bool, mode: str | None, csv_formulas: str, no_history: bool
) -> None:
    """Open a SQL prompt on DATABASE, or in memory.

    DATABASE is created if it does not exist.

    With -c or piped input there is no prompt, and a statement that fails ends the run with the exit code of its error.
    """
    from dbanon.cli.shell.dot_commands import LeaveShellError, run_dot_command
    from dbanon.cli.shell.shell import Shell

    typed = not texts and sys.stdin.isatty() and sys.stdout.isatty()
    ask = _prompt_loop(no_history) if typed else None
    new = database is not None and not database.exists()
    with _open_connection(database, readonly) as connection:
        run = Shell(
            connection,
            sys.stdout,
            sys.stderr,
            mode=mode or ("table" if sys.stdout.isatty() else "csv"),
            watched=sys.stdout.isatty(),
            dot_command=run_dot_command,
        )
        run.csv_formulas = csv_formulas
        try:
            if ask is not None:
                _greet(run, database, readonly, new)
                ask(run, database)
                return
            sources: list[Iterable[str]] = [text.splitlines(keepends=True) for text in texts]
            for lines in sources or [sys.stdin]:
                if not run.script(lines):
                    sys.exit(EXIT_CODES[run.failed])
        except LeaveShellError:
            return
        except KeyboardInterrupt:
            run.report_interrupt()
            sys.exit(EXIT_CODES["interrupted"])
        finally:
            run.close()


def _open_connection(database: Path | None, readonly: bool) -> Connection:
    """Open a database, or one in memory, with the databases of --attach.

    Errors end the command with their exit code.
    """
    from dbanon.cli.terminal.common import open_database

    try:
        connection: Connection = open_database(database or ":memory:", readonly)
        connection.raw.execute("SET enable_progress_bar = false")  # it goes to where the rows go
    except (duckdb.Error, DbanonError) as error:
        raise ExitError(str(error), error_outcome(error)) from None
    return connection


def _greet(run: Shell, database: Path | None, readonly: bool, is_new: bool) -> None:
    """Write the versions, the database, and how to get help."""
    database_text = (
        f"{database}{', read only' if readonly else ', a new database' if is_new else ''}" if database else "in memory"
    )
    run.say(f"dbanon {__version__} on DuckDB {duckdb.__version__}: {database_text}.")
    run.say("End each statement with a semicolon. Tab completes; .help lists the commands.")


def _prompt_loop(no_history: bool) -> Callable[[Shell, Path | None], None]:
    """Return a function that asks for statements at a prompt and runs them, until Ctrl-D or `.quit`.

    `no_history`: whether nothing that is typed is stored.

    Raises:
        click.ClickException: The packages for the prompt are not installed.
    """
    try:
        from dbanon.cli.shell import catalog_cache
        from dbanon.cli.shell.prompt import open_history, prompt_session
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("prompt_toolkit", "pygments"):
            raise
        missing = MissingExtraError("the prompt of dbanon shell", "prompt_toolkit with pygments", "shell")
        raise click.ClickException(f"{missing} -c and pipes work without it.") from None

    def ask(run: Shell, database: Path | None) -> None:
        """Ask for input and run it until Ctrl-D or `.quit`.

        Of several statements in one input, those after an error are not run. Ctrl-C discards the input, or stops the
        statement.
        """
        from dbanon.cli.shell.dot_commands import LeaveShellError
        from dbanon.cli.shell.script import script_steps

        names = catalog_cache.CatalogCache(run.try_query)
        run.on_change = names.mark_stale
        session = prompt_session(names.get, open_history(not no_history))
        name = database.stem if database else "memory"
        while True:
            try:
                text = session.prompt([("class:prompt", f"{name}> ")])
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            try:
                for step in script_steps(text.lstrip().splitlines(keepends=True)):
                    if not run.run(step):
                        break
            except KeyboardInterrupt:
                run.report_interrupt()
            except LeaveShellError:
                return

    return ask
