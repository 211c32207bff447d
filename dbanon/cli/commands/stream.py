"""`dbanon stream`: a streaming view that is read on, or lines in and lines out."""

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import click

from dbanon.cli.options.memory_options import bounds
from dbanon.cli.options.parameters import not_given, of_system, stream_parameters
from dbanon.cli.options.role_options import (
    PolicyFile,
    declare_policy,
    hierarchies_as_paths,
    is_named,
    policy_columns,
    role_options,
    role_parameters,
    roles_of,
    with_declared_columns,
)
from dbanon.cli.terminal.common import AS_JSON, CSV_FORMULAS, answer, errors_as_messages, opened
from dbanon.errors.exit_codes import EXIT_CODES

FORMATS = ("ndjson", "csv")
_ENDINGS = {".csv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson"}


@click.command("stream")
@click.argument("database", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("name", required=False)
@click.option("--follow", is_flag=True, help="Go on until Ctrl-C.")
@click.option("--every", default=1.0, show_default=True, type=click.FloatRange(0.01), help="Seconds between two looks.")
@click.option("--flush", is_flag=True, help="Nobody goes on waiting, as though the stream ended.")
@click.option("--pruned", is_flag=True, help="Rows that have left were deleted from the source on purpose.")
@click.option("--from", "source", help="A file of lines, or - for standard input, instead of a database.")
@click.option("--to", "target", help="A file for the lines that leave, or - for standard output.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="ndjson",
    show_default=True,
    help="Of lines whose file does not tell it.",
)
@click.option("--types", multiple=True, metavar="COLUMN=TYPE", help="Arrow's type of a column of lines: age=double.")
@click.option("--system", default="fads", show_default=True, help="The stream system, for lines.")
@CSV_FORMULAS
@stream_parameters
@role_options
@bounds
@AS_JSON
def stream(
    database: Path | None,
    name: str | None,
    follow: bool,
    every: float,
    flush: bool,
    pruned: bool,
    source: str | None,
    target: str | None,
    format_: str,
    types: Sequence[str],
    system: str,
    as_json: bool,
    **asked: Any,
) -> None:
    """Read on the streaming view NAME of DATABASE; or read lines and write those that leave.

    \b
    dbanon stream clinic.duckdb safe_events --follow
    tail -f events.ndjson | dbanon stream --from - --to - -k 10 -p delta=1000 --qi age --qi zip --sensitive disease

    A pipe has no --json: what leaves is the answer. Columns without a role are withheld.
    """
    if database is not None and name is not None and source is None and target is None:
        _read_on(database, name, every if follow else None, {"flush": flush, "pruned": pruned}, as_json)
    elif database is None and source is not None and target is not None:
        with errors_as_messages():
            formats = _format(format_, source), _format(format_, target)
            policy, escape = _policy(asked["policy"], source), asked["csv_formulas"] == "escape"
            pipe = _Pipe(*formats, types, system, _parameters(system, asked, policy), policy, escape)
            with _binary(source) as file, _written(target) as out:
                _run(pipe, file, out)
    else:
        raise click.UsageError("Give a database and the name of a streaming view, or --from and --to.")


def _read_on(database: Path, name: str, every: float | None, how: Mapping[str, bool], as_json: bool) -> None:
    """Refresh once, or again and again; a connection a time, so that others may write meanwhile."""
    from dbanon.views import streaming

    while True:
        try:
            with errors_as_messages(), opened(database) as con:
                made = streaming.refresh_stream(con, name, **how)
        except click.ClickException as error:
            if every is None or error.exit_code != EXIT_CODES["busy"]:
                raise
        else:
            if every is None or made.read or made.published or made.suppressed:
                answer(asdict(made), as_json, str(made))
        if every is None:
            return
        time.sleep(every)


@dataclass(frozen=True)
class _Pipe:
    """Lines in, lines out: their formats, the types of columns, the call, the policy file (None: none), and whether
    text cells of CSV that a spreadsheet would execute are escaped."""

    reads: str
    writes: str
    types: Sequence[str]
    system: str
    parameters: Mapping[str, Any]
    policy: PolicyFile | None
    escape: bool

    @property
    def quasi(self) -> set[str]:
        """The quasi-identifiers, as the policy file and the call name them."""
        columns = {} if self.policy is None else self.policy[1]
        given = self.parameters.get("qi") or ()
        declared = (column for column, settings in columns.items() if settings.get("role") == "quasi")
        return {*declared, *([given] if isinstance(given, str) else given)}


def _parameters(system: str, asked: Mapping[str, Any], policy: PolicyFile | None) -> dict[str, Any]:
    """Return the parameters of the call: those of -p, and the options for models and roles."""
    options = role_parameters(asked["qi"], asked["sensitive"], asked["person"], asked["identifiers"], asked["other"])
    parameters = of_system(system, asked["given"], k=asked["k"], l=asked["l"], **options)
    declared = [] if policy is None else roles_of(policy[1])
    completed = with_declared_columns(parameters, not_given(options, asked["given"]), declared)
    return hierarchies_as_paths(completed)


def _policy(path: Path | None, source: str) -> PolicyFile | None:
    """Return the policy file, whose rows may name the file of the lines."""
    lines_file = Path(source)
    known = ("input",) if source == "-" else ("input", lines_file.stem, lines_file.name)
    columns = policy_columns(path, "the lines", is_named(*known))
    return None if path is None or columns is None else (path, columns)


def _run(pipe: _Pipe, file: IO[bytes], out: IO[str]) -> None:
    """Write the lines that are due as lines arrive; the policy of the file governs them."""
    from dbanon.api.stream import anonymize_stream
    from dbanon.cli.terminal import line_formats
    from dbanon.cli.terminal.line_writer import Lines

    def prepare(con: Any) -> None:
        if pipe.policy is not None:
            declare_policy(con, *pipe.policy)

    try:
        types = line_formats.types_of(dict(text.partition("=")[::2] for text in pipe.types))
        batches = line_formats.tables(file, pipe.reads, types)
    except ValueError as error:
        raise click.BadParameter(f"{error}.", param_hint="--types") from None
    output_lines = Lines(pipe.writes, escape=pipe.escape, quasi=pipe.quasi)
    for left in anonymize_stream(batches, pipe.system, prepare=prepare, **pipe.parameters):
        for line in output_lines.of(left):
            out.write(line)
        out.flush()


def _format(given: str, name: str) -> str:
    """Of lines in a file of that name."""
    return _ENDINGS.get(Path(name).suffix.lower(), given)


@contextlib.contextmanager
def _binary(name: str) -> Iterator[IO[bytes]]:
    if name == "-":
        yield sys.stdin.buffer
    else:
        with Path(name).open("rb") as file:
            yield file


@contextlib.contextmanager
def _written(name: str) -> Iterator[IO[str]]:
    if name == "-":
        yield sys.stdout
    else:
        with Path(name).open("w", encoding="utf-8", newline="") as file:
            yield file
