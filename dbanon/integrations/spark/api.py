"""Anonymizes DataFrames of Spark: the functions that DuckDB has, by their names."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from dbanon.integrations.spark import computed_columns, executor_python, gate, metrics, recount, staging
from dbanon.integrations.spark.given_policy import PolicySource
from dbanon.integrations.spark.policy_input import checked_cell, frame_call
from dbanon.integrations.spark.release import make


def anonymize(
    df: DataFrame,
    function: str = "kacpc",
    *,
    name: str | None = None,
    policy: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    to: str | Path | None = None,
    cell: int | None = None,
    **parameters: Any,
) -> DataFrame:
    """The release of a DataFrame, its classes (`function='kacpc_classes'`) or its measures (`'kacpc_metrics'`), as
    the table function of DuckDB gives them.

    `policy` are roles by column (`{'age': 'quasi', 'zip': ('quasi', 'zip5')}`), a TOML or CSV file of them, a DataFrame
    with the columns of dbanon.policy, or a DuckDB database; without one, `qi`, `sensitive` and the others say it.
    A database, and rows with a `table_name`, declare tables by name: `name` says from which table the DataFrame is, as
    DuckDB or Spark writes it, and a policy that does not name the table is an error. The parameters can only tighten
    the policy. Columns of such a policy must be in the DataFrame as they were read: not renamed, and not computed from
    other columns of the table.

    `hierarchies` are rows from the leaf to the root, ARX files or names of shipped ones, by column or by the name that
    the policy declares. Those that the policy of a database names come with it, and cannot be replaced. The other
    parameters are those of the table function.

    A DataFrame of at most `cell` (default 50,000) combinations of quasi-identifiers is clustered as one, and the
    release is the one that DuckDB gives. A larger one is divided into parts of at most so many, by the rule of the
    system where it has one (dbanon.integrations.spark.partitioning), else along the attribute that narrows a part most
    at its median tuple; distances and what models compare with are those of the whole table, and classes that publish
    the same are one. NeedsSinglePartitionError says what cannot be done so. Nothing depends on partitions or on how
    many processes there are.

    Rows can be read once the gate has passed all of them. `to` is a directory that the release is written to, as
    Parquet: beside it first, and renamed then. Without it the release is kept in the checkpoint directory of the
    SparkContext, if it has one, else by its executors. O(rows) shuffled; the driver is told values of columns and
    counts.

    Raises what the table function raises, SparkSessionMissingError, InvalidPolicyFileError, PolicyNameMissingError,
    TableNotInPolicyError, HierarchyOfPolicyError, ComputedColumnError, NeedsSinglePartitionError,
    NotSupportedOnSparkError, TargetExistsError and ExecutorModuleMissingError.
    """
    return frame_release(df, function, PolicySource(name, policy, hierarchies or {}), to, cell, parameters)


def frame_release(
    df: DataFrame,
    function: str,
    source: PolicySource,
    to: str | Path | None,
    cell: int | None,
    parameters: Mapping[str, Any],
) -> DataFrame:
    """Return what `anonymize` does, for a policy that was given in any way."""
    described = frame_call(df, function, source, parameters)
    call, kind = described.asked, described.kind
    computed_columns.check(df, call, described.table_columns)
    with executor_python.agreeing(df.sparkSession, call.function), staging.staged(df.sparkSession, call, to) as place:
        made = make(call, df, checked_cell(call.function, cell))
        try:
            rows = place.write(made.released) if kind == "release" else place.keep(made.released)
            achieved = gate.check(made, rows)
            if kind == "classes":
                recount.check_classes(made, rows, place.write(metrics.classes(made)), achieved)
            elif kind == "metrics":
                recount.check_metrics(made, rows, place.write(metrics.metrics(made, achieved)), achieved)
            return place.commit()
        finally:
            made.forget()
