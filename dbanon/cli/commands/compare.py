"""`dbanon compare` and `dbanon choose`: what algorithms and configurations cost and leave at risk."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dbanon import errors
from dbanon.cli.options.memory_options import bounds
from dbanon.cli.options.parameters import parameter
from dbanon.cli.terminal.common import AS_JSON, answer, errors_as_messages, opened, opening, progress, searched, table
from dbanon.table_functions.registry import table_functions

_PLOT = click.option(
    "--plot", metavar="FILE", help="Draw it: a .svg, .png or .pdf file. Needs pip install 'dbanon[plot]'."
)
_QUIET = click.option("--quiet", is_flag=True, help="No progress.")


_IN_JSON = ("statement", "ncp", "risk_average", "rows")
"""Columns that --json has and the table has no room for."""


def _shared(command: Callable[..., None]) -> Callable[..., None]:
    """What both commands take."""
    named = (
        click.option("-k", required=True, metavar="K,K,...", help="Each k."),
        click.option("--algorithms", metavar="NAME,NAME,...", help="Names of algorithms, or all."),
        click.option(
            "-p", "--parameter", "given", multiple=True, metavar="NAME=VALUE",
            help="Any parameter of the function: qi=age,zip, metrics=ncp,precision, repeat=10.",
        ),
    )  # fmt: skip
    for option in named[::-1]:
        command = option(command)
    return command


@click.command()
@opening
@click.argument("source")
@_shared
@click.option("-d", metavar="D,D,...", help="Numbers of quasi-identifiers: so many of the first ones.")
@click.option("--rows", metavar="N,N,...", help="Sizes of samples.")
@click.option("--into", metavar="TABLE", help="Keep each run in this table of DATABASE; what it has is not run again.")
@_PLOT
@bounds
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

    One row a run and metric. With --into, a comparison that was stopped goes on where it was, and another k or
    algorithm is added to those that are there.
    """
    with errors_as_messages():
        asked = _asked("compare", given, k=k, algorithms=algorithms, d=d, rows=rows)
    _answered("compare", database, source, asked, {"into": into}, plot, quiet, as_json)


@click.command()
@opening
@click.argument("source")
@_shared
@click.option("-l", metavar="L,L,...", help="Each l; 1 asks for none.")
@click.option("-t", metavar="T,T,...", help="Each t; 1 asks for none.")
@_PLOT
@bounds
@_QUIET
@AS_JSON
def choose(
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

    One row a configuration; --json has the statement that makes each.
    """
    with errors_as_messages():
        asked = _asked("choose", given, k=k, algorithms=algorithms, l=l, t=t)
    _answered("choose", database, source, asked, {}, plot, quiet, as_json)


def _asked(function: str, given: Sequence[str], **options: str | None) -> dict[str, Any]:
    """Return the parameters of a call.

    Those of -p and those that have an option of their own; UnknownParameterError.
    """
    kinds = {p.name: p.kind for p in table_functions()[function].parameters}
    texts = [*given, *(f"{name}={value}" for name, value in options.items() if value is not None)]
    found: dict[str, Any] = {}
    for name, value in (parameter(text, kinds) for text in texts):
        if name not in kinds:
            raise errors.UnknownParameterError(function, name, kinds)
        if name in found and found[name] != value:
            raise click.BadParameter(f"{name} is given twice, and differently.", param_hint=name)
        found[name] = value
    return found


def _answered(
    function: str,
    database: Path,
    source: str,
    asked: dict[str, Any],
    more: dict[str, str | None],
    plot: str | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Run the function, print what it found, whether it can be drawn or not, and draw it.

    JSON is one document: what was found, or why it cannot be drawn.
    """
    from dbanon.api import compare as compare_module
    from dbanon.audit.plots.drawing import rows_of, writable
    from dbanon.audit.plots.plot import plot as drawn

    with errors_as_messages():
        if plot is not None:
            writable(plot)
        with opened(database, read_only=not more.get("into")) as con, progress(quiet) as step:
            con.progress = searched(step)
            run = getattr(compare_module, function)
            found = rows_of(run(con, source, **{n: v for n, v in more.items() if v is not None}, **asked))
    if not as_json:
        _printed(f"{function} {source}", found)
    written = ""
    if plot is not None:
        with errors_as_messages():
            written = str(drawn(found).save(plot))
    answer(found, as_json, written)


def _printed(title: str, found: Sequence[Mapping[str, Any]]) -> None:
    """A table of what was made, and a line for each that was refused."""
    made = [row for row in found if row["problem"] is None]
    names = [n for n in found[0] if n not in _IN_JSON and any(row[n] is not None for row in made)]
    if made:
        table(title, [{n: _short(row[n]) for n in names} for row in made])
    for row in found:
        if row["problem"] is not None:
            of = ", ".join(f"{n} = {row[n]}" for n in ("k", "l", "t", "d", "n") if row.get(n) is not None)
            click.echo(f"{row['algorithm']}, {of}: {row['problem']}")


def _short(value: object) -> object:
    """Return numbers to four digits, of which a screen has room."""
    return float(f"{value:.4g}") if isinstance(value, float) else value
