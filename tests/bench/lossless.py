"""Tables on which a search can waste time: most classes lose nothing, or persons are counted and k is large."""

from __future__ import annotations

import json
import statistics
from typing import Any

from tests.bench import apart
from tests.bench.apart import Clock, row, table

TABLES = {
    "equal": "SELECT CASE WHEN i < 200000 THEN 5 ELSE (hash(i) % 90)::INTEGER END AS a, "
    "CASE WHEN i < 200000 THEN 7 ELSE (hash(i * 3) % 90)::INTEGER END AS b FROM range(200040) AS r (i)",
    "visits": "SELECT (hash(i * 7919 + 1) % 300)::INTEGER AS a, (hash(i * 7919 + 2) % 5000)::INTEGER AS b, "
    "(hash(i * 7919 + 3) % 3000)::INTEGER AS who, 's' || least(hash(i * 7919 + 4) % 3, hash(i * 7919 + 5) % 3) AS s, "
    "'u' || hash(i * 7919 + 6) % 4 AS u FROM range(6000) AS r (i)",
}

CALLS = {
    "200,000 equal, 40 others": "('equal', k := 10, qi := ['a', 'b'])",
    "k = 1000": "('visits', k := 1000, qi := ['a', 'b'], sensitive := ['s'], t := 0.2)",
    "k = 1000, persons": "('visits', k := 1000, qi := ['a', 'b'], sensitive := ['s'], t := 0.2, person := 'who')",
    "k = 1000, persons, no model": "('visits', k := 1000, qi := ['a', 'b'], person := 'who')",
    "k = 1000, persons, joint": "('visits', k := 1000, qi := ['a', 'b'], sensitive := ['s', 'u'], l := 2, "
    "multi_sensitive := 'joint', person := 'who')",
}


def measure(runs: int) -> dict[str, Any]:
    """Return the median CPU seconds of `best` and `kacpc` by call, warm."""
    import duckdb

    import dbanon

    con = dbanon.attach(duckdb.connect())
    for name, rows in TABLES.items():
        con.execute(f"CREATE TABLE {name} AS {rows}")
    result: dict[str, list[float]] = {}
    for call, arguments in CALLS.items():
        result[call] = []
        for algorithm in ("best", "kacpc"):
            spent = []
            for _ in range(runs + 1):
                dbanon.clear_cache(con)
                clock = Clock()
                con.execute(f"SELECT count(*) FROM {algorithm}{arguments}").fetchall()
                spent.append(clock.read()[1])
            result[call].append(statistics.median(spent[1:]))
    con.close()
    return {"calls": result}


def report(runs: int, as_json: bool) -> None:
    """Print one row per call."""
    result = apart.run(measure, runs=runs)
    if as_json:
        print(json.dumps(result))
        return
    print("\nSearches with little to find, warm: CPU seconds\n")
    print(table("call", "best", "kacpc"))
    for call, spent in result["calls"].items():
        print(row(call, *spent), flush=True)
