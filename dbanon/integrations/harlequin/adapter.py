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
    """A connection whose cursors are DuckDB's: Harlequin creates one each time it reads the catalog."""

    def cursor(self) -> Any:
        return self.raw.cursor()


class DbanonConnection(DuckDbConnection):
    """A connection that runs statements as `dbanon.connect` does, and raises dbanon's errors as Harlequin's."""

    def __init__(self, conn: Any, init_message: str = "") -> None:
        super().__init__(conn=_DuckDBCursors(conn), init_message=init_message)

    def execute(self, query: str) -> DuckDbCursor | None:
        """Run a query; return None if it was interrupted."""
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
        """Return completions, dbanon's functions first."""
        completions = [
            HarlequinCompletion(label=f.name, type_label="anon", value=f.name, priority=50, context=None)
            for f in table_functions().values()
        ]
        return [*completions, *super().get_completions()]

    def _interrupt_count(self) -> int:
        return find_session(self.conn.raw).interrupts


class DbanonAdapter(DuckDbAdapter):
    """Harlequin's DuckDB adapter with dbanon attached."""

    ADAPTER_DETAILS = "DuckDB with dbanon's anonymization functions."

    def connect(self) -> DbanonConnection:
        """Return a connection to the database, with dbanon attached."""
        duckdb_connection = super().connect()
        try:
            return DbanonConnection(duckdb_connection.conn, duckdb_connection.init_message)
        except (duckdb.Error, DbanonError) as error:
            duckdb_connection.conn.close()
            raise HarlequinConnectionError(msg=str(error), title="dbanon could not be attached.") from error
