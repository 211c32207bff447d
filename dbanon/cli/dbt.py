"""`dbanon dbt`: the package that dbt reads, where it lies or copied into a project."""

from __future__ import annotations

from pathlib import Path

import click

from dbanon.cli.common import AS_JSON, answer, errors_as_messages


@click.command("dbt")
@click.option("--to", type=click.Path(), help="Copy the package to this folder of the project, which must not exist.")
@AS_JSON
def dbt(to: str | None, as_json: bool) -> None:
    """Print the packages.yml by which a dbt project has dbanon's materialization, tests and macros.

    It names the package where dbanon is installed, a place of this machine. With --to it is copied into the project and
    can be committed there.
    """
    from dbanon.dbt import shipped

    with errors_as_messages():
        if to is not None:
            shipped.copy(Path(to))
    folder = shipped.FOLDER if to is None else Path(to)
    said = shipped.packages_yml(folder)
    answer({"folder": str(folder), "packages_yml": said}, as_json, said.rstrip("\n"))
