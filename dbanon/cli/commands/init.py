"""`dbanon init`: load a file into a database if need be, and propose and write the policy of a table."""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from dbanon.cli.commands import input_tables
from dbanon.cli.commands.next_command import next_command, print_next_command
from dbanon.cli.commands.proposed_policy import ProposalOptions, write_proposals
from dbanon.cli.options.connection_options import attach, attach_options
from dbanon.cli.options.name_completion import complete_tables
from dbanon.cli.terminal.command_group import ExitError
from dbanon.cli.terminal.common import AS_JSON, print_result
from dbanon.errors import redaction
from dbanon.errors.exit_codes import error_outcome
from dbanon.policy.profiling import thresholds
from dbanon.sqltext.messages import plural_form

_NO_QUASI_IDENTIFIER = (
    "No column is a quasi-identifier, so nothing can be anonymized yet. Give the role quasi to the columns that "
    "others may know about a person, such as age, sex or place."
)
_K_HELP = "Set the k of later releases; values that fewer records reach are proposed as top."


@click.command("init")
@click.argument("source", metavar="INPUT", type=input_tables.InputPath())
@click.argument("table", required=False, shell_complete=complete_tables)
@click.option(
    "--table",
    "named_table",
    metavar="NAME",
    shell_complete=complete_tables,
    help="Choose the table, as TABLE does; for a file, set the name of its table.",
)
@attach_options
@click.option("-k", type=click.IntRange(min=2), default=thresholds.RARE_RECORDS, show_default=True, help=_K_HELP)
@click.option("--yes", is_flag=True, help="Accept every proposal that does not publish more detail; ask nothing.")
@click.option(
    "--replace", "is_replacing", is_flag=True, help="Replace the policy of the table; for a file, also the table."
)
@AS_JSON
def init(
    source: Path,
    table: str | None,
    named_table: str | None,
    k: int,
    yes: bool,
    is_replacing: bool,
    as_json: bool,
) -> None:
    """Propose the policy of a table, column by column.

    INPUT is a file (CSV, Parquet, JSON) or a DuckDB database. A file is loaded into a table of the database next to it,
    which only you can read: visits.csv into visits.duckdb. If a database has several tables, give TABLE.

    \b
    From a source file to a file that you can share:
      dbanon init visits.csv
      dbanon anonymize visits.duckdb -k 10
      dbanon publish visits.duckdb visits_release -o visits_safe.csv

    Press Enter to accept a proposal, and type ? for an explanation of the roles: identifier, person, quasi, sensitive,
    insensitive. Type skip to leave a column without a role; it is then withheld. Columns whose name and values do not
    indicate a role are listed for review and withheld unless you state their role. Where they fit, the command
    proposes codes for missing values, hierarchies of the beginnings of codes (such as zip codes), intervals, a
    calendar, a top and a grid. It writes the whole policy after the last question, and nothing before.

    --yes accepts every proposal that does not publish more detail, so of hierarchies it builds only flat ones of codes,
    such as 1 and 2 for the sex. It withholds columns until the policy has no problem. With --json, questions and their
    explanations are written to stderr.
    """
    if table is not None and named_table is not None and table != named_table:
        raise click.BadParameter("the table is given twice, with different names.", param_hint="--table")
    with contextlib.redirect_stdout(sys.stderr) if as_json else contextlib.nullcontext():
        summary = _propose_and_write(source, named_table or table, ProposalOptions(k, yes, is_replacing))
    print_result(summary, as_json)
    if not as_json:
        if not _has_quasi_identifier(summary):
            click.echo(_NO_QUASI_IDENTIFIER, err=True)
        print_next_command(summary["next"])


def _propose_and_write(source: Path, table: str | None, options: ProposalOptions) -> dict[str, Any]:
    """Load the file, if it is one, propose a policy, ask the user unless --yes is given, print the policy and write it.

    Args:
        source: The file or database.
        table: The table, or the name that the table of a file gets; None if none is given.
        options: How the policy is proposed; with `is_replacing`, the table of a file is replaced, too.

    Returns:
        A summary: the database ("database"), the table ("table"), the columns that get a role ("written"), the withheld
        columns ("withheld"), the problems that policy_problems() finds afterwards ("problems"), the next command
        ("next"), and what was not read from a file ("notes"). If no column gets a role, nothing is written.

    Raises:
        click.ClickException: The table has a policy, or the database of a file such a table, and `is_replacing` is
            false.
        click.Abort: The user does not want it to be written. Then nothing is loaded.
    """
    database = input_tables.default_database(source) if input_tables.is_row_file(source) else source
    with input_tables.private_database(database) as is_new, _open_writable(database) as con:
        if database == source:
            name = input_tables.chosen_table(con, source, table)
            summary = write_proposals(con, name, options)
        else:
            table = table or input_tables.default_table(source)
            with input_tables.table_from_file(con, database, source, table, options.is_replacing) as name:
                (n_records,) = con.duckdb_connection.execute(f"SELECT system.main.count(*) FROM {name}").fetchone()
                click.echo(
                    f"{source} is loaded into the table {name} of {database}: {n_records:,} "
                    f"{plural_form(n_records, 'record', 'records')}."
                    + (" Only you can read the file." if is_new else "")
                )
                notes = input_tables.print_reading_notes(con, source)
                summary = write_proposals(con, name, options) | {"notes": notes}
        return summary | {"database": str(database), "next": _next_step(con, options.k, summary, database, name)}


def _next_step(con: Any, k: int, summary: dict[str, Any], database: Path, table: str) -> str:
    """Return the command that anonymizes a table with this k; it has --table if the database has several.

    Without a quasi-identifier, which a release needs, it is the command that asks about the roles again.
    """
    named_table = [] if len(input_tables.source_tables(con)) == 1 else ["--table", table]
    if _has_quasi_identifier(summary):
        return next_command("anonymize", database, *named_table, "-k", str(k))
    return next_command("init", database, *named_table, *(["--replace"] if summary["written"] else []))


def _has_quasi_identifier(summary: dict[str, Any]) -> bool:
    """Return whether one of the written columns is a quasi-identifier."""
    return any(column["role"] == "quasi" for column in summary["written"])


@contextlib.contextmanager
def _open_writable(database: Path) -> Iterator[Any]:
    """Yield a connection that can write; errors, also those of the block, become click exceptions with an exit code."""
    from dbanon.api.connection import connect

    try:
        con = connect(database)
    except Exception as error:
        why = str(error).split("\n")[0]
        if "not a valid DuckDB database file" in why:
            raise ExitError(
                f"{database} is neither a DuckDB database nor a file of rows. Hint: files of rows end in "
                f"{', '.join(input_tables.FILE_ENDINGS)}, also with .gz or .zst.",
                error_outcome(error),
            ) from None
        raise ExitError(
            f"{database} cannot be opened for writing: {why} Hint: close the program that has it open, and check that "
            "the file is a DuckDB database and writable.",
            error_outcome(error),
        ) from None
    with con:
        try:
            attach(con)
            yield con
        except (click.ClickException, click.Abort):
            raise
        except Exception as error:
            safe_error = redaction.redacted_error("init", ["the input"], error) or error
            message = str(safe_error).split("\n")[0].removeprefix("Invalid Input Error: ")
            raise ExitError(message, error_outcome(error)) from None
