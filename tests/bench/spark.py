"""Releases by Spark, on two threads of this machine, compared with DuckDB's release of the same table."""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.bench import apart, large
from tests.bench.apart import Clock, row, table


def by_duckdb(path: str, call: str) -> dict[str, Any]:
    """Return the seconds of CREATE TABLE AS with compiled kernels, and the loss of the release."""
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
    lost_value = con.execute(f"SELECT 1 - value FROM {call}_metrics('t', k=10) WHERE metric = 'precision'").fetchall()[
        0
    ][0]
    return {"s": seconds, "lost": lost_value}


def by_spark(path: str, call: str, cell: int | None) -> dict[str, Any]:
    """Return the seconds of a release to a file and its loss, in a session that has made a small release before."""
    from pyspark.sql import SparkSession

    import dbanon.spark
    from tests.bench import data

    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "4", "spark.driver.memory": "6g"}
    log = tempfile.TemporaryDirectory()
    settings |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": Path(log.name).as_uri()}
    settings |= {"spark.eventLog.rolling.enabled": "false", "spark.eventLog.compress": "false"}
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
    parameters: dict[str, Any] = {"policy": policy, "hierarchies": hierarchies, "k": 10}
    dbanon.spark.anonymize(rows.limit(2000), call, **parameters).count()
    with tempfile.TemporaryDirectory() as folder:
        clock, started = Clock(), time.time()
        dbanon.spark.anonymize(rows, call, max_partition=cell, to=str(Path(folder) / "safe"), **parameters)
        (seconds, _), finished_started = clock.read(), time.time()
    measures = dbanon.spark.anonymize(rows, f"{call}_metrics", max_partition=cell, **parameters)
    lost_result = 1 - measures.where("metric = 'precision'").collect()[0]["value"]
    spark.stop()
    with log:
        return {"s": seconds, "lost": lost_result, **tasks(Path(log.name), started, finished_started)}


def tasks(log: Path, start_time: float, end_time: float) -> dict[str, float]:
    """Return the megabytes shuffled and the thread seconds of tasks that ended in a period, from the event log."""
    shuffled, seconds = 0, 0.0
    for file in log.iterdir():
        for line in file.read_text().splitlines():
            event = json.loads(line)
            if (
                event["Event"] == "SparkListenerTaskEnd"
                and start_time <= event["Task Info"]["Finish Time"] / 1e3 <= end_time
            ):
                shuffled += event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                seconds += event["Task Metrics"]["Executor Run Time"] / 1e3
    return {"shuffled_mb": shuffled / 1e6, "task_s": seconds}


def measurements(sizes: Sequence[int], call: str = "kacpc", cell: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield one row per size; `exponent`: growth since the previous size."""
    previous: dict[str, Any] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "t.parquet")
            apart.run(large.write, rows=size, path=path)
            duckdb = apart.run(by_duckdb, path=path, call=call)
            mapping = apart.run(by_spark, path=path, call=call, max_partition=cell)
        mapping = {
            "rows": size,
            **mapping,
            "of_duckdb": mapping["s"] / duckdb["s"],
            "lost": mapping["lost"] / duckdb["lost"],
        }
        if previous:
            mapping["exponent"] = math.log(mapping["s"] / previous["s"]) / math.log(size / previous["rows"])
        previous = mapping
        yield mapping


def report(sizes: Sequence[int], algorithms: Sequence[str], as_json: bool) -> None:
    """Print one row per size, algorithm by algorithm."""
    for algorithm in algorithms:
        if not as_json:
            print(f"\nSpark, local[2]: {algorithm}, k = 10, Adult resampled; time and loss beside DuckDB's\n")
            print(table("rows", "s", "s / DuckDB", "loss / DuckDB", "exponent", "task s", "shuffled MB"))
        for result in measurements(sizes, algorithm):
            exponent = f"{result['exponent']:.2f}" if "exponent" in result else ""
            values = (result["rows"], result["s"], result["of_duckdb"], f"{result['lost']:.3f}", exponent)
            line = row(*values, result["task_s"], result["shuffled_mb"])
            print(json.dumps({"algorithm": algorithm, **result}) if as_json else line, flush=True)
