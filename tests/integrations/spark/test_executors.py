"""Executors that fail in the middle of a release: real processes, which a local session does not have."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
ROWS = 6000


def class_hashes(table: Any) -> dict[str, list[Any]]:
    """Return the number of rows of each class, and a hash of them."""
    classes: dict[int, list[str]] = defaultdict(list)
    for row in table.to_pylist():
        classes[row["class_id"]].append(repr(tuple(row.values())))
    digest = {c: hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest() for c, rows in classes.items()}
    return {str(c): [len(classes[c]), digest[c]] for c in sorted(classes)}


def executor_pids(port: str) -> list[int]:
    """Return the executors of the driver at a port."""
    numbers = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parts = (place / "cmdline").read_bytes().decode(errors="replace").split("\0")
            is_executor = any(word.endswith(".CoarseGrainedExecutorBackend") for word in parts)
            if is_executor and any(word.endswith(f":{port}") for word in parts):
                numbers.append(int(place.name))
    return numbers


def main() -> None:
    """Release a table twice, the second time with an executor that is killed; print both."""
    from pyspark.sql import SparkSession

    import dbanon.spark
    from tests.integrations.spark.test_frames import GIVEN, random_table

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    for name, value in {
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "4",
        "spark.executorEnv.PYTHONPATH": str(ROOT),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    df = spark.createDataFrame(random_table(ROWS, 8)).repartition(4)
    with tempfile.TemporaryDirectory() as folder:
        first = dbanon.spark.anonymize(df, "mdav", k=4, max_partition=150, to=Path(folder, "first"), **GIVEN).toArrow()
        started = time.monotonic()
        dbanon.spark.anonymize(df, "mdav", k=4, max_partition=150, to=Path(folder, "again"), **GIVEN)
        took = time.monotonic() - started
        killed: list[int] = []

        def kill() -> None:
            time.sleep(took / 2)
            pid = executor_pids(spark.conf.get("spark.driver.port"))[0]
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)

        thread = threading.Thread(target=kill)
        thread.start()
        second = dbanon.spark.anonymize(
            df, "mdav", k=4, max_partition=150, to=Path(folder, "second"), **GIVEN
        ).toArrow()
        thread.join()
    print(json.dumps({"killed": len(killed), "first": class_hashes(first), "second": class_hashes(second)}))
    spark.stop()


def test_killed_spark_executor_changes_nothing() -> None:
    pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install -e '.[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.integrations.spark.test_executors"]
    run = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True,
        timeout=900, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    document = json.loads(run.stdout.splitlines()[-1])
    assert document["killed"] == 1
    assert sum(n for n, _ in document["first"].values()) == ROWS and len(document["first"]) > 100
    assert document["first"] == document["second"]


if __name__ == "__main__":
    main()
