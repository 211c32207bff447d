"""A release of a table of a connection, with its classes and metrics, as `anonymize` gives those of a frame."""

import sys
from typing import Any

from dbanon import errors
from dbanon.api import frame_adapters
from dbanon.api.connection import Connection
from dbanon.api.frame import Anonymized, Call, answered
from dbanon.sqltext.quote import text
from dbanon.sqltext.tokenizer import code_tokens
from dbanon.table_functions.registry import table_functions
from dbanon.views import statement_parser


def anonymize_query(connection: Any, query: str, parameters: object = None) -> Anonymized:
    """The release of a query that is one call of an algorithm, `FROM best('patients', k=10)`, with its classes and
    metrics, as DataFrames of pandas; it shows itself in a notebook. The rows are clustered once.

    `connection` is one of `dbanon.connect`. InvalidArgumentError for others and for another query, and what
    the call raises.
    """
    if not isinstance(connection, Connection):
        accepts = "a connection of dbanon.connect"
        raise errors.InvalidArgumentError("anonymize_query", "connection", accepts, f"a {type(connection).__name__}")
    if not is_release(query):
        accepts = "one call of an algorithm and nothing else, such as FROM best('patients', k=10)"
        raise errors.InvalidArgumentError("anonymize_query", "query", accepts, "another statement")
    name, source, given = connection.called(query, parameters, sys._getframe(1))
    connection.raw.fetchall()  # a result that is not fetched to its end would stand in the way of the next statement
    return answered(connection, Call(name, text(source), given), frame_adapters.FILE, given)


def is_release(query: str) -> bool:
    """Return whether a query is one call that gives released rows, and nothing else.

    >>> is_release("SELECT * FROM best('t', k=10);"), is_release("SELECT age FROM best('t', k=10)")
    (True, False)
    """
    words = code_tokens(query)
    while words and words[-1].text == ";":
        words.pop()
    try:
        statement_parser.one_call(statement_parser.CREATE, words)
    except errors.NotASingleCallError:
        return False
    name = words[3 if words[0].upper == "SELECT" else 1].text.strip('"').lower()
    return f"{name}_metrics" in table_functions()
