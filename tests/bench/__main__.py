"""Benchmarks: `python -m tests.bench`. Each figure stands beside a baseline measured in the same run.

A case runs in a process of its own: the whole statement (CREATE TABLE AS FROM kacpc) and the clustering alone, median
of several runs with the label cache cleared, the compiled O(n^2 / k) loop over the same tuples (extrapolated, marked ~,
where it would take long), DuckDB's GROUP BY of the same columns, and the peak memory of the process.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb

import dbanon
from dbanon.cluster import algorithms
from dbanon.engine import udf
from tests.bench import data, improve, plain, steps

CASES: dict[str, tuple[str, Callable[[], Any]]] = {
    "adult": ("Adult, 30,162 rows", lambda: data.adult(None)),
    "1m": ("Adult resampled, 1M rows", lambda: data.adult(1_000_000)),
    "mixed": ("2 continuous, 4 categorical, 1M rows", lambda: data.mixed(1_000_000)),
    "continuous": ("4 continuous, 200,000 distinct", lambda: data.continuous(200_000)),
    "10m": ("Adult resampled, 10M rows", lambda: data.adult(10_000_000)),
}


class Watch:
    """Times the clustering inside the statement, and keeps the space it saw."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.space: Any = None
        self._run = udf.cluster.run
        udf.cluster.run = self  # type: ignore[assignment]

    def __call__(self, algorithm: Any, space: Any, *rest: Any) -> Any:
        clock = time.perf_counter()
        labels = self._run(algorithm, space, *rest)
        self.seconds, self.space = time.perf_counter() - clock, space
        return labels


def measure(case: str, k: int, runs: int, table: Path) -> dict[str, Any]:
    """All figures of one case, in this process, which only reads the table: its memory is that of the statements."""
    con = dbanon.attach(duckdb.connect())
    quasi = data.load(con, table)
    watch = Watch()
    whole, clustering, grouping = [], [], []
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
            whole.append(took)
            clustering.append(watch.seconds)
            grouping.append(grouped)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
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
        "whole": statistics.median(whole),
        "loop": loop,
        "loop_extrapolated": extrapolated,
        "group_by": statistics.median(grouping),
        "peak_mb": round(peak),
    }


def compare(case: str, ks: list[int], runs: int) -> None:
    """All algorithms on one case, in this process: precision and time of a statement, beside DuckDB's GROUP BY and
    kacpc, as a row a k. CPU seconds, so that other processes do not count."""
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
            measured = f"SELECT value FROM {name}_metrics('t', k={k}) WHERE metric = 'precision'"
            precision = con.execute(measured).fetchall()[0][0]
            ratios = f"{seconds / of_kacpc[k]:.1f} | {seconds / group_by:.0f}"
            print(f"| `{name}` | {k} | {precision:.3f} | {seconds:.2f} | {ratios} |", flush=True)
    con.close()


def profile(case: str, k: int, runs: int, algorithm: str) -> None:
    """Where a statement's time goes, by step."""
    con = dbanon.attach(duckdb.connect())
    data.load(con, CASES[case][1]())
    statement = f"CREATE OR REPLACE TABLE safe AS FROM {algorithm}('t', k={k})"
    con.execute(statement).fetchall()
    print(f"\n{CASES[case][0]}: {statement}\n")
    print("\n".join(steps.report(steps.profile(con, statement, runs))), flush=True)
    con.close()


def measured(case: str, ks: list[int], runs: int) -> Iterator[dict[str, Any]]:
    """The figures of a case for each k, every one from a fresh process; another one makes the table."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.bench", case, "--table", str(Path(folder) / "t.parquet")]
        subprocess.run(command, check=True)
        for k in ks:
            child = [*command, "-k", str(k), "--runs", str(runs), "--child"]
            done = subprocess.run(child, check=True, capture_output=True, text=True)
            yield json.loads(done.stdout.strip().splitlines()[-1])


def main() -> None:
    """Runs the chosen cases and prints a table or JSON lines."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("cases", nargs="*", choices=[*CASES, "improve", []], help="cases (default: all but 10m)")
    parser.add_argument("-k", type=int, action="append", help="k (default: 2, 10, 100)")
    parser.add_argument("--runs", type=int, default=3, help="timed runs of each case")
    parser.add_argument("--json", action="store_true", help="one JSON document a line")
    parser.add_argument("--profile", action="store_true", help="where the time of a statement goes, by step")
    parser.add_argument("--algorithm", default="kacpc", help="what is profiled (default: kacpc)")
    parser.add_argument("--algorithms", action="store_true", help="all algorithms on each case")
    parser.add_argument("--table", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if not (data.DATA / "adult.csv").exists():
        sys.exit("the benchmarks resample Adult: shared/data/adult.csv is not beside this checkout")
    if given.cases == ["improve"]:
        improve.report(given.runs, given.json)
        return
    cases, ks = given.cases or [c for c in CASES if c != "10m"], given.k or [2, 10, 100]
    if given.algorithms:
        for case in cases:
            compare(case, given.k or [10, 50, 100], given.runs)
        return
    if given.profile:
        for case in cases:
            profile(case, ks[0] if given.k else 10, given.runs, given.algorithm)
        return
    if given.child:
        print(json.dumps(measure(cases[0], ks[0], given.runs, given.table)))
        return
    if given.table is not None:
        CASES[cases[0]][1]().to_parquet(given.table)
        return
    if not given.json:
        head = ("data", "tuples", "k", "precision", "clustering s", "loop / clustering", "statement s",
                "statement / GROUP BY", "peak MB")  # fmt: skip
        print("| " + " | ".join(head) + " |")
        print("|" + "---|" * len(head))
    for case in cases:
        for m in measured(case, ks, given.runs):
            if given.json:
                print(json.dumps(m), flush=True)
                continue
            loop = f"{'~' if m['loop_extrapolated'] else ''}{m['loop'] / m['clustering']:.0f}" if m["loop"] else "-"
            k = m["k"]
            print(
                f"| {CASES[case][0]} | {m['tuples']:,} | {k} | {m['precision']:.3f} | {m['clustering']:.3f} | {loop} "
                f"| {m['whole']:.2f} | {m['whole'] / m['group_by']:.0f} | {m['peak_mb']} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
