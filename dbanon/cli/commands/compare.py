"""`dbanon compare` and `dbanon tradeoffs`: the loss and risk of algorithms and configurations."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dbanon import errors
from dbanon.cli.options.memory_options import memory_options
from dbanon.cli.options.parameters import parse_assignment
from dbanon.cli.terminal.common import (
    AS_JSON,
    database_argument,
    errors_as_messages,
    open_database,
    print_result,
    print_table,
    search_progress,
    show_progress,
)
from dbanon.table_functions.registry import table_functions

_PLOT = click.option(
    "--plot", metavar="FILE", help="Draw it: a .svg, .png or .pdf file. Needs pip install 'dbanon[plot]'."
)
_QUIET = click.option("--quiet", is_flag=True, help="No progress.")


_JSON_ONLY_COLUMNS = ("statement", "ncp", "risk_average", "rows")
"""Columns that --json has and the table has no room for."""


def _shared_arguments(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments and options of both commands to a command."""
    options = (
        click.option("-k", required=True, metavar="K,K,...", help="Each k."),
        click.option("--algorithms", metavar="NAME,NAME,...", help="Names of algorithms, or all."),
        click.option(
            "-p", "--parameter", "given", multiple=True, metavar="NAME=VALUE",
            help="Any parameter of the function: qi=age,zip, metrics=ncp,precision, repeat=10.",
        ),
    )  # fmt: skip
    for option in options[::-1]:
        command = option(command)
    return command


@click.command()
@database_argument
@click.argument("source")
@_shared_arguments
@click.option("-d", metavar="D,D,...", help="Numbers of quasi-identifiers: so many of the first ones.")
@click.option("--rows", metavar="N,N,...", help="Sizes of samples.")
@click.option("--into", metavar="TABLE", help="Keep each run in this table of DATABASE; what it has is not run again.")
@_PLOT
@memory_options
@_QUIET
@AS_JSON
def compare(
    database: Path,
    source: str,
    k: str,
    algorithms: str | None,
    given: Sequence[str],
    d: str | None,
    rows: str | None,
    into: str | None,
    plot: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compare what algorithms lose and leave at risk on SOURCE.

    One row per run and metric. With --into, a stopped comparison is continued, and another k or
    algorithm is added to those that are there.
    """
    with errors_as_messages():
        parameters = _call_parameters(
            "compare", given, k=k, algorithms=algorithms, n_quasi_identifiers=d, sample_sizes=rows
        )
    _run_and_print("compare", database, source, parameters, {"into": into}, plot, quiet, as_json)


@click.command()
@database_argument
@click.argument("source")
@_shared_arguments
@click.option("-l", metavar="L,L,...", help="Each l; 1 asks for none.")
@click.option("-t", metavar="T,T,...", help="Each t; 1 asks for none.")
@_PLOT
@memory_options
@_QUIET
@AS_JSON
def tradeoffs(
    database: Path,
    source: str,
    k: str,
    algorithms: str | None,
    given: Sequence[str],
    l: str | None,  # noqa: E741
    t: str | None,
    plot: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Show what configurations of a release of SOURCE cost and leave at risk, and which of them no other beats.

    One row per configuration; --json has the statement that makes each.
    """
    with errors_as_messages():
        parameters = _call_parameters("tradeoffs", given, k=k, algorithms=algorithms, l=l, t=t)
    _run_and_print("tradeoffs", database, source, parameters, {}, plot, quiet, as_json)


def _call_parameters(function: str, assignments: Sequence[str], **options: str | None) -> dict[str, Any]:
    """Return the parameters of a call, from -p and from the options of their own.

    Raises:
        UnknownParameterError: The function has no such parameter.
    """
    kinds = {p.name: p.kind for p in table_functions()[function].parameters}
    texts = [*assignments, *(f"{name}={value}" for name, value in options.items() if value is not None)]
    parameters: dict[str, Any] = {}
    for name, value in (parse_assignment(text, kinds) for text in texts):
        if name not in kinds:
            raise errors.UnknownParameterError(function, name, kinds)
        if name in parameters and parameters[name] != value:
            raise click.BadParameter(f"{name} is given twice, and differently.", param_hint=name)
        parameters[name] = value
    return parameters


def _run_and_print(
    function: str,
    database: Path,
    source: str,
    parameters: dict[str, Any],
    optional_parameters: dict[str, str | None],
    plot: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run the function, print its rows, and draw them.

    JSON is one document: the rows, or why they cannot be drawn.
    """
    from dbanon.api import compare as compare_module
    from dbanon.audit.plots.drawing import check_plot_path, read_result_rows
    from dbanon.audit.plots.plot import plot as drawn

    with errors_as_messages():
        if plot is not None:
            check_plot_path(plot)
        with (
            open_database(database, read_only=not optional_parameters.get("into")) as con,
            show_progress(quiet) as step,
        ):
            con.on_progress = search_progress(step)
            run = getattr(compare_module, function)
            result_rows = read_result_rows(
                run(con, source, **{n: v for n, v in optional_parameters.items() if v is not None}, **parameters)
            )
    if not as_json:
        _print_comparison(f"{function} {source}", result_rows)
    plot_path = ""
    if plot is not None:
        with errors_as_messages():
            plot_path = str(drawn(result_rows).save(plot))
    print_result(result_rows, as_json, plot_path)


def _print_comparison(title: str, result_rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of the completed runs, and a line for each that was refused."""
    succeeded = [row for row in result_rows if row["problem"] is None]
    names = [n for n in result_rows[0] if n not in _JSON_ONLY_COLUMNS and any(row[n] is not None for row in succeeded)]
    if succeeded:
        print_table(title, [{n: _round_number(row[n]) for n in names} for row in succeeded])
    for row in result_rows:
        if row["problem"] is not None:
            settings = ", ".join(f"{n} = {row[n]}" for n in ("k", "l", "t", "d", "n") if row.get(n) is not None)
            click.echo(f"{row['algorithm']}, {settings}: {row['problem']}")


def _round_number(value: object) -> object:
    """Return numbers rounded to four digits, so that they fit on the screen."""
    return float(f"{value:.4g}") if isinstance(value, float) else value
