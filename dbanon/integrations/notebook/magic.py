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
from dbanon.integrations.notebook.result import Answer

_ASSIGNED = re.compile(r"\s*(\w+)\s*<<")
_SUFFIXES = (".duckdb", ".ddb", ".db")


class MagicFailedError(Exception):
    """What a notebook shows of an error: its message. The cell has failed, so that those below do not run."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


@dataclass
class Magic:
    """The magics of one shell, and the connection that they use; `opened`: it was opened here."""

    shell: Any
    connection: Any = None
    name: str = ""
    opened: bool = False

    def line(self, line: str) -> Any:
        """`%dbanon clinic.duckdb` opens a database, `%dbanon con` takes a connection that is there, `%dbanon SELECT 1`
        runs a statement; `%dbanon --close` closes what was opened. Alone, it says which connection is used.

        `name << SELECT ...` assigns the rows to a variable, as a DataFrame. `$name` in a statement is the value of a
        variable. A release is shown with its metrics.
        """
        return self._shown(self._line, line.strip())

    def cell(self, line: str, cell: str) -> Any:
        """Run the statements of a cell and show the rows of the last one.

        Behind `%%dbanon` may stand a connection or a file, and `name <<`; see `%dbanon`.
        """
        return self._shown(self._cell, line.strip(), cell)

    def close(self) -> None:
        """Close the connection, if it was opened here."""
        if self.opened:
            self.connection.close()
        self.connection, self.name, self.opened = None, "", False

    def _shown(self, work: Any, *given: str) -> Any:
        """What the work gives; errors as their message alone."""
        try:
            return work(*given)
        except (errors.DbanonError, duckdb.Error, OSError) as error:
            message = format_error(str(error))
        raise MagicFailedError(message)

    def _line(self, line: str) -> Any:
        if not line:
            return self._say(f"The connection is {self.name}." if self.connection is not None else _NONE)
        if line == "--close":
            self.close()
            return self._say("There is no connection now.")
        return self._say(f"The connection is {self.name}.") if self._use(line) else self._run(line)

    def _cell(self, line: str, cell: str) -> Any:
        assigned = re.fullmatch(r"(.*?)\s*(\w+\s*<<)", line)
        before = assigned[1] if assigned else line
        if before and not self._use(before):
            raise errors.UnknownConnectionError(before)
        return self._run(f"{assigned[2]} {cell}" if assigned else cell)

    def _use(self, text: str) -> bool:
        """Take the connection that a text names; False where it can be a statement."""
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
            self.name, self.opened = Path(path).name, True
            return True
        if re.fullmatch(r"[\w./\\-]+", text) and text.upper() not in _WORDS:
            raise errors.UnknownConnectionError(text)
        return False

    def _run(self, text: str) -> Anonymized | Answer | None:
        """Run statements; None where the last one gives no rows, or they are assigned."""
        name, query = _parts(text)
        if self.connection is None:
            raise errors.ConnectionMissingError("%dbanon")
        made = self._made(query)
        if name is None or made is None:
            return made
        self.shell.user_ns[name] = made.release if isinstance(made, Anonymized) else made.df()
        return None

    def _made(self, query: str) -> Anonymized | Answer | None:
        given = self._parameters(query)
        with raise_keyboard_interrupt():
            if is_release_query(query):
                code = "run(connection, query, given)"
                made: Anonymized = self._in_notebook(code, run=anonymize_query, query=query, given=given)
                return made
            options = {} if given is None else {"params": given}
            rows = self._in_notebook("connection.sql(query, **options)", query=query, options=options)
            if rows is None:
                return None
            with self.connection.redact_errors():
                answer = Answer(rows.to_arrow_table())
            return None if answer.rows.column_names == ["Success"] and not len(answer) else answer

    def _in_notebook(self, code: str, **names: Any) -> Any:
        """Return the value of an expression among the variables of the notebook, so that its DataFrames are sources."""
        return eval(code, self.shell.user_ns, {"connection": self.connection, **names})  # noqa: S307

    def _parameters(self, query: str) -> dict[str, Any] | None:
        """Return values of the variables that the last statement names with a dollar sign."""
        try:
            statements = self.connection.raw.extract_statements(query)
        except duckdb.Error:  # what is wrong, or is a statement of dbanon, says so when it runs
            return None
        wanted = statements[-1].named_parameters if statements else set()
        return {name: self.shell.user_ns[name] for name in wanted if name in self.shell.user_ns} or None

    def _say(self, text: str) -> None:
        print(text)


_NONE = "There is no connection. %dbanon clinic.duckdb opens a database, %dbanon con takes a connection that is there."

_WORDS = frozenset(("BEGIN", "COMMIT", "ROLLBACK", "ABORT", "CHECKPOINT", "VACUUM", "ANALYZE", "SUMMARIZE"))
"""Statements of one word."""


def _parts(text: str) -> tuple[str | None, str]:
    """Return the variable that rows go to, if one is named, and the statements."""
    found = _ASSIGNED.match(text)
    if found is None or not found[1].isidentifier() or keyword.iskeyword(found[1]):
        return None, text
    return found[1], text[found.end() :]
