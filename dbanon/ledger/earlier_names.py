"""Names of parameters, roles and metrics in ledger rows that earlier versions wrote, as today's names.

The rows themselves stay as they are, since their hashes were stored when they were written.
"""

import itertools
from collections.abc import Mapping
from typing import Any

from dbanon import errors
from dbanon.errors import renamed_names
from dbanon.sqltext import tokenizer
from dbanon.table_functions.registry import resolve_function

_EARLIER_DEFAULT_ALGORITHM = "kacpc"
"""The algorithm of `anonymize` in stored calls that name none. This version stores the algorithm of every call."""


def current_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of a stored call (function, source, schema, parameters) with today's names of its parameters.

    A call of `anonymize` becomes a call of its algorithm.
    """
    function, parameters = call["function"], dict(call["parameters"])
    if function == "anonymize":
        function = parameters.pop("algorithm", _EARLIER_DEFAULT_ALGORITHM)
    return {**call, "function": function, "parameters": current_parameters(function, parameters)}


def current_parameters(function: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters (values by name) of a call of a function, with renamed parameters under today's names."""
    current_names = _parameter_names(function, parameters)
    return {renamed_names.translate_parameter(name, current_names): value for name, value in parameters.items()}


def current_roles(roles: Mapping[str, str]) -> dict[str, str]:
    """Return roles (by column) with renamed roles under today's names."""
    return {column: renamed_names.ROLES.get(role, role) for column, role in roles.items()}


def current_metrics(values: Mapping[str, float]) -> dict[str, float]:
    """Return values of metrics with renamed metrics under today's names."""
    return {renamed_names.current_metric(name): value for name, value in values.items()}


def current_statement(statement: str, function: str, parameters: Mapping[str, Any]) -> str:
    """Return a stored SQL statement that calls a function, with today's names of its named parameters.

    A name is replaced where `=`, `:=` or `=>` follows; spaces and comments stay. `parameters` are those of the call:
    `algorithm` among them decides which names exist.
    """
    current_names = _parameter_names(function, parameters)
    tokens = tokenizer.tokens(statement)
    code = [i for i, token in enumerate(tokens) if token.kind not in ("space", "comment")]
    pieces = [token.text for token in tokens]
    for position, following in itertools.pairwise(code):
        if tokens[position].kind in ("word", "quoted") and tokens[following].text in ("=", ":=", "=>"):
            name = pieces[position].strip('"')
            pieces[position] = pieces[position].replace(name, renamed_names.translate_parameter(name, current_names))
    return "".join(pieces)


def _parameter_names(function: str, parameters: Mapping[str, Any]) -> set[str]:
    """Return today's names of a function's parameters; empty if this version has no such function or algorithm.

    `parameters` are those of a stored call; only `algorithm` is read.
    """
    named_algorithm = {"algorithm": parameters["algorithm"]} if "algorithm" in parameters else {}
    try:
        return {p.name for p in resolve_function(function, named_algorithm).parameters}
    except (KeyError, errors.UnknownAlgorithmError):
        return set()
