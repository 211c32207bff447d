"""Find the modules that declare table functions and algorithms, for the generated `name_index` of the package."""

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from dbanon.algorithms.base.registry import _REGISTRY, FAMILIES, discover
from dbanon.table_functions.registry import declared_functions

PACKAGES = ("release", "algorithms", "policy", "audit", "ledger", "publishing", "views")
"""Packages that declare table functions, in the order of the manual."""

_DECLARATION = b"\nFUNCTIONS"
"""Source text by which a module that declares table functions is recognized."""


def find_declarations() -> dict[str, str]:
    """Import all modules that declare table functions, and return their names by module, as `name_index` has them.

    Raises:
        ValueError: Two declarations have one name.
    """
    names_by_module: dict[str, str] = {}
    modules: dict[str, str] = {}
    for module in _declaring_modules():
        names = tuple(function.name for function in declared_functions(module))
        for name in names:
            if name in modules:
                raise ValueError(f"{name} is declared twice, the second time in {module.__name__}")
            modules[name] = module.__name__
        names_by_module[module.__name__.removeprefix("dbanon.")] = " ".join(names)
    return names_by_module


def _declaring_modules() -> Iterator[Any]:
    """Import and yield the modules of PACKAGES with an attribute `FUNCTIONS`, the declarations of table functions.

    Modules whose text has no such attribute are not imported.
    """
    for package_name in PACKAGES:
        package = import_module(f"dbanon.{package_name}")
        for module_info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            spec: Any = module_info.module_finder.find_spec(module_info.name, None)
            content = spec.loader.get_data(spec.origin)  # of a module without its source, the compiled one
            if _DECLARATION in content or not spec.origin.endswith(".py"):
                module = import_module(module_info.name)
                if hasattr(module, "FUNCTIONS"):
                    yield module


def find_algorithm_modules() -> dict[str, str]:
    """Import the modules of all families; return the module of each algorithm by name, as `name_index` has them."""
    discover(*(import_module(f"dbanon.algorithms.{family}") for family in FAMILIES))
    return {name: _REGISTRY[name].run.__module__.removeprefix("dbanon.algorithms.") for name in sorted(_REGISTRY)}
