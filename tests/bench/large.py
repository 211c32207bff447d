"""The large call: Adult resampled; time, peak memory, and the growth of both."""

from __future__ import annotations

import json
import math
import statistics
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench import apart
from tests.bench.apart import Clock, row, table


def write(rows: int, path: str) -> dict[str, Any]:
    """Create the table, in a process whose memory does not count."""
    from tests.bench import data

    data.resampled(rows, Path(path))
    return {}


def measure(path: str, call: str, runs: int) -> dict[str, Any]:
    """Return medians of a whole statement and of DuckDB's GROUP BY of the same columns, with compiled kernels.

    Source rows and release are in a database in memory.
    """
    import duckdb

    import dbanon
    from tests.bench import data

    con = dbanon.attach(duckdb.connect())
    quasi = ", ".join(f'"{c}"' for c in data.load(con, Path(path)))
    con.execute("CREATE TABLE few AS FROM t LIMIT 2000")
    con.execute("INSERT INTO dbanon.policy BY NAME SELECT * REPLACE ('few' AS table_name) FROM dbanon.policy")
    con.execute(f"CREATE TABLE safe AS FROM {call.format('few')}").fetchall()
    full_contents, grouping = [], []
    for _ in range(runs):
        dbanon.clear_cache(con)
        con.execute("DROP TABLE safe")
        clock = Clock()
        con.execute(f"CREATE TABLE safe AS FROM {call.format('t')}").fetchall()
        full_contents.append(clock.read())
        clock = Clock()
        con.execute(f"SELECT count(*) FROM (SELECT {quasi}, count(*) FROM t GROUP BY ALL)").fetchall()
        grouping.append(clock.read()[0])
    counted_query = f"SELECT sum(n)::BIGINT, count(*) FROM (SELECT count(*) AS n FROM t GROUP BY {quasi})"
    rows, tuples = con.execute(counted_query).fetchall()[0]
    con.close()
    seconds, cpu = (statistics.median(each_pair) for each_pair in zip(*full_contents, strict=True))
    return {"rows": rows, "tuples": tuples, "s": seconds, "cpu": cpu, "group_by": statistics.median(grouping)}


def measurements(sizes: Sequence[int], algorithms: Sequence[str], runs: int) -> Iterator[dict[str, Any]]:
    """Yield one row per size and algorithm; `exponent`: CPU growth since the previous size."""
    previous: dict[str, dict[str, Any]] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "t.parquet")
            apart.run(write, rows=size, path=path)
            for name in algorithms:
                mapping = {"algorithm": name} | apart.run(
                    measure, path=path, call=f"{name}('{{}}', k=10)", runs=runs if size < 10**7 else 1
                )
                if (last := previous.get(name)) is not None:
                    mapping["exponent"] = math.log(mapping["cpu"] / last["cpu"]) / math.log(
                        mapping["rows"] / last["rows"]
                    )
                previous[name] = mapping
                yield mapping


def report(sizes: Sequence[int], algorithms: Sequence[str], runs: int, as_json: bool) -> None:
    """Print one row per size and algorithm."""
    if not as_json:
        print("\nLarge calls: Adult resampled, k = 10, CREATE TABLE AS in a database in memory\n")
        print(table("algorithm", "rows", "tuples", "s", "CPU s", "s / GROUP BY", "peak MB", "exponent"))
    for result in measurements(sizes, algorithms, runs):
        exponent = f"{result['exponent']:.2f}" if "exponent" in result else ""
        cells = (result["algorithm"], result["rows"], result["tuples"], result["s"], result["cpu"])
        line = row(*cells, round(result["s"] / result["group_by"]), result["peak_mb"], exponent)
        print(json.dumps(result) if as_json else line, flush=True)
