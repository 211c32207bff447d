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

_ASSIGNED = re.compile(r"\s*(\w+)\s*<<")
_SUFFIXES = (".duckdb", ".ddb", ".db")


class MagicFailedError(Exception):
    """An error whose message alone is shown in a notebook. The cell has failed, so that cells below do not run."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass
class Magic:
    """The magics of one shell, and the connection that they use.

    `owns_connection`: whether the magic opened the connection.
    """

    shell: Any
    connection: Any = None
    name: str = ""
    owns_connection: bool = False

    def line(self, line: str) -> Any:
        """`%dbanon clinic.duckdb` opens a database, `%dbanon con` takes a connection that is there, `%dbanon SELECT 1`
        runs a statement; `%dbanon --close` closes what was opened. Alone, it says which connection is used.

        `name << SELECT ...` assigns the rows to a variable, as a DataFrame. `$name` in a statement is the value of a
        variable. A release is shown with its metrics.
        """
        return self._run_with_plain_errors(self._line, line.strip())

    def cell(self, line: str, cell: str) -> Any:
        """Run the statements of a cell and show the rows of the last one.

        After `%%dbanon` there may be a connection or a file, and `name <<`; see `%dbanon`.
        """
        return self._run_with_plain_errors(self._cell, line.strip(), cell)

    def close(self) -> None:
        """Close the connection if `%dbanon FILE` opened it."""
        if self.owns_connection:
            self.connection.close()
        self.connection, self.name, self.owns_connection = None, "", False

    def _run_with_plain_errors(self, action: Any, *arguments: str) -> Any:
        """Return the result of an action; an error is raised with its message alone."""
        try:
            return action(*arguments)
        except (errors.DbanonError, duckdb.Error, OSError) as error:
            message = format_error(str(error))
        raise MagicFailedError(message)

    def _line(self, line: str) -> Any:
        if not line:
            return self._print(
                f"The connection is {self.name}." if self.connection is not None else _NO_CONNECTION_TEXT
            )
        if line == "--close":
            self.close()
            return self._print("There is no connection now.")
        return self._print(f"The connection is {self.name}.") if self._use(line) else self._run(line)

    def _cell(self, line: str, cell: str) -> Any:
        assignment = re.fullmatch(r"(.*?)\s*(\w+\s*<<)", line)
        connection_text = assignment[1] if assignment else line
        if connection_text and not self._use(connection_text):
            raise errors.UnknownConnectionError(connection_text)
        return self._run(f"{assignment[2]} {cell}" if assignment else cell)

    def _use(self, text: str) -> bool:
        """Use the connection or file that a text names; return False if the text can be a statement."""
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
        """Run statements, and return the result of the last one; None if it has no rows or they are assigned."""
        name, query = _split_assignment(text)
        if self.connection is None:
            raise errors.ConnectionMissingError("%dbanon")
        result = self._execute(query)
        if name is None or result is None:
            return result
        self.shell.user_ns[name] = result.release if isinstance(result, Anonymized) else result.df()
        return None

    def _execute(self, query: str) -> Anonymized | NotebookResult | None:
        parameters = self._parameters(query)
        with raise_keyboard_interrupt():
            if is_release_query(query):
                code = "run(connection, query, given)"
                anonymized: Anonymized = self._in_notebook(code, run=anonymize_query, query=query, given=parameters)
                return anonymized
            options = {} if parameters is None else {"params": parameters}
            rows = self._in_notebook("connection.sql(query, **options)", query=query, options=options)
            if rows is None:
                return None
            with self.connection.redact_errors():
                result = NotebookResult(rows.to_arrow_table())
            return None if result.rows.column_names == ["Success"] and not len(result) else result

    def _in_notebook(self, code: str, **names: Any) -> Any:
        """Return the value of an expression among the notebook's variables, so that its DataFrames can be sources."""
        return eval(code, self.shell.user_ns, {"connection": self.connection, **names})  # noqa: S307

    def _parameters(self, query: str) -> dict[str, Any] | None:
        """Return the values of the variables that the last statement names with a dollar sign."""
        try:
            statements = self.connection.raw.extract_statements(query)
        except duckdb.Error:  # what is wrong, or is a statement of dbanon, says so when it runs
            return None
        wanted = statements[-1].named_parameters if statements else set()
        return {name: self.shell.user_ns[name] for name in wanted if name in self.shell.user_ns} or None

    def _print(self, text: str) -> None:
        print(text)


_NO_CONNECTION_TEXT = (
    "There is no connection. %dbanon clinic.duckdb opens a database, %dbanon con takes a connection that is there."
)

_ONE_WORD_STATEMENTS = frozenset(
    ("BEGIN", "COMMIT", "ROLLBACK", "ABORT", "CHECKPOINT", "VACUUM", "ANALYZE", "SUMMARIZE")
)
"""Statements of one word."""


def _split_assignment(text: str) -> tuple[str | None, str]:
    """Return the variable that rows go to, if one is named, and the statements."""
    assignment = _ASSIGNED.match(text)
    if assignment is None or not assignment[1].isidentifier() or keyword.iskeyword(assignment[1]):
        return None, text
    return assignment[1], text[assignment.end() :]
