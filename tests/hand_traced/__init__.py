"""Small tables and the clusters that each algorithm makes of them with k = 2, traced by hand: random choices in the
deterministic mode, options as they are where none is given. One file per family."""

from __future__ import annotations

import importlib
import pkgutil

from hand_traced.tables import Traced


def tables() -> Traced:
    """All of them."""
    found: Traced = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        found |= getattr(importlib.import_module(module.name), "TRACED", {})
    return found
