"""Whole processes: commands from CSV to CSV, a DataFrame, a stream and a script, compared with DuckDB and targets.

The CPU time of commands is a multiple of that of a DuckDB process that reads the same CSV, counts by the six columns
with a window and writes a CSV; targets are the multiples that ARX 3.9.2 takes to load, anonymize and save.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench import apart
from tests.bench.apart import ROOT, Clock, row, table

QUASI = ("age", "workclass", "education", "marital_status", "race", "sex")
K = 10
ARX_MULTIPLES = {30_162: 17.0, 10**6: 4.5, 10**7: 1.6}
"""CPU time of ARX in multiples of DuckDB's, by the number of rows."""
MAX_FRAME_MULTIPLE = 1.3
"""Most CPU time of `dbanon.anonymize(DataFrame)`, in multiples of that of the statement."""
MAX_SCRIPT_S = 1.0
"""Most CPU seconds of a script that connects to the demo database and runs `best`.

1.9 on a busy machine: 0.9 for the statement if it runs again in the process, 0.4 for importing DuckDB, numpy, pyarrow
and numba, 0.2 for modules of dbanon, and 0.2 for what only the first statement does.
"""
STREAM_ROWS = 100_000

_DUCKDB_SCRIPT = """
import sys, duckdb
columns = "age, workclass, education, marital_status, race, sex"
counted = f"SELECT *, count(*) OVER (PARTITION BY {columns}) AS n FROM read_csv('{sys.argv[1]}')"
duckdb.execute(f"COPY ({counted}) TO '{sys.argv[2]}'")
"""
_DEMO_SCRIPT = """
import sys, dbanon
con = dbanon.connect(sys.argv[1])
con.execute("CREATE TEMP TABLE safe AS FROM best('patients', k = 10)").fetchall()
"""


