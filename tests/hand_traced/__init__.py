"""Small tables and the clusters that each algorithm makes of them with k = 2, traced by hand.

Random choices are in the deterministic mode, and options have their defaults where none is given. One file per family.
"""

from __future__ import annotations

import importlib
import pkgutil

from hand_traced.tables import Traced


def tables() -> Traced:
    """Return all traced tables."""
    traced_tables: Traced = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        traced_tables |= getattr(importlib.import_module(module.name), "TRACED", {})
    return traced_tables
