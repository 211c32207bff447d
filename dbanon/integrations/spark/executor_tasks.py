"""What the processes of Spark do with rows: parts of the table are anonymized, and releases judged, by DuckDB there."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import duckdb
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import LongType, StringType, StructField, StructType

from dbanon import errors
from dbanon.integrations.spark.session_call import Asked, LargerTable, planned

FORMS = ("published", "keys", "lost", "person")
"""What is dealt to a row: what is published of it, which class that is among those of all parts, what is lost, and whom
it is about."""

_JUDGED = "model int, value double, missed bigint, error string"
_REFUSED = "uncovered bigint, finer bigint, error string"


def dealt(asked: Asked, parts: DataFrame, larger: LargerTable | None) -> DataFrame:
    """Each part of a table (`part`, `own`, `weight`) dealt out to classes: `own`, FORMS, `size`, and `error` where a
    part has one."""
    columns = _form(asked, parts.schema["own"].dataType)
    arrow = to_arrow_schema(columns)

    def deal(part: pa.Table) -> pa.Table:
        return _tried(arrow, lambda: planned(asked).dealt(_own(part), part.column("weight"), larger))

    return parts.groupBy("part").applyInArrow(deal, columns)


def _form(asked: Asked, own: StructType) -> StructType:
    of = planned(asked)
    types = of.types()
    nothing = ", ".join(f"CAST(NULL AS {types[name]}) AS {name}" for name in FORMS)
    forms = from_arrow_schema(of.con.sql(f"SELECT {nothing} LIMIT 0").to_arrow_table().schema)
    last = [StructField("size", LongType()), StructField("error", StringType())]
    return StructType([StructField("own", own), *forms.fields, *last])


def kept(asked: Asked, rows: DataFrame) -> DataFrame:
    """Return rows without a NULL among the quasi-identifiers."""

    def keep(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from planned(asked).kept(pa.Table.from_batches([batch])).to_batches()

    return rows.mapInArrow(keep, rows.schema)


def refused(asked: Asked, pairs: DataFrame) -> DataFrame:
    """Of rows (`own`) and what is published of each (`published`): how many are `uncovered`, how much is `finer` than
    the policy allows; a row a batch, with `error` where it could not be read."""

    def refuse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from _tried(arrow, partial(_refused, asked, pa.Table.from_batches([batch]))).to_batches()

    arrow = to_arrow_schema(StructType.fromDDL(_REFUSED))
    return pairs.mapInArrow(refuse, _REFUSED)


def _refused(asked: Asked, rows: pa.Table) -> pa.Table:
    uncovered, finer = planned(asked).refused(_own(rows), _own(rows, "published"))
    return pa.table({"uncovered": [uncovered], "finer": [finer]})


def judged(asked: Asked, rows: DataFrame, larger: LargerTable) -> DataFrame:
    """What the models measure of rows (`own`, `class_id`, `size`) that are all of their classes in each `part`: a row a
    part and a model; model -1 is the number of persons."""
    arrow = to_arrow_schema(StructType.fromDDL(_JUDGED))

    def judge(part: pa.Table) -> pa.Table:
        return _tried(arrow, lambda: planned(asked).judged(_own(part), part.select(["class_id", "size"]), larger))

    return rows.groupBy("part").applyInArrow(judge, _JUDGED)


def _own(part: pa.Table, name: str = "own") -> pa.Table:
    """Return a column of structs as a table."""
    own: Any = part.column(name).combine_chunks()
    return pa.Table.from_arrays(own.flatten(), names=[f.name for f in own.type])


def _tried(columns: pa.Schema, made: Callable[[], pa.Table]) -> pa.Table:
    """What is made, with the columns that Spark expects.

    What fails would be tried again and again, and Spark's message would quote values: an error is handed on as a row.
    """
    try:
        found = made()
        return found.append_column("error", pa.nulls(len(found), pa.string())).cast(columns)
    except (errors.DbanonError, duckdb.Error) as error:
        said = str(error).removeprefix("Invalid Input Error: ")
    except pa.ArrowException as error:
        said = f"a column cannot be handed on: {type(error).__name__}, whose message may quote values and is withheld."
    return pa.Table.from_pylist([{"error": said}], columns)
