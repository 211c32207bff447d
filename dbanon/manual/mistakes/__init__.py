"""How each error comes about: an example on the database that `dbanon demo` makes, or what happened where none can.

The modules are those of dbanon.errors: what is raised from there has its mistake here.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from dbanon import errors
from dbanon.errors import DbanonError
from dbanon.manual.mistakes.mistake import Mistake


def documented() -> dict[str, type[DbanonError]]:
    """Every exception class that can be raised, by name, in the order of dbanon.errors."""
    return {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, DbanonError) and kind is not DbanonError
    }


@cache
def mistakes() -> dict[str, Mistake]:
    """One mistake for each error, by the name of its class: what the modules of this folder have in MISTAKES."""
    modules = (import_module(f"{__name__}.{found.name}") for found in pkgutil.iter_modules(__path__))
    return {type(m.error).__name__: m for module in modules for m in getattr(module, "MISTAKES", ())}


__all__ = ["Mistake", "documented", "mistakes"]