def run_process(arguments: Sequence[object]) -> dict[str, Any]:
    """Run Python with these arguments and return wall and CPU seconds of the process, and `peak_mb`, its peak memory.

    The peak is at least the memory of this process, from which the other one starts.

    Raises:
        ProcessFailedError: The process failed.
    """
    start = time.perf_counter()
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), environment.get("PYTHONPATH"))))
    process = subprocess.Popen(
        [sys.executable, *map(str, arguments)], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise apart.ProcessFailedError(f"exit code {process.returncode} of {' '.join(map(str, arguments))[:150]}")
    seconds = time.perf_counter() - start
    return {"s": seconds, "cpu": usage.ru_utime + usage.ru_stime, "peak_mb": round(usage.ru_maxrss / 1024)}


def run_in_turn(jobs: Sequence[Callable[[], dict[str, Any]]], runs: int) -> list[dict[str, Any]]:
    """Run jobs in alternation after a first run of each that is not counted, and return the run of median CPU time."""
    for job in jobs:
        job()
    results: list[list[dict[str, Any]]] = [[] for _ in jobs]
    for _ in range(runs):
        for job, measured in zip(jobs, results, strict=True):
            measured.append(job())
    return [sorted(measured, key=lambda each: each["cpu"])[len(measured) // 2] for measured in results]


def write_csv(rows: int, path: str) -> dict[str, Any]:
    """Write Adult (30,162 rows) or a resampled Adult as CSV, in a process whose memory does not count."""
    import duckdb

    from tests.bench import data

    if rows == min(ARX_MULTIPLES):
        data.adult(None).to_csv(path, index=False)
        return {}
    parquet = f"{path}.parquet"
    data.resampled(rows, Path(parquet))
    duckdb.execute(f"COPY (FROM '{parquet}') TO '{path}'")
    return {}


def options(data_folder: Path) -> list[str]:
    """Return the options of a command that name k, the quasi-identifiers with hierarchies, and the sensitive column."""
    files = {column: data_folder / "hierarchies" / "kacpc" / f"{column}.csv" for column in QUASI}
    quasi = [f"{column}={file}" if file.exists() else column for column, file in files.items()]
    return ["-k", str(K), *(word for column in quasi for word in ("--qi", column)), "--sensitive", "occupation"]


def measure_frame(path: str, runs: int) -> dict[str, Any]:
    """Return median CPU seconds of `anonymize` of a DataFrame and of the statement about a table, with `best`."""
    import statistics

    import pandas as pd

    import dbanon

    frame = pd.read_csv(path)
    arguments: dict[str, Any] = {"k": K, "qi": list(QUASI), "sensitive": ["occupation"]}
    con = dbanon.connect()
    con.execute(f"CREATE TABLE t AS FROM read_csv('{path}')")
    call = f"best('t', k = {K}, qi = {list(QUASI)}, sensitive = ['occupation'])"
    dbanon.anonymize(frame.head(2000), "best", **arguments)
    frames, statements = [], []
    for _ in range(runs):
        clock = Clock()
        dbanon.anonymize(frame, "best", **arguments)
        frames.append(clock.read()[1])
        dbanon.clear_cache(con)
        clock = Clock()
        con.execute(f"CREATE OR REPLACE TABLE safe AS FROM {call}").fetchall()
        statements.append(clock.read()[1])
    return {"cpu": statistics.median(frames), "statement": statistics.median(statements)}


def measurements(sizes: Sequence[int], algorithms: Sequence[str], runs: int) -> Iterator[dict[str, Any]]:
    """Yield one row per process: its name, rows, wall and CPU seconds, peak, value, target, and what these count."""
    from tests.bench import data

    with tempfile.TemporaryDirectory() as folder:
        inputs = {rows: Path(folder) / f"adult{rows}.csv" for rows in sizes}
        for rows, path in inputs.items():
            apart.run(write_csv, rows=rows, path=str(path))
            yield from _commands(rows, path, algorithms, options(data.DATA), runs if rows < 10**7 else 1)
            path.with_suffix(".csv.parquet").unlink(missing_ok=True)
        if 10**6 in inputs:
            result = apart.run(measure_frame, path=str(inputs[10**6]), runs=runs)
            value = result["cpu"] / result["statement"]
            yield _figure("anonymize(DataFrame), best", 10**6, result, value, MAX_FRAME_MULTIPLE, "/ statement")
        yield _stream(Path(folder), options(data.DATA), runs)
        yield _script(Path(folder), runs)


def _commands(
    rows: int, path: Path, algorithms: Sequence[str], words: Sequence[str], runs: int
) -> Iterator[dict[str, Any]]:
    """Yield the figures of DuckDB and of `dbanon anonymize` with each algorithm, which run in alternation."""
    counted, safe = path.with_name("counted.csv"), path.with_name("safe.csv")

    def command(algorithm: str) -> Callable[[], dict[str, Any]]:
        """Return a function that runs the command with an algorithm."""
        fixed = ["-m", "dbanon", "anonymize", path, "-o", safe, "--replace", "--quiet"]
        return lambda: run_process([*fixed, "--algorithm", algorithm, *words])

    duckdb, *results = run_in_turn(
        [lambda: run_process(["-c", _DUCKDB_SCRIPT, path, counted]), *map(command, algorithms)], runs
    )
    yield _figure("DuckDB", rows, duckdb, 1.0, None, "/ DuckDB")
    target = ARX_MULTIPLES.get(rows)
    for algorithm, result in zip(algorithms, results, strict=True):
        yield _figure(f"dbanon anonymize, {algorithm}", rows, result, result["cpu"] / duckdb["cpu"], target, "/ DuckDB")


def _stream(folder: Path, words: Sequence[str], runs: int) -> dict[str, Any]:
    """Return the records per CPU second of `dbanon stream` from CSV to CSV with FADS."""
    path, safe = folder / "stream.csv", folder / "safe_stream.csv"
    apart.run(write_csv, rows=STREAM_ROWS, path=str(path))
    fixed = ["-m", "dbanon", "stream", "--from", path, "-o", safe, "--replace", "--types", "age=int64"]
    (result,) = run_in_turn([lambda: run_process([*fixed, "-p", "delta=1000", *words])], runs)
    return _figure("dbanon stream, fads", STREAM_ROWS, result, STREAM_ROWS / result["cpu"], None, "records / CPU s")


def _script(folder: Path, runs: int) -> dict[str, Any]:
    """Return the CPU seconds of a script that connects to the demo database and runs `best`."""
    from dbanon.api.demo import create_demo

    create_demo(folder / "demo.duckdb").close()
    (result,) = run_in_turn([lambda: run_process(["-c", _DEMO_SCRIPT, folder / "demo.duckdb"])], runs)
    return _figure("script: connect, best on the demo", 20_000, result, result["cpu"], MAX_SCRIPT_S, "CPU s")


def _figure(
    name: str, rows: int, result: dict[str, Any], value: float, target: float | None, unit: str
) -> dict[str, Any]:
    """Return one row of the table: a process, what it took, and a value next to its target."""
    return {"process": name, "rows": rows} | result | {"value": value, "target": target, "unit": unit}


def report(sizes: Sequence[int], algorithms: Sequence[str], runs: int, as_json: bool) -> None:
    """Print one row per process."""
    if not as_json:
        print(f"\nWhole processes: Adult (resampled), k = {K}, six quasi-identifiers, from CSV to CSV\n")
        print(table("process", "rows", "s", "CPU s", "peak MB", "value", "target", "unit"))
    for result in measurements(sizes, algorithms, runs):
        cells = (result["process"], result["rows"], result.get("s", ""), result["cpu"], result["peak_mb"])
        target = "" if result["target"] is None else result["target"]
        line = row(*cells, result["value"], target, result["unit"])
        print(json.dumps(result) if as_json else line, flush=True)
