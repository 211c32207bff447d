"""The options --memory and --temp-directory, of the shell and of commands that make releases."""

from collections.abc import Callable
from typing import Any

import click

_CONTEXT_KEY = "dbanon.bounds"


def _store_value(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Store the value of an option in the context of the command, for `memory_arguments`."""
    context.meta.setdefault(_CONTEXT_KEY, {})[option.name] = value


def memory_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options --memory and --temp-directory to a command; only `memory_arguments` reads their values."""
    memory = click.option(
        "--memory",
        metavar="AMOUNT",
        expose_value=False,
        callback=_store_value,
        help="Limit the memory of DuckDB: 2GB, 500MB.",
    )
    directory = click.option(
        "--temp-directory",
        metavar="FOLDER",
        expose_value=False,
        callback=_store_value,
        help="Let DuckDB write data that does not fit into memory to this folder, raw rows too.",
    )
    return memory(directory(command))


def memory_arguments() -> dict[str, Any]:
    """Return the values of --memory and --temp-directory as arguments of `connect`.

    Returns an empty mapping outside of a command, or for a command without these options. An option that is not given
    is None.
    """
    context = click.get_current_context(silent=True)
    return dict(context.meta.get(_CONTEXT_KEY, {})) if context is not None else {}
