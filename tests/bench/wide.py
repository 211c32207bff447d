"""Wide and sparse tables: many columns, hierarchies of many values, all records distinct."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench import apart
from tests.bench.apart import Clock, row, table

EVERY = ("kacpc", "mdav", "mondrian", "best")

CASES: dict[str, tuple[str, Callable[[Any, Path], None], tuple[str, ...]]] = {
    "sparse": ("60,000 rows x 8, all distinct, hierarchies of 10,000 values",
               lambda data, path: data.sparse(60_000, path), ("kacpc", "best")),
    "varied": ("60,000 rows x 8, all distinct, numbers and categories",
               lambda data, path: data.varied(60_000, path), ("kacpc", "best")),
    "broad": ("10,000 rows x 30 quasi-identifiers", lambda data, path: data.broad(10_000, path), EVERY),
    "distinct": ("1M rows x 4 continuous, all distinct",
                 lambda data, path: data.continuous(1_000_000).to_parquet(path), EVERY),
}  # fmt: skip


def write(case: str, path: str) -> dict[str, Any]:
    """Create the table."""
    from tests.bench import data

    CASES[case][1](data, Path(path))
    return {}


def measure(path: str, algorithm: str) -> dict[str, Any]:
    """Return the seconds of one statement with compiled kernels, and its precision."""
    import duckdb

    import dbanon
    from tests.bench import data

    con = dbanon.attach(duckdb.connect())
    data.load(con, Path(path))
    con.execute("CREATE TABLE few AS FROM t LIMIT 500")
    con.execute("INSERT INTO dbanon.policy BY NAME SELECT * REPLACE ('few' AS table_name) FROM dbanon.policy")
    con.execute(f"CREATE TABLE safe AS FROM {algorithm}('few', k=10)").fetchall()
    con.execute("DROP TABLE safe")
    clock = Clock()
    con.execute(f"CREATE TABLE safe AS FROM {algorithm}('t', k=10)").fetchall()
    seconds, cpu = clock.read()
    rows = con.execute("SELECT count(*) FROM safe").fetchall()[0][0]
    con.close()
    return {"rows": rows, "s": seconds, "cpu": cpu}


def measurements(cases: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield one row per case and algorithm."""
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "t.parquet")
            apart.run(write, case=case, path=path)
            for algorithm in CASES[case][2]:
                mapping = {"case": case, "algorithm": algorithm}
                try:
                    yield mapping | apart.run(measure, path=path, algorithm=algorithm)
                except apart.ProcessFailedError as error:
                    yield mapping | {"failed": str(error)}


def report(cases: Sequence[str], as_json: bool) -> None:
    """Print one row per case and algorithm."""
    if not as_json:
        print("\nWide and sparse: k = 10, CREATE TABLE AS in a database in memory\n")
        print(table("data", "algorithm", "s", "CPU s", "peak MB"))
    for result in measurements(cases):
        figures = [result["failed"], "", ""] if "failed" in result else [result[n] for n in ("s", "cpu", "peak_mb")]
        line = row(CASES[result["case"]][0], result["algorithm"], *figures)
        print(json.dumps(result) if as_json else line, flush=True)
