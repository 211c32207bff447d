"""The registry of all table functions: those in the attribute `FUNCTIONS` of any module that `name_index` names.

These modules import this package, so they are imported by name: each when one of its functions is first used. Importing
all of them would take a third of the first statement of a process.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from dbanon import errors
from dbanon.table_functions import name_index
from dbanon.table_functions.table_function import TableFunction


class FunctionRegistry(Mapping[str, TableFunction]):
    """All table functions by name, in the order of `name_index`.

    A function's module is imported when the function is first looked up; `values` and `items` import all of them.
    """

    def __init__(self, names_by_module: Mapping[str, str]) -> None:
        """Take the names of the functions that each module of the package declares, separated by blanks."""
        self._module_by_name = {name: module for module, names in names_by_module.items() for name in names.split()}
        self._functions: dict[str, TableFunction] = {}

    def __getitem__(self, name: str) -> TableFunction:
        """Return the function of this name; KeyError if there is none."""
        if name not in self._functions:
            self._declare(import_module(f"dbanon.{self._module_by_name[name]}"), name)
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names; this imports nothing."""
        return iter(self._module_by_name)

    def __len__(self) -> int:
        """Return the number of functions."""
        return len(self._module_by_name)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a function of this name; this imports nothing."""
        return name in self._module_by_name

    def _declare(self, module: Any, name: str) -> None:
        """Store the function `name` of a module, or all of its functions if it cannot declare one alone.

        A module can, by a function `find_function`, if its declarations follow from registrations in other modules.
        """
        functions = (module.find_function(name),) if hasattr(module, "find_function") else declared_functions(module)
        for function in functions:
            self._functions.setdefault(function.name, function)


@cache
def table_functions() -> FunctionRegistry:
    """Return all table functions by name (cached)."""
    return FunctionRegistry(name_index.FUNCTIONS_BY_MODULE)


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
    if name in table_functions() and table_functions()[name].algorithm == name:
        return
    if name in {f.stream_algorithm for f in table_functions().values()}:
        raise errors.StreamAlgorithmNotAllowedError(function, name)
    raise errors.UnknownAlgorithmError(name, sorted({f.algorithm for f in table_functions().values() if f.algorithm}))


def declared_functions(module: Any) -> tuple[TableFunction, ...]:
    """Return the functions that a module declares in `FUNCTIONS`.

    `FUNCTIONS` is a tuple, or a function that returns it where the declarations follow from other registrations.
    """
    declarations = module.FUNCTIONS
    return tuple(declarations() if callable(declarations) else declarations)
