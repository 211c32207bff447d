"""Load DuckDB's extensions for Quack, which needs httpfs on both sides."""

from typing import Any

import duckdb

from dbanon import errors
from dbanon.runtime import duckdb_extensions
from dbanon.sqltext.quote import Sql

EXTENSIONS = ("httpfs", "quack")

SUPPORTED_VERSION = "1.5."
"""DuckDB's version whose statement trees `dbanon.integrations.quack.statement_checker` knows; others are refused."""


def load(connection: Any, function: str) -> None:
    """Load the extensions httpfs and quack into the connection's instance.

    `function` is the name in the message of an error.

    Raises:
        QuackExtensionMissingError: DuckDB has an unsupported version, or an extension cannot be loaded.
    """
    if not duckdb.__version__.startswith(SUPPORTED_VERSION):
        why = (
            f"serving works only with DuckDB {SUPPORTED_VERSION}x, because protocol and parsed statements depend on "
            "the version"
        )
        raise errors.QuackExtensionMissingError(function, duckdb.__version__, "quack", why)
    for name in EXTENSIONS:
        try:
            connection.execute(load_sql(name))
        except duckdb.Error as error:
            why = duckdb_extensions.load_failure_reason(name, duckdb.__version__, error)
            raise errors.QuackExtensionMissingError(function, duckdb.__version__, name, why) from None


def load_sql(name: str) -> Sql:
    """Return the LOAD statement of an extension for the running DuckDB."""
    return duckdb_extensions.load_statement(name, duckdb.__version__)
