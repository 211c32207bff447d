"""Anonymize a table of a connection and return its release, classes and metrics, as `anonymize` does for frames."""

import sys
from typing import Any

import duckdb

from dbanon import errors
from dbanon.api import frame_adapters
from dbanon.api.connection import Connection
from dbanon.api.frame import Anonymized, FrameCall, run_call
from dbanon.sqltext.quote import text
from dbanon.sqltext.tokenizer import code_tokens
from dbanon.table_functions.registry import table_functions
from dbanon.views import statement_parser


def anonymize_query(connection: Any, query: str, parameters: object = None) -> Anonymized:
    """Run one call of an algorithm and return its release, classes and metrics as pandas DataFrames.

    The records are clustered once. In a notebook the result displays a summary.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied.
        query: One call of an algorithm and nothing else, such as `FROM best('patients', k=10)`.
        parameters: Values of the prepared parameters of the query.

    Returns:
        The release, its classes and its metrics.

    Raises:
        InvalidArgumentError: The connection is something else, or the query is not one such call.
        ConnectionNotAttachedError: dbanon is not attached to the connection.
        DbanonError: The call raises it.

    Examples:
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE people AS SELECT unnest([21, 23, 61, 65]) AS age")
        >>> len(dbanon.anonymize_query(con, "FROM mdav('people', k=2, qi=['age'])").classes)
        2
    """
    if not isinstance(connection, (Connection, duckdb.DuckDBPyConnection)) and connection is not duckdb:
        accepts = "a connection of dbanon.connect, or one of DuckDB to which dbanon.attach was applied"
        raise errors.InvalidArgumentError("anonymize_query", "connection", accepts, f"a {type(connection).__name__}")
    if not is_release_query(query):
        accepts = "one call of an algorithm and nothing else, such as FROM best('patients', k=10)"
        raise errors.InvalidArgumentError("anonymize_query", "query", accepts, "another statement")
    caller = sys._getframe(1)
    if isinstance(connection, Connection):
        return _run_query(connection, query, parameters, caller)
    with Connection.wrap_attached(
        duckdb.default_connection() if connection is duckdb else connection
    ) as own_connection:
        return _run_query(own_connection, query, parameters, caller)


def _run_query(connection: Connection, query: str, parameters: object, caller: Any) -> Anonymized:
    """Run the call of `anonymize_query`; DataFrames of the stack frame `caller` can be sources."""
    name, source, arguments = connection.parse_call(query, parameters, caller)
    connection.raw.fetchall()  # an unfinished result would block the next statement
    return run_call(connection, FrameCall(name, text(source), arguments), frame_adapters.FILE, arguments)


def is_release_query(query: str) -> bool:
    """Return whether a query is exactly one call of an algorithm, `FROM f(...)` or `SELECT * FROM f(...)`.

    The called function must return a release; a semicolon at the end is ignored.

    Examples:
        >>> is_release_query("SELECT * FROM best('t', k=10);"), is_release_query("SELECT age FROM best('t', k=10)")
        (True, False)
    """
    tokens = code_tokens(query)
    while tokens and tokens[-1].text == ";":
        tokens.pop()
    try:
        statement_parser.check_single_call(statement_parser.CREATE, tokens)
    except errors.NotASingleCallError:
        return False
    name = tokens[3 if tokens[0].upper == "SELECT" else 1].text.strip('"').lower()
    return f"{name}_metrics" in table_functions()
