"""The shell without its prompt: run statements in a thread and dot commands, write results, times and errors."""

import contextlib
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TextIO, TypeVar

import duckdb
from rich.console import Console, RenderableType
from rich.progress import Progress
from rich.text import Text

from dbanon.api.connection import Connection
from dbanon.cli.shell import script as shell_script
from dbanon.cli.terminal.compiling import COMPILING_MESSAGE, compiling_text, statement_progress
from dbanon.cli.terminal.result_table import QueryResult, ResultPage, Row, render
from dbanon.errors import DbanonError
from dbanon.errors.base import Outcome
from dbanon.errors.display import escape_controls, format_error
from dbanon.errors.exit_codes import error_outcome
from dbanon.kernels import compile_events
from dbanon.runtime import csv_formulas, session

T = TypeVar("T")


class Worker:
    """One thread that runs work for the main thread, which waits for it.

    `interrupt` is called to stop the work after Ctrl-C. `tick` receives the running time in seconds about ten times per
    second, and None when the work is complete.
    """

    def __init__(self, interrupt: Callable[[], None], tick: Callable[[float | None], None]) -> None:
        """Store the callbacks and prepare the thread, which starts with the first work."""
        self._interrupt = interrupt
        self._tick = tick
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="dbanon-shell")

    def run(self, work: Callable[[], T]) -> T:
        """Run `work` in the thread and return its result, or raise its error.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed, and the work ended with an error.
        """
        started = time.monotonic()
        with _record_ctrl_c() as pressed:
            future = self._pool.submit(work)
            while not wait([future], timeout=0.1).done:
                if pressed.is_set():
                    self._interrupt()  # again and again: the work may just be between two steps
                self._tick(time.monotonic() - started)
            self._tick(None)
        if pressed.is_set() and future.exception() is not None:
            raise KeyboardInterrupt
        return future.result()

    def close(self) -> None:
        """End the thread, after the work that runs in it."""
        self._pool.shutdown()


@contextlib.contextmanager
def _record_ctrl_c() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets during the block, instead of raising KeyboardInterrupt.

    Outside of the main thread nothing is changed, and the event is never set.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    previous_handler = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, previous_handler)


CHUNK = 10_000
"""Rows that are fetched at a time."""

PLAIN_WIDTH = 100
"""Width of texts where there is no terminal."""


DotCommand = Callable[["Shell", str], bool]
"""Runs a line such as `.mode csv`; False where it failed and the error was shown."""


