"""Anonymize DataFrames of Spark with the functions that DuckDB has, by their names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from dbanon.integrations.spark import computed_columns, executor_python, gate, metrics, recount, staging
from dbanon.integrations.spark.given_policy import PolicySource
from dbanon.integrations.spark.policy_input import prepare_call, validate_max_partition
from dbanon.integrations.spark.release import build_release


def anonymize(
    df: DataFrame,
    function: str = "best",
    *,
    name: str | None = None,
    policy: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    to: str | Path | None = None,
    max_partition: int | None = None,
    **parameters: Any,
) -> DataFrame:
    """Return the release of a DataFrame, or its classes or metrics, as DuckDB's table function of this name gives them.

    A DataFrame of at most `max_partition` combinations of quasi-identifiers is clustered as one, and the release is the
    one that DuckDB gives. A larger one is divided into partitions of at most so many: by the algorithm's own rule if it
    has one (dbanon.integrations.spark.partitioning), else at the median tuple along the attribute that narrows a
    partition most. Distances and the values that models compare with are those of the whole table, and classes that
    publish the same are merged. The result depends neither on Spark's partitions nor on the number of processes.

    No row can be read before the gate has passed all of them. O(rows) shuffled; the driver receives values of columns
    and counts.

    Args:
        df: The DataFrame.
        function: A table function, such as `kacpc`, `kacpc_classes` or `kacpc_metrics`.
        name: The table whose rows the DataFrame has, as DuckDB or Spark writes it; required if the policy declares
            tables by name.
        policy: Roles by column (`{'age': 'quasi', 'zip': ('quasi', 'zip5')}`), a TOML or CSV file of them, a DataFrame
            with the columns of dbanon.policy, or a DuckDB database. Parameters can only tighten it. If it declares
            tables by name, its columns must be in the DataFrame as they were read: neither renamed nor computed from
            others. Without a policy, `qi`, `sensitive` and so on declare the roles.
        hierarchies: Rows from the leaf to the root, ARX files or names of built-in hierarchies, by column or by the
            name that the policy declares. Those of a policy's database come with it and cannot be replaced.
        to: A directory for the release, as Parquet: written next to it first, then renamed. Without it the release is
            kept in the checkpoint directory of the SparkContext, if it has one, else by its executors.
        max_partition: The most combinations of quasi-identifiers in one partition; 50,000 by default.
        **parameters: Parameters of the table function.

    Returns:
        The rows of the release, of its classes or of its metrics.

    Raises:
        SparkSessionMissingError: `df` is not a DataFrame of Spark.
        InvalidPolicyFileError: The policy is invalid.
        PolicyNameMissingError: The policy declares tables by name, and `name` is missing.
        TableNotInPolicyError: The policy does not contain the table.
        HierarchyOfPolicyError: `hierarchies` would replace one of the policy's database.
        ComputedColumnError: A published column is computed from another column of the policy's table.
        NeedsSinglePartitionError: A parameter needs the whole table in one partition.
        NotSupportedOnSparkError: A parameter is not available on Spark.
        TargetExistsError: `to` exists.
        ExecutorModuleMissingError: The executors' Python lacks a module.
        DbanonError: Whatever the table function raises.

    Examples:
        ```python
        dbanon.spark.anonymize(df, k=10, qi=["age", "zip"])
        ```
    """
    return frame_release(df, function, PolicySource(name, policy, hierarchies or {}), to, max_partition, parameters)


def frame_release(
    df: DataFrame,
    function: str,
    source: PolicySource,
    to: str | Path | None,
    max_partition: int | None,
    parameters: Mapping[str, Any],
) -> DataFrame:
    """Return the checked release, classes or metrics of a DataFrame, as `anonymize` does, for a policy from any source.

    The result is readable only after the gate has passed it; with `to` it is stored in this directory.

    Args:
        df: The DataFrame.
        function: A table function, such as `kacpc` or `kacpc_metrics`.
        source: The policy, the name of its table, and the hierarchies.
        to: A directory for the result, or None.
        max_partition: The most combinations of quasi-identifiers in one partition; None for the default.
        parameters: Parameters of the table function.
    """
    spark_call = prepare_call(df, function, source, parameters)
    call, kind = spark_call.call, spark_call.kind
    computed_columns.check_computed_columns(df, call, spark_call.table_columns)
    with (
        executor_python.executor_python(df.sparkSession, call.function),
        staging.stage_release(df.sparkSession, call, to) as draft,
    ):
        release = build_release(call, df, validate_max_partition(call.function, max_partition))
        try:
            rows = draft.write(release.released) if kind == "release" else draft.checkpoint(release.released)
            achieved = gate.check_release(release, rows)
            if kind == "classes":
                recount.check_classes(release, rows, draft.write(metrics.classes(release)), achieved)
            elif kind == "metrics":
                recount.check_metrics(release, rows, draft.write(metrics.metrics(release, achieved)), achieved)
            return draft.commit()
        finally:
            release.unpersist()
