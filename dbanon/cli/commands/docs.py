"""`dbanon docs`: print a page of the manual, or write all pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dbanon.cli.terminal.command_group import ExitError
from dbanon.cli.terminal.common import AS_JSON, REPLACE, errors_as_messages, print_result
from dbanon.errors import did_you_mean, renamed_names

if TYPE_CHECKING:
    from dbanon.cli.manual.command_page import DocumentedCommands


@click.command("docs")
@click.argument("name", default="index")
@click.option("-o", "--output", type=click.Path(file_okay=False), help="Write all pages to this folder instead.")
@REPLACE
@AS_JSON
@click.pass_context
def docs(context: click.Context, name: str, output: str | None, replace: bool, as_json: bool) -> None:
    """Print the page of the manual about NAME, or its contents.

    NAME is a function, command, metric or error. The pages are Markdown.
    """
    from dbanon.cli.manual import pages

    commands = documented_commands(context.find_root().command)
    if output is None:
        topics = pages.topics(commands)
        if name.lower() not in topics:
            current = renamed_names.COMMANDS.get(name) or renamed_names.FUNCTIONS.get(name)
            hint = renamed_names.renamed_hint(name, current) or did_you_mean(name, topics)
            raise ExitError(f"the manual has no page about '{name}'.{hint} Hint: dbanon docs lists its pages.")
        print_result({"name": name.lower(), "text": topics[name.lower()]}, as_json, topics[name.lower()].rstrip("\n"))
        return
    with errors_as_messages():
        paths = pages.write_pages(output, commands, overwrite=replace)
    print_result({"folder": output, "pages": len(paths)}, as_json, f"{len(paths)} pages are in {output}.")


def documented_commands(root: click.Command) -> DocumentedCommands:
    """Return the commands that the manual documents: those below `root`, and the dot commands of the shell."""
    from dbanon.cli.manual.command_page import DocumentedCommands
    from dbanon.cli.shell.dot_commands import COMMANDS

    return DocumentedCommands(root, {command.usage: command.doc for command in COMMANDS.values()})
