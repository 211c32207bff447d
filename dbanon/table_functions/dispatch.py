"""From a call, as DuckDB passes it, to the SQL that answers it: arguments are read, the function's handler does it."""

from collections.abc import Mapping, Sequence
from typing import Any

from dbanon.runtime.session import Session
from dbanon.source.catalog import SearchPath
from dbanon.sqltext.qualify_builtins import bound
from dbanon.table_functions import arguments, parameters, registry, shadowed_literals
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call


def answer(session: Session, call: Mapping[str, Any], places: Sequence[str]) -> str:
    """Return the SQL of one call. `call` has function, positional, slots and named."""
    if session.recorded is not None:
        session.recorded.append(call)
        return "SELECT 1"
    name = call["function"]
    given = arguments.merged(
        name, call["slots"] or (), dict(call["named"] or {}), registry.table_functions()[name].placed
    )
    with session.cursor() as cursor:
        if call["positional"] or call["named"]:
            shadowed_literals.refuse(name, cursor)
        read = make_call(session, cursor, name, call["positional"] or {}, given, places)
        query = str(read.function.handler(read))
        if session.explained is not None:
            session.explained.append((name, query))
        return bound(query)


def make_call(
    session: Session,
    cursor: Any,
    function: str,
    positional: Mapping[str, object],
    given: Mapping[str, object],
    places: Sequence[str],
) -> Call:
    """Return a call with its parameters validated.

    Args:
        session: The session of the caller.
        cursor: A cursor that sees committed data.
        function: Name of the table function.
        positional: Arguments by name, such as `tbl`.
        given: Parameters by name, as they were given.
        places: Current database, current schema and search path.

    Raises:
        UnknownAlgorithmError, UnknownParameterError, MissingArgumentError, InvalidArgumentError: The call is not one of
        the function.
    """
    called = registry.called(function, {**positional, **given})
    options = Options(parameters.validated(called.name, called.parameters, given))
    return Call(called, positional, options, session, cursor, SearchPath.of(*places))
