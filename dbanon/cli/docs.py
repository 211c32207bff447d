"""`dbanon docs`: prints a page of the manual, or writes all of it."""

from __future__ import annotations

from pathlib import Path

import click

from dbanon.errors import near


@click.command("docs")
@click.argument("name", default="index")
@click.option("--to", type=click.Path(file_okay=False, path_type=Path), help="Write all pages to this folder instead.")
def docs(name: str, to: Path | None) -> None:
    """Print what the manual says about NAME, a function, command, metric or error; without NAME its contents.

    The pages are Markdown.
    """
    from dbanon import pages

    if to is None:
        found = pages.topics()
        if name.lower() not in found:
            raise click.ClickException(
                f"the manual has nothing about '{name}'.{near(name, found)} Hint: dbanon docs lists its pages."
            )
        click.echo(found[name.lower()], nl=False)
        return
    try:
        written = pages.write(to)
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}.") from None
    click.echo(f"{len(written)} pages are in {to}.")
