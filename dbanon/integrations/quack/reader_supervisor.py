"""Serve readers from a process that opens no database.

It starts a process that copies what was published whenever the database has changed or a reader requests a release,
keeps another one running that answers from the copy, and stops both.
"""

import contextlib
import json
import re
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.integrations.quack import copy_process, published_copy, request_files, subprocesses, tokens
from dbanon.integrations.quack.reader_process import StatementLimits
from dbanon.integrations.quack.subprocesses import ServerConfig
from dbanon.integrations.quack.transport import EXIT_RESTART

_CHECK_INTERVAL_S = 1.0
"""Seconds between checks of the database, and before a process is started again."""
_FIRST_COPY_TIMEOUT_S = 10.0
"""Seconds to wait for the first copy while another process has the database or its copies."""
_BUSY_INTERVAL_S = 15.0
"""Seconds between checks of a database that another process has."""
_RESIDENT_FACTOR = 3
"""A process with more memory than this factor times DuckDB's, plus a gigabyte, is started again."""


def serve(
    config: ServerConfig, limits: StatementLimits, on_message: Callable[[str], None], on_ready: Callable[[], None]
) -> None:
    """Serve readers until SIGTERM or Ctrl-C, with a process that is started again when it ends.

    Args:
        config: The database, address and log.
        limits: Limits of each statement.
        on_message: Receives messages for the operator.
        on_ready: Called when the first reader process listens.

    Raises:
        NoReleaseToServeError: There is no copy, and none can be written.
        ServerStartFailedError: The reader process did not start.
    """
    with subprocesses.stop_event() as stopping:
        _ReaderSupervisor(config, limits, on_message, stopping).run(on_ready)


class _ReaderSupervisor:
    """Keeps the copy of the published releases up to date and a reader process running."""

    def __init__(
        self,
        config: ServerConfig,
        limits: StatementLimits,
        on_message: Callable[[str], None],
        stopping: threading.Event,
    ) -> None:
        """Store the settings; nothing is started. `stopping` ends `run`."""
        self.config, self.limits, self.on_message, self.stopping = config, limits, on_message, stopping
        self.folder = published_copy.copy_folder(config.database)
        self._database_state: tuple[object, ...] = ()
        self._next_copy_time = 0.0
        self._last_message = ""

    def run(self, on_ready: Callable[[], None]) -> None:
        """Write the first copy, start the reader process, call `on_ready`, and supervise until `stopping` is set.

        The reader process is started again when it ends, and the copy updated every second if necessary. The process is
        ended before this returns.
        """
        published_copy.prepare_folder(self.folder)
        request_files.remove_old_requests(self.folder)
        self._wait_for_copy()
        reader: subprocess.Popen[str] | None = None
        try:
            while not self.stopping.is_set():
                if reader is None or reader.poll() is not None:
                    if reader is not None:
                        self._report_exit(reader)
                        reader = self._start_reader()
                    else:
                        reader = self._start_reader()
                        on_ready()
                self.stopping.wait(_CHECK_INTERVAL_S)
                self._update_copy()
        finally:
            if reader is not None:
                reader.terminate()
                subprocesses.end_process(reader, self.limits.seconds + 20)

    def _wait_for_copy(self) -> None:
        """Update the copy until there is one; return at once if it exists or can be written.

        Raises:
            NoReleaseToServeError: There is none after _FIRST_COPY_TIMEOUT_S, or `stopping` is set.
        """
        end = time.monotonic() + _FIRST_COPY_TIMEOUT_S
        while (why := self._update_copy()) is not None and published_copy.current_copy(self.folder) is None:
            if time.monotonic() > end or self.stopping.wait(_CHECK_INTERVAL_S):
                raise errors.NoReleaseToServeError("serve", str(self.config.database), why)

    def _update_copy(self) -> str | None:
        """Copy what was published if the database has changed or readers requested releases.

        Return an error message or None.

        None also if nothing was to be done. While another process has the database, copying is tried again after
        _BUSY_INTERVAL_S. New releases, and new reasons why others are not served, are reported by `on_message`.
        """
        state = _file_state(self.config.database)
        is_unchanged = state == self._database_state and not request_files.has_requests(self.folder)
        if is_unchanged or (
            published_copy.current_copy(self.folder) is not None and time.monotonic() < self._next_copy_time
        ):
            return None
        result = copy_process.run_copy_process(self.config.database, self.folder)
        why: str | None = result.get("error")
        if why is None:
            self._database_state = _file_state(self.config.database) if result["made"] else state
        for release_message in result.get("made", ()):
            self.on_message(release_message)
        self._next_copy_time = time.monotonic() + (_BUSY_INTERVAL_S if result.get("busy") else 0.0)
        message = why or "; ".join(f"{name} is not served: {reason}" for name, reason in result["left_out"])
        if message != self._last_message and message and not result.get("busy"):
            self.on_message(message)
        self._last_message = message
        return why

    def _start_reader(self) -> subprocess.Popen[str]:
        """Start a reader process and return it as soon as it listens.

        Raises:
            ServerStartFailedError: It did not start.
        """
        config = self.config
        job: dict[str, Any] = {
            "folder": str(self.folder.resolve()),
            "tokens": str(tokens.token_file(config.database).resolve()),
            "journal": str(config.audit_log.resolve()),
            "host": config.host,
            "port": config.port,
            "limits": asdict(self.limits),
            "resident": _RESIDENT_FACTOR * _memory_bytes(self.limits.memory) + 2**30,
        }
        reader = subprocesses.start("dbanon.integrations.quack.reader_process", job)
        assert reader.stdout is not None  # noqa: S101
        line = reader.stdout.readline()
        reply = json.loads(line) if line else {"error": "", "message": "it ended early"}
        if "error" in reply:
            subprocesses.end_process(reader)
            raise errors.ServerStartFailedError(reply["message"])
        return reader

    def _report_exit(self, reader: subprocess.Popen[str]) -> None:
        """Report that the reader process ended and why, and wait _CHECK_INTERVAL_S."""
        subprocesses.end_process(reader)
        why = "a statement exceeded a limit" if reader.returncode == EXIT_RESTART else f"exit code {reader.returncode}"
        self.on_message(f"The process that runs the statements ended ({why}) and is started again.")
        self.stopping.wait(_CHECK_INTERVAL_S)


def _file_state(database: Path) -> tuple[object, ...]:
    """Return times, sizes and inodes of a database file and its write-ahead log, which change with the database.

    There is one tuple (name, modification time in ns, size, inode) for each of the two files that exists.
    """
    state: list[object] = []
    for path in (database, database.with_name(database.name + ".wal")):
        with contextlib.suppress(FileNotFoundError):
            stat = path.stat()
            state.append((path.name, stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return tuple(state)


_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_MEMORY = re.compile(r"\s*(?P<amount>\d+\.?\d*|\.\d+)\s*(?P<unit>[kmgt]?)(?P<binary>i?)b?(?:ytes?)?\s*", re.IGNORECASE)


def _memory_bytes(memory: str) -> int:
    """Convert an amount of memory such as 500MB or 2GiB to bytes, as DuckDB reads it: GB are decimal, GiB binary.

    Raises:
        ValueError: It is no such amount.
    """
    match = _MEMORY.fullmatch(memory)
    if match is None:
        raise ValueError(memory)
    base = 1024 if match["binary"] else 1000
    return int(float(match["amount"]) * base ** _POWERS[match["unit"].lower()])
