"""DuckDB's extensions that speak Quack, which needs httpfs on both sides."""

from typing import Any

import duckdb

from dbanon import errors
from dbanon.runtime import duckdb_extensions
from dbanon.sqltext.quote import Sql

NAMES = ("httpfs", "quack")

READ = "1.5."
"""The DuckDB whose trees of statements `dbanon.integrations.quack.statement_checker` knows; of others it lets nothing
through."""


def load(connection: Any, function: str) -> None:
    """Load the extensions into the connection's instance; QuackExtensionMissingError."""
    if not duckdb.__version__.startswith(READ):
        why = f"serving is made for DuckDB {READ}x, whose protocol and parsed statements it knows"
        raise errors.QuackExtensionMissingError(function, duckdb.__version__, "quack", why)
    for name in NAMES:
        try:
            connection.execute(statement(name))
        except duckdb.Error as error:
            why = duckdb_extensions.load_failure_reason(name, duckdb.__version__, error)
            raise errors.QuackExtensionMissingError(function, duckdb.__version__, name, why) from None


def statement(name: str) -> Sql:
    """Return the statement that loads an extension."""
    return duckdb_extensions.load_statement(name, duckdb.__version__)
