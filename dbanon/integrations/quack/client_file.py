"""What DuckDB's own command line reads to ask a server as if dbanon were in it: macros around `quack_query`.

A macro sends the call as dbanon's macros on a connection hand it to the planner, so every spelling of a parameter works
and the errors are the server's. Measured on 1.5.5: `quack_query` takes an expression for the statement where DuckDB can
fold it, so `getenv` and what a macro makes of its arguments may stand there; DESCRIBE, joins of several calls and
CREATE TABLE AS work around it.
"""

from collections.abc import Callable, Iterator

import duckdb

from dbanon.integrations.quack import call_rewriter, extension
from dbanon.sqltext.qualify_builtins import SYSTEM_SCHEMA, qualify_builtins
from dbanon.sqltext.quote import identifier, text
from dbanon.table_functions import scalar_functions
from dbanon.table_functions.table_function import TableFunction
from dbanon.udf import install

TOKEN = "DBANON_TOKEN"  # noqa: S105
"""The variable of the environment that has the token."""


def written(uri: str, name: str, role: str) -> str:
    """Return the content of a file for `duckdb -init`; `name` is what the server is attached as."""
    token = f"getenv('{TOKEN}')"
    asked = f"quack_query({text(uri)}, "
    statements = [
        *(extension.statement(n) for n in extension.NAMES),
        f"ATTACH {text(uri)} AS {identifier(name)} (TOKEN {token})",
        *scalar_functions.macro_statements(excluded_arguments=("hierarchy",)),
        *(_calls(asked, token) if role == "custodian" else _readers(asked, token)),
    ]
    return "\n".join([*_HEAD, *(f"{statement};" for statement in statements), ""])


_HEAD = (
    f"-- For DuckDB {duckdb.__version__}: DBANON_TOKEN=... duckdb -init THIS_FILE",
    "-- Written by dbanon client. It has no token: the variable DBANON_TOKEN has it.",
)


def _calls(asked: str, token: str, only: Callable[[TableFunction], object] = lambda function: True) -> Iterator[str]:
    """Yield table functions, with all of their parameters."""
    call = f"{SYSTEM_SCHEMA}replace({install.CALL}, '''', '''''')"
    quoted_call = f"({text('FROM dbanon_called(' + chr(39))} || {call} || {text(chr(39) + ')')})"
    yield (
        f"CREATE OR REPLACE TEMP MACRO dbanon_statement({install.CALL_ARGUMENTS}) AS {qualify_builtins(quoted_call)}"
    )
    yield from install.macros(asked, f", token := {token})", only)


def _readers(asked: str, token: str) -> Iterator[str]:
    """What readers may ask for, and what tells them that."""
    for name in ("releases", "permissions"):
        yield f"CREATE OR REPLACE TEMP MACRO {name}() AS TABLE FROM {asked}'FROM {name}()', token := {token})"
    said = f"'FROM certificate(''' || {SYSTEM_SCHEMA}replace(release, '''', '''''') || ''')'"
    yield f"CREATE OR REPLACE TEMP MACRO certificate(release) AS TABLE FROM {asked}{said}, token := {token})"
    yield from _calls(asked, token, lambda function: call_rewriter.asks(function.name))
