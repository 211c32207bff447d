"""The options --memory and --temp-directory, of the shell and of commands that make releases."""

from collections.abc import Callable
from typing import Any

import click

_BOUNDS = "dbanon.bounds"


def _kept(context: click.Context, option: click.Parameter, value: str | None) -> None:
    context.meta.setdefault(_BOUNDS, {})[option.name] = value


def bounds(command: Callable[..., None]) -> Callable[..., None]:
    """Return the two options; what they say is for `bounded`, not for the command."""
    memory = click.option(
        "--memory", metavar="AMOUNT", expose_value=False, callback=_kept, help="Most memory of DuckDB: 2GB, 500MB."
    )
    directory = click.option(
        "--temp-directory",
        metavar="FOLDER",
        expose_value=False,
        callback=_kept,
        help="Where DuckDB writes what does not fit into memory: raw rows, too.",
    )
    return memory(directory(command))


def bounded() -> dict[str, Any]:
    """Return the arguments of `connect` that the command's user gave."""
    context = click.get_current_context(silent=True)
    return dict(context.meta.get(_BOUNDS, {})) if context is not None else {}
