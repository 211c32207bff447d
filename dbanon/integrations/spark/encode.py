"""Encode the distinct records of a large table, and count codes in its partitions for the driver."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions as fn
from pyspark.sql.types import IntegerType, StructField, StructType

from dbanon.encoding.encoded_table import Attribute, CategoricalAttribute, Codes, Ints, SensitiveColumn
from dbanon.integrations.spark.columns import struct_field
from dbanon.integrations.spark.session_call import CallPlanner, LargerTable, PortableCall, thread_planner
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.udf import cluster_input

MAX_COUNTS = 2**21
"""About how many counts the driver receives at a time; beyond that, neighbouring numbers are counted together."""

Partitioner = Callable[[DataFrame], DataFrame]
"""A function that adds the column `part` to rows with `codes`: the partition that each row is in."""


def partition_by_codes(part_of_codes: Callable[[Codes], Ints], rows: DataFrame) -> DataFrame:
    """Return rows with the column `part`, computed from their codes.

    `part_of_codes` maps an (attributes, rows) array of codes to (rows,) partition numbers.
    """

    def assign_parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows == 0:  # its codes have no shape
                continue
            codes = np.asarray(batch.column("codes").flatten(), np.int32).reshape(batch.num_rows, -1)
            columns = [*batch.columns, pa.array(part_of_codes(codes.T), pa.int32())]
            yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, "part"])

    return rows.mapInArrow(assign_parts, StructType([*rows.schema.fields, StructField("part", IntegerType())]))


class CodeCounts(NamedTuple):
    """The codes of an attribute in a partition, ascending, and how many tuples and records have each."""

    codes: Ints
    tuples: Ints
    records: Ints


def count_values(planner: CallPlanner, distinct_records: DataFrame) -> LargerTable:
    """Count the values of all columns that the clustering reads, in records (persons)."""
    person = planner.spec.roles.person
    count = fn.sum("weight") if person is None else fn.countDistinct(struct_field("own", person))
    columns = {}
    for name in dict.fromkeys([*planner.quasi_columns, *planner.sensitive_columns]):
        counts = distinct_records.groupBy(struct_field("own", name).alias("value")).agg(count.alias("size"))
        columns[name] = counts.toArrow()
    records = distinct_records.agg(fn.sum("weight")).collect()[0][0]
    return LargerTable(columns, int(records or 0))


class PartitionInput:
    """The distinct records of a table (`own`, `weight`) with their codes.

    Attributes:
        planner: The planner of the call.
        n_records: The number of records.
        attributes: The quasi-identifiers.
        sensitive: The sensitive columns that the clustering reads.
        person: The person column, if any.
        constraint: The privacy constraint.
        distinct_records: One row per distinct record: `own`, `weight`, `codes`, `looked` and `person`.
        tuples: One row per tuple: `codes` and `weight`. NULL has the code after the last value.
        groups: One row per tuple, combination of sensitive values, and person.
    """

    def __init__(self, call: PortableCall, distinct_records: DataFrame, larger: LargerTable) -> None:
        planner = thread_planner(call)
        self.planner, self.n_records = planner, larger.records
        self.attributes, self.sensitive = _decode_domains(planner, larger)
        self.person = planner.spec.roles.person
        self.constraint = Constraint(planner.spec.k, planner.spec.model_requirements, planner.spec.is_joint)
        self.distinct_records = _add_codes(planner, distinct_records, larger, self.attributes, self.sensitive)
        self.tuples = self.distinct_records.groupBy("codes").agg(fn.sum("weight").alias("weight")).persist()
        group_columns = [
            "codes",
            *(["looked"] if planner.sensitive_columns else []),
            *(["person"] if self.person else []),
        ]
        self.groups = self.distinct_records.groupBy(*group_columns).agg(fn.sum("weight").alias("weight")).persist()

    def unpersist(self) -> None:
        """Release the cached DataFrames."""
        self.tuples.unpersist()
        self.groups.unpersist()

    @property
    def has_blocks(self) -> bool:
        """Whether a max_level separates the tuples into blocks."""
        return any(map(_has_max_level, self.attributes))

    def tuple_counts(self, partitioner: Partitioner) -> dict[int, int]:
        """Return the number of tuples of each partition."""
        return {row["part"]: row["count"] for row in partitioner(self.tuples).groupBy("part").count().collect()}

    def code_counts(
        self, partitioner: Partitioner, parts: Collection[int] | None = None
    ) -> dict[int, list[CodeCounts]]:
        """Return the counts of codes by partition and attribute, for all partitions or for some."""
        tuples = partitioner(self.tuples)
        if parts is not None:
            tuples = tuples.where(fn.col("part").isin(list(parts)))
        max_codes = max(MAX_COUNTS // (max(len(parts or ()), 1) * len(self.attributes)), 64)
        pairs = fn.array(*(_code_pair(j, attribute, max_codes) for j, attribute in enumerate(self.attributes)))
        exploded = tuples.select("part", "weight", fn.explode(pairs).alias("at"))
        groups = exploded.groupBy("part", "at.j", "at.code")
        rows = groups.agg(fn.count(fn.lit(1)).alias("tuples"), fn.sum("weight").alias("records")).collect()
        return dict(_counts_by_part(rows, len(self.attributes)))

    def failing_parts(self, partitioner: Partitioner, parts: Collection[int], min_classes: int) -> set[int]:
        """Return the partitions that have too few records for `min_classes` classes, or miss a privacy model.

        If max_level separates blocks, a partition fails if one of its blocks does.
        """
        groups = partitioner(self.groups).where(fn.col("part").isin(list(parts)))
        block = fn.array(*_block_columns(self.attributes)) if self.has_blocks else fn.lit(0)
        blocks = groups.withColumn("block", block)
        count = fn.countDistinct("person") if self.person else fn.sum("weight")
        rows = blocks.groupBy("part", "block").agg(count.alias("size"), fn.sum("weight").alias("records")).collect()
        min_records = min_classes * self.constraint.min_records
        failing = set(parts) - {row["part"] for row in rows}
        failing |= {r["part"] for r in rows if r["size"] < self.constraint.k or r["records"] < min_records}
        for demand in self.constraint.models:
            value = fn.col("looked")[demand.sensitive].alias("value")
            value_counts = blocks.groupBy("part", "block", value).agg(count.alias("size")).collect()
            failing |= _parts_missing_model(demand, self.sensitive[demand.sensitive], value_counts, rows)
        return failing


def _parts_missing_model(
    demand: ModelRequirement, sensitive: SensitiveColumn, value_counts: Sequence[Any], blocks: Sequence[Any]
) -> set[int]:
    """Return the partitions with a block that misses a model."""
    numbers = {(r["part"], json.dumps(r["block"])): i for i, r in enumerate(blocks)}
    counts = np.zeros((len(blocks), sensitive.values + 1), np.int64)
    for row in value_counts:
        counts[numbers[row["part"], json.dumps(row["block"])], row["value"]] = row["size"]
    sizes = np.array([r["size"] for r in blocks], np.int64)
    is_met = demand.is_satisfied(demand.measure(sensitive, counts, sizes))
    return {row["part"] for row, well in zip(blocks, is_met, strict=True) if not well}


def _counts_by_part(rows: Sequence[Any], n_attributes: int) -> Iterator[tuple[int, list[CodeCounts]]]:
    """Yield each partition with the counts of codes of every attribute."""
    table = np.array([(r["part"], r["j"], r["code"], r["tuples"], r["records"]) for r in rows], np.int64).reshape(-1, 5)
    table = table[np.lexsort((table[:, 2], table[:, 1], table[:, 0]))]
    for part in np.unique(table[:, 0]):
        part_rows = table[table[:, 0] == part]
        attribute_rows = [part_rows[part_rows[:, 1] == j] for j in range(n_attributes)]
        yield int(part), [CodeCounts(b[:, 2], b[:, 3], b[:, 4]) for b in attribute_rows]


def _code_pair(j: int, attribute: Attribute, max_codes: int) -> Column:
    """Return an attribute's number and code; above `max_codes` values, neighbouring codes are counted as one."""
    code = fn.col("codes")[j]
    shift = max((attribute.values - 1) // max_codes, 0).bit_length()
    if shift:
        first_neighbour = fn.shiftleft(fn.shiftright(code, shift), shift)
        code = fn.when(code < attribute.values, first_neighbour).otherwise(code)
    return fn.struct(fn.lit(j).alias("j"), code.alias("code"))


def _has_max_level(attribute: Attribute) -> bool:
    """Return whether an attribute is a category with a max_level."""
    return isinstance(attribute, CategoricalAttribute) and attribute.max_level is not None


def _block_columns(attributes: Sequence[Attribute]) -> Iterator[Column]:
    """Yield, for each attribute with a max_level, the block that a tuple is in."""
    for j, attribute in enumerate(attributes):
        if isinstance(attribute, CategoricalAttribute) and attribute.max_level is not None:
            nodes = attribute.block(attribute.max_level).astype(int).tolist()
            yield fn.array(*map(fn.lit, nodes))[fn.col("codes")[j]]


def _add_codes(
    planner: CallPlanner,
    distinct_records: DataFrame,
    larger: LargerTable,
    attributes: Sequence[Attribute],
    sensitive: Sequence[SensitiveColumn],
) -> DataFrame:
    """Return distinct records with `codes`, the codes of sensitive values (`looked`) and `person`.

    NULL has the code after the last value.
    """
    session, rows = distinct_records.sparkSession, distinct_records
    codes: dict[str, list[Column]] = {"codes": [], "looked": []}
    code_columns = [("codes", n, a.values) for n, a in zip(planner.quasi_columns, attributes, strict=True)]
    code_columns += [("looked", n, s.values) for n, s in zip(planner.sensitive_columns, sensitive, strict=True)]
    for i, (kind, name, missing) in enumerate(code_columns):
        value_codes = session.createDataFrame(planner.value_codes(name, larger)).toDF(f"v{i}", f"c{i}")
        rows = rows.join(fn.broadcast(value_codes), struct_field("own", name) == fn.col(f"v{i}"), "left").drop(f"v{i}")
        codes[kind].append(fn.coalesce(fn.col(f"c{i}").cast("int"), fn.lit(missing)))
    person = planner.spec.roles.person
    columns = [fn.array(*c).alias(kind) for kind, c in codes.items() if c]
    columns += [struct_field("own", person).alias("person")] if person else []
    return rows.select("own", "weight", *columns)


def _decode_domains(planner: CallPlanner, larger: LargerTable) -> tuple[list[Attribute], list[SensitiveColumn]]:
    """Return the attributes and sensitive columns as the clustering UDF receives them."""
    row = planner.domain_row(larger)
    request: Mapping[str, Any] = json.loads(row.column(0)[0].as_py())
    domains = [column.combine_chunks() for column in row.columns[1:]]
    kinds = request["attributes"]
    attributes = [
        cluster_input.attribute_from_domain(kind, d) for kind, d in zip(kinds, domains[: len(kinds)], strict=True)
    ]
    return attributes, [cluster_input.sensitive_from_domain(d) for d in domains[len(kinds) :]]
