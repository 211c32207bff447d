"""The small call: whole statements on Adult, warm, compared with DuckDB's GROUP BY of the same columns."""

from __future__ import annotations

import json
import statistics
from typing import Any

from tests.bench import apart
from tests.bench.apart import Clock, row, table

STATEMENTS = {
    "kacpc": "CREATE OR REPLACE TABLE safe AS FROM kacpc('{}', k=10)",
    "kacpc, read": "FROM kacpc('{}', k=10)",
    "kacpc_metrics": "FROM kacpc_metrics('{}', k=10)",
    "best": "CREATE OR REPLACE TABLE safe AS FROM best('{}', k=10)",
    "mondrian": "CREATE OR REPLACE TABLE safe AS FROM mondrian('{}', k=10)",
    "EXPLAIN of kacpc": "EXPLAIN FROM kacpc('{}', k=10)",
}


def measure(runs: int) -> dict[str, Any]:
    """Yield median wall and CPU seconds of each statement on Adult and on its first 60 rows."""
    import duckdb

    import dbanon
    from tests.bench import data

    con = dbanon.attach(duckdb.connect())
    quasi = ", ".join(f'"{c}"' for c in data.load(con, data.adult(None)))
    con.execute("CREATE TABLE few AS FROM t LIMIT 60")
    con.execute("INSERT INTO dbanon.policy BY NAME SELECT * REPLACE ('few' AS table_name) FROM dbanon.policy")
    wanted = {"GROUP BY": f"SELECT count(*) FROM (SELECT {quasi}, count(*) FROM {{}} GROUP BY ALL)"}
    result: dict[str, Any] = {}
    for name, statement in (wanted | STATEMENTS).items():
        slow = name.startswith("EXPLAIN")
        result[name] = {source: _median(con, statement.format(source), 1 if slow else runs) for source in ("t", "few")}
    con.close()
    return {"statements": result}


def _median(con: Any, statement: str, runs: int) -> tuple[float, ...]:
    """Return median wall and CPU seconds of a statement without cached labels; the first run is not counted."""
    import dbanon

    spent = []
    for _ in range(runs + (runs > 1)):
        dbanon.clear_cache(con)
        clock = Clock()
        con.execute(statement).fetchall()
        spent.append(clock.read())
    warm = spent[1:] or spent
    return tuple(statistics.median(each_pair) for each_pair in zip(*warm, strict=True))


def report(runs: int, as_json: bool) -> None:
    """Print one row per statement."""
    result = apart.run(measure, runs=max(runs, 5))
    if as_json:
        print(json.dumps(result))
        return
    print(f"\nSmall calls: Adult, 30,162 rows, warm; the process takes {result['peak_mb']} MB\n")
    print(table("statement", "s", "CPU s", "s / GROUP BY", "CPU / GROUP BY", "on 60 rows, s", "CPU s"))
    clock, cpu = result["statements"]["GROUP BY"]["t"]
    for name, timings in result["statements"].items():
        print(
            row(name, *timings["t"], round(timings["t"][0] / clock), round(timings["t"][1] / cpu), *timings["few"]),
            flush=True,
        )
