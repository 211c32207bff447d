"""`dbanon demo`: a made-up hospital, anonymized, on one screen."""

import shlex
from pathlib import Path
from typing import Any

import click

from dbanon.cli.options.parameters import models
from dbanon.cli.terminal.common import AS_JSON, answer, errors_as_messages, headlines, progress, rows

ALGORITHM = "best"


@click.command()
@click.option(
    "--database",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("dbanon_demo.duckdb"),
    show_default=True,
    help="The database file to make.",
)
@click.option("--force", is_flag=True, help="Make a demo database that is there anew.")
@models
@AS_JSON
def demo(database: Path, force: bool, k: int | None, l: int | None, t: float | None, as_json: bool) -> None:  # noqa: E741
    """Make a database of 20,000 made-up patients, anonymize it (by default with -k 10) and show what comes out."""
    from dbanon.api import demo as hospital

    given = {"k": 10 if k is None and l is None and t is None else k or 2, "l": l, "t": t}
    asked = ", ".join(f"{name}={value}" for name, value in given.items() if value is not None)
    call = f"('patients', {asked})"
    with errors_as_messages(), hospital.create_demo(database, overwrite=force) as con, progress(False) as step:
        step("Clustering and checking")
        raw = rows(con, "SELECT name, birth_date, sex, zip, disease FROM patients LIMIT 1")
        columns = "birth_date, sex, zip, disease, class_id"
        released = rows(
            con, f"SELECT {columns} FROM {ALGORITHM}{call} USING SAMPLE 3 ROWS (reservoir, 7) ORDER BY class_id"
        )
        measured = rows(con, f"SELECT metric, value, description FROM {ALGORITHM}_metrics{call}")
    if as_json:
        answer({"database": str(database), "metrics": {row["metric"]: row["value"] for row in measured}}, as_json)
        return
    click.echo(f"{database}: 20,000 made-up patients and their policy. One of them:")
    click.echo(_lines(raw))
    click.echo(f"Some as they are released, FROM {ALGORITHM}{call}:")
    click.echo(_lines(released))
    click.echo("What the release is worth:")
    click.echo(headlines(measured, f"FROM {ALGORITHM}_metrics{call};"))
    click.echo(f"Try, in dbanon shell {shlex.quote(str(database))}")
    click.echo(f"  FROM {ALGORITHM}('patients', k=50);")
    click.echo(f"  FROM {ALGORITHM}_classes{call} ORDER BY loss DESC;")
    click.echo(f"  CREATE TABLE safe AS FROM {ALGORITHM}{call};")


def _lines(found: list[dict[str, Any]]) -> str:
    """Return rows under their names, indented."""
    cells = [list(found[0]), *([str(value) for value in row.values()] for row in found)]
    wide = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  " + "  ".join(f"{c:{w}}" for c, w in zip(line, wide, strict=True)).rstrip() for line in cells)
