"""Replace calls in a reader's statement by tables: `best('patients', k=20)` becomes the release of that call.

Calls are read from the parsed tree and replaced in it. Their arguments can be a source, as a text, and numbers.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from dbanon import errors
from dbanon.integrations.quack.function_allowlist import require
from dbanon.ledger import permissions
from dbanon.ledger.permissions import Permission
from dbanon.sqltext.quote import Sql, join_sql, text
from dbanon.table_functions import arguments
from dbanon.table_functions.table_function import KIND_BY_ENDING

PERMISSIONS = "permissions"
CLIENT_CALL = "dbanon_called"
"""Function that a client's file sends calls to: as JSON, with arguments as DuckDB binds them."""
_NUMBER_TYPES = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE")


class AlgorithmCall(NamedTuple):
    """A call of an algorithm's table function.

    Attributes:
        algorithm: The algorithm.
        suffix: The ending of the function's name: "", "_classes" or "_metrics".
        source: The source as the call names it.
        parameters: The values of the given parameters by name.
    """

    algorithm: str
    suffix: str
    source: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class CallRewriter:
    """Replaces calls of table functions in the statements of one reader by the tables of releases.

    Attributes:
        permissions: What the reader may request.
        resolve_release: Returns schema and name of the release of a call; it may raise an error.
    """

    permissions: Sequence[Permission]
    resolve_release: Callable[[AlgorithmCall], tuple[str, str]]

    def replace_call(self, node: dict[str, Any], parse_query: Callable[[Sql], dict[str, Any]]) -> None:
        """Replace a call in the tree by the table of its release, or `permissions()` by a query of the permissions.

        Args:
            node: The node of the call; modified in place.
            parse_query: Returns the tree of a query.

        Raises:
            ReaderStatementRefusedError: The call is not readable, or has arguments that are not allowed.
            DbanonError: An argument is invalid, or `resolve_release` raises it.
        """
        common_fields = {part: node[part] for part in ("alias", "sample", "query_location", "column_name_alias")}
        name = str(node["function"]["function_name"]).lower()
        if name == PERMISSIONS:
            require(not node["function"]["children"], "An argument of permissions()")
            node.clear()
            node |= {"type": "SUBQUERY", **common_fields, "subquery": parse_query(permission_rows(self.permissions))}
        else:
            call = _parse_call(name, node["function"]["children"])
            schema, table = self.resolve_release(call)
            name = call.algorithm + call.suffix
            place = {"schema_name": schema, "table_name": table + call.suffix, "catalog_name": "", "at_clause": None}
            node.clear()
            node |= {"type": "BASE_TABLE", **common_fields, **place}
        node["alias"] = node["alias"] or name


def _refuse_call(call: AlgorithmCall) -> tuple[str, str]:
    """Raise RequestNotPermittedError: no call is permitted."""
    raise errors.RequestNotPermittedError(f"{call.algorithm}(...)", [])


NO_CALLS = CallRewriter((), _refuse_call)


def is_rewritten(name: str) -> bool:
    """Return whether calls of a table function are replaced: an algorithm's, `permissions`, or that of a client's file.

    `name` is in lower case.
    """
    return name in (PERMISSIONS, CLIENT_CALL) or name in _algorithm_functions()


@cache
def _algorithm_functions() -> Mapping[str, tuple[str, str]]:
    """Return (algorithm, suffix) of each algorithm's table functions, by name of the function."""
    return {
        algorithm + suffix: (algorithm, suffix) for algorithm in permissions.algorithms() for suffix in KIND_BY_ENDING
    }


def permission_rows(permissions: Sequence[Permission]) -> Sql:
    """Return a query of what a reader may request; no rows without permissions.

    Its columns are source, algorithms (a list), the least k, and parameters (the bounds of privacy models other than k,
    as text). The rows are literals in the query, so no table with permissions is read for a reader.
    """
    types = {"source": "VARCHAR", "algorithms": "VARCHAR[]", "k": "INTEGER", "parameters": "VARCHAR"}
    values = [join_sql(f"CAST(NULL AS {type_})" for type_ in types.values())]  # gives the columns their types
    for source, algorithms, k, bounds in sorted(permission.public_row for permission in permissions):
        values.append(join_sql((text(source), f"[{join_sql(map(text, algorithms))}]", str(k), text(bounds))))
    rows = join_sql(f"({row})" for row in values)
    return Sql(f"SELECT * FROM (VALUES {rows}) AS permitted ({join_sql(types)}) WHERE source IS NOT NULL")


