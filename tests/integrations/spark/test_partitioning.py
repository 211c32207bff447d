"""Partitioning of tables by algorithms, in addition to the checks of their rules."""

from __future__ import annotations

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

pytestmark = pytest.mark.filterwarnings("default")  # pyspark raises warnings of its own

POLICY = {"age": "quasi", "city": "quasi", "disease": "sensitive"}
GROUPS = ((20, "Oslo"), (50, "Lund"), (80, "Turku"))

Row = tuple[Any, ...]


def distant_groups(n_per_group: int) -> list[Row]:
    """Create distant groups of records, and one of records without an age."""
    draw = random.Random(5)
    rows: list[Row] = [(a + draw.randrange(9), c, draw.choice("xyz")) for a, c in GROUPS for _ in range(n_per_group)]
    return rows + [(None, "Oslo", "x")] * n_per_group


def partition_rows(
    spark: Any, rows: Sequence[Row], function: str, max_partition: int, **given: Any
) -> dict[int, Counter[Row]]:
    """Return the records of each part."""
    from pyspark.sql import functions as fn

    from dbanon.integrations.spark import partitioning
    from dbanon.integrations.spark.encode import count_values
    from dbanon.integrations.spark.given_policy import PolicySource
    from dbanon.integrations.spark.policy_input import prepare_call
    from dbanon.integrations.spark.session_call import thread_planner

    table = pa.Table.from_pylist([dict(zip(POLICY, row, strict=True)) for row in rows])
    df = spark.createDataFrame(table)
    call = prepare_call(df, function, PolicySource(policy=POLICY), given).call
    planner = thread_planner(call)
    kinds = df.groupBy(fn.struct(*planner.read_columns).alias("own")).agg(fn.count(fn.lit(1)).alias("weight"))
    groups: dict[int, Counter[Row]] = defaultdict(Counter)
    for row in partitioning.partition_records(call, kinds, count_values(planner, kinds), max_partition).collect():
        groups[row["part"]][tuple(row["own"][name] for name in POLICY)] += row["weight"]
    assert sum(groups.values(), Counter()) == Counter(rows)
    return dict(groups)


@pytest.mark.parametrize(
    ("function", "max_partition", "parameters"),
    [("pppc", 1000, {"parts": 4}), ("s_cpm", 1000, {"parts": 4}), ("pppc", 9, {"parts": 1, "rounds": 100})],
    ids=str,
)
def test_spark_records_assigned_to_nearest_center(
    spark: Any, function: str, max_partition: int, parameters: Any
) -> None:
    rows = distant_groups(60)
    parts = list(partition_rows(spark, rows, function, max_partition, k=2, **parameters).values())
    assert len(parts) >= 4
    reach = max(a for a, _, _ in rows if a is not None) - min(a for a, _, _ in rows if a is not None)

    def center(part: Counter[Row]) -> tuple[float | None, str]:
        ages = [a for a, _, _ in part.elements() if a is not None]
        return sum(ages) / len(ages) if ages else None, Counter(c for _, c, _ in part.elements()).most_common(1)[0][0]

    def distance(row: Row, point: tuple[float | None, str]) -> float:
        if row[0] is None or point[0] is None:
            return (row[0] is not point[0]) + (row[1] != point[1])
        return abs(row[0] - point[0]) / reach + (row[1] != point[1])

    centers = [center(part) for part in parts]
    for part, own_part in zip(parts, centers, strict=True):
        assert all(distance(row, own_part) <= min(distance(row, other) for other in centers) + 1e-6 for row in part)


@pytest.mark.parametrize("function", ["pppc", "dhkmeans"])
def test_distant_groups_are_in_separate_parts(spark: Any, function: str) -> None:
    parts = partition_rows(spark, distant_groups(60), function, 11, k=5)
    assert len(parts) >= 3
    for part in parts.values():
        assert len({c for _, c, _ in part}) == 1 and part.total() >= 5


def test_small_spark_part_merged_into_nearest_part(spark: Any) -> None:
    rows = [*distant_groups(60), *[(89, "Kiruna", "x")] * 3]
    parts = partition_rows(spark, rows, "pppc", 1000, k=5, parts=30)
    assert min(part.total() for part in parts.values()) >= 5
    (joined_part,) = [part for part in parts.values() if any(c == "Kiruna" for _, c, _ in part)]
    assert {c for _, c, _ in joined_part} == {"Kiruna", "Turku"}


def test_gccg_parts_cover_consecutive_score_ranges(spark: Any) -> None:
    rows = [row for row in distant_groups(60) if row[0] is not None] + [(None, "Lund", "y")] * 3
    parts = partition_rows(spark, rows, "gccg", 1000, k=5, parts=7)
    sizes = [part.total() for part in parts.values()]
    assert len(parts) == 7 and max(sizes) - min(sizes) < 30
    ages = [a for a, _, _ in rows if a is not None]
    share = {name: n / len(rows) for name, n in Counter(c for _, c, _ in rows).items()}
    unknown = 1 - len(ages) / len(rows)

    def score(row: Row) -> float:
        age = unknown if row[0] is None else (row[0] - min(ages)) / (max(ages) - min(ages))
        return float(age + share[row[1]])

    ends = sorted((min(map(score, part)), max(map(score, part))) for part in parts.values())
    assert all(previous[1] <= following[0] + 2 / 2**15 for previous, following in itertools.pairwise(ends))


def test_hash_parts_keep_tuples_together(spark: Any) -> None:
    rows = distant_groups(60)
    by_seed = [partition_rows(spark, rows, "knn_gs", 6, k=5, seed=seed) for seed in (0, 0, 1)]
    assert by_seed[0] == by_seed[1] != by_seed[2]
    for parts in by_seed:
        values = [{(a, c) for a, c, _ in part} for part in parts.values()]
        assert sum(map(len, values)) == len(set().union(*values)) and len(parts) > 3
        assert min(part.total() for part in parts.values()) >= 5


@pytest.mark.parametrize(("max_partition", "n_tasks"), [(1000, 1), (9, None)])
def test_spark_tasks_follow_the_parts(spark: Any, max_partition: int, n_tasks: int | None) -> None:
    from dbanon.integrations.spark.given_policy import PolicySource
    from dbanon.integrations.spark.policy_input import prepare_call
    from dbanon.integrations.spark.release import TASKS_PER_PARTITION, build_release

    table = pa.Table.from_pylist([dict(zip(POLICY, row, strict=True)) for row in distant_groups(30) if row[0]])
    call = prepare_call(spark.createDataFrame(table), "mondrian", PolicySource(policy=POLICY), {"k": 3}).call
    release = build_release(call, spark.createDataFrame(table), max_partition)
    try:
        n_tuples = len({row[:2] for row in distant_groups(30) if row[0]})
        expected = n_tasks or TASKS_PER_PARTITION * -(-n_tuples // max_partition)
        assert release.assignments.rdd.getNumPartitions() == expected
    finally:
        release.unpersist()
