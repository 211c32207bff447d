"""Measurements in a process of their own, so that memory and loaded modules are measured separately."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

_CHILD = """
import importlib, json, resource, sys
module, function, given = json.load(sys.stdin)
found = getattr(importlib.import_module(module), function)(**given)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
json.dump(found | {"peak_mb": round(peak)}, sys.stdout)
"""


class ProcessFailedError(Exception):
    """A measurement process failed; the message is the last line of its output."""


def run(function: Any, *, installed: Path = ROOT, **given: Any) -> dict[str, Any]:
    """Run a module's function in a new process and return its dict, with `peak_mb`, the maximum memory in MB.

    Arguments must be JSON values. `installed` is the folder of the packages.

    Raises:
        ProcessFailedError: The process failed.
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(installed), *_others(installed)])}
    job = json.dumps([function.__module__, function.__name__, given], default=str)
    completed = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=job,
        env=environment,
        cwd=installed,
        capture_output=True,
        text=True,
        check=False,
    )
    if completed.returncode:
        raise ProcessFailedError(
            (completed.stderr.strip().splitlines() or [f"exit code {completed.returncode}"])[-1][:200]
        )
    return dict(json.loads(completed.stdout.splitlines()[-1]))


def _others(installed: Path) -> list[str]:
    """Return the other folders of the module path, for example one with another DuckDB."""
    parts = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [p for p in parts if p and Path(p).resolve() not in (ROOT, installed)]


class Clock:
    """A clock of wall and CPU seconds of all threads since it was created."""

    def __init__(self) -> None:
        self._clock, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Return (wall seconds, CPU seconds)."""
        return time.perf_counter() - self._clock, time.process_time() - self._cpu


def table(*heads: str) -> str:
    """Return the head of a Markdown table."""
    return f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}"


def row(*cells: object) -> str:
    """Return a row of a Markdown table; fractions are rounded to significant digits."""
    return f"| {' | '.join(_cell(c) for c in cells)} |"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 10 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
