"""Build the release of a DataFrame: assign the records of its partitions to classes, and merge classes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, functions as fn

from dbanon import errors
from dbanon.algorithms import find
from dbanon.integrations.spark import partitioning
from dbanon.integrations.spark.columns import is_exact, is_hashed, quoted_column, struct_field
from dbanon.integrations.spark.encode import count_values
from dbanon.integrations.spark.executor_tasks import assign_partitions, drop_null_rows
from dbanon.integrations.spark.session_call import CallPlanner, PortableCall, TableCounts, thread_planner
from dbanon.release.plan import plan
from dbanon.release.spec.release_spec import ReleaseSpec

MAX_PARTITION_TUPLES = 50_000
"""The most tuples of a partition, unless the call gives another number."""


@dataclass(frozen=True)
class UncheckedRelease:
    """A release that the gate has not checked yet.

    Attributes:
        call: The call.
        planner: Its planner.
        source: All records, as a struct column `own`.
        rows: The records that are clustered: without those dropped for NULL.
        assignments: Distinct records (`own`, `size`) with what their class publishes and loses: the columns
            `executor_tasks.FORMS`. `keys`, which is equal for records of a class, is NULL for suppressed ones.
        ordered_classes: One row per class, ordered by `keys`, with its `place` in this order.
        classes: One row per class: `class_id` (from 1), `keys`, `published`, `lost`, `size`.
        released: The rows to be released.
    """

    call: PortableCall
    planner: CallPlanner
    source: DataFrame
    rows: DataFrame
    assignments: DataFrame
    ordered_classes: DataFrame
    classes: DataFrame
    released: DataFrame

    def unpersist(self) -> None:
        """Remove assignments and classes from Spark's cache."""
        for table in (self.assignments, self.ordered_classes, self.classes):
            table.unpersist()

    @property
    def spec(self) -> ReleaseSpec:
        """The release spec of the call."""
        return self.planner.spec

    @property
    def published_records(self) -> DataFrame:
        """The distinct records that are not suppressed, with the number of their class (`class_id`)."""
        return _join_classes(self.assignments, self.classes)


def build_release(call: PortableCall, df: DataFrame, max_partition: int | None) -> UncheckedRelease:
    """Return the release of a DataFrame, not yet checked.

    Its partitions are clustered separately, and classes that publish equal values are merged. Assignments and classes
    are computed and cached in Spark.

    Args:
        call: The call.
        df: The DataFrame.
        max_partition: The most combinations of quasi-identifiers in one partition; None for MAX_PARTITION_TUPLES.

    Raises:
        NeedsSinglePartitionError: A parameter needs the whole table in one partition.
        NotSupportedOnSparkError: A parameter is not available on Spark.
        EmptySourceError: No record is left to cluster.
        PartitionFailedError: A partition could not be anonymized.
        DbanonError: Whatever the table function raises.
    """
    planner = thread_planner(call)
    if planner.spec.run.noise is not None:
        raise errors.NotSupportedOnSparkError(call.function, planner.spec.run.noise.asked)
    source = df.select(fn.struct(*map(quoted_column, planner.read_columns)).alias("own"))
    rows = source
    if planner.spec.options["nulls"] == "drop":
        rows = drop_null_rows(call, source.select("own.*")).select(
            fn.struct(*map(quoted_column, planner.read_columns)).alias("own")
        )
    part_call, parts, larger, n_tasks = _partition(call, planner, rows, max_partition or MAX_PARTITION_TUPLES)
    assignments = assign_partitions(part_call, parts, larger, n_tasks).persist()
    try:
        message = assignments.where("error IS NOT NULL").agg(fn.min("error")).collect()[0][0]
        if message is not None:
            raise errors.PartitionFailedError(message)
        ordered_classes = _ordered_classes(planner, assignments).persist()
        classes = _number_classes(ordered_classes).persist()
        return UncheckedRelease(
            call,
            planner,
            source,
            rows,
            assignments,
            ordered_classes,
            classes,
            _released_rows(planner, _join_classes(assignments, classes)),
        )
    except BaseException:
        assignments.unpersist()
        raise


