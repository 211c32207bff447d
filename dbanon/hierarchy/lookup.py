"""The hierarchies that a call can name."""

from __future__ import annotations

from dbanon.functions.call import Call
from dbanon.hierarchy import storage
from dbanon.hierarchy.storage import Hierarchy
from dbanon.source import catalog
from dbanon.sqltext import resources


def find(call: Call, name: str, source: catalog.Source | None) -> Hierarchy | None:
    """A hierarchy by name: ARX rows as text, stored with the source or in the session's database, or shipped."""
    stored = catalog.hierarchy_table(name, _databases(call, source), call.hierarchies)
    if stored:
        return storage.Stored(*stored)
    if storage.is_inline(name):
        return storage.read_arx("given as text", name)
    return storage.shipped(name)


def known(call: Call, source: catalog.Source | None) -> list[str]:
    """Names that `find` knows."""
    stored = [n for db in _databases(call, source) for n in call.hierarchies(db)]
    return [*stored, *resources.shipped_hierarchies()]


def _databases(call: Call, source: catalog.Source | None) -> list[str]:
    """Where hierarchies are looked up: where the source's policy is, then the session's database."""
    return list(dict.fromkeys([*([source.home] if source else []), call.path.database]))
