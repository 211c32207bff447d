"""dbt on a project, for tests: in the running environment, or in that of the Python that DBANON_DBT_PYTHON names."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

_RUN = """
import json, sys
from dbt.cli.main import dbtRunner

told = []
for command in json.loads(sys.argv[1]):
    result = dbtRunner().invoke(command)
    nodes = getattr(result.result, "results", None) or []
    told.append({
        "success": result.success,
        "error": str(result.exception or ""),
        "nodes": {n.node.name: [str(n.status), n.message or ""] for n in nodes if hasattr(n, "status")},
    })
print("\\n" + json.dumps(told))
"""


@cache
def dbt_python() -> str:
    """Return a Python that has dbt-duckdb; the test is skipped where there is none."""
    name_text = os.environ.get("DBANON_DBT_PYTHON")
    if name_text:
        return name_text
    try:
        present_spec = importlib.util.find_spec("dbt.adapters.duckdb")
    except ModuleNotFoundError:
        present_spec = None
    if present_spec is None:
        pytest.skip("dbt-duckdb is not installed (the extra dbt), and DBANON_DBT_PYTHON names no Python that has it")
    return sys.executable


@dataclass(frozen=True)
class CommandResult:
    """The results of one dbt command: by node its status and its message."""

    success: bool
    error: str
    nodes: dict[str, list[str]]
    text: str
    """The output of all commands of the process."""


def run(project: Path, *commands: str) -> list[CommandResult]:
    """Run commands such as `build --full-refresh` one after the other, in one process."""
    arguments_text = json.dumps([shlex.split(command) for command in commands])
    environment = os.environ | {
        "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
        "DBT_USE_COLORS": "false",
        "PYTHONPATH": str(ROOT),
        "PYTHONWARNINGS": "",
    }
    done = subprocess.run(
        [dbt_python(), "-c", _RUN, arguments_text],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    return [CommandResult(**result, text=text) for result in json.loads(done.stdout.rstrip().rpartition("\n")[2])]