class Shell:
    """The shell without its prompt: a connection, the format of results, and the thread that runs statements.

    Attributes:
        connection: The connection.
        mode: The format of results: table, csv, json, markdown or line.
        csv_formulas: "escape" or "keep": the treatment of text cells of CSV that a spreadsheet would execute.
        timer: Whether the time of each statement is written.
        all_rows: Whether tables have all rows.
        watched: Whether the output is a terminal, read by a person. Results then fit the screen, statements without
            rows are confirmed, and errors are written with the results instead of to `err`.
        console: The output of results.
        errors: The output of errors and warnings.
    """

    def __init__(
        self,
        connection: Connection,
        out: TextIO,
        err: TextIO,
        *,
        mode: str,
        watched: bool,
        dot_command: DotCommand,
    ) -> None:
        """Start the thread, and connect the progress and the reviews of the connection to the output.

        Args:
            connection: The connection; it is not closed.
            out: The stream for results.
            err: The stream for errors and warnings, unless `watched`.
            mode: The format of results.
            watched: Whether the output is a terminal. If not, reviews before a first release are not written.
            dot_command: Runs a dot command.
        """
        self.connection = connection
        self.mode = mode
        self._dot_command = dot_command
        self.csv_formulas = csv_formulas.CHOICES[0]
        self.timer = False
        self.rows: int | None = None
        """Most rows of a table; None: as many as fit the screen."""
        self.all_rows = not watched
        self.watched = watched
        self.reading = 0
        """How many `.read` are within each other."""
        self.failed: Outcome = "failed"
        """What the last error meant."""
        self.on_change: Callable[[], None] = lambda: None
        """Called after every statement, which may have made or dropped tables."""
        width = None if watched else 1_000_000
        self.console = Console(file=out, width=width, highlight=False, soft_wrap=not watched, markup=False)
        self.errors = self.console if watched else Console(file=err, highlight=False, markup=False, soft_wrap=True)
        self._worker = Worker(connection.interrupt, self._running)
        self._bar: Progress | None = None
        self._done: float | None = None
        self._current = session.find_session(connection.raw)
        self._compiled: list[str] = []
        self._said_compiling = False
        connection.on_progress = self._on_progress
        if watched:
            connection.on_review = self._print_review

    def close(self) -> None:
        """End the thread that runs statements; the connection stays open."""
        self._worker.close()

    @property
    def page(self) -> ResultPage:
        """The output for results by the present settings.

        Unless a number of rows is set, tables have as many rows as fit the screen, or all if the output is no terminal.
        """
        prompt_lines = 2 + self.timer  # the statement above the result, the next prompt below it
        lines = None if self.all_rows or self.rows else self.console.height - prompt_lines
        limit = None if self.all_rows else self.rows
        return ResultPage(self.console, limit, self.watched, self.csv_formulas == "escape", lines)

    # --- statements ------------------------------------------------------------------------------------------

    def script(self, lines: Iterable[str]) -> bool:
        """Run the statements and dot commands of a script until one fails; return whether all succeeded."""
        return all(self.run(step) for step in shell_script.script_steps(lines))

    def run(self, step: str) -> bool:
        """Run one statement or dot command, write its result, and return whether it succeeded.

        Errors of dbanon, DuckDB and the system are written, except BrokenPipeError, which is raised. `on_change` is
        called in any case. With `timer`, the time is written.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
            LeaveShellError: The dot command was `.quit`.
        """
        started = time.perf_counter()
        try:
            with compile_events.listen(self._compiled.append):
                if step.startswith("."):
                    return self._dot_command(self, step)
                self._statement(step)
        except (DbanonError, duckdb.Error, RuntimeError, OSError) as error:
            if isinstance(error, BrokenPipeError):
                raise
            self.fail(error)
            return False
        finally:
            self.on_change()
        if self.timer:
            self.console.print(Text(f"Time: {time.perf_counter() - started:.3f} s", style="dim"))
        return True

    def _statement(self, query: str) -> None:
        """Run a statement, write its warnings once each and its notes, and then its result.

        A statement without a result is confirmed if the output is a terminal.
        """
        with warnings.catch_warnings(record=True) as caught_warnings:
            warnings.simplefilter("always")
            planned_releases: list[tuple[Sequence[str], Sequence[str]]] = []
            notes: list[str] = []
            with self._current.recorded.filling(releases=planned_releases, notes=notes):
                self._worker.run(lambda: self.connection.execute(query))
        for warning in dict.fromkeys(str(w.message) for w in caught_warnings if issubclass(w.category, UserWarning)):
            self.errors.print(
                Text("Warning: ", style="bold yellow").append(format_error(warning), style="not bold default")
            )
        for note in notes:
            self.errors.print(Text("Note: ", style="bold").append(format_error(note), style="not bold"))
        description = self.connection.description or []
        names = tuple(str(d[0]) for d in description)
        if self._gives_rows(query, names):
            quasi = next((tuple(quasi) for columns, quasi in planned_releases if tuple(columns) == names), ())
            result = QueryResult(names, tuple(str(d[1]) for d in description), self._chunks(), quasi)
            render(result, self.mode, self.page)
            return
        rows = [row for chunk in self._chunks() for row in chunk]
        if self.watched:
            count = rows[0][0] if rows and names == ("Count",) else None
            message = "Done." if count is None else f"Done: {count:,} row{'' if count == 1 else 's'}."
            self.console.print(Text(message, style="dim"))

    def query(self, query: str, parameters: object = None) -> list[Row]:
        """Return all rows of a query that the shell itself needs, on DuckDB's connection without dbanon's functions."""
        return self._worker.run(lambda: list(self.connection.raw.execute(query, parameters or []).fetchall()))

    def rows_of(self, query: str) -> tuple[tuple[str, ...], tuple[str, ...], list[Row]]:
        """Return the column names, the types and all rows of a query, which may call dbanon's functions."""
        self._worker.run(lambda: self.connection.execute(query))
        description = self.connection.description or []
        names, types = tuple(str(d[0]) for d in description), tuple(str(d[1]) for d in description)
        return names, types, [row for chunk in self._chunks() for row in chunk]

    def write(self, names: tuple[str, ...], types: tuple[str, ...], rows: Sequence[Row]) -> None:
        """Write rows as a result, in the format of results."""
        render(QueryResult(names, types, iter([rows])), self.mode, self.page)

    def try_query(self, query: str) -> list[Row] | None:
        """Return the rows of a query, run in the calling thread; None if it fails, as in an aborted transaction."""
        try:
            return list(self.connection.raw.execute(query).fetchall())
        except duckdb.Error:
            return None

    def show(self, query: str, parameters: Sequence[object] = ()) -> None:
        """Run a query of the shell itself, on DuckDB's connection, and write its result."""
        self._worker.run(lambda: self.connection.raw.execute(query, list(parameters)))
        description = self.connection.description
        names, types = tuple(str(d[0]) for d in description), tuple(str(d[1]) for d in description)
        render(QueryResult(names, types, self._chunks()), self.mode, self.page)

    def _chunks(self) -> Iterator[Sequence[Row]]:
        """Yield the rows of the statement that ran, in chunks of at most CHUNK rows, which the thread fetches."""

        def fetch_chunk() -> Sequence[Row]:
            """Fetch the next rows; empty at the end."""
            return list(self.connection.raw.fetchmany(CHUNK))

        while rows := self._worker.run(fetch_chunk):
            yield rows

    def _gives_rows(self, query: str, names: tuple[str, ...]) -> bool:
        """Return whether a statement's result is a table, and not only DuckDB's confirmation.

        `names` are its columns. A single column "Success" is a confirmation. A single column "Count" is one if the
        statement may return a number of changed rows.
        """
        if names == ("Success",):
            return False
        if names != ("Count",):
            return bool(names)
        with contextlib.suppress(duckdb.Error):
            return len(self.connection.raw.extract_statements(query)[-1].expected_result_type) == 1
        return True

    # --- what is said about it -------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Write a text for people, wrapped to the screen."""
        self.print(Text(text))

    def print(self, renderable: RenderableType) -> None:
        """Write an object that rich can render; it is 100 columns wide if the output is no terminal."""
        self.console.print(renderable, soft_wrap=False, width=None if self.watched else PLAIN_WIDTH)

    def _print_review(self, lines: list[str]) -> None:
        """Write the review of what the first release of a name will publish, with control characters escaped."""
        self.console.print(Text(escape_controls("\n".join(lines)), style="dim"), soft_wrap=True)

    def code(self, text: str) -> None:
        """Write SQL without wrapping its lines, so that it can be copied; control characters are escaped."""
        if text:
            self.console.print(Text(escape_controls(text)), soft_wrap=True)

    def fail(self, error: BaseException | str) -> None:
        """Write an error as one block, and store its outcome in `failed`."""
        self.failed = "failed" if isinstance(error, str) else error_outcome(error)
        first, *rest = format_error(str(error)).split("\n")
        block = Text("Error: ", style="bold red")
        block.append(first, style="not bold default")
        for line in rest:
            block.append("\n" + line, style="cyan" if line.startswith("Hint: ") else "not bold default")
        self.errors.print(block)

    def report_interrupt(self) -> None:
        """Write that the statement was stopped by Ctrl-C."""
        self.errors.print(Text("Stopped.", style="yellow"))

    def _on_progress(self, fraction_done: float, loss_removed: float) -> None:
        """Store the fraction of the work that is complete, for the line with the running time."""
        self._done = fraction_done

    def _running(self, seconds: float | None) -> None:
        """Write a line with a bar, the running time of a statement and its progress, from its first second on.

        `seconds` is the running time; None means that the statement is complete and erases the line. The line is
        written only to a terminal. Before it, a message is written once if kernels are being compiled.
        """
        if self._compiled and not self._said_compiling:
            self._said_compiling = True
            self.errors.print(Text(COMPILING_MESSAGE, style="dim" if self.watched else ""), soft_wrap=True)
        if not self.watched or not self.console.is_terminal:
            return
        if seconds is None:
            if self._bar is not None:
                self._bar.stop()
            self._bar = self._done = None
            self._compiled.clear()
            return
        if seconds < 1:
            return
        if self._bar is None:
            self._bar = statement_progress(self.console)
            self._bar.add_task("", total=None)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], description=self._running_text(seconds), completed=self._done or 0,
                         total=None if self._done is None else 1)  # fmt: skip
        self._bar.refresh()

    def _running_text(self, seconds: float) -> str:
        """Return the running time of a statement, what is complete of it or being compiled, and how to stop it."""
        from dbanon.algorithms.base.progress import remaining_text

        parts = [f"{seconds:.0f} s"]
        if self._done is not None:
            parts.append(f"{self._done:.0%} done{remaining_text(seconds, self._done)}")
        elif self._compiled:
            parts.append(compiling_text(len(self._compiled)))
        return ", ".join([*parts, "Ctrl-C stops it"])
