"""`dbanon demo`: a made-up hospital, anonymized."""

from __future__ import annotations

from pathlib import Path

import click

from dbanon.cli.common import errors_as_messages, show


@click.command()
@click.option(
    "--database",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("dbanon_demo.duckdb"),
    show_default=True,
    help="The database file to make.",
)
@click.option("--force", is_flag=True, help="Make a demo database that is there anew.")
@click.option("-k", type=click.IntRange(min=2), default=10, show_default=True, help="Least persons in a class.")
def demo(database: Path, force: bool, k: int) -> None:
    """Make a database of 20,000 made-up patients, anonymize it and show what comes out."""
    from dbanon.client import demo as hospital

    with errors_as_messages(), hospital.build(database, overwrite=force) as con:
        show(con, "The source, as only its custodian sees it", "FROM patients LIMIT 3")
        show(con, "Its policy", "SELECT column_name, role, hierarchy, grid FROM dbanon.policy")
        show(
            con,
            f"Released at k = {k}",
            f"FROM kacpc('patients', k={k}) USING SAMPLE 8 ROWS (reservoir, 7) ORDER BY class_id",
        )
        show(
            con,
            "Class sizes",
            f"SELECT size, count(*) AS classes, round(avg(loss), 3) AS loss FROM kacpc_classes('patients', k={k}) "
            "GROUP BY size ORDER BY size",
        )
        show(
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
