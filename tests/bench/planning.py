"""The planning of a statement by phase, and how it grows with the number of columns.

Phases: dbanon's planner (it reads the catalog and the policy and writes the statement), DuckDB's parser, binder,
optimizer and physical planner, and the execution. The baseline is DuckDB's GROUP BY of the same columns. DuckDB times
its phases with the wall clock, so other processes disturb them.

Tried without success on DuckDB 2.0.1, on the statement of kacpc:

- The optimizer switched off: PREPARE takes half as long, and the execution loses more than that.
- Single optimizers switched off: 2 to 5 ms each. They are settings of the user's connection.
- PREPARE and EXECUTE: DuckDB plans a statement with UDFs again at each EXECUTE.
- 25 steps in place of 33, without a join of seven columns: within the noise. For 60 rows, 440 operators share the time,
  and none takes more than a few milliseconds.
- The checks of the gate joined by LEFT JOIN ... ON true in place of commas: within the noise.
- The comparison of original and published values by one join and a list of structs per record, in place of one SELECT
  per column: 0.4 CPU s more for 300,000 distinct records, no fewer nodes.
- kacpc_metrics with GROUPING SETS in place of unions, one VALUES list of metrics and texts (LATERAL) in place of two
  lists, POSITIONAL JOIN in place of commas, and UNPIVOT in the gate: 9 % fewer nodes, planning within the noise.
- Wide tables with one join per column (their statements now have one row per column from 21 quasi-identifiers on).
  `projection_pullup` took half of the optimizer's time, most of it for the joins that publish one column each. Joins
  with a relation in place of a subquery: no change. Blocks of 20 columns that are encoded apart and joined by rid: 2.5
  times the time. A hint about the size of the relations with allowed values: no change.

CPU s of the first call for 25, 50, 100 and 200 quasi-identifiers, and the peak of 200:

- with joins: 0.8, 1.9, 5.7, 29 for 60 rows; 1.1, 3.4, 13, 45 for 5,000 rows, 3.7 GB;
- with rows of columns: 0.4, 0.4, 0.9, 1.8 for 60 rows; 1.0, 2.0, 6.9, 21 for 5,000 rows, 0.9 GB.

The statement alone, with its clusters in the cache, takes 0.3, 0.4, 1.0 and 2.1 CPU s for 5,000 rows. Almost all of
the rest is `gather_clusters`, 5 CPU s for 100 quasi-identifiers: its tree search does not prune in so many dimensions.
Nodes with one child followed without the stack: 4.5 in place of 5.
For 60,000 rows and 20 quasi-identifiers joins and rows of columns take the same time; for 100,000 rows and 14, joins
take 6.4 and rows of columns 8.6 CPU s.
"""

from __future__ import annotations

import json
import math
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench import apart
from tests.bench.apart import Clock, row, table

WIDTHS = (25, 50, 100, 200)
ROWS = 5_000


def measure(runs: int) -> dict[str, Any]:
    """Return the size of the statement of kacpc and the milliseconds of its phases, for Adult and its first 60 rows."""
    import duckdb

    import dbanon
    from tests.bench import data

    con = dbanon.attach(duckdb.connect())
    data.load(con, data.adult(None))
    con.execute("CREATE TABLE few AS FROM t LIMIT 60")
    con.execute("INSERT INTO dbanon.policy BY NAME SELECT * REPLACE ('few' AS table_name) FROM dbanon.policy")
    calls = {
        "Adult": "FROM kacpc('t', k=10)",
        "60 rows": "FROM kacpc('few', k=10, qi=['age', 'sex', 'education'])",
    }
    groups = {
        "Adult": "SELECT age, workclass, education, marital_status, race, sex, count(*) FROM t GROUP BY ALL",
        "60 rows": "SELECT age, sex, education, count(*) FROM few GROUP BY ALL",
    }
    return {
        name: _phases(con, call, runs)
        | {"GROUP BY, whole": statistics.median(_milliseconds(con, groups[name]) for _ in range(runs))}
        for name, call in calls.items()
    }


def _milliseconds(con: Any, statement: str) -> float:
    """Return the CPU milliseconds of a statement."""
    clock = Clock()
    con.execute(statement).fetchall()
    return 1_000 * clock.read()[1]


