"""Serving readers: this process opens no database.

It starts one that copies what was published whenever the database has changed or a reader asks for a release, keeps one
running that answers from the copy, and stops both.
"""

import contextlib
import json
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dbanon import errors
from dbanon.integrations.quack import copy_process, published_copy, request_files, subprocesses, tokens
from dbanon.integrations.quack.reader_process import Limits
from dbanon.integrations.quack.subprocesses import Serving
from dbanon.integrations.quack.transport import AGAIN

_LOOK = 1.0
"""Seconds between looks at the database, and what is waited before a process is started again."""
_PATIENCE = 10.0
"""Seconds for which another process that has the database is waited for, or its copies, where there is no copy yet."""
_BUSY = 15.0
"""Seconds between looks at a database that another process has."""
_RESIDENT = 3
"""A process with more memory than so many times DuckDB's, and a gigabyte, is started again."""


def serve(serving: Serving, limits: Limits, told: Callable[[str], None], ready: Callable[[], None]) -> None:
    """Serve readers until SIGTERM or Ctrl-C; NoReleaseToServeError, ServerStartFailedError."""
    with subprocesses.stopped() as stopping:
        _Watch(serving, limits, told, stopping).run(ready)


class _Watch:
    """The copies and the process that answers from them."""

    def __init__(
        self, serving: Serving, limits: Limits, told: Callable[[str], None], stopping: threading.Event
    ) -> None:
        self.serving, self.limits, self.told, self.stopping = serving, limits, told, stopping
        self.folder = published_copy.folder_of(serving.database)
        self._seen: tuple[object, ...] = ()
        self._not_before = 0.0
        self._said = ""

    def run(self, ready: Callable[[], None]) -> None:
        """Until it is told to stop."""
        published_copy.prepared(self.folder)
        request_files.forget_old(self.folder)
        self._first()
        process: subprocess.Popen[str] | None = None
        try:
            while not self.stopping.is_set():
                if process is None or process.poll() is not None:
                    if process is not None:
                        self._again(process)
                        process = self._begun()
                    else:
                        process = self._begun()
                        ready()
                self.stopping.wait(_LOOK)
                self._copied()
        finally:
            if process is not None:
                process.terminate()
                subprocesses.ended(process, self.limits.seconds + 20)

    def _first(self) -> None:
        """Wait for a copy to begin with."""
        end = time.monotonic() + _PATIENCE
        while (why := self._copied()) is not None and published_copy.current(self.folder) is None:
            if time.monotonic() > end or self.stopping.wait(_LOOK):
                raise errors.NoReleaseToServeError("serve", str(self.serving.database), why)

    def _copied(self) -> str | None:
        """Copy what was published where the database has changed since; why not, where that did not work."""
        seen = _state(self.serving.database)
        same = seen == self._seen and not request_files.waiting(self.folder)
        if same or (published_copy.current(self.folder) is not None and time.monotonic() < self._not_before):
            return None
        found = copy_process.copied(self.serving.database, self.folder)
        why: str | None = found.get("error")
        if why is None:
            self._seen = _state(self.serving.database) if found["made"] else seen
        for made in found.get("made", ()):
            self.told(made)
        self._not_before = time.monotonic() + (_BUSY if found.get("busy") else 0.0)
        said = why or "; ".join(f"{name} is not served: {reason}" for name, reason in found["left_out"])
        if said != self._said and said and not found.get("busy"):
            self.told(said)
        self._said = said
        return why

    def _begun(self) -> subprocess.Popen[str]:
        """Return a process that answers, once it listens."""
        serving = self.serving
        job: dict[str, Any] = {
            "folder": str(self.folder.resolve()),
            "tokens": str(tokens.file_of(serving.database).resolve()),
            "journal": str(serving.journal.resolve()),
            "host": serving.host,
            "port": serving.port,
            "limits": asdict(self.limits),
            "resident": _RESIDENT * _bytes(self.limits.memory) + 2**30,
        }
        process = subprocesses.begun("dbanon.integrations.quack.reader_process", job)
        assert process.stdout is not None  # noqa: S101
        line = process.stdout.readline()
        said = json.loads(line) if line else {"error": "", "message": "it ended early"}
        if "error" in said:
            subprocesses.ended(process)
            raise errors.ServerStartFailedError(said["message"])
        return process

    def _again(self, process: subprocess.Popen[str]) -> None:
        """Say that the process ended, and wait a little."""
        subprocesses.ended(process)
        why = "a statement took too much" if process.returncode == AGAIN else f"exit code {process.returncode}"
        self.told(f"The process that answers ended ({why}) and is started again.")
        self.stopping.wait(_LOOK)


def _state(database: Path) -> tuple[object, ...]:
    """What changes with a database: its file and the log beside it."""
    found: list[object] = []
    for path in (database, database.with_name(database.name + ".wal")):
        with contextlib.suppress(FileNotFoundError):
            stat = path.stat()
            found.append((path.name, stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return tuple(found)


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def _bytes(memory: str) -> int:
    """Return an amount of memory such as 500MB, in bytes."""
    digits = memory.strip().rstrip("iIbB ").lower()
    unit = digits[-1] if digits[-1:].isalpha() else ""
    return int(float(digits.removesuffix(unit)) * _UNITS[unit])
