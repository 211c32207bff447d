"""The first call after an install, and the first call of every later process."""

from __future__ import annotations

import compileall
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench import apart
from tests.bench.apart import ROOT, Clock, row, table

CALLS = {
    "kacpc": "kacpc('t', k=10)",
    "kacpc, l": "kacpc('t', k=10, l=3)",
    "best": "best('t', k=10)",
    "best, l": "best('t', k=10, l=3)",
}


def process_times(call: str) -> dict[str, Any]:
    """Return wall and CPU seconds of each step of a process that calls on Adult once, and then again."""
    result = {}
    clock = Clock()
    import duckdb

    result["import duckdb"] = clock.read()
    clock = Clock()
    import dbanon

    result["import dbanon"] = clock.read()
    connection = duckdb.connect()
    clock = Clock()
    dbanon.attach(connection)
    result["attach"] = clock.read()
    from tests.bench import data

    data.load(connection, data.adult(None))
    for name in ("first call", "second call"):
        dbanon.clear_cache(connection)
        clock = Clock()
        connection.execute(f"CREATE OR REPLACE TABLE safe AS FROM {call}").fetchall()
        result[name] = clock.read()
    connection.close()
    return result


def installed(folder: Path) -> Path:
    """Return a folder with the packages as an install leaves them: Python compiled, no cache of earlier calls."""
    for name in ("dbanon", "sql", "hierarchies", "tests"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    compileall.compile_dir(folder / "dbanon", quiet=2)
    (folder.parent / "shared").symlink_to(ROOT.parent / "shared")
    return folder


def measurements() -> Iterator[dict[str, Any]]:
    """Yield one row per call and process: the first after an install and two later ones."""
    for name, call in CALLS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "installed"
            path.mkdir()
            installed(path)
            for turn in ("after an install", "later", "later still"):
                yield {"call": name, "process": turn} | apart.run(process_times, installed=path, call=call)


STEPS = ("import dbanon", "attach", "first call", "second call")


def report(as_json: bool) -> None:
    """Print CPU seconds, and wall seconds in brackets."""
    if not as_json:
        print("\nFirst call: CPU s (s of clock)\n")
        print(table("call", "process", *STEPS, "peak MB"))
    for result in measurements():
        shown_texts = [f"{result[step][1]:.2f} ({result[step][0]:.2f})" for step in STEPS]
        line = row(result["call"], result["process"], *shown_texts, result["peak_mb"])
        print(json.dumps(result) if as_json else line, flush=True)
