"""Return the SQL of a call: parse and validate its arguments, and run the handler of the function."""

from collections.abc import Mapping, Sequence
from typing import Any

from dbanon import errors
from dbanon.errors import renamed_names
from dbanon.runtime.session import Session
from dbanon.source.catalog import SearchPath
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.table_functions import arguments, parameters, registry, shadowed_literals
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call


def call_sql(session: Session, call: Mapping[str, Any], location: Sequence[str]) -> str:
    """Return the SQL that computes the result of one call of a table function, with DuckDB's functions qualified.

    Arguments are parsed and validated, then the function's handler makes the SQL. While the session records calls, the
    call is only appended to `session.recorded.calls`, and the SQL is `SELECT 1`. While it records statements for
    `explain`, the SQL is also appended, not qualified, to `session.recorded.statements`.

    Args:
        session: The session of the caller.
        call: The call as DuckDB passes it: `function` (its name), `positional` and `named` (arguments by name), and
            `slots` (texts of `name = value` arguments).
        location: Current database, current schema and search path.

    Raises:
        RenamedFunctionError: The function has another name in this version.
        ShadowedBuiltinError: A macro of a database would replace the function behind a list or struct literal.
        DbanonError: The arguments are invalid, or the handler refuses the call.
    """
    if session.recorded.calls is not None:
        session.recorded.calls.append(call)
        return "SELECT 1"
    name = call["function"]
    if name in renamed_names.FUNCTIONS:
        raise errors.RenamedFunctionError(name, renamed_names.FUNCTIONS[name])
    parameter_values = arguments.merge_arguments(
        name, call["slots"] or (), dict(call["named"] or {}), registry.table_functions()[name].positional_slots
    )
    with session.cursor() as cursor:
        if call["positional"] or call["named"]:
            shadowed_literals.check_literals(name, cursor)
        parsed_call = make_call(session, cursor, name, call["positional"] or {}, parameter_values, location)
        query = str(parsed_call.function.handler(parsed_call))
        if session.recorded.statements is not None:
            session.recorded.statements.append((name, query))
        return qualify_builtins(query)


def make_call(
    session: Session,
    cursor: Any,
    function: str,
    positional: Mapping[str, object],
    parameter_values: Mapping[str, object],
    location: Sequence[str],
) -> Call:
    """Return a call of a table function with validated parameters and defaults; the handler does not run.

    Args:
        session: The session of the caller.
        cursor: A cursor that sees committed data.
        function: Name of the table function.
        positional: Positional arguments by name, such as `tbl`.
        parameter_values: Values of the given parameters by name.
        location: Current database, current schema and search path.

    Raises:
        UnknownAlgorithmError: The function takes the name of an algorithm, and there is no such algorithm.
        UnknownParameterError: The function has no parameter of a given name.
        MissingArgumentError: A required parameter is not given.
        InvalidArgumentError: A value is invalid.
    """
    table_function = registry.resolve_function(function, {**positional, **parameter_values})
    options = Options(parameters.validate_parameters(table_function.name, table_function.parameters, parameter_values))
    return Call(table_function, positional, options, session, cursor, SearchPath.from_setting(*location))
