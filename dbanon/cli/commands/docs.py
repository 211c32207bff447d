"""`dbanon docs`: prints a page of the manual, or writes all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dbanon.cli.terminal.common import AS_JSON, answer, errors_as_messages
from dbanon.cli.terminal.exit_errors import failure
from dbanon.errors import near

if TYPE_CHECKING:
    from dbanon.cli.manual.command_page import Commands


@click.command("docs")
@click.argument("name", default="index")
@click.option("--to", type=click.Path(file_okay=False), help="Write all pages to this folder instead.")
@click.option("--force", is_flag=True, help="Replace pages that are there.")
@AS_JSON
@click.pass_context
def docs(context: click.Context, name: str, to: str | None, force: bool, as_json: bool) -> None:
    """Print what the manual says about NAME, a function, command, metric or error; without NAME its contents.

    The pages are Markdown.
    """
    from dbanon.cli.manual import pages

    commands = described(context.find_root().command)
    if to is None:
        found = pages.topics(commands)
        if name.lower() not in found:
            raise failure(
                f"the manual has nothing about '{name}'.{near(name, found)} Hint: dbanon docs lists its pages."
            )
        answer({"name": name.lower(), "text": found[name.lower()]}, as_json, found[name.lower()].rstrip("\n"))
        return
    with errors_as_messages():
        written = pages.write(to, commands, overwrite=force)
    answer({"folder": to, "pages": len(written)}, as_json, f"{len(written)} pages are in {to}.")


def described(root: click.Command) -> Commands:
    """What the manual says about commands: all of the command line below `root`, and those of the shell."""
    from dbanon.cli.manual.command_page import Commands
    from dbanon.cli.shell.dot_commands import COMMANDS

    return Commands(root, {command.usage: command.doc for command in COMMANDS.values()})
