"""Write the file that DuckDB's command line reads to query a server: macros around `quack_query`.

A macro sends the call in the form in which dbanon's macros on a connection give it to the planner, so every spelling of
a parameter works and the errors are the server's. Measured on 1.5.5: `quack_query` accepts any expression that DuckDB
can fold as the statement, so it can contain `getenv` and what a macro makes of its arguments; DESCRIBE, joins of
several calls and CREATE TABLE AS work with it.
"""

from collections.abc import Callable, Iterator

import duckdb

from dbanon.integrations.quack import call_rewriter, extension
from dbanon.sqltext.qualify_builtins import SYSTEM_SCHEMA, qualify_builtins
from dbanon.sqltext.quote import identifier, text
from dbanon.table_functions import scalar_functions
from dbanon.table_functions.table_function import TableFunction
from dbanon.udf import install

TOKEN_VARIABLE = "DBANON_TOKEN"  # noqa: S105
"""The environment variable that has the token."""


def client_file_sql(uri: str, name: str, role: str) -> str:
    """Return the content of a file for `duckdb -init`, with which DuckDB's command line queries a server.

    It attaches the server at `uri` as `name` and creates macros for the functions that the role may call. The token is
    not in it but in an environment variable.

    Args:
        uri: The address of the server.
        name: The name that the server is attached as.
        role: 'custodian' for all table functions; otherwise those of readers.
    """
    token = f"getenv('{TOKEN_VARIABLE}')"
    query_prefix = f"quack_query({text(uri)}, "
    statements = [
        *(extension.load_sql(n) for n in extension.EXTENSIONS),
        f"ATTACH {text(uri)} AS {identifier(name)} (TOKEN {token})",
        *scalar_functions.macro_statements(excluded_arguments=("hierarchy",)),
        *(_call_macros(query_prefix, token) if role == "custodian" else _reader_macros(query_prefix, token)),
    ]
    return "\n".join([*_HEADER, *(f"{statement};" for statement in statements), ""])


_HEADER = (
    f"-- For DuckDB {duckdb.__version__}: DBANON_TOKEN=... duckdb -init THIS_FILE",
    "-- Written by dbanon write-client. It has no token: the variable DBANON_TOKEN has it.",
)


def _call_macros(
    query_prefix: str, token: str, is_included: Callable[[TableFunction], object] = lambda function: True
) -> Iterator[str]:
    """Yield statements that create macros for the table functions, with all of their parameters.

    Args:
        query_prefix: The beginning of a call of quack_query, with the address.
        token: The SQL expression of the token.
        is_included: Returns whether a table function gets a macro; by default all do.
    """
    call = f"{SYSTEM_SCHEMA}replace({install.CALL_JSON}, '''', '''''')"
    quoted_call = f"({text('FROM dbanon_called(' + chr(39))} || {call} || {text(chr(39) + ')')})"
    yield (
        f"CREATE OR REPLACE TEMP MACRO dbanon_statement({install.CALL_ARGUMENTS}) AS {qualify_builtins(quoted_call)}"
    )
    yield from install.table_macros(query_prefix, f", token := {token})", is_included)


def _reader_macros(query_prefix: str, token: str) -> Iterator[str]:
    """Yield statements that create macros for the functions that readers can call; arguments as for `_call_macros`."""
    for name in ("releases", "permissions"):
        yield f"CREATE OR REPLACE TEMP MACRO {name}() AS TABLE FROM {query_prefix}'FROM {name}()', token := {token})"
    certificate_query = f"'FROM certificate(''' || {SYSTEM_SCHEMA}replace(release, '''', '''''') || ''')'"
    yield (
        "CREATE OR REPLACE TEMP MACRO certificate(release) AS TABLE "
        f"FROM {query_prefix}{certificate_query}, token := {token})"
    )
    yield from _call_macros(query_prefix, token, lambda function: call_rewriter.is_rewritten(function.name))
