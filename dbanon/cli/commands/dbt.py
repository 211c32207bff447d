"""`dbanon dbt`: print where the dbt package is, or copy it into a project."""

import click

from dbanon.cli.terminal.common import AS_JSON, errors_as_messages, print_result


@click.command("dbt")
@click.option("--to", type=click.Path(file_okay=False), help="Copy the package to this folder of the project.")
@click.option("--force", is_flag=True, help="Replace files that are there.")
@AS_JSON
def dbt(to: str | None, force: bool, as_json: bool) -> None:
    """Print the packages.yml with which a dbt project has the materialization, tests and macros of dbanon.

    It names the place where dbanon is installed. With --to the package is copied into the project, to be committed.
    """
    from dbanon.integrations.dbt import dbt_package

    with errors_as_messages():
        if to is not None:
            dbt_package.copy_package(to, overwrite=force)
    folder = str(dbt_package.FOLDER if to is None else to)
    packages_yml = dbt_package.packages_yml(folder)
    print_result({"folder": folder, "packages_yml": packages_yml}, as_json, packages_yml.rstrip("\n"))
