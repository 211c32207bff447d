"""`dbanon compare` and `dbanon tradeoffs`: the loss and risk of algorithms and configurations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from dbanon import errors
from dbanon.cli.options.connection_options import memory_options
from dbanon.cli.options.name_completion import complete_algorithms, complete_tables
from dbanon.cli.options.parameters import add_parameter, parse_assignment
from dbanon.cli.terminal.common import (
    AS_JSON,
    REPLACE,
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
    "--plot", metavar="FILE", help="Draw the result to a .svg, .png or .pdf file. Needs pip install -e '.[plot]'."
)
_QUIET = click.option("--quiet", is_flag=True, help="Show no progress.")


_JSON_ONLY_COLUMNS = ("statement", "ncp", "risk_average", "rows")
"""Columns that --json has and the table has no room for."""


def _shared_arguments(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options -k, --algorithms and -p to the commands `compare` and `tradeoffs`."""
    options = (
        click.option("-k", required=True, metavar="K,K,...", help="Try each of these values of k."),
        click.option(
            "--algorithms", metavar="NAME,NAME,...", help="Try these algorithms, or all.",
            shell_complete=complete_algorithms,
        ),
        click.option(
            "-p", "--parameter", "given", multiple=True, metavar="NAME=VALUE",
            help="Set any parameter of the function: qi=age,zip, metrics=ncp,precision, repeat=10.",
        ),
    )  # fmt: skip
    for option in options[::-1]:
        command = option(command)
    return command


@click.command()
@database_argument
@click.argument("source", shell_complete=complete_tables)
@_shared_arguments
@click.option("--n-quasi-identifiers", metavar="N,N,...", help="Use only the first N quasi-identifiers, for each N.")
@click.option("--sample-sizes", metavar="N,N,...", help="Draw a sample of N records, for each N.")
@click.option(
    "-o",
    "--output",
    metavar="TABLE",
    help="Store each run in this table of DATABASE; runs that are stored already are skipped.",
)
@_PLOT
@REPLACE
@memory_options
@_QUIET
@AS_JSON
def compare(
    database: Path,
    source: str,
    k: str,
    algorithms: str | None,
    given: Sequence[str],
    n_quasi_identifiers: str | None,
    sample_sizes: str | None,
    output: str | None,
    plot: str | None,
    replace: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Compare the loss and the risk of algorithms on SOURCE.

    The result has one row per run and metric. With --output, a stopped comparison continues, and the runs of further
    values of k or algorithms are added to those that are stored.
    """
    with errors_as_messages():
        parameters = _call_parameters(
            "compare",
            given,
            k=k,
            algorithms=algorithms,
            n_quasi_identifiers=n_quasi_identifiers,
            sample_sizes=sample_sizes,
        )
    _run_and_print("compare", database, source, parameters, {"into": output}, _PlotFile(plot, replace), quiet, as_json)


@click.command()
@database_argument
@click.argument("source", shell_complete=complete_tables)
@_shared_arguments
@click.option("-l", metavar="L,L,...", help="Try each of these values of l; 1 is no l-diversity.")
@click.option("-t", metavar="T,T,...", help="Try each of these values of t; 1 is no t-closeness.")
@_PLOT
@REPLACE
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
    replace: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Show the loss and the risk of configurations of a release.

    The result has one row per configuration of a release of SOURCE and marks those that no other configuration beats.
    --json has the statement that creates each.
    """
    with errors_as_messages():
        parameters = _call_parameters("tradeoffs", given, k=k, algorithms=algorithms, l=l, t=t)
    _run_and_print("tradeoffs", database, source, parameters, {}, _PlotFile(plot, replace), quiet, as_json)


@dataclass(frozen=True)
class _PlotFile:
    """The file of --plot.

    Attributes:
        path: Its path; None if nothing is drawn.
        is_replacing: Whether a file that exists is replaced.
    """

    path: str | None
    is_replacing: bool


def _call_parameters(function: str, assignments: Sequence[str], **options: str | None) -> dict[str, Any]:
    """Return the parameters of a call by name, from the texts of -p and from other options (None: not given).

    Raises:
        UnknownParameterError: The function has no such parameter.
        click.BadParameter: A parameter is given twice with different values, or cannot be read.
    """
    kinds = {p.name: p.kind for p in table_functions()[function].parameters}
    texts = [*assignments, *(f"{name}={value}" for name, value in options.items() if value is not None)]
    parameters: dict[str, Any] = {}
    for name, value in (parse_assignment(text, kinds) for text in texts):
        if name not in kinds:
            raise errors.UnknownParameterError(function, name, kinds)
        add_parameter(parameters, name, value, name)
    return parameters


def _run_and_print(
    function: str,
    database: Path,
    source: str,
    parameters: dict[str, Any],
    optional_parameters: dict[str, str | None],
    plot: _PlotFile,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run `compare` or `tradeoffs`, print the resulting rows, and draw them if `plot` names a file.

    With `as_json` one JSON document is printed: the rows, or the error if they cannot be drawn.

    Args:
        function: The name of the function.
        database: The database file; opened read-only unless `into` is given.
        source: The table.
        parameters: The parameters of the call.
        optional_parameters: Further parameters; None if not given.
        plot: The file for the plot.
        quiet: Whether no progress is shown.
        as_json: Whether to print JSON.
    """
    from dbanon.api import compare as compare_module
    from dbanon.audit.plots.drawing import check_plot_path, read_result_rows
    from dbanon.audit.plots.plot import plot as drawn

    with errors_as_messages():
        if plot.path is not None:
            check_plot_path(plot.path)
            if Path(plot.path).exists() and not plot.is_replacing:
                raise errors.TargetExistsError(plot.path, [plot.path], function)
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
    if plot.path is not None:
        with errors_as_messages():
            plot_path = str(drawn(result_rows).save(plot.path))
    print_result(result_rows, as_json, plot_path)


def _print_comparison(title: str, result_rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table of the runs that succeeded, then one line with the reason for each run that failed.

    Floats are rounded to four significant digits, so that they fit on the screen.
    """
    succeeded = [row for row in result_rows if row["problem"] is None]
    names = [n for n in result_rows[0] if n not in _JSON_ONLY_COLUMNS and any(row[n] is not None for row in succeeded)]
    if succeeded:
        print_table(
            title,
            [{n: float(f"{row[n]:.4g}") if isinstance(row[n], float) else row[n] for n in names} for row in succeeded],
        )
    for row in result_rows:
        if row["problem"] is not None:
            settings = ", ".join(f"{n} = {row[n]}" for n in ("k", "l", "t", "d", "n") if row.get(n) is not None)
            click.echo(f"{row['algorithm']}, {settings}: {row['problem']}")
