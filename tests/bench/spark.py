"""Releases by Spark, on two threads of this machine, beside DuckDB's of the same table."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench import apart, large
from tests.bench.apart import Clock, row, table


def by_duckdb(path: str, call: str) -> dict[str, Any]:
    """Seconds of CREATE TABLE AS, kernels being compiled, and what the release loses."""
    import duckdb

    import dbanon
    from tests.bench import data

    con = dbanon.attach(duckdb.connect())
    data.load(con, Path(path))
    con.execute("CREATE TABLE few AS FROM t LIMIT 2000")
    con.execute("INSERT INTO dbanon.policy BY NAME SELECT * REPLACE ('few' AS table_name) FROM dbanon.policy")
    con.execute(f"FROM {call}('few', k=10)").fetchall()
    clock = Clock()
    con.execute(f"CREATE TABLE safe AS FROM {call}('t', k=10)")
    seconds, _ = clock.read()
    lost = con.execute(f"SELECT 1 - value FROM {call}_metrics('t', k=10) WHERE metric = 'precision'").fetchall()[0][0]
    return {"s": seconds, "lost": lost}


def by_spark(path: str, call: str, cell: int | None) -> dict[str, Any]:
    """Seconds of a release to a file, in a session that has made a small one, and what it loses."""
    from pyspark.sql import SparkSession

    import dbanon.spark
    from tests.bench import data

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4", "spark.driver.memory": "6g"}
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.read.parquet(path)
    policy: dict[str, Any] = {"occupation": "sensitive"}
    hierarchies = {}
    for column in (name for name in rows.columns if name not in policy):
        file = data.DATA / "hierarchies" / "kacpc" / f"{column}.csv"
        policy[column] = ("quasi", column) if file.exists() else "quasi"
        if file.exists():
            hierarchies[column] = [line.split(";") for line in file.read_text().splitlines()]
    given: dict[str, Any] = {"policy": policy, "hierarchies": hierarchies, "k": 10}
    dbanon.spark.anonymize(rows.limit(2000), call, **given).count()
    with tempfile.TemporaryDirectory() as folder:
        clock = Clock()
        dbanon.spark.anonymize(rows, call, cell=cell, to=str(Path(folder) / "safe"), **given)
        seconds, _ = clock.read()
    measures = dbanon.spark.anonymize(rows, f"{call}_metrics", cell=cell, **given)
    lost = 1 - measures.where("metric = 'precision'").collect()[0]["value"]
    return {"s": seconds, "lost": lost}


def measured(sizes: Sequence[int], call: str = "kacpc", cell: int | None = None) -> Iterator[dict[str, Any]]:
    """A row a size; `exponent`: of the growth since the size before."""
    before: dict[str, Any] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "t.parquet")
            apart.run(large.write, rows=size, path=path)
            duckdb = apart.run(by_duckdb, path=path, call=call)
            found = apart.run(by_spark, path=path, call=call, cell=cell)
        found = {
            "rows": size,
            "s": found["s"],
            "of_duckdb": found["s"] / duckdb["s"],
            "lost": found["lost"] / duckdb["lost"],
        }
        if before:
            found["exponent"] = math.log(found["s"] / before["s"]) / math.log(size / before["rows"])
        before = found
        yield found


def report(sizes: Sequence[int], as_json: bool) -> None:
    """Prints a row a size."""
    if not as_json:
        print("\nSpark, local[2]: kacpc, k = 10, Adult resampled; loss beside that of one part, both beside DuckDB\n")
        print(table("rows", "s", "s / DuckDB", "loss / DuckDB", "exponent"))
    for found in measured(sizes):
        exponent = f"{found['exponent']:.2f}" if "exponent" in found else ""
        line = row(found["rows"], found["s"], found["of_duckdb"], f"{found['lost']:.3f}", exponent)
        print(json.dumps(found) if as_json else line, flush=True)
