"""`%load_ext dbanon` and `%unload_ext dbanon`."""

from typing import Any

from dbanon.integrations.notebook.magic import Magic

_LOADED: dict[int, Magic] = {}
"""The magics of each shell, by its id."""


def load_ipython_extension(shell: Any) -> None:
    """Register the magics `%dbanon` and `%%dbanon` in a shell of IPython.

    Loading again keeps the connection that the magics use.
    """
    magic = _LOADED.setdefault(id(shell), Magic(shell))
    shell.register_magic_function(magic.line, "line", "dbanon")
    shell.register_magic_function(magic.cell, "cell", "dbanon")


def unload_ipython_extension(shell: Any) -> None:
    """Remove the magics from a shell, and close the database that `%dbanon FILE` opened; do nothing if not loaded."""
    magic = _LOADED.pop(id(shell), None)
    if magic is not None:
        magic.close()
        for kind in ("line", "cell"):
            shell.magics_manager.magics[kind].pop("dbanon", None)
