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
from dbanon.integrations.spark.session_call import LargerTable, PortableCall, thread_planner

FORMS = ("published", "keys", "lost", "person")
"""The columns of an assigned record: what is published, the key of its class, what is lost, and the person."""

_MODEL_SCHEMA = "model int, value double, missed bigint, error string"
_COVERAGE_SCHEMA = "uncovered bigint, finer bigint, error string"


def assign_partitions(call: PortableCall, parts: DataFrame, larger: LargerTable | None) -> DataFrame:
    """Return the records of each partition (`part`, `own`, `weight`) with the class that each is assigned to.

    Returns:
        `own`, FORMS, `size`, and `error` if a partition has one.
    """
    columns = _assignment_schema(call, parts.schema["own"].dataType)
    arrow = to_arrow_schema(columns)

    def deal(part: pa.Table) -> pa.Table:
        return _result_or_error(
            arrow, lambda: thread_planner(call).assign_classes(_struct_table(part), part.column("weight"), larger)
        )

    return parts.groupBy("part").applyInArrow(deal, columns)


def _assignment_schema(call: PortableCall, record_type: StructType) -> StructType:
    """Return the schema of assigned records."""
    planner = thread_planner(call)
    types = planner.assignment_types()
    null_columns = ", ".join(f"CAST(NULL AS {types[name]}) AS {name}" for name in FORMS)
    forms = from_arrow_schema(planner.con.sql(f"SELECT {null_columns} LIMIT 0").to_arrow_table().schema)
    last = [StructField("size", LongType()), StructField("error", StringType())]
    return StructType([StructField("own", record_type), *forms.fields, *last])


def drop_null_rows(call: PortableCall, rows: DataFrame) -> DataFrame:
    """Return rows without a NULL among the quasi-identifiers."""

    def keep(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from thread_planner(call).drop_null_rows(pa.Table.from_batches([batch])).to_batches()

    return rows.mapInArrow(keep, rows.schema)


def count_uncovered(call: PortableCall, pairs: DataFrame) -> DataFrame:
    """Compare records (`own`) with what is published for them (`published`).

    Returns:
        One row per batch: how many records are `uncovered`, how many values are `finer` than the policy allows, and
        `error` if the batch could not be read.
    """

    def refuse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _result_or_error(
                arrow, partial(_count_uncovered_rows, call, pa.Table.from_batches([batch]))
            ).to_batches()

    arrow = to_arrow_schema(StructType.fromDDL(_COVERAGE_SCHEMA))
    return pairs.mapInArrow(refuse, _COVERAGE_SCHEMA)


def _count_uncovered_rows(call: PortableCall, rows: pa.Table) -> pa.Table:
    """Return the counts of one batch as a table of one row."""
    uncovered, finer = thread_planner(call).count_uncovered(_struct_table(rows), _struct_table(rows, "published"))
    return pa.table({"uncovered": [uncovered], "finer": [finer]})


def measure_models(call: PortableCall, rows: DataFrame, larger: LargerTable) -> DataFrame:
    """Measure the privacy models of classes (`own`, `class_id`, `size`), each complete within its `part`.

    Returns:
        One row per partition and model; model -1 is the number of persons.
    """
    arrow = to_arrow_schema(StructType.fromDDL(_MODEL_SCHEMA))

    def judge(part: pa.Table) -> pa.Table:
        return _result_or_error(
            arrow,
            lambda: thread_planner(call).measure_models(_struct_table(part), part.select(["class_id", "size"]), larger),
        )

    return rows.groupBy("part").applyInArrow(judge, _MODEL_SCHEMA)


def _struct_table(part: pa.Table, name: str = "own") -> pa.Table:
    """Return a column of structs as a table."""
    structs: Any = part.column(name).combine_chunks()
    return pa.Table.from_arrays(structs.flatten(), names=[f.name for f in structs.type])


def _result_or_error(columns: pa.Schema, release: Callable[[], pa.Table]) -> pa.Table:
    """Return the computed table with the columns that Spark expects, or one row with the error's message.

    Spark would retry a task that raises, and its message would quote values.
    """
    try:
        result = release()
        return result.append_column("error", pa.nulls(len(result), pa.string())).cast(columns)
    except (errors.DbanonError, duckdb.Error) as error:
        message = str(error).removeprefix("Invalid Input Error: ")
    except pa.ArrowException as error:
        message = (
            f"a column cannot be handed on: {type(error).__name__}, whose message may quote values and is withheld."
        )
    return pa.Table.from_pylist([{"error": message}], columns)
