"""Start processes that share nothing with this one but a job: no memory, no environment, no open file."""

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

_BOOTSTRAP = """
import json, sys
job = json.loads(sys.stdin.readline())
sys.path[:] = job["path"]
from importlib import import_module
sys.exit(import_module(job["module"]).main(job))
"""
_INHERITED_VARIABLES = ("HOME", "LANG", "LC_ALL", "SYSTEMROOT", "TZ")
"""Environment variables that a process gets: the location of DuckDB's extensions, the language and the time zone."""


@dataclass(frozen=True)
class ServerConfig:
    """The database to serve, the address to listen on, and the file of the audit log."""

    database: Path
    host: str
    port: int
    audit_log: Path


@contextlib.contextmanager
def stop_event() -> Iterator[threading.Event]:
    """Yield an event that SIGTERM and Ctrl-C set instead of ending the process or raising KeyboardInterrupt.

    The previous signal handlers are restored at the end.
    """
    stopping = threading.Event()
    previous_handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    for number in previous_handlers:
        signal.signal(number, lambda *_: stopping.set())
    try:
        yield stopping
    finally:
        for number, handler in previous_handlers.items():
            signal.signal(number, handler)


def start(module: str, job: Mapping[str, object]) -> subprocess.Popen[str]:
    """Start a Python process that runs `main(job)` of a module, and return it with pipes for input and output.

    It has almost no environment variables and its own session. `job` is sent as JSON. The process is expected to stop
    when its input is closed.
    """
    child = subprocess.Popen(  # noqa: S603
        [sys.executable, "-I", "-c", _BOOTSTRAP],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={name: os.environ[name] for name in _INHERITED_VARIABLES if name in os.environ},
        text=True,
        start_new_session=True,
    )
    assert child.stdin is not None  # noqa: S101
    child.stdin.write(json.dumps({**job, "module": module, "path": sys.path}) + "\n")
    child.stdin.flush()
    return child


def end_process(child: subprocess.Popen[str], timeout: float = 10.0) -> None:
    """Wait until a process that is stopping has ended; kill it if this takes longer than `timeout` seconds."""
    try:
        child.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
