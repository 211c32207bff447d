"""`dbanon stream`: a streaming view that is read on, or lines in and lines out."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

import click

from dbanon.cli.common import AS_JSON, CSV_FORMULAS, answer, errors_as_messages, opened
from dbanon.cli.parameters import of_system, stream_parameters
from dbanon.cli.roles import declared, role_options, write
from dbanon.engine.outcomes import EXIT_CODES
from dbanon.shell.bounds import bounds

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
        with errors_as_messages(), _binary(source) as file, _written(target) as out:
            _pipe(file, out, _format(format_, source), _format(format_, target), system, types, asked)
    else:
        raise click.UsageError("Give a database and the name of a streaming view, or --from and --to.")


def _read_on(database: Path, name: str, every: float | None, how: Mapping[str, bool], as_json: bool) -> None:
    """Refreshes once, or again and again; a connection a time, so that others may write meanwhile."""
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


def _pipe(
    file: IO[bytes], out: IO[str], reads: str, writes: str, system: str, types: Sequence[str], asked: Mapping[str, Any]
) -> None:
    """Lines in, lines out, as they come."""
    from dbanon.client.pipe import anonymize_stream
    from dbanon.engine import lines
    from dbanon.engine.written_lines import Lines

    roles = {"sensitive": asked["sensitive"], "identifier": asked["identifiers"], "other": asked["other"]}
    person = asked["person"]
    columns = declared(asked["policy"], asked["qi"], roles | {"person": [person] if person else []})
    parameters = of_system(system, asked["given"], k=asked["k"], l=asked["l"])
    try:
        batches = lines.tables(file, reads, lines.types_of(dict(text.partition("=")[::2] for text in types)))
    except ValueError as error:
        raise click.BadParameter(f"{error}.", param_hint="--types") from None
    quasi = [column for column, settings in columns.items() if settings.get("role") == "quasi"]
    written = Lines(writes, escape=asked["csv_formulas"] == "escape", quasi=quasi)
    for left in anonymize_stream(batches, system, prepare=lambda con: write(con, columns), **parameters):
        for line in written.of(left):
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
