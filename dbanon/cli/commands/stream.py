"""`dbanon stream`: refresh a streaming view, or anonymize lines from a pipe."""

import contextlib
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import click

from dbanon.cli.options.connection_options import memory_options
from dbanon.cli.options.name_completion import complete_systems
from dbanon.cli.options.parameters import merge_stream_parameters, options_not_assigned, stream_parameter_options
from dbanon.cli.options.role_options import (
    PolicyFile,
    declare_policy,
    hierarchies_as_paths,
    name_predicate,
    policy_columns,
    role_options,
    role_parameters,
    roles_of,
    with_declared_columns,
)
from dbanon.cli.terminal.common import AS_JSON, CSV_FORMULAS, REPLACE, errors_as_messages, open_database, print_result
from dbanon.errors import TargetExistsError
from dbanon.errors.exit_codes import EXIT_CODES

FORMATS = ("ndjson", "csv")
_FORMAT_BY_ENDING = {".csv": "csv", ".ndjson": "ndjson", ".jsonl": "ndjson", ".json": "ndjson"}


@click.command("stream")
@click.argument("database", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("name", required=False)
@click.option("--follow", is_flag=True, help="Refresh repeatedly, until Ctrl-C.")
@click.option(
    "--poll-interval",
    default=1.0,
    show_default=True,
    type=click.FloatRange(0.01),
    help="Wait this number of seconds between two refreshes with --follow.",
)
@click.option("--flush", is_flag=True, help="Publish or suppress all pending records, as at the end of the stream.")
@click.option("--allow-deleted-rows", is_flag=True, help="Accept that published rows were deleted from the source.")
@click.option("--from", "source", help="Read lines from this file, or - for standard input, instead of a database.")
@click.option("-o", "--output", help="Write the published lines to this file, or - for standard output.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="ndjson",
    show_default=True,
    help="Set the format of lines if the name of the file does not state it.",
)
@click.option(
    "--types", multiple=True, metavar="COLUMN=TYPE", help="Set the Arrow type of a column of lines: age=double."
)
@click.option(
    "--system",
    shell_complete=complete_systems,
    default="fads",
    show_default=True,
    help="Use this stream system for lines.",
)
@CSV_FORMULAS
@REPLACE
@stream_parameter_options
@role_options
@memory_options
@AS_JSON
def stream(
    database: Path | None,
    name: str | None,
    follow: bool,
    poll_interval: float,
    flush: bool,
    allow_deleted_rows: bool,
    source: str | None,
    output: str | None,
    format_: str,
    types: Sequence[str],
    system: str,
    replace: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """Refresh a streaming view, or anonymize lines of a pipe.

    NAME is a streaming view of DATABASE.

    \b
    dbanon stream clinic.duckdb safe_events --follow
    tail -f events.ndjson | dbanon stream --from - -o - -k 10 -p delta=1000 --qi age --qi zip --sensitive disease

    --json is not available for a pipe, whose result is the published lines. Columns without a role are withheld.
    """
    if database is not None and name is not None and source is None and output is None:
        refresh_options = {"flush": flush, "allow_deleted_rows": allow_deleted_rows}
        _refresh_view(database, name, poll_interval if follow else None, refresh_options, as_json)
    elif database is None and source is not None and output is not None:
        with errors_as_messages():
            if output != "-" and Path(output).is_file() and not replace:
                raise TargetExistsError(output, [output], "stream")
            formats = _line_format(format_, source), _line_format(format_, output)
            policy, escape = _read_policy(asked["policy"], source), asked["csv_formulas"] == "escape"
            pipe = _LineStream(*formats, types, system, _call_parameters(system, asked, policy), policy, escape)
            with _open_input(source) as file, _open_output(output) as out:
                _anonymize_lines(pipe, file, out)
    else:
        raise click.UsageError("Give a database and the name of a streaming view, or --from and --output.")


def _refresh_view(
    database: Path, name: str, interval_s: float | None, refresh_options: Mapping[str, bool], as_json: bool
) -> None:
    """Refresh a streaming view and print the result, once or every `interval_s` seconds until an error or Ctrl-C.

    Each refresh has a new connection, so that others can write in between. When repeated, refreshes that did nothing
    are not printed, and a database that is busy is tried again.
    """
    from dbanon.views import streaming

    while True:
        try:
            with errors_as_messages(), open_database(database) as con:
                refreshed = streaming.refresh_stream(con, name, **refresh_options)
        except click.ClickException as error:
            if interval_s is None or error.exit_code != EXIT_CODES["busy"]:
                raise
        else:
            if interval_s is None or refreshed.read or refreshed.published or refreshed.suppressed:
                print_result(asdict(refreshed), as_json, str(refreshed))
        if interval_s is None:
            return
        time.sleep(interval_s)


@dataclass(frozen=True)
class _LineStream:
    """The options of a stream of lines.

    Attributes:
        reads: The format of the lines that are read: "ndjson" or "csv".
        writes: The format of the lines that are written.
        types: Values of --types, such as `age=double`.
        system: The stream algorithm.
        parameters: The parameters of its call.
        policy: The policy file; None if there is none.
        escape: Whether text cells of CSV that a spreadsheet would execute are escaped.
    """

    reads: str
    writes: str
    types: Sequence[str]
    system: str
    parameters: Mapping[str, Any]
    policy: PolicyFile | None
    escape: bool

    @property
    def quasi(self) -> set[str]:
        """The quasi-identifiers that the policy file or the call names."""
        columns = {} if self.policy is None else self.policy[1]
        call_columns = self.parameters.get("qi") or ()
        policy_quasi = (column for column, settings in columns.items() if settings.get("role") == "quasi")
        return {*policy_quasi, *([call_columns] if isinstance(call_columns, str) else call_columns)}


def _call_parameters(system: str, arguments: Mapping[str, Any], policy: PolicyFile | None) -> dict[str, Any]:
    """Return the parameters of a call of a stream algorithm: those of -p, and the options for models and roles.

    Columns that no option names keep their role in the policy file. `arguments` are the values of the options by name.
    """
    options = role_parameters(
        arguments["qi"], arguments["sensitive"], arguments["person"], arguments["identifiers"], arguments["insensitive"]
    )
    parameters = merge_stream_parameters(system, arguments["given"], k=arguments["k"], l=arguments["l"], **options)
    declared = [] if policy is None else roles_of(policy[1])
    completed = with_declared_columns(parameters, options_not_assigned(options, arguments["given"]), declared)
    return hierarchies_as_paths(completed)


def _read_policy(path: Path | None, source: str) -> PolicyFile | None:
    """Return the policy file with its roles and settings; None without one.

    Its rows may name the table as `input` or, if lines come from a file, as that file with or without its ending.
    """
    lines_file = Path(source)
    table_names = ("input",) if source == "-" else ("input", lines_file.stem, lines_file.name)
    columns = policy_columns(path, "the lines", name_predicate(*table_names))
    return None if path is None or columns is None else (path, columns)


def _anonymize_lines(stream_options: _LineStream, file: IO[bytes], output: IO[str]) -> None:
    """Read lines and write the published rows as lines, as soon as the stream algorithm publishes them.

    Raises:
        click.BadParameter: --types names an unknown type.
    """
    from dbanon.api.stream import anonymize_stream
    from dbanon.cli.terminal import line_formats

    def prepare(con: Any) -> None:
        """Declare the policy file, if there is one, on the connection of the stream."""
        if stream_options.policy is not None:
            declare_policy(con, *stream_options.policy)

    try:
        types = line_formats.arrow_types(dict(text.partition("=")[::2] for text in stream_options.types))
        batches = line_formats.read_tables(file, stream_options.reads, types)
    except ValueError as error:
        raise click.BadParameter(f"{error}.", param_hint="--types") from None
    output_lines = line_formats.LineWriter(
        stream_options.writes, escape=stream_options.escape, quasi=stream_options.quasi
    )
    for table in anonymize_stream(batches, stream_options.system, prepare=prepare, **stream_options.parameters):
        for line in output_lines.format_table(table):
            output.write(line)
        output.flush()


def _line_format(chosen_format: str, name: str) -> str:
    """Return the format that belongs to the ending of a file name; the value of --format for any other name."""
    return _FORMAT_BY_ENDING.get(Path(name).suffix.lower(), chosen_format)


def _open_input(name: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    """Return a file that is open for reading bytes; `-` is standard input, which is not closed."""
    return contextlib.nullcontext(sys.stdin.buffer) if name == "-" else Path(name).open("rb")


def _open_output(name: str) -> contextlib.AbstractContextManager[IO[str]]:
    """Return a file that is open for writing text; `-` is standard output, which is not closed."""
    if name == "-":
        return contextlib.nullcontext(sys.stdout)
    return Path(name).open("w", encoding="utf-8", newline="")
