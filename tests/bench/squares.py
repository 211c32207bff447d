"""Microaggregation: IL, 100 * SSE / SST of z-scores, on public tables of the CASC project and on random mixtures."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb
import numpy as np
import pandas as pd

import dbanon
from tests.bench import data
from tests.bench.apart import Clock

TABLES = {"Tarragona, 834 x 13": "tarragona", "Census, 1080 x 13": "census"}

MIXTURES = {"mixture, 2,000 x 5": (2_000, 5), "mixture, 50,000 x 4": (50_000, 4)}

METHODS = {
    "mdav": ("mdav", "scale := 'std'"),
    "best fast": ("best", "objective := 'sse'"),
    "best normal": ("best", "objective := 'sse', effort := 'normal'"),
    "best high": ("best", "objective := 'sse', effort := 'high'"),
}

K = (3, 4, 5, 10)


def mixture(rows: int, axes: int) -> pd.DataFrame:
    """Return twenty normal distributions, each with its own spread along each axis."""
    draws = np.random.default_rng(7)
    middle, lognormal = draws.normal(0, 5, (20, axes)), draws.lognormal(0, 0.7, (20, axes))
    integers = draws.integers(0, 20, rows)
    rounded = np.round(middle[integers] + draws.normal(size=(rows, axes)) * lognormal[integers], 3)
    return pd.DataFrame(rounded, columns=[f"x{j}" for j in range(axes)])


def load_table(name: str) -> Any:
    """Return a connection with the table t, all of whose columns are quasi-identifiers; kernels are compiled."""
    con = dbanon.attach(duckdb.connect())
    frame = mixture(*MIXTURES[name]) if name in MIXTURES else pd.read_csv(_path(name))
    con.register("made", frame)
    for table, rows in (("t", len(frame)), ("few", 100)):
        con.execute(f"CREATE TABLE {table} AS FROM made LIMIT {rows}")
        dbanon.declare(con, table, **dict.fromkeys(frame.columns, "quasi"))
    con.unregister("made")
    for function, arguments in METHODS.values():
        con.execute(f"FROM {function}('few', k := 3, {arguments})").fetchall()
    return con


def _path(name: str) -> str:
    return str(data.DATA / "microagg" / f"{TABLES[name]}.csv")


def measurements(names: Sequence[str] = (*TABLES, *MIXTURES), ks: Sequence[int] = K) -> Iterator[dict[str, Any]]:
    """Yield one row per table, method and k."""
    for name in names:
        con = load_table(name)
        for method, (function, arguments) in METHODS.items():
            for k in ks:
                call = f"('t', k := {k}, {arguments})"
                clock = Clock()
                con.execute(f"CREATE OR REPLACE TABLE safe AS FROM {function}{call}").fetchall()
                seconds, cpu = clock.read()
                metrics = dict(con.execute(f"SELECT metric, value FROM {function}_metrics{call}").fetchall())
                yield {
                    "table": name, "method": method, "k": k, "sse_share": metrics["sse_share"], "seconds": seconds,
                    "cpu_seconds": cpu, "greatest": metrics["class_size_greatest"],
                    "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
                }  # fmt: skip
        con.close()


def report(as_json: bool) -> None:
    """Print a table or JSON lines."""
    if not as_json:
        print("| table | method | " + " | ".join(f"k = {k}" for k in K) + " |")
        print("|---|---|" + "---|" * len(K))
    line: list[str] = []
    for m in measurements():
        if as_json:
            print(json.dumps(m), flush=True)
            continue
        line = line or [m["table"], m["method"]]
        line.append(f"{m['sse_share']:.3f} ({m['cpu_seconds']:.1f})")
        if len(line) == len(K) + 2:
            print(f"| {' | '.join(line)} |", flush=True)
            line = []
