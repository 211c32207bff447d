"""Encode the distinct records of a large table, and count codes in its partitions for the driver."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions as fn
from pyspark.sql.types import IntegerType, StructField, StructType

from dbanon.encoding.encoded_table import Attribute, CategoricalAttribute, Codes, Ints, SensitiveColumn, has_max_level
from dbanon.encoding.request_defaults import complete_request
from dbanon.integrations.spark.columns import struct_field
from dbanon.integrations.spark.session_call import CallPlanner, PortableCall, TableCounts, thread_planner
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.udf import cluster_input

MAX_COUNTS = 2**21
"""About how many counts the driver receives at a time; beyond that, neighbouring numbers are counted together."""

Partitioner = Callable[[DataFrame], DataFrame]
"""A function that adds the column `part` to rows with `codes`: the partition that each row is in."""


def partition_by_codes(part_of_codes: Callable[[Codes], Ints], rows: DataFrame) -> DataFrame:
    """Return the rows with the column `part`, computed from their `codes` in batches on the executors.

    `part_of_codes` maps an (attributes, rows) array of codes to (rows,) partition numbers.
    """

    def assign_parts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield each batch with the column `part`; empty batches are omitted."""
        for batch in batches:
            if batch.num_rows == 0:  # its codes have no shape
                continue
            codes = np.asarray(batch.column("codes").flatten(), np.int32).reshape(batch.num_rows, -1)
            columns = [*batch.columns, pa.array(part_of_codes(codes.T), pa.int32())]
            yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, "part"])

    return rows.mapInArrow(assign_parts, StructType([*rows.schema.fields, StructField("part", IntegerType())]))


class CodeCounts(NamedTuple):
    """The codes of an attribute that occur in a partition, ascending, and how many tuples and records have each.

    A tuple is a distinct combination of codes. `tuples` and `records` are in the order of `codes`.
    """

    codes: Ints
    tuples: Ints
    records: Ints


def count_values(planner: CallPlanner, distinct_records: DataFrame) -> TableCounts:
    """Count the records with each value of the quasi-identifiers, and of the sensitive columns that clustering reads.

    If there is a person column, distinct persons are counted in place of records.

    Args:
        planner: The planner of the call.
        distinct_records: Distinct records: `own` (a struct of the values) and `weight` (their count).

    Returns:
        `columns`: by name, a table with each `value` and its `size`; `records`: the number of all records.
    """
    person = planner.spec.roles.person
    count = fn.sum("weight") if person is None else fn.countDistinct(struct_field("own", person))
    columns = {}
    for name in dict.fromkeys([*planner.quasi_columns, *planner.sensitive_columns]):
        counts = distinct_records.groupBy(struct_field("own", name).alias("value")).agg(count.alias("size"))
        columns[name] = counts.toArrow()
    return TableCounts(columns, int(distinct_records.agg(fn.sum("weight")).collect()[0][0] or 0))


