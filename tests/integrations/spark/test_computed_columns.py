"""Columns of a DataFrame computed from other columns of the table that its policy describes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from dbanon import errors

pytestmark = pytest.mark.filterwarnings("default")  # pyspark raises warnings of its own

TABLE = frozenset({"name", "pid", "age", "disease", "note"})
ROLES = {"name": "identifier", "pid": "person", "age": "quasi", "disease": "sensitive"}


@pytest.fixture(scope="module")
def people(spark: Any) -> Any:
    df = spark.createDataFrame([("n", 1, 30, "d", "x")], "name string, pid int, age int, disease string, note string")
    df.createOrReplaceTempView("people")
    yield df
    spark.catalog.dropTempView("people")


def check_table_columns(df: Any) -> None:
    """Check a DataFrame as `anonymize` does where its policy names a table."""
    from dbanon.integrations.spark import computed_columns
    from dbanon.integrations.spark.given_policy import PolicySource
    from dbanon.integrations.spark.policy_input import prepare_call

    call = prepare_call(df, "mondrian", PolicySource("people", ROLES, {}, "table"), {"k": 2})
    assert call.table_columns == frozenset(ROLES)
    computed_columns.check_computed_columns(df, call.call, TABLE)


def frame_from_sql(query: str) -> Callable[[Any], Any]:
    return lambda df: df.sparkSession.sql(query)


REST = "pid, age, note"

COMPUTED: dict[str, Callable[[Any], Any]] = {
    "swapped": lambda df: df.toDF("disease", "pid", "age", "name", "note"),
    "renamed twice": lambda df: df.withColumnsRenamed({"disease": "a", "name": "b"}).withColumnsRenamed(
        {"a": "name", "b": "disease"}
    ),
    "undeclared": lambda df: df.withColumn("disease", df["note"]),
    "concatenated": frame_from_sql(f"SELECT name, concat(disease, name) AS disease, {REST} FROM people"),
    "capitals": frame_from_sql(f"SELECT name, NAME AS DISEASE, {REST} FROM people"),
    "union by place": frame_from_sql(
        f"SELECT name, disease, {REST} FROM people UNION ALL SELECT disease, name, {REST} FROM people"
    ),
    "exploded": frame_from_sql(f"SELECT name, d AS disease, {REST} FROM people LATERAL VIEW explode(array(name)) AS d"),
    "in a subquery": frame_from_sql(f"SELECT name, (SELECT max(name) FROM people) AS disease, {REST} FROM people"),
    "correlated": frame_from_sql(
        "SELECT p.name, s.d AS disease, p.pid, p.age, p.note FROM people AS p, LATERAL (SELECT p.name AS d) AS s"
    ),
    "common table": frame_from_sql(
        f"WITH a AS (SELECT name AS d, * FROM people), b AS (SELECT * FROM a) SELECT name, d AS disease, {REST} FROM b"
    ),
    "aggregated": frame_from_sql(
        "SELECT first(name) AS disease, pid, first(age) AS age, min(disease) AS name FROM people GROUP BY pid"
    ),
    "window": frame_from_sql(f"SELECT disease AS name, lag(name) OVER (ORDER BY pid) AS disease, {REST} FROM people"),
    "function of Python": lambda df: df.mapInPandas(lambda batches: batches, df.schema),
    "person numbered": frame_from_sql("SELECT name, disease, age, row_number() OVER (ORDER BY age) AS pid FROM people"),
    "person random": frame_from_sql("SELECT name, disease, age, uuid() AS pid FROM people"),
    "a nested field": frame_from_sql(
        f"SELECT name, s.n AS disease, {REST} FROM (SELECT *, struct(name AS n) AS s FROM people)"
    ),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_computed_spark_columns_refused(people: Any, name: str) -> None:
    with pytest.raises(errors.ComputedColumnError):
        check_table_columns(COMPUTED[name](people))


KEPT: dict[str, Callable[[Any], Any]] = {
    "as read": lambda df: df,
    "cleaned": frame_from_sql(
        f"SELECT name, trim(coalesce(disease, 'none')) AS disease, {REST} FROM people WHERE name > 'a'"
    ),
    "cast": frame_from_sql(
        "SELECT *, name AS label FROM (SELECT name, disease, pid, CAST(age AS string) AS age FROM people)"
    ),
    "joined": lambda df: df.join(df.select("pid", "note").withColumnRenamed("note", "name2"), "pid"),
    "first of each person": frame_from_sql(
        "SELECT pid, first(name) AS name, first(age) AS age, first(disease) AS disease FROM people GROUP BY pid"
    ),
    "common table": frame_from_sql(f"WITH a AS (SELECT * FROM people) SELECT name, disease, {REST} FROM a"),
    "union": lambda df: df.union(df).distinct().limit(5),
    "named otherwise at the source": lambda df: df.sparkSession.createDataFrame(
        pa.table({"d": ["x"], "name": ["n"], "pid": [1], "years": [3]})
    ).withColumnsRenamed({"d": "disease", "years": "age"}),
}


@pytest.mark.parametrize("name", KEPT)
def test_stored_spark_columns_accepted(people: Any, name: str) -> None:
    check_table_columns(KEPT[name](people))


def test_roles_for_dataframe_apply_to_computed_columns(people: Any) -> None:
    from dbanon.integrations.spark.given_policy import PolicySource
    from dbanon.integrations.spark.policy_input import prepare_call

    df = COMPUTED["swapped"](people)
    assert prepare_call(df, "mondrian", PolicySource(None, ROLES), {"k": 2}).table_columns is None
