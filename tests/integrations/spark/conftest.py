"""One Spark session for all tests, two threads of this machine, four attempts per task; skipped without Spark."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Create a Spark session with two threads."""
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: pip install -e '.[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    place = tmp_path_factory.mktemp("spark")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.warehouse.dir": str(place),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={place}",
        "spark.python.worker.faulthandler.enabled": "true",
    }
    builder = sql.SparkSession.builder.master("local[2,4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
