"""The manual's page of commands, as Markdown: `dbanon docs commands` prints it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import cleandoc

import click

from dbanon.cli.manual.function_page import escape_markdown, join_parts, table


@dataclass(frozen=True)
class DocumentedCommands:
    """The commands that the manual documents.

    Attributes:
        root: The command line.
        shell: The descriptions of the shell's dot commands, by how each is typed.
    """

    root: click.Command
    shell: Mapping[str, str]

    def walk(self) -> Iterator[tuple[str, click.Command]]:
        """Yield (words to type, command) for all commands of the command line, groups before their commands."""
        yield from _walk(self.root, "dbanon")


def page(commands: DocumentedCommands) -> str:
    """Return the page of all commands as Markdown."""
    rows = ((f"`{escape_markdown(usage)}`", escape_markdown(doc)) for usage, doc in commands.shell.items())
    return join_parts(
        "# Commands",
        "`-h` and `--help` explain each.",
        *(part for path, command in commands.walk() for part in _section(path, command)),
        "## In the shell",
        table(("command", "what it does"), rows),
    )


def _walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    """Yield the words to type and the command, for a command and, in order of their names, all that it contains.

    Hidden commands are omitted. `path` are the words to type for `command`.
    """
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in sorted(command.commands.items()):
            if not inner.hidden:
                yield from _walk(inner, f"{path} {name}")


def _section(path: str, command: click.Command) -> Iterator[str]:
    """Yield the parts of a command's section: heading, usage, help text and table of options."""
    context = click.Context(command, info_name=path)
    yield f"## {path}"
    yield f"```sh\n{' '.join([path, *command.collect_usage_pieces(context)])}\n```"
    yield "\n\n".join(map(_paragraph, cleandoc(command.help or "").split("\n\n")))
    records = [
        record
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        if (record := parameter.get_help_record(context)) is not None
    ]
    if records:
        yield table(
            ("option", "meaning"),
            ((f"`{escape_markdown(option)}`", escape_markdown(help_)) for option, help_ in records),
        )


def _paragraph(text: str) -> str:
    """Return a paragraph of a command's help as Markdown.

    A paragraph that click does not wrap, marked by a backspace character, becomes a code block.
    """
    if text.startswith("\b"):
        return f"```text{text[1:].rstrip()}\n```"
    return escape_markdown(" ".join(text.split()))
