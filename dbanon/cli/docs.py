"""`dbanon docs`: prints a page of the manual, or writes all of it."""

from __future__ import annotations

import click

from dbanon.cli.common import errors_as_messages
from dbanon.errors import near


@click.command("docs")
@click.argument("name", default="index")
@click.option("--to", type=click.Path(file_okay=False), help="Write all pages to this folder instead.")
@click.option("--force", is_flag=True, help="Replace pages that are there.")
def docs(name: str, to: str | None, force: bool) -> None:
    """Print what the manual says about NAME, a function, command, metric or error; without NAME its contents.

    The pages are Markdown.
    """
    from dbanon.manual import pages

    if to is None:
        found = pages.topics()
        if name.lower() not in found:
            raise click.ClickException(
                f"the manual has nothing about '{name}'.{near(name, found)} Hint: dbanon docs lists its pages."
            )
        click.echo(found[name.lower()], nl=False)
        return
    with errors_as_messages():
        written = pages.write(to, overwrite=force)
    click.echo(f"{len(written)} pages are in {to}.")
