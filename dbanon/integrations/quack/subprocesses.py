"""Processes that begin with a job and know nothing else of this one: no memory, no environment, no open file."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_RUN = """
import json, sys
job = json.loads(sys.stdin.readline())
sys.path[:] = job["path"]
from importlib import import_module
sys.exit(import_module(job["module"]).main(job))
"""
_KEPT = ("HOME", "LANG", "LC_ALL", "SYSTEMROOT", "TZ")
"""What a process is told of the environment: where DuckDB's extensions lie, the language and the time zone."""


@dataclass(frozen=True)
class Serving:
    """Which database is served where, and the file that is the log."""

    database: Path
    host: str
    port: int
    journal: Path


@contextlib.contextmanager
def stopped() -> Iterator[threading.Event]:
    """What SIGTERM and Ctrl-C set, in place of what they do otherwise."""
    stopping = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in before:
        signal.signal(number, lambda *_: stopping.set())
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def begun(module: str, job: Mapping[str, object]) -> subprocess.Popen[str]:
    """Return a process that runs `main(job)` of a module. It is told to stop by the end of its input."""
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", "-c", _RUN],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
        start_new_session=True,
    )
    assert process.stdin is not None  # noqa: S101
    process.stdin.write(json.dumps({**job, "module": module, "path": sys.path}) + "\n")
    process.stdin.flush()
    return process


def ended(process: subprocess.Popen[str], wait: float = 10.0) -> None:
    """Wait for a process that was told to stop, and ends it where it does not."""
    try:
        process.communicate(timeout=wait)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
