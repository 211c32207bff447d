"""Calls in a reader's statement that are answered with a table: `kacpc('patients', k=20)` is the release that there is,
or that is made of it.

They are read from the parsed tree and replaced in it. What a call may say is a source, as a text, and numbers.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from dbanon import errors
from dbanon.ledger import permissions
from dbanon.ledger.permissions import Permission
from dbanon.sqltext.quote import Sql, join_sql, text
from dbanon.table_functions import arguments
from dbanon.table_functions.table_function import KIND_BY_ENDING

PERMISSIONS = "permissions"
WRITTEN = "dbanon_called"
"""What a client's file sends a call as: JSON, with its arguments as DuckDB binds them."""
_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "DECIMAL", "FLOAT", "DOUBLE")


class Call(NamedTuple):
    """A call of an algorithm, or of its classes or metrics: which table, of which source, with which parameters."""

    algorithm: str
    ending: str
    source: str
    given: dict[str, Any]


@dataclass(frozen=True)
class Asks:
    """The permissions of the reader, and a function that returns schema and name of the release of a call."""

    permissions: Sequence[Permission]
    release: Callable[[Call], tuple[str, str]]

    def answer(self, node: dict[str, Any], parse: Callable[[Sql], dict[str, Any]]) -> None:
        """Replace a call in the tree by the table that answers it; `parse` returns the tree of a query."""
        kept = {part: node[part] for part in ("alias", "sample", "query_location", "column_name_alias")}
        if (name := _name(node)) == PERMISSIONS:
            if node["function"]["children"]:
                raise errors.ReaderStatementRefusedError("An argument of permissions()")
            node.clear()
            node |= {"type": "SUBQUERY", **kept, "subquery": parse(permission_rows(self.permissions))}
        else:
            call = _call(name, node["function"]["children"])
            schema, table = self.release(call)
            name = call.algorithm + call.ending
            place = {"schema_name": schema, "table_name": table + call.ending, "catalog_name": "", "at_clause": None}
            node.clear()
            node |= {"type": "BASE_TABLE", **kept, **place}
        node["alias"] = node["alias"] or name


def _none(call: Call) -> tuple[str, str]:
    raise errors.RequestNotPermittedError(f"{call.algorithm}(...)", [])


NOTHING = Asks((), _none)


def asks(name: str) -> bool:
    """Return whether a table function is answered here."""
    return name in (PERMISSIONS, WRITTEN) or name in _calls()


@cache
def _calls() -> Mapping[str, tuple[str, str]]:
    """Return the functions of all algorithms: the algorithm, and the ending of its table."""
    return {
        algorithm + ending: (algorithm, ending) for algorithm in permissions.algorithms() for ending in KIND_BY_ENDING
    }


def _name(node: Mapping[str, Any]) -> str:
    return str(node["function"]["function_name"]).lower()


def permission_rows(permissions: Sequence[Permission]) -> Sql:
    """Return a query with what a reader may ask for: sources, algorithms, the least k and bounds of privacy models.

    It contains literals only, so that no table with permissions is read for a reader.
    """
    types = {"source": "VARCHAR", "algorithms": "VARCHAR[]", "k": "INTEGER", "parameters": "VARCHAR"}
    values = [join_sql(f"CAST(NULL AS {type_})" for type_ in types.values())]  # gives the columns their types
    for source, algorithms, k, bounds in sorted(permission.public_row for permission in permissions):
        values.append(join_sql((text(source), f"[{join_sql(map(text, algorithms))}]", str(k), text(bounds))))
    rows = join_sql(f"({row})" for row in values)
    return Sql(f"SELECT * FROM (VALUES {rows}) AS permitted ({join_sql(types)}) WHERE source IS NOT NULL")


# --- reading ---------------------------------------------------------------------------------------------------------


def _call(name: str, children: list[Any]) -> Call:
    """Return a call as it was written.

    MissingArgumentError, InvalidArgumentError, RepeatedArgumentError, UnreadableArgumentError.
    """
    if name == WRITTEN:
        return _as_json(children)
    given: dict[str, Any] = {}
    for number, child in enumerate(children):
        named, value = _argument(name, child)
        if not named and number == 0:
            named = "tbl"
        if not named:
            raise errors.UnreadableArgumentError(name, "an argument without a name")
        if named in given:
            raise errors.RepeatedArgumentError(name, named)
        given[named] = value
    return _of(name, given.pop("tbl", None), given)


def _as_json(children: list[Any]) -> Call:
    """Return a call that a client's file wrote."""
    try:
        ((_, value),) = [_argument(WRITTEN, child) for child in children]
        said = json.loads(value)
        name, tbl = str(said["function"]).lower(), said["positional"]["tbl"]
        filled, named = said.get("slots") or (), dict(said.get("named") or {})
    except (ValueError, TypeError, KeyError, AttributeError):
        raise errors.ReaderStatementRefusedError("A call that cannot be read") from None
    return _of(name, tbl, arguments.merge_arguments(name, filled, named))


def _of(name: str, source: Any, given: dict[str, Any]) -> Call:
    if name not in _calls():
        raise errors.ReaderStatementRefusedError("The table function", repr(name[:60]))
    if not isinstance(source, str):
        raise errors.MissingArgumentError(name, "tbl", "a text", "FROM permissions() shows the sources")
    algorithm, ending = _calls()[name]
    return Call(algorithm, ending, source, {key.lower(): value for key, value in given.items() if value is not None})


def _argument(function: str, child: Mapping[str, Any]) -> tuple[str, Any]:
    """Return the name of an argument, "" where it has none, and its value: `x`, `k := x`, `k => x` or `k = x`."""
    named, value = str(child["alias"]), child
    if child["class"] == "COMPARISON" and child["type"] == "COMPARE_EQUAL" and child["left"]["class"] == "COLUMN_REF":
        names = child["left"]["column_names"]
        named, value = str(names[-1]) if len(names) == 1 else "", child["right"]
    return named.lower(), _value(function, named, value)


def _value(function: str, named: str, node: Mapping[str, Any]) -> Any:
    """Return a literal text or number; None for NULL."""
    if node["class"] == "CONSTANT":
        type_, value = node["value"]["type"], node["value"].get("value")
        if node["value"]["is_null"]:
            return None
        if type_["id"] == "VARCHAR" and isinstance(value, str):
            return value
        if type_["id"] in _NUMBERS and isinstance(value, int | float):
            return value / 10 ** type_["type_info"]["scale"] if type_["id"] == "DECIMAL" else value
    raise errors.InvalidArgumentError(function, named or "tbl", "a number or a text as it stands", "another expression")
