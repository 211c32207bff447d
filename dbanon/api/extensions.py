"""Load DuckDB's extensions that read other database systems."""

from typing import Any

import duckdb

from dbanon import errors
from dbanon.runtime import duckdb_extensions
from dbanon.source import snapshot_guard

_SCANNERS = {"postgres": "postgres_scanner", "sqlite": "sqlite_scanner", "mysql": "mysql_scanner"}
"""Extensions by the type that ATTACH uses for them."""


def load_extension(connection: Any, name: str) -> None:
    """Load the extension of DuckDB with which ATTACH reads PostgreSQL, SQLite or MySQL.

    The extension comes with `pip install -e '.[postgres]'` (or `[sqlite]`, `[mysql]`); otherwise one that DuckDB
    installed is loaded. It remains loaded in the database instance of the connection. Tables of MySQL are filtered,
    counted and sorted by DuckDB in all sessions of the instance, not by MySQL. SQLite is read on one thread in all
    sessions, so that a statement reads one state of a table.

    Args:
        connection: A connection.
        name: 'postgres', 'sqlite' or 'mysql'.

    Raises:
        InvalidArgumentError: The name is another one.
        ScannerExtensionMissingError: The extension is not installed, or is for another version of DuckDB.

    Examples:
        ```python
        import dbanon

        dbanon.load_extension(con, "postgres")
        con.execute("ATTACH 'dbname=clinic' AS pg (TYPE postgres)")
        ```
    """
    if name not in _SCANNERS:
        raise errors.InvalidArgumentError(
            "load_extension", "name", f"one of {', '.join(map(repr, _SCANNERS))}", repr(name)
        )
    scanner = _SCANNERS[name]
    try:
        connection.execute(duckdb_extensions.load_statement(scanner, duckdb.__version__))
    except duckdb.Error as error:
        reason = duckdb_extensions.load_failure_reason(scanner, duckdb.__version__, error)
        raise errors.ScannerExtensionMissingError("load_extension", duckdb.__version__, name, reason) from None
    if name == "mysql":
        snapshot_guard.disable_pushdown(connection)
    elif name == "sqlite":
        snapshot_guard.disable_multithreaded_scans(connection)
