"""`dbanon demo`: create a fictional hospital, anonymize it, and show the result."""

import shlex
from pathlib import Path
from typing import Any

import click

from dbanon.cli.options.parameters import model_options
from dbanon.cli.terminal.common import (
    AS_JSON,
    errors_as_messages,
    key_metric_lines,
    print_result,
    query_rows,
    show_progress,
)

ALGORITHM = "best"


@click.command()
@click.option(
    "--database",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("dbanon_demo.duckdb"),
    show_default=True,
    help="Create this database file.",
)
@click.option("--replace", is_flag=True, help="Create the demo database again if the file exists.")
@model_options
@AS_JSON
def demo(database: Path, replace: bool, k: int | None, l: int | None, t: float | None, as_json: bool) -> None:  # noqa: E741
    """Create a database of invented patients and anonymize it.

    It has 20,000 patients; the default is -k 10. The command prints a part of the result.
    """
    from dbanon.api import demo as demo_database

    model_parameters = {"k": 10 if k is None and l is None and t is None else k or 2, "l": l, "t": t}
    settings = ", ".join(f"{name}={value}" for name, value in model_parameters.items() if value is not None)
    call = f"('patients', {settings})"
    with (
        errors_as_messages(),
        demo_database.create_demo(database, overwrite=replace) as con,
        show_progress(False) as step,
    ):
        step("Clustering and checking")
        raw = query_rows(con, "SELECT name, birth_date, sex, zip, disease FROM patients LIMIT 1")
        columns = "birth_date, sex, zip, disease, class_id"
        released_rows = query_rows(
            con, f"SELECT {columns} FROM {ALGORITHM}{call} USING SAMPLE 3 ROWS (reservoir, 7) ORDER BY class_id"
        )
        metric_rows = query_rows(con, f"SELECT metric, value, description FROM {ALGORITHM}_metrics{call}")
    if as_json:
        print_result(
            {"database": str(database), "metrics": {row["metric"]: row["value"] for row in metric_rows}}, as_json
        )
        return
    click.echo(
        "\n".join(
            [
                f"{database}: 20,000 invented patients and their policy. One of them:",
                _align_columns(raw),
                f"Some of the released rows, FROM {ALGORITHM}{call}:",
                _align_columns(released_rows),
                "Metrics of the release:",
                key_metric_lines(metric_rows, f"FROM {ALGORITHM}_metrics{call};"),
                f"Try, in dbanon shell {shlex.quote(str(database))}",
                f"  FROM {ALGORITHM}('patients', k=50);",
                f"  CREATE TABLE safe AS FROM {ALGORITHM}{call};",
                "  SELECT disease, avg(midpoint_date(birth_date)) FROM safe GROUP BY ALL;",
            ]
        )
    )


def _align_columns(rows: list[dict[str, Any]]) -> str:
    """Return rows as text under their column names, indented and aligned; there must be at least one row."""
    cells = [list(rows[0]), *([str(value) for value in row.values()] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join("  " + "  ".join(f"{c:{w}}" for c, w in zip(line, widths, strict=True)).rstrip() for line in cells)
