"""The registry of all table functions: those in the attribute `FUNCTIONS` of any module of the packages below.

These packages import this one, so their modules are imported by name when the registry is first used.
"""

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from dbanon import errors
from dbanon.table_functions.table_function import TableFunction

PACKAGES = ("release", "algorithms", "policy", "audit", "ledger", "publishing", "views")
"""Packages that declare table functions, in the order of the manual."""

_DECLARATION = b"\nFUNCTIONS"
"""Source text by which a module that declares table functions is recognized."""


@cache
def table_functions() -> dict[str, TableFunction]:
    """Return all table functions by name, in the order of PACKAGES and of the modules; found once and cached.

    ValueError if two declarations have one name.
    """
    functions: dict[str, TableFunction] = {}
    for module in _declaring_modules():
        declarations = module.FUNCTIONS
        for function in declarations() if callable(declarations) else declarations:
            if function.name in functions:
                raise ValueError(f"{function.name} is declared twice, the second time in {module.__name__}")
            functions[function.name] = function
    return functions


def resolve_function(name: str, arguments: Mapping[str, object]) -> TableFunction:
    """Return the table function of this name, with the parameters of the algorithm that the arguments of the call name.

    Only functions with `specialize` depend on the arguments. KeyError if there is no function of this name.

    Raises:
        UnknownAlgorithmError: The arguments name an algorithm that does not exist.
    """
    function = table_functions()[name]
    return function if function.specialize is None else function.specialize(arguments)


def check_algorithm(function: str, name: str) -> None:
    """Raise an error unless `name` is the name of an algorithm for tables; `function` is the caller, for messages.

    Raises:
        StreamAlgorithmNotAllowedError: It is a stream algorithm.
        UnknownAlgorithmError: It is no algorithm.
    """
    algorithms = sorted({f.algorithm for f in table_functions().values() if f.algorithm})
    if name in algorithms:
        return
    if name in {f.stream_algorithm for f in table_functions().values()}:
        raise errors.StreamAlgorithmNotAllowedError(function, name)
    raise errors.UnknownAlgorithmError(name, algorithms)


def _declaring_modules() -> Iterator[Any]:
    """Import and yield the modules of PACKAGES with an attribute `FUNCTIONS`, the declarations of table functions.

    `FUNCTIONS` is a tuple, or a function that returns it where the declarations follow from other registrations.
    Modules whose text has no such attribute are not imported, because importing them would slow down `attach`.
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
