"""The command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dbanon import __version__
from dbanon.errors import DbanonError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dbanon")
def main() -> None:
    """Anonymization that lives in the database."""


@main.command()
@click.option(
    "--database",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("dbanon_demo.duckdb"),
    show_default=True,
    help="The database file to make.",
)
@click.option("-k", type=click.IntRange(min=2), default=10, show_default=True, help="Least persons in a class.")
def demo(database: Path, k: int) -> None:
    """Make a database of 20,000 made-up patients, anonymize it and show what comes out."""
    from dbanon import demo as hospital

    try:
        con = hospital.build(database)
    except DbanonError as error:
        raise click.ClickException(str(error)) from None
    with con:
        _show(con, "The source, as only its custodian sees it", "FROM patients LIMIT 3")
        _show(con, "Its policy", "SELECT column_name, role, hierarchy, grid FROM dbanon.policy")
        _show(
            con,
            f"Released at k = {k}",
            f"FROM kacpc('patients', k={k}) USING SAMPLE 8 ROWS (reservoir, 7) ORDER BY class_id",
        )
        _show(
            con,
            "Class sizes",
            f"SELECT size, count(*) AS classes, round(avg(loss), 3) AS loss FROM kacpc_classes('patients', k={k}) "
            "GROUP BY size ORDER BY size",
        )
        _show(
            con,
            "Metrics",
            f"SELECT metric, value, better, description FROM kacpc_metrics('patients', k={k})",
        )
    click.echo(
        f"\nThe database is {database}. Open it and try:\n\n"
        f"    python -i -c \"import dbanon; con = dbanon.connect('{database}')\"\n"
        f"    >>> con.sql(\"FROM kacpc_classes('patients', k=50)\")\n"
        f"    >>> con.sql(\"FROM kacpc_metrics('patients', k=10, weights={{'zip': 3}})\")\n"
        f"    >>> con.sql(\"CREATE TABLE safe AS FROM mondrian('patients', k=10)\")\n"
    )


def _show(con: Any, title: str, query: str) -> None:
    """Prints the result of a query as a table."""
    from rich.console import Console
    from rich.table import Table

    result = con.execute(query)
    names = [column[0] for column in result.description]
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in names:
        table.add_column(name)
    for row in result.fetchall():
        table.add_row(*(_cell(value) for value in row))
    Console().print(table)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else str(value)
