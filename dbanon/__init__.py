"""dbanon: anonymization that lives in the database.

    SELECT * FROM kacpc('patients', k=10);

`attach` puts the table functions on a DuckDB connection; `connect` opens one that has them. The policy and the
hierarchies are tables of the schema `dbanon`; `declare` and `load_hierarchy` write them from Python. `anonymize` does
without a database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dbanon.connection import Connection, connect
    from dbanon.declaration import clear_cache, declare, load_hierarchy, save_hierarchy
    from dbanon.errors import DbanonError
    from dbanon.frame import Anonymized, anonymize
    from dbanon.install import attach

_HOMES = {
    "Anonymized": "frame",
    "Connection": "connection",
    "DbanonError": "errors",
    "anonymize": "frame",
    "attach": "install",
    "clear_cache": "declaration",
    "connect": "connection",
    "declare": "declaration",
    "load_hierarchy": "declaration",
    "save_hierarchy": "declaration",
}

__all__ = [
    "Anonymized",
    "Connection",
    "DbanonError",
    "anonymize",
    "attach",
    "clear_cache",
    "connect",
    "declare",
    "load_hierarchy",
    "save_hierarchy",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used, so that `import dbanon` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dbanon' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"dbanon.{_HOMES[name]}"), name)
