"""The gate of releases on Spark refuses rows that violate the policy or the models, whatever made them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from dbanon import errors

pytestmark = pytest.mark.filterwarnings("default")  # pyspark raises warnings of its own

ROLES = {"age": "quasi", "disease": "sensitive", "ward": "insensitive", "shift": "insensitive"}
K = 4
ROWS = 24


@pytest.fixture(scope="module")
def release_plan(spark: Any) -> Any:
    """Return a release of 24 records before the gate."""
    from dbanon.integrations.spark import release
    from dbanon.integrations.spark.given_policy import PolicySource
    from dbanon.integrations.spark.policy_input import prepare_call

    columns = {
        "age": list(range(20, 20 + ROWS)),
        "disease": ["Flu", "Cold", "Gout"] * 8,
        "ward": ["A", "B"] * 12,
        "shift": ["day", "day", "night", "night"] * 6,
    }
    df = spark.createDataFrame(pa.table(columns)).coalesce(1)
    call = prepare_call(df, "mondrian", PolicySource(policy=ROLES), {"k": K, "l": 2}).call
    result = release.build_release(call, df, None)
    yield replace(result, released=result.released.localCheckpoint())
    result.unpersist()


@pytest.fixture(scope="module")
def rows(release_plan: Any) -> list[dict[str, Any]]:
    """Return the released rows, in their order."""
    return [row.asDict() for row in release_plan.released.collect()]


def released_frame(release_plan: Any, rows: list[dict[str, Any]]) -> Any:
    """Return released rows in one partition."""
    values = [tuple(row.values()) for row in rows]
    return release_plan.released.sparkSession.createDataFrame(values, release_plan.released.schema).coalesce(1)


def test_spark_gate_passes_release_and_reports_model(release_plan: Any) -> None:
    from dbanon.integrations.spark import gate

    assert gate.check_release(release_plan, release_plan.released) == {0: pytest.approx(2.0, abs=1)}


def test_spark_class_ids_consecutive_across_partitions(spark: Any) -> None:
    from pyspark.sql import functions as fn

    from dbanon.integrations.spark.release import _number_classes

    classes = [(f"class {i}", "published", 0.0, K) for i in range(6)]
    sorted_frame = spark.createDataFrame(classes, "keys string, published string, lost double, size bigint")
    sorted_frame = (
        sorted_frame.repartition(3, "keys").withColumn("place", fn.monotonically_increasing_id()).localCheckpoint()
    )
    assert sorted(row["class_id"] for row in _number_classes(sorted_frame).collect()) == [1, 2, 3, 4, 5, 6]


def shrink_first_class(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with only k - 1 of the first class."""
    first = rows[0]["class_id"]
    own_rows = [row for row in rows if row["class_id"] == first]
    return [*own_rows[: K - 1], *(row for row in rows if row["class_id"] != first)]


def reverse_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows in reverse."""
    return rows[::-1]


def interleave_classes(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of classes in turn."""
    return sorted(rows, key=lambda row: (row["disease"], row["ward"], row["shift"], row["class_id"]))


