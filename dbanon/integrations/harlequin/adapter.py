"""The adapter of Harlequin, a SQL IDE for the terminal: `harlequin -a dbanon clinic.duckdb` has dbanon's functions.

It is Harlequin's own DuckDB adapter, with its options, on a connection of dbanon.
"""

from typing import Any

import duckdb
from harlequin.autocomplete.completion import HarlequinCompletion
from harlequin.exception import HarlequinConnectionError, HarlequinQueryError
from harlequin_duckdb.adapter import DuckDbAdapter, DuckDbConnection, DuckDbCursor

from dbanon.api.connection import Connection
from dbanon.errors import DbanonError
from dbanon.runtime.session import find_session
from dbanon.table_functions.registry import table_functions


class _DuckDBCursors(Connection):
    """A connection of dbanon whose `cursor` returns a plain cursor of DuckDB, without dbanon attached.

    Harlequin creates a cursor each time it reads the catalog.
    """

    def cursor(self) -> Any:
        """Return a cursor of the DuckDB connection."""
        return self.raw.cursor()


class DbanonConnection(DuckDbConnection):
    """A connection of Harlequin that runs statements as `dbanon.connect` does.

    Errors of dbanon are raised as HarlequinQueryError.
    """

    def __init__(self, conn: Any, init_message: str = "") -> None:
        """Attach dbanon to the DuckDB connection `conn`."""
        super().__init__(conn=_DuckDBCursors(conn), init_message=init_message)

    def execute(self, query: str) -> DuckDbCursor | None:
        """Run a query and return its cursor; None if it has no result or was interrupted.

        Raises:
            HarlequinQueryError: The query failed.
        """
        n_interrupts = self._interrupt_count()
        try:
            return super().execute(query)
        except DbanonError as error:
            raise HarlequinQueryError(msg=str(error), title="dbanon did not run your query:") from error
        except HarlequinQueryError:
            if self._interrupt_count() != n_interrupts:
                return None
            raise

    def get_completions(self) -> list[HarlequinCompletion]:
        """Return the completions of the editor: the names of dbanon's table functions, then those of DuckDB."""
        completions = [
            HarlequinCompletion(label=f.name, type_label="anon", value=f.name, priority=50, context=None)
            for f in table_functions().values()
        ]
        return [*completions, *super().get_completions()]

    def _interrupt_count(self) -> int:
        """Return how often the session was interrupted so far."""
        return find_session(self.conn.raw).interrupts


class DbanonAdapter(DuckDbAdapter):
    """Harlequin's DuckDB adapter with dbanon attached."""

    ADAPTER_DETAILS = "DuckDB with dbanon's anonymization functions."

    def connect(self) -> DbanonConnection:
        """Return a connection to the database, with dbanon attached; HarlequinConnectionError if attaching fails."""
        duckdb_connection = super().connect()
        try:
            return DbanonConnection(duckdb_connection.conn, duckdb_connection.init_message)
        except (duckdb.Error, DbanonError) as error:
            duckdb_connection.conn.close()
            raise HarlequinConnectionError(msg=str(error), title="dbanon could not be attached.") from error
