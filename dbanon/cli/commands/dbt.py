"""`dbanon dbt`: print where the dbt package is, or copy it into a project."""

import click

from dbanon.cli.terminal.common import AS_JSON, REPLACE, errors_as_messages, print_result


@click.command("dbt")
@click.option(
    "-o", "--output", type=click.Path(file_okay=False), help="Copy the package to this folder of the project."
)
@REPLACE
@AS_JSON
def dbt(output: str | None, replace: bool, as_json: bool) -> None:
    """Print the packages.yml that adds dbanon to a dbt project.

    The project then has the materialization, tests and macros of dbanon. The file names the place where dbanon is
    installed. With --output, the package is copied into the project instead, so that you can commit it.
    """
    from dbanon.integrations.dbt import dbt_package

    with errors_as_messages():
        if output is not None:
            dbt_package.copy_package(output, overwrite=replace)
    folder = str(dbt_package.FOLDER if output is None else output)
    packages_yml = dbt_package.packages_yml(folder)
    print_result({"folder": folder, "packages_yml": packages_yml}, as_json, packages_yml.rstrip("\n"))
