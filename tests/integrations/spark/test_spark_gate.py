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
def made(spark: Any) -> Any:
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
def rows(made: Any) -> list[dict[str, Any]]:
    """Return the released rows, in their order."""
    return [row.asDict() for row in made.released.collect()]


def frame(made: Any, rows: list[dict[str, Any]]) -> Any:
    """Return released rows in one partition."""
    values = [tuple(row.values()) for row in rows]
    return made.released.sparkSession.createDataFrame(values, made.released.schema).coalesce(1)


def test_a_release_passes_and_reports_its_model(made: Any) -> None:
    from dbanon.integrations.spark import gate

    assert gate.check_release(made, made.released) == {0: pytest.approx(2.0, abs=1)}


def test_classes_of_all_partitions_are_numbered_on(spark: Any) -> None:
    from pyspark.sql import functions as fn

    from dbanon.integrations.spark.release import _number_classes

    classes = [(f"class {i}", "published", 0.0, K) for i in range(6)]
    sorted_frame = spark.createDataFrame(classes, "keys string, published string, lost double, size bigint")
    sorted_frame = (
        sorted_frame.repartition(3, "keys").withColumn("place", fn.monotonically_increasing_id()).localCheckpoint()
    )
    assert sorted(row["class_id"] for row in _number_classes(sorted_frame).collect()) == [1, 2, 3, 4, 5, 6]


def smallest(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with only k - 1 of the first class."""
    first = rows[0]["class_id"]
    own_rows = [row for row in rows if row["class_id"] == first]
    return [*own_rows[: K - 1], *(row for row in rows if row["class_id"] != first)]


def backwards(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows in reverse."""
    return rows[::-1]


def mixed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows of classes in turn."""
    return sorted(rows, key=lambda row: (row["disease"], row["ward"], row["shift"], row["class_id"]))


def with_rare_ward(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows with a ward that only one has."""
    return [{**rows[0], "ward": "0"}, *rows[1:]]


@pytest.mark.parametrize(
    ("spoiled", "says"),
    [
        (smallest, "below k"),
        (backwards, "order"),
        (mixed, "order"),
        (with_rare_ward, r"data\.ward has the role insensitive"),
    ],
)
def test_rows_are_counted_again(made: Any, rows: Any, spoiled: Callable[[Any], Any], says: str) -> None:
    from dbanon.integrations.spark import recount

    recount.check_rows(made, frame(made, rows))
    with pytest.raises(errors.DbanonError, match=says):
        recount.check_rows(made, frame(made, spoiled(rows)))


def test_classes_below_k_are_refused(made: Any, rows: Any) -> None:
    from dbanon.integrations.spark import gate

    with pytest.raises(errors.GateRefusedError, match="below k"):
        gate._check_classes(made, frame(made, smallest(rows)))


def spoiled(made: Any, **own: Any) -> Any:
    """Return the release with other values: columns by name."""
    from pyspark.sql import functions as fn

    struct = fn.col("own")
    for name, column in own.items():
        struct = struct.withField(name, column)
    return replace(made, assignments=made.assignments.withColumn("own", struct))


def test_rare_values_are_refused(made: Any) -> None:
    from pyspark.sql import functions as fn

    from dbanon.integrations.spark import gate

    age = fn.col("own.age")
    with pytest.raises(errors.RareValueError, match="ward"):
        gate._check_rare_values(spoiled(made, ward=fn.when(age < 20 + K - 1, "rare").otherwise("usual")))
    # Each value of both is in twelve records, one combination in three.
    halves = {"ward": fn.when(age < 32, "A").otherwise("B"), "shift": fn.when(age.between(29, 40), "a").otherwise("b")}
    with pytest.raises(errors.RareCombinationError):
        gate._check_rare_values(spoiled(made, **halves))


def test_models_are_judged_by_class(made: Any) -> None:
    from pyspark.sql import functions as fn

    from dbanon.integrations.spark import gate

    with pytest.raises(errors.GateRefusedError, match="l on disease"):
        gate._check_models(spoiled(made, disease=fn.lit("Flu")))
    with pytest.raises(errors.GateRefusedError, match="missing or too many"):
        gate._check_models_measured(made, {})


def test_classes_are_counted_again(made: Any) -> None:
    from dbanon.integrations.spark import metrics, recount

    stated = metrics.classes(made).localCheckpoint()
    recount.check_classes(made, made.released, stated, {})
    rows = [row.asDict(recursive=True) for row in stated.collect()]
    size = next(name for name in rows[0] if "size" in name)
    first = rows[0]["disease"][0]
    for change in (
        {size: rows[0][size] + 1},
        {"age": "[1, 2]"},
        {"disease": [{**first, "size": first["size"] + 1}, *rows[0]["disease"][1:]]},
    ):
        wrong = [tuple({**rows[0], **change}.values()), *(tuple(row.values()) for row in rows[1:])]
        with pytest.raises(errors.GateRefusedError, match="figures"):
            recount.check_classes(
                made, made.released, made.assignments.sparkSession.createDataFrame(wrong, stated.schema), {}
            )


def test_metrics_are_counted_again(made: Any) -> None:
    from pyspark.sql import functions as fn

    from dbanon.integrations.spark import metrics, recount

    achieved = {0: 2.0}
    stated = metrics.metrics(made, achieved).localCheckpoint()
    names = [row["metric"] for row in stated.collect()]
    model = next(name for name in names if name.endswith(":disease") and name.startswith(("l", "distinct")))
    recount.check_metrics(made, made.released, stated, achieved)
    for name in ("k", "records", "discernibility", "risk_highest", "homogeneous_share:disease", model):
        assert name in names
        wrong = stated.withColumn(
            "value", fn.when(fn.col("metric") == name, fn.col("value") + 1).otherwise(fn.col("value"))
        )
        with pytest.raises(errors.GateRefusedError, match="figures"):
            recount.check_metrics(made, made.released, wrong, achieved)