def _phases(con: Any, call: str, runs: int) -> dict[str, float]:
    """Return medians of the phases of a call in milliseconds, and the size of its statement."""
    import dbanon

    statement = dbanon.explain(con, call).rstrip().rstrip(";")
    tree = con.execute("SELECT json_serialize_sql(?)", [statement]).fetchall()[0][0]
    profiles = [_profile(con, call, statement) for _ in range(runs + 1)][1:]
    return {
        "lines": len(statement.splitlines()),
        "steps": len(json.loads(tree)["statements"][0]["node"]["cte_map"]["map"]),
        "nodes": tree.count("{"),
        **{name: statistics.median(each[name] for each in profiles) for name in profiles[0]},
    }


def _profile(con: Any, call: str, statement: str) -> dict[str, float]:
    """Return the milliseconds of each phase of one run."""
    import dbanon

    dbanon.clear_cache(con)
    clock = Clock()
    con.execute(call).fetchall()
    whole = clock.read()[1]
    dbanon.clear_cache(con)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        con.execute("PRAGMA enable_profiling = 'json'")
        con.execute("SET profiling_mode = 'detailed'")
        con.execute(f"SET profiling_output = '{path}'")
        clock = Clock()
        con.execute(statement).fetchall()
        printed = clock.read()[1]
        con.execute("PRAGMA disable_profiling")
        profile = json.loads(path.read_text("utf-8"))
    binding, optimizing, physical = (
        profile["planner"]["total_time"],
        profile["optimizer"]["total_time"],
        profile["physical_planner"]["total_time"],
    )
    seconds = {
        "whole call": whole,
        "dbanon's planner": max(whole - printed, 0.0),
        "parse and bind": binding,
        "optimize": optimizing,
        "physical plan": physical,
        "rest (execution)": max(printed - binding - optimizing - physical, 0.0),
    }
    return {name: 1_000 * value for name, value in seconds.items()}


def measure_width(columns: int, rows: int) -> dict[str, Any]:
    """Return the CPU seconds of kacpc on a table with so many quasi-identifiers, half of them numbers, half texts."""
    import duckdb

    import dbanon

    con = dbanon.attach(duckdb.connect())
    cells = ", ".join(
        f"(hash(i, {c}) % 100)::INTEGER AS c{c:03}" if c % 2 else f"'v' || hash(i, {c}) % 5 AS c{c:03}"
        for c in range(columns)
    )
    con.execute(f"CREATE TABLE wide AS SELECT {cells} FROM range({rows}) AS r(i)")
    con.execute("CREATE TABLE few AS FROM wide LIMIT 60")
    con.execute(
        "INSERT INTO dbanon.policy BY NAME SELECT table_name, column_name, 'quasi' AS role FROM duckdb_columns() "
        "WHERE table_name IN ('wide', 'few')"
    )
    con.execute("CREATE TABLE small AS SELECT c000, c001 FROM wide")
    con.execute("FROM kacpc('small', k=10, qi=['c000', 'c001'])").fetchall()
    seconds = {}
    for name in ("few", "wide"):
        clock = Clock()
        con.execute(f"SELECT count(*) FROM kacpc('{name}', k=10)").fetchall()
        seconds[name] = clock.read()[1]
    return {"columns": columns, "cpu": seconds["wide"], "few": seconds["few"]}


def widths(limit: int) -> Iterator[dict[str, Any]]:
    """Yield one result per number of columns up to `limit`, with the exponent from the one before it."""
    before = None
    for columns in (width for width in WIDTHS if width <= limit):
        result = apart.run(measure_width, columns=columns, rows=ROWS)
        growth = None
        if before is not None:
            growth = math.log(result["cpu"] / before["cpu"]) / math.log(columns / before["columns"])
        yield result | {"exponent": growth}
        before = result


def report(runs: int, as_json: bool) -> None:
    """Print one row per phase."""
    result = apart.run(measure, runs=max(runs, 5))
    if as_json:
        print(json.dumps(result))
        return
    print("\nPlanning of kacpc, k = 10, warm: size of the statement, and ms (medians)\n")
    print(table("phase", "Adult, 6 columns", "60 rows, 3 columns"))
    for name in result["Adult"]:
        print(row(name, *(round(result[case][name], 1) for case in ("Adult", "60 rows"))), flush=True)


def report_widths(limit: int, as_json: bool) -> None:
    """Print one row per number of columns up to `limit`."""
    if not as_json:
        print(f"\nColumns: kacpc, k = 10, {ROWS:,} rows, half numbers, half texts without hierarchy\n")
        print(table("columns", "CPU s", "exponent", "CPU s on 60 rows", "peak MB"))
    for line in widths(limit):
        exponent = "" if line["exponent"] is None else round(line["exponent"], 2)
        cells = row(line["columns"], line["cpu"], exponent, line["few"], line["peak_mb"])
        print(json.dumps(line) if as_json else cells, flush=True)
