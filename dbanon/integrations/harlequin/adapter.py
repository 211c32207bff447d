"""The adapter of Harlequin, a SQL IDE for the terminal: `harlequin -a dbanon clinic.duckdb` has the functions.

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


class _Statements(Connection):
    """A connection whose cursors are DuckDB's: Harlequin makes one for every look into the catalog."""

    def cursor(self) -> Any:
        return self.raw.cursor()


class DbanonConnection(DuckDbConnection):
    """Runs statements as `dbanon.connect` does; Harlequin shows our errors as it shows DuckDB's."""

    def __init__(self, conn: Any, init_message: str = "") -> None:
        super().__init__(conn=_Statements(conn), init_message=init_message)

    def execute(self, query: str) -> DuckDbCursor | None:
        stopped = self._stops()
        try:
            return super().execute(query)
        except DbanonError as error:
            raise HarlequinQueryError(msg=str(error), title="dbanon did not run your query:") from error
        except HarlequinQueryError:
            if self._stops() != stopped:
                return None
            raise

    def get_completions(self) -> list[HarlequinCompletion]:
        ours = [
            HarlequinCompletion(label=f.name, type_label="anon", value=f.name, priority=50, context=None)
            for f in table_functions().values()
        ]
        return [*ours, *super().get_completions()]

    def _stops(self) -> int:
        return find_session(self.conn.raw).interrupts


class DbanonAdapter(DuckDbAdapter):
    """Harlequin's DuckDB adapter with dbanon attached."""

    ADAPTER_DETAILS = "DuckDB with dbanon's anonymization functions."

    def connect(self) -> DbanonConnection:
        made = super().connect()
        try:
            return DbanonConnection(made.conn, made.init_message)
        except (duckdb.Error, DbanonError) as error:
            made.conn.close()
            raise HarlequinConnectionError(msg=str(error), title="dbanon could not be attached.") from error
