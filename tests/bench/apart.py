"""A measurement in a process of its own, so that its memory and what it has to load are its own."""

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
    """A measurement that ended otherwise; the last line of what it said."""


def run(function: Any, *, installed: Path = ROOT, **given: Any) -> dict[str, Any]:
    """Return the dict that a module's function returns in a process of its own, with `peak_mb`, its maximum memory.

    Arguments must be JSON values. `installed` is the folder of the packages.

    Raises:
        Failed: The process failed.
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
    """Return the other folders of the module path: with another DuckDB, for example."""
    parts = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return [p for p in parts if p and Path(p).resolve() not in (ROOT, installed)]


class Clock:
    """Seconds of clock and of CPU, all threads, since it began."""

    def __init__(self) -> None:
        self._clock, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Seconds of clock, seconds of CPU."""
        return time.perf_counter() - self._clock, time.process_time() - self._cpu


def table(*heads: str) -> str:
    """The head of a Markdown table."""
    return f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}"


def row(*cells: object) -> str:
    """A row of a Markdown table; fractions with as many digits as say something."""
    return f"| {' | '.join(_cell(c) for c in cells)} |"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 10 else f"{value:,.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
