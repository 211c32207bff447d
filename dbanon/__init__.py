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
    from dbanon.certified import certificate
    from dbanon.connection import Connection, connect
    from dbanon.declaration import clear_cache, declare, load_hierarchy, save_hierarchy
    from dbanon.errors import DbanonError
    from dbanon.frame import Anonymized, anonymize
    from dbanon.handout import publish
    from dbanon.install import attach
    from dbanon.materialized import DisclosureWarning, Release, drop, forget_release, materialize, refresh
    from dbanon.verified import verify

_HOMES = {
    "Anonymized": "frame",
    "Connection": "connection",
    "DbanonError": "errors",
    "DisclosureWarning": "version",
    "Release": "version",
    "anonymize": "frame",
    "attach": "install",
    "certificate": "certified",
    "clear_cache": "declaration",
    "connect": "connection",
    "declare": "declaration",
    "drop": "materialized",
    "forget_release": "materialized",
    "load_hierarchy": "declaration",
    "materialize": "materialized",
    "publish": "handout",
    "refresh": "materialized",
    "save_hierarchy": "declaration",
    "verify": "verified",
}

__all__ = [
    "Anonymized",
    "Connection",
    "DbanonError",
    "DisclosureWarning",
    "Release",
    "anonymize",
    "attach",
    "certificate",
    "clear_cache",
    "connect",
    "declare",
    "drop",
    "forget_release",
    "load_hierarchy",
    "materialize",
    "publish",
    "refresh",
    "save_hierarchy",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used, so that `import dbanon` costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dbanon' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"dbanon.{_HOMES[name]}"), name)
