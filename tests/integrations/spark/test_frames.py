"""DataFrames of Spark: the release of one part is DuckDB's, parts keep the guarantees, and the gate checks all rows."""

from __future__ import annotations

import contextlib
import math
import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import dbanon
import dbanon.spark
from dbanon import errors
from dbanon.release.plan import plan

pytestmark = pytest.mark.filterwarnings("default")  # pyspark raises warnings of its own

CITIES = [[city, country, "*"] for city, country in (("Oslo", "NO"), ("Bergen", "NO"), ("Lund", "SE"), ("Umea", "SE"))]
POLICY: dict[str, Any] = {"age": "quasi", "city": ("quasi", "cities"), "sex": "quasi", "disease": "sensitive"}
GIVEN: dict[str, Any] = {"policy": POLICY, "hierarchies": {"cities": CITIES}}


def random_table(rows: int, seed: int = 1) -> pa.Table:
    draw = random.Random(seed)
    return pa.table(
        {
            "age": pa.array(
                [None if draw.random() < 0.02 else 20 + draw.randrange(60) for _ in range(rows)], pa.int32()
            ),
            "city": [draw.choice(CITIES)[0] for _ in range(rows)],
            "sex": [draw.choice(["f", "m", None]) for _ in range(rows)],
            "disease": [draw.choice(["Flu", "HIV", "Cancer", "Cold"]) for _ in range(rows)],
            "who": [f"p{i // 2}" for i in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def people(spark: Any) -> Any:
    return spark.createDataFrame(random_table(400))


@pytest.fixture(scope="module")
def duckdb_people() -> Any:
    """Create a DuckDB connection with the rows of `people`."""
    with dbanon.connect() as con:
        people = random_table(400)
        con.register("given", people)
        con.execute("CREATE TABLE people AS FROM given")
        dbanon.load_hierarchy(con, "cities", CITIES)
        dbanon.declare(con, "people", who="identifier", **POLICY)
        yield con


GIVEN["policy"] = POLICY | {"who": "identifier"}


def row_counts(table: pa.Table) -> Counter[str]:
    return Counter(repr(tuple(row.values())) for row in table.to_pylist())


@pytest.mark.parametrize("function", ["kacpc", "kacpc_classes", "mdav", "best"])
def test_spark_release_of_one_part_equals_duckdb(people: Any, duckdb_people: Any, function: str) -> None:
    arrow_table = dbanon.spark.anonymize(people, function, k=5, **GIVEN).toArrow()
    wanted = duckdb_people.sql(f"FROM {function}('people', k=5)").to_arrow_table()
    assert arrow_table.column_names == wanted.column_names
    assert row_counts(arrow_table) == row_counts(wanted)


@pytest.mark.parametrize(
    "parameters", [{}, {"person": True}, {"l": 2, "suppress": 0.1}, {"intervals": "bounds", "nulls": "drop"}], ids=str
)
def test_spark_metrics_equal_duckdb_metrics(people: Any, duckdb_people: Any, parameters: dict[str, Any]) -> None:
    parameters = dict(parameters)
    policy = POLICY | {"who": "person" if parameters.pop("person", False) else "identifier"}
    duckdb_people.execute("UPDATE dbanon.policy SET role = $1 WHERE column_name = 'who'", [policy["who"]])
    call = "".join(f", {name} := ${name}" for name in parameters)
    measures = dbanon.spark.anonymize(people, "mondrian_metrics", k=5, **{**GIVEN, "policy": policy}, **parameters)
    mappings_by_metric = {row["metric"]: row.asDict() for row in measures.collect()}
    duckdb_people.execute(f"FROM mondrian_metrics('people', k=5{call})", parameters)
    wanted = {row[0]: row for row in duckdb_people.fetchall()}
    assert {*wanted} - {*mappings_by_metric} == {
        "clusters", "c_avg_clusters", "discernibility_clusters", "discernibility_suppression_clusters",
        "square_error", "square_error_clusters", "square_error_raw:age", "square_error_raw_clusters:age", "sse_share",
        *(name for name in wanted if name.startswith("rare_value:") or name == "k_clusters"),
    }  # fmt: skip
    for name, row in mappings_by_metric.items():
        assert row["value"] == pytest.approx(wanted[name][1], abs=1e-9), name
        assert (row["better"], row["description"], row["is_publishable"]) == wanted[name][2:], name
    duckdb_people.execute("UPDATE dbanon.policy SET role = 'identifier' WHERE column_name = 'who'")


def released_rows(spark: Any, rows: pa.Table, function: str, **given: Any) -> pa.Table:
    """Return a release that is independent of the number of partitions of the rows."""
    arrow_tables = [
        dbanon.spark.anonymize(spark.createDataFrame(rows).repartition(n), function, **{**GIVEN, **given}).toArrow()
        for n in (1, 7)
    ]
    assert row_counts(arrow_tables[0]) == row_counts(arrow_tables[1])
    return arrow_tables[0]


def duckdb_row_counts(rows: pa.Table, function: str, **given: Any) -> Counter[str]:
    """Return the records of DuckDB's release."""
    with dbanon.connect() as con:
        con.register("given", rows)
        con.execute("CREATE TABLE people AS FROM given")
        dbanon.load_hierarchy(con, "cities", CITIES)
        dbanon.declare(con, "people", **GIVEN["policy"])
        call = "".join(f", {name} := ${name}" for name in given)
        return row_counts(con.execute(f"FROM {function}('people'{call})", given).to_arrow_table())


def check_classes(rows: pa.Table, out: pa.Table, k: int, values: int = 1) -> None:
    """Assert that classes match the published cells and have k records and `values` diseases; none is missing."""
    frame = out.to_pandas()
    groups = frame.groupby(["age", "city", "sex"], dropna=False)
    assert groups.size().min() >= k and groups["disease"].nunique().min() >= values
    assert (groups["class_id"].nunique() == 1).all()
    assert sorted(frame["class_id"].unique()) == list(range(1, frame["class_id"].nunique() + 1))
    assert Counter(frame["disease"]) == Counter(rows.column("disease").to_pylist())


@pytest.mark.parametrize(
    ("function", "parameters", "is_unpartitioned"),
    [
        ("kacpc", {"k": 4, "l": 2}, False),  # the cuts are those of coarse cells
        ("mondrian", {"k": 4, "l": 2}, True),  # the cuts are its own, and make the classes of the whole table
        ("mondrian", {"k": 4, "weights": {"age": 3.0}, "rounding": {"age": 10}}, True),
        ("mr_mondrian", {"k": 7}, True),
        ("ldiversity_mondrian", {"k": 3}, True),
        ("mondrian", {"k": 4, "strict": False}, False),
        ("mondrian", {"k": 4, "max_level": {"city": 1}}, False),
    ],
    ids=str,
)
def test_spark_partitions_equal_duckdb_partitions(
    spark: Any, function: str, parameters: dict[str, Any], is_unpartitioned: bool
) -> None:
    rows = random_table(3000, 2)
    out = released_rows(spark, rows, function, max_partition=90, **parameters)
    check_classes(rows, out, parameters["k"], parameters.get("l", 1))
    assert row_counts(out) == duckdb_row_counts(
        rows, function, **parameters, **({} if is_unpartitioned else {"max_partition": 90})
    )


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        ("gccg", {}), ("gccg", {"parts": 40}), ("knn_gs", {"seed": 3}), ("pppc", {}), ("pppc", {"parts": 40, "l": 3}),
        ("s_cpm", {"parts": 3}), ("dhkmeans", {}), ("dhkmeans", {"l": 3, "rounds": 2}),
    ],
    ids=str,
)  # fmt: skip
def test_algorithms_with_own_partitioning_keep_k_and_l(spark: Any, function: str, parameters: dict[str, Any]) -> None:
    rows = random_table(1500, 6)
    out = released_rows(spark, rows, function, k=4, max_partition=200, **parameters)
    check_classes(rows, out, 4, parameters.get("l", 2 if function == "dhkmeans" else 1))


@pytest.mark.parametrize(
    "parameters",
    [
        {"t": 0.5}, {"max_level": {"city": 1}}, {"policy": POLICY | {"who": "person"}}, {"nulls": "drop"},
        {"alpha": 0.6}, {"p": 3}, {"beta": 1.0}, {"l": 3, "diversity": "entropy"},
    ],
    ids=str,
)  # fmt: skip
def test_spark_parts_meet_models_blocks_and_persons(spark: Any, parameters: dict[str, Any]) -> None:
    rows = random_table(1200, 3)
    out = dbanon.spark.anonymize(
        spark.createDataFrame(rows), "kacpc", k=5, max_partition=100, **{**GIVEN, **parameters}
    ).toArrow()
    frame = out.to_pandas()
    kept_dropna = rows.to_pandas().dropna(subset=["age", "sex"]) if "nulls" in parameters else rows.to_pandas()
    assert len(frame) == len(kept_dropna)
    if "max_level" in parameters:
        assert "*" not in set(frame["city"])
    share = frame["disease"].value_counts(normalize=True)
    for _, group in frame.groupby("class_id"):
        own_reindex = group["disease"].value_counts(normalize=True).reindex(share.index, fill_value=0)
        assert (own_reindex - share).abs().sum() / 2 <= parameters.get("t", 1) + 1e-9
        assert own_reindex.max() <= parameters.get("alpha", 1) + 1e-9
        assert (own_reindex > 0).sum() >= parameters.get("p", 1)
        assert ((own_reindex - share) / share).max() <= parameters.get("beta", math.inf) + 1e-9
        assert -sum(p * math.log(p) for p in own_reindex if p > 0) >= math.log(parameters.get("l", 1)) - 1e-9
    assert frame.groupby("class_id").size().min() >= 5


def test_release_staged_before_replacing_target(spark: Any, people: Any, tmp_path: Path, monkeypatch: Any) -> None:
    target = tmp_path / "safe.parquet"
    out = dbanon.spark.anonymize(people, "kacpc", k=5, to=target, **GIVEN)
    assert out.count() == 400 and [p.name for p in tmp_path.iterdir()] == ["safe.parquet"]
    with pytest.raises(errors.TargetExistsError):
        dbanon.spark.anonymize(people, "kacpc", k=5, to=target, **GIVEN)

    from dbanon.integrations.spark import release

    def isolate_record(release_plan: Any, assignments: Any) -> Any:
        """Publish one record in a class of its own."""
        from pyspark.sql import functions as fn

        columns, _ = plan.published_names(release_plan.spec)
        rows = honest(release_plan, assignments)
        alone = rows.limit(1).withColumn("age", fn.lit("19")).withColumn("class_id", fn.lit(9999).cast("bigint"))
        return rows.exceptAll(rows.limit(1)).union(alone).select(*columns)

    honest = release._released_rows
    monkeypatch.setattr(release, "_released_rows", isolate_record)
    with pytest.raises(errors.GateRefusedError):
        dbanon.spark.anonymize(people, "kacpc", k=5, to=tmp_path / "leak.parquet", **GIVEN)
    assert [p.name for p in tmp_path.iterdir()] == ["safe.parquet"]
    lasting = tmp_path / "checkpoints"
    spark.sparkContext.setCheckpointDir(str(lasting))
    with pytest.raises(errors.GateRefusedError):
        dbanon.spark.anonymize(people, "kacpc", k=5, **GIVEN)
    assert not [path for path in lasting.rglob("*") if path.is_file()], "what is refused is kept nowhere"
    monkeypatch.setattr(release, "_released_rows", honest)
    assert dbanon.spark.anonymize(people, "kacpc", k=5, **GIVEN).count() == 400
    assert [path for path in lasting.rglob("*") if path.is_file()]


def test_spark_policy_read_from_file_frame_or_database(spark: Any, people: Any, tmp_path: Path) -> None:
    wanted = row_counts(dbanon.spark.anonymize(people, "kacpc", k=5, **GIVEN).toArrow())
    toml = tmp_path / "policy.toml"
    toml.write_text(
        'who = "identifier"\nage = "quasi"\nsex = "quasi"\ndisease = "sensitive"\n'
        '[city]\nrole = "quasi"\nhierarchy = "cities"\n'
    )
    values = {c: (r, None) if isinstance(r, str) else r for c, r in GIVEN["policy"].items()}
    rows = [{"column_name": c, "role": role, "hierarchy": hierarchy} for c, (role, hierarchy) in values.items()]
    with dbanon.connect(tmp_path / "clinic.duckdb") as con:
        con.execute("CREATE TABLE people (who INTEGER, age INTEGER, sex VARCHAR, disease VARCHAR, city VARCHAR)")
        dbanon.load_hierarchy(con, "cities", CITIES)
        dbanon.declare(con, "people", **GIVEN["policy"])
    for policy in (
        toml,
        pd.DataFrame(rows),
        spark.createDataFrame(pa.Table.from_pylist(rows)),
        pa.Table.from_pylist(rows),
    ):
        anonymized = dbanon.spark.anonymize(people, "kacpc", k=5, policy=policy, hierarchies={"cities": CITIES})
        assert row_counts(anonymized.toArrow()) == wanted
    anonymized = dbanon.spark.anonymize(people, "kacpc", k=5, name="people", policy=str(tmp_path / "clinic.duckdb"))
    assert row_counts(anonymized.toArrow()) == wanted
    for wrong in (str(tmp_path / "none.toml"), [1, 2], pd.DataFrame({"a": [1]})):
        with pytest.raises(errors.InvalidPolicyFileError):
            dbanon.spark.anonymize(people, "kacpc", k=5, policy=wrong)


def test_spark_sql_statements_call_table_functions(spark: Any, people: Any) -> None:
    people.createOrReplaceTempView("people")
    dbanon.spark.install(spark, policy={"people": GIVEN["policy"]}, hierarchies={"cities": CITIES})
    dbanon.spark.install(spark, policy={"people": GIVEN["policy"]}, hierarchies={"cities": CITIES})
    for call in ("k=5", "k := 5", "k => 5", "k = 5, qi = ['age', 'city', 'sex']"):
        rows = spark.sql(
            f"SELECT count(*) AS n, min(size) AS k FROM kacpc_classes('people', {call}) -- kacpc("
        ).collect()
        assert rows[0]["k"] >= 5
    both = spark.sql(
        "SELECT 'mdav(''people'', k=1)' AS said, a.n + b.n AS n "
        "FROM (SELECT count(*) AS n FROM kacpc('people', k=5)) AS a, "
        "(SELECT count(*) AS n FROM mdav('people', k=5)) AS b"
    ).collect()[0]
    assert both["n"] == 800 and both["said"] == "mdav('people', k=1)"
    assert [table.name for table in spark.catalog.listTables()] == ["people"]
    for wrong, error in (
        ("kk=5", errors.UnknownParameterError),
        ("k=0", errors.InvalidArgumentError),
        ("k=5000", errors.PartitionFailedError),
    ):
        with pytest.raises(error):
            spark.sql(f"SELECT * FROM kacpc('people', {wrong})")


def test_executor_processes_run_caller_python(spark: Any, people: Any, tmp_path: Path, monkeypatch: Any) -> None:
    wanted = row_counts(dbanon.spark.anonymize(people, "mondrian", k=5, **GIVEN).toArrow())
    monkeypatch.delenv("PYSPARK_PYTHON")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/there/is/no/python")
    assert row_counts(dbanon.spark.anonymize(people, "mondrian", k=5, **GIVEN).toArrow()) == wanted
    assert spark.sparkContext.pythonExec == "/there/is/no/python"
    bare_path = tmp_path / "python"  # the same, without the installed packages
    bare_path.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare_path.chmod(0o755)
    monkeypatch.setenv("PYSPARK_PYTHON", str(bare_path))
    monkeypatch.setattr(spark.sparkContext, "pythonExec", str(bare_path))
    with pytest.raises(errors.ExecutorModuleMissingError, match="PYSPARK_PYTHON"):
        dbanon.spark.anonymize(people, "mondrian", k=5, **GIVEN)


def test_unsupported_spark_input_raises(spark: Any, people: Any) -> None:
    def refused(error: type[Exception], match: str, df: Any = people, function: str = "kacpc", **given: Any) -> None:
        with pytest.raises(error, match=match):
            dbanon.spark.anonymize(df, function, **{"k": 5, **GIVEN, **given})

    refused(errors.UnknownAlgorithmError, "kacp", function="kacp")
    refused(errors.SparkSessionMissingError, "DataFrame", df=pd.DataFrame({"age": [1]}))
    refused(errors.NotSupportedOnSparkError, "improve = '5s'", improve="5s")
    refused(errors.NotSupportedOnSparkError, "noise", function="rka", release="noise")
    refused(errors.UnknownParameterError, "nope", nope=1)
    refused(errors.NeedsSinglePartitionError, "suppress", max_partition=20, suppress=0.1, t=0.4)
    refused(errors.NeedsSinglePartitionError, "leaves = 'used'", max_partition=20, leaves="used")
    refused(errors.NeedsSinglePartitionError, "suppression", function="datafly", max_partition=20)
    refused(errors.InvalidArgumentError, "max_partition", max_partition=-1)
    refused(errors.EmptySourceError, "no rows", df=people.limit(0))
    refused(
        errors.PartitionFailedError, "2 distinct values are missing from hierarchy", hierarchies={"cities": CITIES[:2]}
    )
    double = spark.createDataFrame([(1, 2)], "a int, A int")
    refused(errors.ColumnsDifferOnlyByCaseError, "'a'", df=double)
    odd = spark.createDataFrame(pa.table({'x"); DROP': list(range(50)), "b`c.d": ["u", "v"] * 25, "😀": ["s"] * 50}))
    out = dbanon.spark.anonymize(odd, "mondrian", k=5, qi=['x"); DROP', "b`c.d"], sensitive=["😀"])
    assert out.count() == 50 and out.columns == ['x"); DROP', "b`c.d", "😀", "class_id"]
    named_frame = spark.createDataFrame(
        pa.table({"table": list(range(50)), "records": ["u", "v"] * 25, "given": ["s"] * 50})
    )
    policy = {"table": "quasi", "records": "quasi", "given": "sensitive"}
    out = dbanon.spark.anonymize(named_frame, "mondrian", k=5, max_partition=10, name="given", policy=policy)
    assert out.count() == 50 and out.columns == ["table", "records", "given", "class_id"]


def test_killed_spark_process_changes_nothing(spark: Any) -> None:
    """Processes that anonymize parts are killed while they run: their tasks are tried again."""
    df = spark.createDataFrame(random_table(2000, 4))
    wanted = row_counts(dbanon.spark.anonymize(df, "mondrian", k=4, max_partition=120, **GIVEN).toArrow())
    killed: list[int] = []
    done = threading.Event()

    def kill() -> None:
        while not done.is_set() and len(killed) < 3:
            time.sleep(0.4)
            found = worker_pids()
            if found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(found[0], signal.SIGKILL)
                    killed.append(found[0])

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        result = row_counts(dbanon.spark.anonymize(df, "mondrian", k=4, max_partition=120, **GIVEN).toArrow())
    finally:
        done.set()
        thread.join()
    assert len(killed) == 3 and result == wanted


def worker_pids() -> list[int]:
    """Return the current Python processes of Spark: children of their daemon that use CPU time."""
    numbers = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parts = stat.read_text().rsplit(")", 1)[1].split()
            command = (stat.parent / "cmdline").read_bytes()
            parent = Path("/proc", parts[1], "cmdline").read_bytes()
            if b"pyspark.daemon" in command and b"pyspark.daemon" in parent and parts[0] == "R":
                numbers.append(int(stat.parent.name))
    return numbers


def test_spark_driver_collects_only_values_and_counts(spark: Any, monkeypatch: Any) -> None:
    collected: list[tuple[tuple[str, ...], int]] = []
    frames = type(spark.range(1))

    def record_calls(name: str) -> None:
        honest = getattr(frames, name)

        def called(self: Any, *args: Any, **kwargs: Any) -> Any:
            result = honest(self, *args, **kwargs)
            collected.append((tuple(self.columns), len(result)))
            return result

        monkeypatch.setattr(frames, name, called)

    for name in ("collect", "toArrow", "toPandas", "take", "head"):
        record_calls(name)
    dbanon.spark.anonymize(
        spark.createDataFrame(random_table(2000, 5)), "mondrian_metrics", k=4, l=2, max_partition=120, **GIVEN
    )
    # No two columns of the source are collected together, so no record is.
    raw = {"age", "city", "sex", "disease", "who", "own", "published", "codes", "looked"}
    assert collected and not any(raw & {*columns} for columns, _ in collected)
    assert max(rows for columns, rows in collected if "value" in columns and "size" in columns) <= 61