def set_rare_ward(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with a ward that only one has."""
    return [{**rows[0], "ward": "0"}, *rows[1:]]


@pytest.mark.parametrize(
    ("alter", "says"),
    [
        (shrink_first_class, "below k"),
        (reverse_rows, "order"),
        (interleave_classes, "order"),
        (set_rare_ward, r"data\.ward has the role insensitive"),
    ],
)
def test_spark_recount_refuses_altered_rows(
    release_plan: Any, rows: Any, alter: Callable[[Any], Any], says: str
) -> None:
    from dbanon.integrations.spark import recount

    recount.check_rows(release_plan, released_frame(release_plan, rows))
    with pytest.raises(errors.DbanonError, match=says):
        recount.check_rows(release_plan, released_frame(release_plan, alter(rows)))


def test_spark_gate_refuses_class_below_k(release_plan: Any, rows: Any) -> None:
    from dbanon.integrations.spark import gate

    with pytest.raises(errors.GateRefusedError, match="below k"):
        gate._check_classes(release_plan, released_frame(release_plan, shrink_first_class(rows)))


def replace_columns(release_plan: Any, **own: Any) -> Any:
    """Return the release with other values: columns by name."""
    from pyspark.sql import functions as fn

    struct = fn.col("own")
    for name, column in own.items():
        struct = struct.withField(name, column)
    return replace(release_plan, assignments=release_plan.assignments.withColumn("own", struct))


@pytest.mark.parametrize("type_", [pa.float64(), pa.list_(pa.float32())], ids=str)
def test_spark_refuses_rare_text_of_equal_values(spark: Any, type_: pa.DataType) -> None:
    """One record has -0.0, which equals 0.0; partitions are too small to see it."""
    import dbanon.spark

    zeros = [-0.0, *[0.0] * 59]
    values = zeros if type_ == pa.float64() else [[zero] for zero in zeros]
    df = spark.createDataFrame(pa.table({"age": [i % 20 for i in range(60)], "v": pa.array(values, type_)}))
    for max_partition in (None, 8):
        with pytest.raises(errors.DbanonError, match=r"data\.v has the role insensitive"):
            dbanon.spark.anonymize(df, "kacpc", k=K, qi=["age"], insensitive=["v"], max_partition=max_partition)


def test_spark_metrics_count_texts_that_readers_see(spark: Any) -> None:
    import dbanon.spark

    ages, values = [i % 20 for i in range(60)], [-0.0, *[0.0] * 59]
    df = spark.createDataFrame(pa.table({"age": ages, "v": values}))
    metrics = dbanon.spark.anonymize(df, "kacpc_metrics", k=K, qi=["age"], sensitive=["v"], max_partition=8).collect()
    stated = {row["metric"]: row["value"] for row in metrics}
    assert (stated["k_full_record"], stated["unique_by_unchanged_columns"]) == (1, 1)


def test_spark_gate_refuses_rare_values(release_plan: Any) -> None:
    from pyspark.sql import functions as fn

    from dbanon.integrations.spark import gate

    age = fn.col("own.age")
    with pytest.raises(errors.RareValueError, match="ward"):
        gate._check_rare_values(
            replace_columns(release_plan, ward=fn.when(age < 20 + K - 1, "rare").otherwise("usual"))
        )
    # Each value of both is in twelve records, one combination in three.
    halves = {"ward": fn.when(age < 32, "A").otherwise("B"), "shift": fn.when(age.between(29, 40), "a").otherwise("b")}
    with pytest.raises(errors.RareCombinationError):
        gate._check_rare_values(replace_columns(release_plan, **halves))


def test_spark_gate_refuses_class_missing_model(release_plan: Any) -> None:
    from pyspark.sql import functions as fn

    from dbanon.integrations.spark import gate

    with pytest.raises(errors.GateRefusedError, match="l on disease"):
        gate._check_models(replace_columns(release_plan, disease=fn.lit("Flu")))
    with pytest.raises(errors.GateRefusedError, match="missing or too many"):
        gate._check_models_measured(release_plan, {})


def test_spark_recount_refuses_altered_class_rows(release_plan: Any) -> None:
    from dbanon.integrations.spark import metrics, recount

    stated = metrics.classes(release_plan).localCheckpoint()
    recount.check_classes(release_plan, release_plan.released, stated, {})
    rows = [row.asDict(recursive=True) for row in stated.collect()]
    size = next(name for name in rows[0] if "size" in name)
    first = rows[0]["disease"][0]
    for change in (
        {size: rows[0][size] + 1},
        {"age": "[1, 2]"},
        {"disease": [{**first, "size": first["size"] + 1}, *rows[0]["disease"][1:]]},
    ):
        wrong = [tuple({**rows[0], **change}.values()), *(tuple(row.values()) for row in rows[1:])]
        with pytest.raises(errors.GateRefusedError, match="metrics that do not follow"):
            recount.check_classes(
                release_plan,
                release_plan.released,
                release_plan.assignments.sparkSession.createDataFrame(wrong, stated.schema),
                {},
            )


def test_spark_recount_refuses_altered_metrics(release_plan: Any) -> None:
    from pyspark.sql import functions as fn

    from dbanon.integrations.spark import metrics, recount

    achieved = {0: 2.0}
    stated = metrics.metrics(release_plan, achieved).localCheckpoint()
    names = [row["metric"] for row in stated.collect()]
    model = next(name for name in names if name.endswith(":disease") and name.startswith(("l", "distinct")))
    recount.check_metrics(release_plan, release_plan.released, stated, achieved)
    for name in ("k", "records", "discernibility", "risk_highest", "homogeneous_share:disease", model):
        assert name in names
        wrong = stated.withColumn(
            "value", fn.when(fn.col("metric") == name, fn.col("value") + 1).otherwise(fn.col("value"))
        )
        with pytest.raises(errors.GateRefusedError, match="metrics that do not follow"):
            recount.check_metrics(release_plan, release_plan.released, wrong, achieved)