def _partition(
    call: PortableCall, planner: CallPlanner, rows: DataFrame, max_partition: int
) -> tuple[PortableCall, DataFrame, TableCounts | None, int]:
    """Return what the executors need: the call for a partition, the records with their partitions, counts, and tasks.

    Args:
        call: The call.
        planner: Its planner.
        rows: The records, as a struct column `own`.
        max_partition: The most combinations of quasi-identifiers in one partition.

    Returns:
        The call for one partition; the distinct records (`part`, `own`, `weight`); the counts of all values of the
            table; the number of tasks that assign them, TASKS_PER_PARTITION for each partition, as some tasks get
            several partitions. If one partition is enough, the call is unchanged, the counts are None, and there is one
            task.

    Raises:
        EmptySourceError: There is no record.
        NeedsSinglePartitionError: Several partitions are necessary and the call does not allow them.
    """
    if all(is_exact(field.dataType) for field in rows.schema["own"].dataType.fields):
        distinct_records = rows.groupBy("own").agg(fn.count(fn.lit(1)).alias("weight"))
    else:  # equal numbers may read differently, and Spark would take one for all
        distinct_records = rows.withColumn("weight", fn.lit(1).cast("bigint"))
    n_tuples = (
        distinct_records.select(*(struct_field("own", name) for name in planner.quasi_columns)).distinct().count()
    )
    if n_tuples == 0:
        raise errors.EmptySourceError(call.function, call.name)
    if n_tuples <= max_partition:
        return call, distinct_records.select(fn.lit(0).alias("part"), "own", "weight"), None, 1
    _check_divisible(planner, n_tuples, max_partition)
    options: Mapping[str, Any] = planner.spec.run.options
    larger = count_values(planner, distinct_records)
    return (
        partitioning.part_call(call, planner),
        partitioning.partition_records(call, distinct_records, larger, max_partition),
        larger,
        TASKS_PER_PARTITION * max(-(-n_tuples // max_partition), int(options.get("parts", 1))),
    )


TASKS_PER_PARTITION = 2
"""Number of Spark's tasks for one partition of the table."""


def _check_divisible(planner: CallPlanner, n_tuples: int, max_partition: int) -> None:
    """Raise an error if a parameter of the call needs the whole table in one partition.

    `n_tuples` combinations of quasi-identifiers exceed the limit `max_partition`; both are for the message.

    Raises:
        NeedsSinglePartitionError: The message names the parameter.
    """
    spec = planner.spec
    options, run = spec.options, spec.run
    compares_with_table = any(d.form_definition.uses_overall for d in spec.model_requirements)
    person = spec.roles.person
    needs = {
        "suppress with a model that compares classes with the table": bool(options["suppress"]) and compares_with_table,
        "suppression of a number of records": run.max_suppressed is not None,
        "leaves = 'used'": options["leaves"] == "used",
        "multi_sensitive = 'joint'": spec.is_joint and len(planner.sensitive_columns) > 1,
        "influence": run.forest is not None,
        "dropping duplicates or records out of bounds": bool(run.preprocessing.description),
        "codes for missing persons": person is not None and bool(spec.reading.missing_codes.get(person)),
        f"family {find(spec.algorithm).family}": find(spec.algorithm).family == "full_domain",
    }
    for feature, is_needed in needs.items():
        if is_needed:
            raise errors.NeedsSinglePartitionError(spec.function, feature, n_tuples, max_partition)


def _class_order(planner: CallPlanner) -> list[Column]:
    """Return the sort expressions by which classes are ordered, as in DuckDB's release of a table; NULL is last."""
    columns = []
    for i, attribute in enumerate(planner.spec.attributes):
        if attribute.is_number:
            columns += [f"l{i}", f"h{i}"]
        if not (attribute.is_number and planner.spec.interval_format != "text"):
            columns.append(f"p{i}")
    return [struct_field("keys", column).asc_nulls_last() for column in columns]


def _ordered_classes(planner: CallPlanner, assignments: DataFrame) -> DataFrame:
    """Return one row per class of all partitions, ordered: `keys`, `published`, `lost`, `size` and `place`.

    Clusters with equal `keys` (the published values as sort keys) are one class; suppressed records are omitted.
    `place` is an ascending number that also contains Spark's partition.
    """
    firsts = (fn.first(name).alias(name) for name in ("published", "lost"))
    classes = assignments.where("keys IS NOT NULL").groupBy("keys").agg(*firsts, fn.sum("size").alias("size"))
    return classes.orderBy(*_class_order(planner)).withColumn("place", fn.monotonically_increasing_id())


def _number_classes(ordered_classes: DataFrame) -> DataFrame:
    """Return the classes with `class_id`, numbered from 1 in their order, without collecting them in one partition."""
    partition, place = fn.shiftright("place", 33), fn.col("place").bitwiseAND(2**33 - 1)
    first, offsets = 1, []
    for row in ordered_classes.groupBy(partition.alias("partition")).count().orderBy("partition").collect():
        offsets.append((row["partition"], first))
        first += row["count"]
    table = fn.broadcast(ordered_classes.sparkSession.createDataFrame(offsets, "partition bigint, first bigint"))
    numbered = ordered_classes.join(table, partition == fn.col("partition"))
    return numbered.select((place + fn.col("first")).alias("class_id"), "keys", "published", "lost", "size")


def _join_classes(assignments: DataFrame, classes: DataFrame) -> DataFrame:
    """Return the assigned records with the `class_id` of their class; suppressed records are omitted."""
    numbered_keys = classes.select("class_id", fn.col("keys").alias("known"))
    return assignments.join(numbered_keys, fn.col("keys") == fn.col("known")).drop("known")


def _released_rows(planner: CallPlanner, published_records: DataFrame) -> DataFrame:
    """Return the rows to be released, ordered by nothing but published values.

    Each distinct record is repeated `size` times, with the quasi-identifiers of its class and its other columns
    unchanged. The last column is the class number. The rows of a class are together in one Spark partition.
    """
    columns, quasi = plan.published_names(planner.spec)
    output = [struct_field("published" if name in quasi else "own", name).alias(name) for name in columns[:-1]]
    copies = fn.explode(fn.array_repeat(fn.lit(0), fn.col("size").cast("int")))
    rows = published_records.withColumn("copy", copies).select(*output, fn.col("class_id").alias(columns[-1]))
    order = [quoted_column(columns[-1])]
    for name in columns[:-1]:
        if name not in quasi:
            plain = is_hashed(rows.schema[name].dataType)
            order.append(quoted_column(name) if plain else fn.to_json(fn.struct(quoted_column(name).alias("v"))))
    return rows.repartition(quoted_column(columns[-1])).sortWithinPartitions(*order)