# --- reading ---------------------------------------------------------------------------------------------------------


def _parse_call(name: str, children: list[Any]) -> AlgorithmCall:
    """Return the call of the table function `name`, read from the nodes of its arguments.

    Raises:
        ReaderStatementRefusedError: A call of a client's file cannot be read.
        MissingArgumentError: It has no source.
        InvalidArgumentError: An argument is no literal.
        RepeatedArgumentError: An argument is given twice.
        UnreadableArgumentError: An argument has no name.
    """
    if name == CLIENT_CALL:
        return _parse_client_call(children)
    arguments_by_name: dict[str, Any] = {}
    for number, child in enumerate(children):
        argument_name, value = _parse_argument(name, child)
        if not argument_name and number == 0:
            argument_name = "tbl"
        if not argument_name:
            raise errors.UnreadableArgumentError(name, "an argument without a name")
        if argument_name in arguments_by_name:
            raise errors.RepeatedArgumentError(name, argument_name)
        arguments_by_name[argument_name] = value
    return _algorithm_call(name, arguments_by_name.pop("tbl", None), arguments_by_name)


def _parse_client_call(children: list[Any]) -> AlgorithmCall:
    """Return the call in the JSON text that the macros of a client's file send as the only argument.

    Raises:
        ReaderStatementRefusedError: It cannot be read.
    """
    try:
        ((_, value),) = [_parse_argument(CLIENT_CALL, child) for child in children]
        message = json.loads(value)
        name, source = str(message["function"]).lower(), message["positional"]["tbl"]
        slots, named_arguments = message.get("slots") or (), dict(message.get("named") or {})
    except (ValueError, TypeError, KeyError, AttributeError):
        raise errors.ReaderStatementRefusedError("A call that cannot be read") from None
    return _algorithm_call(name, source, arguments.merge_arguments(name, slots, named_arguments))


def _algorithm_call(name: str, source: Any, parameters: dict[str, Any]) -> AlgorithmCall:
    """Return a call from the function's name and arguments; parameters that are None are omitted.

    ReaderStatementRefusedError if `name` is no function of an algorithm; MissingArgumentError if the source is no text.
    """
    if name not in _algorithm_functions():
        raise errors.ReaderStatementRefusedError("The table function", repr(name[:60]))
    if not isinstance(source, str):
        raise errors.MissingArgumentError(name, "tbl", "a text", "FROM permissions() shows the sources")
    algorithm, suffix = _algorithm_functions()[name]
    return AlgorithmCall(
        algorithm, suffix, source, {key.lower(): value for key, value in parameters.items() if value is not None}
    )


def _parse_argument(function: str, child: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the lower-case name and the value of an argument: `k := x`, `k => x`, `k = x`, or `x` without a name.

    The name is "" for `x` alone, and for a comparison whose left side is a qualified column. `function` is the called
    function, for messages. InvalidArgumentError if the value is neither a number, a text nor NULL.
    """
    argument_name, value = str(child["alias"]), child
    if child["class"] == "COMPARISON" and child["type"] == "COMPARE_EQUAL" and child["left"]["class"] == "COLUMN_REF":
        names = child["left"]["column_names"]
        argument_name, value = str(names[-1]) if len(names) == 1 else "", child["right"]
    return argument_name.lower(), _literal_value(function, argument_name, value)


def _literal_value(function: str, argument_name: str, node: Mapping[str, Any]) -> Any:
    """Return the text or number of a literal's node in a parsed tree; None for NULL.

    Args:
        function: The called function, for the message.
        argument_name: The name of the argument, for the message; "" for the source.
        node: The node.

    Raises:
        InvalidArgumentError: It is another expression, or a literal of another type.
    """
    if node["class"] == "CONSTANT":
        type_, value = node["value"]["type"], node["value"].get("value")
        if node["value"]["is_null"]:
            return None
        if type_["id"] == "VARCHAR" and isinstance(value, str):
            return value
        if type_["id"] in _NUMBER_TYPES and isinstance(value, int | float):
            return value / 10 ** type_["type_info"]["scale"] if type_["id"] == "DECIMAL" else value
    raise errors.InvalidArgumentError(
        function, argument_name or "tbl", "a literal number or text", "another expression"
    )
