"""Return the SQL that table functions run, formatted for reading."""

from typing import Any

from dbanon import errors
from dbanon.runtime import session
from dbanon.sqltext.qualify_builtins import strip_blank_lines
from dbanon.table_functions.parameters import format_value


def explain(connection: Any, query: str, parameters: object = None) -> str:
    """Return the SQL statement that each table function in a query runs, with a comment on every step.

    The query is planned and not run. Equal statements of equal functions are listed once. The text is for custodians:
    it names withheld columns. dbanon runs the same text without comments and with qualified names of DuckDB's
    functions, so that no macro can replace them.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied.
        query: A statement that calls table functions.
        parameters: Values of its prepared parameters.

    Returns:
        The statements, each below a comment that names its function.

    Raises:
        InvalidArgumentError: The query calls no table function.
        DbanonError: A call in the query raises it.

    >>> from dbanon.api.connection import connect
    >>> explain(connect(), "FROM algorithms()").splitlines()[0]
    '-- What algorithms runs.'
    """
    current = session.find_session(getattr(connection, "raw", connection))
    current.explained_statements = []
    try:
        if parameters is None:
            connection.execute(f"EXPLAIN (FORMAT json) {query}")
        else:
            connection.execute(f"EXPLAIN (FORMAT json) {query}", parameters)
        connection.fetchall()
        statements = dict.fromkeys(current.explained_statements)
    finally:
        current.explained_statements = None
    if not statements:
        raise errors.InvalidArgumentError(
            "explain", "query", "a statement that calls a table function", format_value(query)
        )
    return "\n".join(f"-- What {function} runs.\n{strip_blank_lines(statement)};" for function, statement in statements)
