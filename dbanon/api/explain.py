"""What the table functions in a statement run, as text that is meant to be read."""

from typing import Any

from dbanon import errors
from dbanon.runtime import session
from dbanon.sqltext.qualify_builtins import tidy
from dbanon.table_functions.parameters import format_value


def explain(connection: Any, query: str, parameters: object = None) -> str:
    """Return the statement behind each table function that a query calls, with a comment on every step.

    Nothing is run but the planning.

    It is the custodian's: it names what is withheld. What runs is this text without its comments, each function of
    DuckDB's being called by its whole name, so that no macro can take its place. InvalidArgumentError where the query
    calls none of the functions, and the errors of those it calls.
    """
    current = session.of_connection(getattr(connection, "raw", connection))
    current.explained = []
    try:
        if parameters is None:
            connection.execute(f"EXPLAIN (FORMAT json) {query}")
        else:
            connection.execute(f"EXPLAIN (FORMAT json) {query}", parameters)
        connection.fetchall()
        found = dict.fromkeys(current.explained)
    finally:
        current.explained = None
    if not found:
        raise errors.InvalidArgumentError(
            "explain", "query", "a statement that calls a table function", format_value(query)
        )
    return "\n".join(f"-- What {function} runs.\n{tidy(statement)};" for function, statement in found)
