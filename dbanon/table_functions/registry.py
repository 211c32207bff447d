"""All table functions. Nothing lists them: what a module of the folders below declares in `FUNCTIONS` is one.

The folders stand above this one, so their modules are imported by name when the functions are first asked for.
"""

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from dbanon import errors
from dbanon.table_functions.table_function import TableFunction

FOLDERS = ("release", "algorithms", "policy", "audit", "ledger", "publishing", "views")
"""Where table functions are declared, in the order in which the manual lists them."""

_DECLARATION = b"\nFUNCTIONS"
"""What stands in a module that declares table functions."""


@cache
def table_functions() -> dict[str, TableFunction]:
    """Return all table functions by name: folder by folder, a folder's modules by name."""
    every: dict[str, TableFunction] = {}
    for module in _declaring():
        declared = module.FUNCTIONS
        for function in declared() if callable(declared) else declared:
            if function.name in every:
                raise ValueError(f"{function.name} is declared twice, the second time in {module.__name__}")
            every[function.name] = function
    return every


def called(name: str, given: Mapping[str, object]) -> TableFunction:
    """Return the function of a name, in the form that it has with what a call gives. UnknownAlgorithmError."""
    function = table_functions()[name]
    return function if function.narrowed is None else function.narrowed(given)


def check_algorithm(function: str, name: str) -> None:
    """Raise UnknownAlgorithmError where no algorithm that publishes has the name, StreamAlgorithmNotAllowedError where
    it is a stream system.
    """
    known = sorted({f.algorithm for f in table_functions().values() if f.algorithm})
    if name in known:
        return
    if name in {f.system for f in table_functions().values()}:
        raise errors.StreamAlgorithmNotAllowedError(function, name)
    raise errors.UnknownAlgorithmError(name, known)


def _declaring() -> Iterator[Any]:
    """The modules with `FUNCTIONS`: a tuple, or a function that gives the table functions, where these follow from
    what else is registered. Other modules are not imported, as `attach` would wait for them."""
    for folder in FOLDERS:
        package = import_module(f"dbanon.{folder}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            spec: Any = found.module_finder.find_spec(found.name, None)
            content = spec.loader.get_data(spec.origin)  # of a module without its source, the compiled one
            if _DECLARATION in content or not spec.origin.endswith(".py"):
                module = import_module(found.name)
                if hasattr(module, "FUNCTIONS"):
                    yield module
