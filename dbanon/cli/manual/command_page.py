"""What the commands are, as Markdown: `dbanon docs commands` shows it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from inspect import cleandoc

import click

from dbanon.cli.manual.function_page import prose, table


@dataclass(frozen=True)
class Commands:
    """The commands that the manual tells about: the command line's, and what each does that is typed in the shell."""

    root: click.Command
    shell: Mapping[str, str]

    def walk(self) -> Iterator[tuple[str, click.Command]]:
        """Yield all of the command line with what is typed to call them, groups before what is in them."""
        yield from _walk(self.root, "dbanon")


def page(commands: Commands) -> str:
    """Return all commands."""
    parts = [
        "# Commands",
        "`-h` and `--help` tell about each.",
    ]
    for path, command in commands.walk():
        parts += _section(path, command)
    rows = ((f"`{prose(usage)}`", prose(doc)) for usage, doc in commands.shell.items())
    parts += ["## In the shell", table(("command", "what it does"), rows)]
    return "\n\n".join(parts) + "\n"


def _walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        for name, inner in sorted(command.commands.items()):
            if not inner.hidden:
                yield from _walk(inner, f"{path} {name}")


def _section(path: str, command: click.Command) -> Iterator[str]:
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
        yield table(("option", "meaning"), ((f"`{prose(option)}`", prose(help_)) for option, help_ in records))


def _paragraph(text: str) -> str:
    """Return a paragraph of a command's help; one whose lines click leaves as they are is a block."""
    if text.startswith("\b"):
        return f"```text{text[1:].rstrip()}\n```"
    return prose(" ".join(text.split()))
