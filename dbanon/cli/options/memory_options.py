"""The options --memory and --temp-directory, of the shell and of commands that make releases."""

from collections.abc import Callable
from typing import Any

import click

_CONTEXT_KEY = "dbanon.bounds"


def _store_value(context: click.Context, option: click.Parameter, value: str | None) -> None:
    context.meta.setdefault(_CONTEXT_KEY, {})[option.name] = value


def memory_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the two options to a command; their values are for `memory_arguments`, not for the command."""
    memory = click.option(
        "--memory",
        metavar="AMOUNT",
        expose_value=False,
        callback=_store_value,
        help="Most memory of DuckDB: 2GB, 500MB.",
    )
    directory = click.option(
        "--temp-directory",
        metavar="FOLDER",
        expose_value=False,
        callback=_store_value,
        help="Where DuckDB writes what does not fit into memory: raw rows, too.",
    )
    return memory(directory(command))


def memory_arguments() -> dict[str, Any]:
    """Return the arguments of `connect` that the command's options give."""
    context = click.get_current_context(silent=True)
    return dict(context.meta.get(_CONTEXT_KEY, {})) if context is not None else {}
