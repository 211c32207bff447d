"""`%dbanon` and `%%dbanon`: SQL in a notebook, on a connection of dbanon."""

import keyword
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from dbanon import errors
from dbanon.api.anonymize_query import anonymize_query, is_release_query
from dbanon.api.connection import Connection, connect, raise_keyboard_interrupt
from dbanon.api.frame import Anonymized
from dbanon.errors.display import format_error
from dbanon.integrations.notebook.progress import ProgressBar
from dbanon.integrations.notebook.result import NotebookResult
from dbanon.runtime.session import find_session

_ASSIGNED = re.compile(r"\s*(\w+)\s*<<")
_SUFFIXES = (".duckdb", ".ddb", ".db")


class MagicFailedError(Exception):
    """An error of which a notebook shows only the message, without a traceback.

    The cell has failed, so that cells below do not run.
    """

    def _render_traceback_(self) -> list[str]:
        """Return the lines that IPython shows for the error: its message."""
        return [str(self)]


@dataclass
class Magic:
    """The magics `%dbanon` and `%%dbanon` of one IPython shell, and the connection that they use.

    Attributes:
        shell: The shell of IPython.
        connection: The connection in use; None before one is chosen.
        name: The variable or file name of the connection, for messages.
        owns_connection: Whether the magic opened the connection, and so closes it.
    """

    shell: Any
    connection: Any = None
    name: str = ""
    owns_connection: bool = False

    def line(self, line: str) -> Any:
        """Run the line magic `%dbanon`.

        `%dbanon clinic.duckdb` opens a database, `%dbanon con` uses the connection in the variable `con`, `%dbanon
        SELECT 1` runs a statement, `%dbanon --close` closes a database that it opened. Alone, it prints the name of the
        connection.

        `name << SELECT ...` assigns the rows to a variable, as a DataFrame. `$name` in a statement is the value of a
        variable. A release is returned with its metrics. Errors are raised as MagicFailedError.
        """
        return self._run_with_plain_errors(self._line, line.strip())

    def cell(self, line: str, cell: str) -> Any:
        """Run the statements of a cell and return the result of the last one.

        None if it has no rows or they are assigned.

        After `%%dbanon` there may be a connection or a file, and `name <<`; see `line`.
        """
        return self._run_with_plain_errors(self._cell, line.strip(), cell)

    def close(self) -> None:
        """Forget the connection, and close it if `%dbanon FILE` opened it."""
        if self.owns_connection:
            self.connection.close()
        self.connection, self.name, self.owns_connection = None, "", False

    def _run_with_plain_errors(self, action: Any, *arguments: str) -> Any:
        """Call `action` with the arguments and return its result.

        Errors of dbanon, DuckDB and the system are raised as MagicFailedError.
        """
        try:
            return action(*arguments)
        except (errors.DbanonError, duckdb.Error, OSError) as error:
            message = format_error(str(error))
        raise MagicFailedError(message)

    def _line(self, line: str) -> Any:
        """Interpret the text after `%dbanon`: nothing, `--close`, a connection or file, or a statement to run.

        Only a statement returns a result; the others print one line.
        """
        if not line:
            return print(f"The connection is {self.name}." if self.connection is not None else _NO_CONNECTION_TEXT)
        if line == "--close":
            self.close()
            return print("There is no connection.")
        return print(f"The connection is {self.name}.") if self._use(line) else self._run(line)

    def _cell(self, line: str, cell: str) -> Any:
        """Use the connection or file that `line` names, if any, and run the cell, with the assignment in `line`."""
        assignment = re.fullmatch(r"(.*?)\s*(\w+\s*<<)", line)
        connection_text = assignment[1] if assignment else line
        if connection_text and not self._use(connection_text):
            raise errors.UnknownConnectionError(connection_text)
        return self._run(f"{assignment[2]} {cell}" if assignment else cell)

    def _use(self, text: str) -> bool:
        """Use the connection or database file that a text names and return True; False if the text can be a statement.

        A text is a connection if it is the name of a notebook variable with one. It is a file if it ends in .duckdb,
        .ddb or .db, or is :memory:; a path with spaces must be in quotes. A connection that the magic opened before is
        closed.

        Raises:
            UnknownConnectionError: The text is one word, and neither a connection, a file nor a statement of one word.
        """
        value = self.shell.user_ns.get(text) if text.isidentifier() else None
        if isinstance(value, (Connection, duckdb.DuckDBPyConnection)):
            self.close()
            self.connection = value if isinstance(value, Connection) else Connection(value)
            self.name = text
            return True
        path = text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"" else text
        if path == ":memory:" or (path.endswith(_SUFFIXES) and (path != text or " " not in path)):
            self.close()  # DuckDB opens a file once
            self.connection = connect(path, progress=ProgressBar())
            self.name, self.owns_connection = Path(path).name, True
            return True
        if re.fullmatch(r"[\w./\\-]+", text) and text.upper() not in _ONE_WORD_STATEMENTS:
            raise errors.UnknownConnectionError(text)
        return False

    def _run(self, text: str) -> Anonymized | NotebookResult | None:
        """Run statements and return the result of the last one.

        None if it has no rows or they are assigned to a variable.

        `name << SELECT ...` assigns the rows, or the release, to the variable `name` of the notebook as a DataFrame.

        Raises:
            ConnectionMissingError: No connection was chosen.
        """
        name, query = _split_assignment(text)
        if self.connection is None:
            raise errors.ConnectionMissingError("%dbanon")
        result = self._execute(query)
        if name is None or result is None:
            return result
        self.shell.user_ns[name] = result.release if isinstance(result, Anonymized) else result.df()
        return None

    def _execute(self, query: str) -> Anonymized | NotebookResult | None:
        """Run statements; return a release with its classes and metrics, the rows of another last query, or None.

        Notes of the statements are printed, such as that nothing has changed since the last version. None means that
        the last statement is no query, or reports only success.
        """
        parameters = self._parameters(query)
        with raise_keyboard_interrupt():
            if is_release_query(query):
                code = "run(connection, query, given)"
                anonymized: Anonymized = self._in_notebook(code, run=anonymize_query, query=query, given=parameters)
                return anonymized
            options = {} if parameters is None else {"params": parameters}
            notes: list[str] = []
            with find_session(self.connection.raw).recorded.filling(notes=notes):
                rows = self._in_notebook("connection.sql(query, **options)", query=query, options=options)
            for note in notes:
                print(f"Note: {format_error(note)}")
            if rows is None:
                return None
            with self.connection.redact_errors():
                result = NotebookResult(rows.to_arrow_table())
            return None if result.rows.column_names == ["Success"] and not len(result) else result

    def _in_notebook(self, code: str, **names: Any) -> Any:
        """Evaluate a Python expression among the notebook's variables, so that DataFrames there can be sources.

        `names` and `connection` are available in the expression, too.
        """
        return eval(code, self.shell.user_ns, {"connection": self.connection, **names})  # noqa: S307

    def _parameters(self, query: str) -> dict[str, Any] | None:
        """Return the values of the notebook variables that the last statement names as `$name`; None if there are none.

        Names without a variable are omitted. None also for text that DuckDB cannot parse: running it raises the error.
        """
        try:
            statements = self.connection.raw.extract_statements(query)
        except duckdb.Error:  # what is wrong, or is a statement of dbanon, says so when it runs
            return None
        wanted = statements[-1].named_parameters if statements else set()
        return {name: self.shell.user_ns[name] for name in wanted if name in self.shell.user_ns} or None


_NO_CONNECTION_TEXT = (
    "There is no connection. %dbanon clinic.duckdb opens a database; %dbanon con uses an existing connection."
)

_ONE_WORD_STATEMENTS = frozenset(
    ("BEGIN", "COMMIT", "ROLLBACK", "ABORT", "CHECKPOINT", "VACUUM", "ANALYZE", "SUMMARIZE")
)
"""Statements of one word."""


def _split_assignment(text: str) -> tuple[str | None, str]:
    """Split `name << statements` into the variable name and the statements; the name is None if there is none.

    A Python keyword is no name; then the whole text is returned as statements.
    """
    assignment = _ASSIGNED.match(text)
    if assignment is None or not assignment[1].isidentifier() or keyword.iskeyword(assignment[1]):
        return None, text
    return assignment[1], text[assignment.end() :]
