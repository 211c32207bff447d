"""DuckDB's extensions that read other databases."""

from typing import Any

import duckdb

from dbanon import errors
from dbanon.runtime import duckdb_extensions
from dbanon.source import snapshot_guard

_SCANNERS = {"postgres": "postgres_scanner", "sqlite": "sqlite_scanner", "mysql": "mysql_scanner"}
"""Extensions by the type that ATTACH has for them."""


def load_extension(connection: Any, name: str) -> None:
    """Loads the extension of DuckDB with which `ATTACH ... (TYPE postgres)` (or `sqlite`, `mysql`) reads another
    database.

    It comes with `pip install 'dbanon[postgres]'` (or `[sqlite]`, `[mysql]`); where it does not, one that DuckDB itself
    installed is taken. It stays loaded in the connection's instance, for whose sessions that of MySQL is also told to
    leave filtering, counting and sorting to DuckDB. Raises InvalidArgumentError, ScannerExtensionMissingError.
    """
    if name not in _SCANNERS:
        accepts = "one of " + ", ".join(f"'{known}'" for known in _SCANNERS)
        raise errors.InvalidArgumentError("load_extension", "name", accepts, repr(name))
    scanner = _SCANNERS[name]
    try:
        connection.execute(duckdb_extensions.statement(scanner, duckdb.__version__))
    except duckdb.Error as error:
        why = duckdb_extensions.why(scanner, duckdb.__version__, error)
        raise errors.ScannerExtensionMissingError("load_extension", duckdb.__version__, name, why) from None
    if name == "mysql":
        snapshot_guard.disable_pushdown(connection)
