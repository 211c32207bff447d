"""Tables on which an algorithm could take the square of their size: the exponent of the time over at least four sizes.

Each statement runs in a process of its own, with compiled kernels. The exponent is the slope of log(CPU seconds) by
log(rows), fitted over all sizes that take at least MIN_SECONDS. A statement that is refused as too slow, with an
estimate, counts as refused from that size on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tests.bench import apart
from tests.bench.apart import Clock, row, table

MAX_EXPONENT = 1.15
MIN_SECONDS = 0.1
DEPTH = 20
"""Levels of the hierarchies of `deep` below the root."""

SIZES = (50_000, 100_000, 200_000, 400_000)

_NULLS = ", ".join(
    f"CASE WHEN hash(i, {c + 100}) % 10 < 7 THEN NULL ELSE {cell} END AS c{c}"
    for c in range(6)
    for cell in [f"(hash(i, {c}) % 10_000)::INTEGER" if c % 2 else f"'v' || hash(i, {c}) % 3_000"]
)

CASES: dict[str, tuple[str, str, int, str]] = {
    "strings": ("distinct strings", "md5(i::VARCHAR) AS c0", 1, ""),
    "nulls": ("six columns, 70 % NULL", _NULLS, 6, ""),
    "one": ("one tuple", "1 AS c0, 'x' AS c1, 3 AS c2", 3, ""),
    "diverse": ("one tuple, l = 3", "1 AS c0, 'x' AS c1, 3 AS c2", 3, ", l = 3, sensitive = ['s']"),
    "constant": (
        "a constant, a number, a category",
        "1 AS c0, (hash(i, 1) % 80)::INTEGER AS c1, 'v' || hash(i, 2) % 6 AS c2",
        3,
        "",
    ),
    "deep": (
        "three hierarchies of depth 20, 30,000 values",
        ", ".join(f"printf('%05d', hash(i, {c}) % 30_000) AS c{c}" for c in range(3)),
        3,
        "",
    ),
}
"""By name: title, columns as SQL expressions of the row number `i`, number of quasi-identifiers, further arguments."""

ALGORITHMS = ("kacpc", "best")


def _load(con: Any, case: str, rows: int) -> str:
    """Create the table `t` of a case and its first rows as `few`; return the arguments of a call."""
    _, columns, width, arguments = CASES[case]
    names = [f"c{c}" for c in range(width)]
    con.execute(f"CREATE TABLE t AS SELECT {columns}, i % 7 AS s FROM range({rows}) AS r(i)")
    con.execute("CREATE TABLE few AS FROM t LIMIT 200")
    if case != "deep":
        return f"k = 10, qi = {names}{arguments}"
    for name in names:
        node = (
            "CASE level WHEN 0 THEN printf('%05d', v) WHEN {0} THEN '*' "
            "ELSE level || '/' || (v >> greatest(level - 5, 0)) END"
        )
        con.execute(
            f"INSERT INTO dbanon.hierarchy (name, node, parent, label) SELECT DISTINCT '{name}', "
            f"{node.format(DEPTH)} AS node, CASE WHEN level < {DEPTH} THEN "
            f"{node.replace('level', '(level + 1)').format(DEPTH)} END, node "
            f"FROM range(30_000) AS r(v), range({DEPTH + 1}) AS l(level)"
        )
    hierarchies = ", ".join(f"'{name}': '{name}'" for name in names)
    return f"k = 10, qi = {names}, hierarchies = {{{hierarchies}}}{arguments}"


def measure(case: str, algorithm: str, rows: int) -> dict[str, Any]:
    """Return the CPU seconds of one statement, or that it is refused."""
    import duckdb

    import dbanon

    con = dbanon.attach(duckdb.connect())
    arguments = _load(con, case, rows)
    con.execute(f"CREATE TABLE safe AS FROM {algorithm}('few', {arguments})").fetchall()
    con.execute("DROP TABLE safe")
    clock, is_refused = Clock(), False
    try:
        con.execute(f"CREATE TABLE safe AS FROM {algorithm}('t', {arguments})").fetchall()
    except duckdb.Error as error:
        if "allow_slow" not in str(error):
            raise
        is_refused = True
    seconds, cpu = clock.read()
    con.close()
    return {"rows": rows, "s": seconds, "cpu": cpu, "is_refused": is_refused}


def fitted_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float | None:
    """Return the slope of log(seconds) by log(size); None with fewer than two points of at least MIN_SECONDS."""
    points = [(math.log(n), math.log(s)) for n, s in zip(sizes, seconds, strict=True) if s >= MIN_SECONDS]
    return float(np.polyfit(*zip(*points, strict=True), 1)[0]) if len(points) > 1 else None


def measurements(
    cases: Sequence[str], algorithms: Sequence[str], sizes: Sequence[int] = SIZES
) -> Iterator[dict[str, Any]]:
    """Yield one result per case and algorithm: CPU seconds by size (None: refused), peak memory, exponent."""
    for case in cases:
        for algorithm in algorithms:
            runs = [apart.run(measure, case=case, algorithm=algorithm, rows=rows) for rows in sizes]
            seconds = [None if run["is_refused"] else run["cpu"] for run in runs]
            pairs = [(n, s) for n, s in zip(sizes, seconds, strict=True) if s is not None]
            yield {
                "case": case,
                "algorithm": algorithm,
                "rows": list(sizes),
                "cpu": seconds,
                "exponent": fitted_exponent([n for n, _ in pairs], [s for _, s in pairs]),
                "peak_mb": runs[-1]["peak_mb"],
            }


def report(cases: Sequence[str], algorithms: Sequence[str], as_json: bool) -> None:
    """Print one row per case and algorithm."""
    if not as_json:
        print(f"\nPaths: k = 10, CPU s by rows; the exponent must be at most {MAX_EXPONENT}\n")
        print(table("data", "algorithm", *(f"{n:,}" for n in SIZES), "exponent", "target", "peak MB"))
    for result in measurements(cases, algorithms):
        cells = ["refused" if seconds is None else seconds for seconds in result["cpu"]]
        exponent = "-" if result["exponent"] is None else round(result["exponent"], 2)
        line = row(
            CASES[result["case"]][0], result["algorithm"], *cells, exponent, f"<= {MAX_EXPONENT}", result["peak_mb"]
        )
        print(json.dumps(result) if as_json else line, flush=True)