class PartitionInput:
    """The distinct records of a table as DataFrames of codes, with the meaning of the codes of its columns.

    Attributes:
        planner: The planner of the call.
        n_records: The number of records.
        attributes: The quasi-identifiers.
        sensitive: The sensitive columns that the clustering reads.
        person: The name of the person column; None if there is none.
        constraint: The constraint: k and the other privacy models.
        distinct_records: One row per distinct record: `own` (its values), `weight` (its count), `codes` of the
            quasi-identifiers, `looked` (codes of the sensitive columns) and `person`; the last two only if they exist.
        tuples: One row per tuple (combination of `codes`), with its `weight`. NULL has the code after the last value.
        groups: One row per combination of `codes`, `looked` and `person`, with its `weight`.
    """

    def __init__(self, call: PortableCall, distinct_records: DataFrame, larger: TableCounts) -> None:
        """Encode the distinct records and cache the DataFrames `tuples` and `groups`.

        Args:
            call: The call.
            distinct_records: Distinct records: `own` (a struct of the values) and `weight` (their count).
            larger: The counts of all values of the table.
        """
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
        """Remove the DataFrames `tuples` and `groups` from Spark's cache."""
        self.tuples.unpersist()
        self.groups.unpersist()

    @property
    def has_blocks(self) -> bool:
        """Whether an attribute has a max_level, which separates the tuples into blocks that no class may cross."""
        return any(map(has_max_level, self.attributes))

    def tuple_counts(self, partitioner: Partitioner) -> dict[int, int]:
        """Return the number of tuples (distinct combinations of codes) of each partition by its number.

        `partitioner` adds the column `part` to rows with `codes`.
        """
        return {row["part"]: row["count"] for row in partitioner(self.tuples).groupBy("part").count().collect()}

    def code_counts(
        self, partitioner: Partitioner, parts: Collection[int] | None = None
    ) -> dict[int, list[CodeCounts]]:
        """Return for each partition, by number, the `CodeCounts` of every attribute, in the order of `attributes`.

        If the driver would receive more than about MAX_COUNTS counts, neighbouring codes of an attribute are counted
        together, under the first one.

        Args:
            partitioner: Adds the column `part` to rows with `codes`.
            parts: The partitions to count; None for all.
        """
        tuples = partitioner(self.tuples)
        if parts is not None:
            tuples = tuples.where(fn.col("part").isin(list(parts)))
        max_codes = max(MAX_COUNTS // (max(len(parts or ()), 1) * len(self.attributes)), 64)
        pairs = fn.array(*(_code_pair(j, attribute, max_codes) for j, attribute in enumerate(self.attributes)))
        groups = tuples.select("part", "weight", fn.explode(pairs).alias("at")).groupBy("part", "at.j", "at.code")
        rows = groups.agg(fn.count(fn.lit(1)).alias("tuples"), fn.sum("weight").alias("records")).collect()
        return dict(_counts_by_part(rows, len(self.attributes)))

    def failing_parts(self, partitioner: Partitioner, parts: Collection[int], min_classes: int) -> set[int]:
        """Return those of `parts` that have too few records, or miss a privacy model other than k.

        A partition has too few if it has less than k records (persons), or less than `min_classes` times the least
        number of records of a class. If a max_level separates blocks, which no class may cross, a partition fails if
        one of its blocks does. An empty partition fails.

        Args:
            partitioner: Adds the column `part` to rows with `codes`.
            parts: The numbers of the partitions to check.
            min_classes: For how many classes each partition (or block) must have enough records.
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
    requirement: ModelRequirement, sensitive: SensitiveColumn, value_counts: Sequence[Any], blocks: Sequence[Any]
) -> set[int]:
    """Return the numbers of the partitions with a block that misses a privacy model.

    Args:
        requirement: The model and its bound.
        sensitive: The sensitive column that it is about.
        value_counts: Rows of `part`, `block`, `value` (a code) and `size`.
        blocks: One row of `part`, `block` and `size` per block (the tuples that may share a class).
    """
    numbers = {(r["part"], json.dumps(r["block"])): i for i, r in enumerate(blocks)}
    counts = np.zeros((len(blocks), sensitive.values + 1), np.int64)
    for row in value_counts:
        counts[numbers[row["part"], json.dumps(row["block"])], row["value"]] = row["size"]
    sizes = np.array([r["size"] for r in blocks], np.int64)
    is_met = requirement.is_satisfied(requirement.measure(sensitive, counts, sizes))
    return {row["part"] for row, well in zip(blocks, is_met, strict=True) if not well}


def _counts_by_part(rows: Sequence[Any], n_attributes: int) -> Iterator[tuple[int, list[CodeCounts]]]:
    """Yield (partition, list of the code counts of each attribute) from rows of part, attribute, code and counts."""
    table = np.array([(r["part"], r["j"], r["code"], r["tuples"], r["records"]) for r in rows], np.int64).reshape(-1, 5)
    table = table[np.lexsort((table[:, 2], table[:, 1], table[:, 0]))]
    for part in np.unique(table[:, 0]):
        part_rows = table[table[:, 0] == part]
        attribute_rows = [part_rows[part_rows[:, 1] == j] for j in range(n_attributes)]
        yield int(part), [CodeCounts(b[:, 2], b[:, 3], b[:, 4]) for b in attribute_rows]


def _code_pair(j: int, attribute: Attribute, max_codes: int) -> Column:
    """Return a struct column with the fields `j` (an attribute's number) and `code`, for counting.

    If the attribute has more than `max_codes` values, 2^n neighbouring codes are replaced by the first of them, with
    the n that leaves at most about `max_codes`; the code of NULL is unchanged.
    """
    code = fn.col("codes")[j]
    shift = max((attribute.values - 1) // max_codes, 0).bit_length()
    if shift:
        first_neighbour = fn.shiftleft(fn.shiftright(code, shift), shift)
        code = fn.when(code < attribute.values, first_neighbour).otherwise(code)
    return fn.struct(fn.lit(j).alias("j"), code.alias("code"))


def _block_columns(attributes: Sequence[Attribute]) -> Iterator[Column]:
    """Yield for each attribute with a max_level a column with the tuple's block: the hierarchy node at this level."""
    for j, attribute in enumerate(attributes):
        if isinstance(attribute, CategoricalAttribute) and attribute.max_level is not None:
            nodes = attribute.block(attribute.max_level).astype(int).tolist()
            yield fn.array(*map(fn.lit, nodes))[fn.col("codes")[j]]


def _add_codes(
    planner: CallPlanner,
    distinct_records: DataFrame,
    larger: TableCounts,
    attributes: Sequence[Attribute],
    sensitive: Sequence[SensitiveColumn],
) -> DataFrame:
    """Return the distinct records with the array columns `codes` and `looked`, and `person` if there is such a column.

    `codes` are those of quasi-identifiers, `looked` those of sensitive columns (absent if none are used). NULL has the
    code after the last value.

    Args:
        planner: The planner of the call, which codes values.
        distinct_records: Distinct records: `own` (a struct of the values) and `weight` (their count).
        larger: The counts of all values of the table.
        attributes: The quasi-identifiers.
        sensitive: The sensitive columns that the clustering reads.
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


def _decode_domains(planner: CallPlanner, larger: TableCounts) -> tuple[list[Attribute], list[SensitiveColumn]]:
    """Return the attributes and sensitive columns of the whole table, decoded as the clustering UDF does it."""
    row = planner.domain_row(larger)
    request = complete_request(json.loads(row.column(0)[0].as_py()))
    domains = [column.combine_chunks() for column in row.columns[1:]]
    kinds = request["attributes"]
    attributes = [
        cluster_input.attribute_from_domain(kind, d) for kind, d in zip(kinds, domains[: len(kinds)], strict=True)
    ]
    return attributes, [cluster_input.sensitive_from_domain(d) for d in domains[len(kinds) :]]
