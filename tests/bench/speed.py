"""Speed and precision: `kacpc`, its clustering alone, and all algorithms, compared with baselines of the same run.

A case runs in a process of its own: the whole statement (CREATE TABLE AS FROM kacpc) and the clustering alone, median
of several runs with the label cache cleared, the compiled O(n^2 / k) loop over the same tuples (extrapolated, marked ~,
where it would take long), DuckDB's GROUP BY of the same columns, and the peak memory of the process.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

import dbanon
from dbanon.algorithms import algorithms
from dbanon.udf import cluster
from tests.bench import apart, data, plain, steps
from tests.bench.apart import table

CASES: dict[str, tuple[str, Callable[[], Any]]] = {
    "adult": ("Adult, 30,162 rows", lambda: data.adult(None)),
    "1m": ("Adult resampled, 1M rows", lambda: data.adult(1_000_000)),
    "mixed": ("2 continuous, 4 categorical, 1M rows", lambda: data.mixed(1_000_000)),
    "continuous": ("4 continuous, 200,000 distinct", lambda: data.continuous(200_000)),
    "10m": ("Adult resampled, 10M rows", lambda: data.adult(10_000_000)),
}


class Watch:
    """A timer of the clustering inside a statement, which keeps the encoded table."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.space: Any = None
        self._run = cluster.algorithms.run_algorithm
        cluster.algorithms.run_algorithm = self  # type: ignore[assignment]

    def __call__(self, algorithm: Any, space: Any, *rest: Any, **named: Any) -> Any:
        clock = time.perf_counter()
        result = self._run(algorithm, space, *rest, **named)
        self.seconds, self.space = time.perf_counter() - clock, space
        return result


def write(case: str, path: str) -> dict[str, Any]:
    """Create the table of a case."""
    CASES[case][1]().to_parquet(path)
    return {}


def measure(case: str, k: int, runs: int, path: str) -> dict[str, Any]:
    """Return all figures of one case.

    This process only reads the table, so that its memory is that of the statements.
    """
    con = dbanon.attach(duckdb.connect())
    quasi = data.load(con, Path(path))
    watch = Watch()
    full_tooks, clustering, grouping = [], [], []
    columns = ", ".join(f'"{c}"' for c in quasi)
    first = 0.0
    for run in range(runs + 1):
        dbanon.clear_cache(con)
        clock = time.perf_counter()
        con.execute(f"CREATE OR REPLACE TABLE safe AS FROM kacpc('t', k={k})").fetchall()
        took = time.perf_counter() - clock
        clock = time.perf_counter()
        con.execute(f"SELECT count(*) FROM (SELECT {columns}, count(*) FROM t GROUP BY ALL)").fetchall()
        grouped = time.perf_counter() - clock
        if run == 0:
            first = took
        else:
            full_tooks.append(took)
            clustering.append(watch.seconds)
            grouping.append(grouped)
    precision = con.execute(f"SELECT value FROM kacpc_metrics('t', k={k}) WHERE metric = 'precision'").fetchall()[0][0]
    loop, extrapolated = plain.seconds(watch.space, k)
    con.close()
    return {
        "case": case,
        "k": k,
        "rows": watch.space.rows,
        "tuples": len(watch.space.counts),
        "precision": round(precision, 4),
        "first": first,
        "clustering": statistics.median(clustering),
        "whole": statistics.median(full_tooks),
        "loop": loop,
        "loop_extrapolated": extrapolated,
        "group_by": statistics.median(grouping),
    }


def compare(case: str, ks: list[int], runs: int) -> None:
    """Compare all algorithms on one case, in this process, as one row per k.

    Precision and time of a statement are next to those of DuckDB's GROUP BY and kacpc. Times are CPU seconds, so that
    other processes do not count.
    """
    con = dbanon.attach(duckdb.connect())
    quasi = ", ".join(f'"{c}"' for c in data.load(con, CASES[case][1]()))

    def took(query: str) -> float:
        spent = []
        for _ in range(runs + 1):
            dbanon.clear_cache(con)
            clock = time.process_time()
            con.execute(query).fetchall()
            spent.append(time.process_time() - clock)
        return statistics.median(spent[1:])

    group_by = took(f"SELECT count(*) FROM (SELECT {quasi}, count(*) FROM t GROUP BY ALL)")
    print("| algorithm | k | precision | CPU s | / kacpc | / GROUP BY |\n|---|---|---|---|---|---|")
    of_kacpc: dict[int, float] = {}
    names = sorted((a.name for a in algorithms() if not a.reads), key=lambda name: name != "kacpc")
    for name in names:
        for k in ks:
            seconds = took(f"CREATE OR REPLACE TABLE safe AS FROM {name}('t', k={k})")
            of_kacpc.setdefault(k, seconds)
            measured_query = f"SELECT value FROM {name}_metrics('t', k={k}) WHERE metric = 'precision'"
            precision = con.execute(measured_query).fetchall()[0][0]
            ratios = f"{seconds / of_kacpc[k]:.1f} | {seconds / group_by:.0f}"
            print(f"| `{name}` | {k} | {precision:.3f} | {seconds:.2f} | {ratios} |", flush=True)
    con.close()


def profile(case: str, k: int, runs: int, algorithm: str) -> None:
    """Return the seconds of each step of a statement."""
    con = dbanon.attach(duckdb.connect())
    data.load(con, CASES[case][1]())
    statement = f"CREATE OR REPLACE TABLE safe AS FROM {algorithm}('t', k={k})"
    con.execute(statement).fetchall()
    print(f"\n{CASES[case][0]}: {statement}\n")
    print("\n".join(steps.report(steps.profile(con, statement, runs))), flush=True)
    con.close()


def measurements(case: str, ks: Sequence[int], runs: int) -> Iterator[dict[str, Any]]:
    """Yield the figures of a case for each k, each from a new process; a further process creates the table."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "t.parquet")
        apart.run(write, case=case, path=path)
        for k in ks:
            yield apart.run(measure, case=case, k=k, runs=runs, path=path)


def report(cases: Sequence[str], ks: Sequence[int], runs: int, as_json: bool) -> None:
    """Print one row per case and k."""
    if not as_json:
        print(
            table("data", "tuples", "k", "precision", "clustering s", "loop / clustering", "statement s",
                  "statement / GROUP BY", "peak MB")
        )  # fmt: skip
    for case in cases:
        for m in measurements(case, ks, runs):
            if as_json:
                print(json.dumps(m), flush=True)
                continue
            loop = f"{'~' if m['loop_extrapolated'] else ''}{m['loop'] / m['clustering']:.0f}" if m["loop"] else "-"
            print(
                f"| {CASES[case][0]} | {m['tuples']:,} | {m['k']} | {m['precision']:.3f} | {m['clustering']:.3f} "
                f"| {loop} | {m['whole']:.2f} | {m['whole'] / m['group_by']:.0f} | {m['peak_mb']} |",
                flush=True,
            )
