"""The tasks of Spark's executors, which run DuckDB: anonymize partitions of the table, and check releases."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from dbanon import errors
from dbanon.integrations.spark.session_call import PortableCall, TableCounts, thread_planner

FORMS = ("published", "keys", "lost", "person")
"""The columns of an assigned record: what is published, the key of its class, what is lost, and the person."""

_MODEL_SCHEMA = "model int, value double, missed bigint, error string"
_COVERAGE_SCHEMA = "uncovered bigint, finer bigint, error string"


def assign_partitions(call: PortableCall, parts: DataFrame, larger: TableCounts | None, n_tasks: int) -> DataFrame:
    """Cluster each partition on an executor; return its records with what is published for the class of each.

    Args:
        call: The call for one partition.
        parts: Distinct records: `part` (the partition), `own` (a struct of the values) and `weight` (their count).
        larger: Counts of the whole table; None if there is one partition.
        n_tasks: The number of tasks, and of Spark's partitions of the result, whatever spark.sql.shuffle.partitions is.

    Returns:
        `own`, the columns of FORMS, `size`, and `error`: a partition that failed has one row with only the message
            there.
    """
    columns = _assignment_schema(call, parts.schema["own"].dataType)
    arrow = to_arrow_schema(columns)

    def assign_part(part: pa.Table) -> pa.Table:
        """Return the assigned records of one partition, or a row with the error."""
        return _result_or_error(
            arrow, lambda: thread_planner(call).assign_classes(_struct_table(part), part.column("weight"), larger)
        )

    return parts.repartition(n_tasks, "part").groupBy("part").applyInArrow(assign_part, columns)


def _assignment_schema(call: PortableCall, record_type: StructType) -> StructType:
    """Return the Spark schema of assigned records.

    The columns are `own` of the type `record_type`, the columns of FORMS (published, keys, lost, person), `size` and
    `error`.
    """
    planner = thread_planner(call)
    types = planner.assignment_types()
    null_columns = ", ".join(f"CAST(NULL AS {types[name]}) AS {name}" for name in FORMS)
    forms = from_arrow_schema(planner.con.sql(f"SELECT {null_columns} LIMIT 0").to_arrow_table().schema)
    last = [StructField("size", LongType()), StructField("error", StringType())]
    return StructType([StructField("own", record_type), *forms.fields, *last])


def drop_null_rows(call: PortableCall, rows: DataFrame) -> DataFrame:
    """Return the rows that have no NULL in a quasi-identifier, where codes for missing values count as NULL."""

    def filter_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the batches without the dropped rows."""
        for batch in batches:
            yield from thread_planner(call).drop_null_rows(pa.Table.from_batches([batch])).to_batches()

    return rows.mapInArrow(filter_batches, rows.schema)


def count_uncovered(call: PortableCall, pairs: DataFrame) -> DataFrame:
    """Count on the executors where records (`own`) do not agree with what is published for them (`published`).

    Returns:
        One row per batch: how many records are `uncovered` by the published values, how many values are `finer` than
            the policy allows, and `error` if the batch could not be checked.
    """

    def count_batch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a table with the counts, or the error, of each batch."""
        for batch in batches:
            yield from _result_or_error(
                arrow, partial(_count_uncovered_rows, call, pa.Table.from_batches([batch]))
            ).to_batches()

    arrow = to_arrow_schema(StructType.fromDDL(_COVERAGE_SCHEMA))
    return pairs.mapInArrow(count_batch, _COVERAGE_SCHEMA)


def _count_uncovered_rows(call: PortableCall, rows: pa.Table) -> pa.Table:
    """Return the counts `uncovered` and `finer` of one batch as an Arrow table of one row."""
    uncovered, finer = thread_planner(call).count_uncovered(_struct_table(rows), _struct_table(rows, "published"))
    return pa.table({"uncovered": [uncovered], "finer": [finer]})


def measure_models(call: PortableCall, rows: DataFrame, larger: TableCounts) -> DataFrame:
    """Measure the privacy models other than k, and the number of persons, of classes on the executors.

    Args:
        call: The call.
        rows: Records (`own`) with `class_id`, `size` and `part`; all records of a class have one `part`.
        larger: Counts of the sensitive values of the whole release.

    Returns:
        One row per part and model: the number `model`, the worst `value`, how many classes `missed` it, and `error` if
            the part could not be measured. Model -1 is the number of persons, if there is a person column.
    """
    arrow = to_arrow_schema(StructType.fromDDL(_MODEL_SCHEMA))

    def measure_part(part: pa.Table) -> pa.Table:
        """Return the measures of one part, or a row with the error."""
        return _result_or_error(
            arrow,
            lambda: thread_planner(call).measure_models(_struct_table(part), part.select(["class_id", "size"]), larger),
        )

    return rows.groupBy("part").applyInArrow(measure_part, _MODEL_SCHEMA)


def _struct_table(part: pa.Table, name: str = "own") -> pa.Table:
    """Return the struct column `name` of a table as a table: one column per field."""
    structs: Any = part.column(name).combine_chunks()
    return pa.Table.from_arrays(structs.flatten(), names=[f.name for f in structs.type])


def _result_or_error(columns: pa.Schema, compute: Callable[[], pa.Table]) -> pa.Table:
    """Call `compute` and return its table with the columns that Spark expects.

    After an error, the table has one row with only the error's message. Errors of dbanon and DuckDB are caught, because
    Spark would retry a task that raises and show values of it. The message of an Arrow error is replaced by its type.
    """
    try:
        result = compute()
        return result.append_column("error", pa.nulls(len(result), pa.string())).cast(columns)
    except (errors.DbanonError, duckdb.Error) as error:
        message = str(error).removeprefix("Invalid Input Error: ")
    except pa.ArrowException as error:
        message = f"a column cannot be passed on: {type(error).__name__}; its message may quote values and is withheld."
    return pa.Table.from_pylist([{"error": message}], columns)
