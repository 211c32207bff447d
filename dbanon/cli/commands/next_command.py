"""The next command of the path from a file to a published file, printed at the end of every command."""

import shlex
from pathlib import Path

import click


def next_command(*words: str | Path) -> str:
    """Return a command of dbanon as it is typed in a shell; a path that begins with `-` gets `./` in front.

    >>> next_command("anonymize", Path("my data.duckdb"), "-k", "10")
    "dbanon anonymize 'my data.duckdb' -k 10"
    >>> next_command("anonymize", Path("-x.duckdb"))
    'dbanon anonymize ./-x.duckdb'
    """
    return shlex.join(["dbanon", *(_path_argument(word) if isinstance(word, Path) else word for word in words)])


def print_next_command(command: str) -> None:
    """Print the next command on stderr, so that the output of this command can be read by a program."""
    click.echo(f"Next: {command}", err=True)


def _path_argument(path: Path) -> str:
    """Return a path as text that no command takes for an option."""
    text = str(path)
    return f"./{text}" if text.startswith("-") else text
