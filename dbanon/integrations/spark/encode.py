"""Kinds of records of a large table by codes, and what the driver is told of its parts: values of columns, and how many
records and tuples have them."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, functions as fn
from pyspark.sql.types import IntegerType, StructField, StructType

from dbanon.encoding.encoded_table import Attribute, CategoricalAttribute, Codes, Ints, SensitiveColumn
from dbanon.integrations.spark.columns import of_struct
from dbanon.integrations.spark.session_call import Asked, LargerTable, Planned, planned
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.udf import cluster_input

COUNTS = 2**21
"""About how many counts the driver is told at a time: beyond that, neighbouring numbers are counted as one."""

Place = Callable[[DataFrame], DataFrame]
"""Gives rows with `codes` the `part` that each is in."""


def by_codes(part: Callable[[Codes], Ints], rows: DataFrame) -> DataFrame:
    """Return rows with the part that their codes have: a function from codes (attributes, rows) to numbers."""

    def placed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows == 0:  # its codes have no shape
                continue
            codes = np.asarray(batch.column("codes").flatten(), np.int32).reshape(batch.num_rows, -1)
            columns = [*batch.columns, pa.array(part(codes.T), pa.int32())]
            yield pa.RecordBatch.from_arrays(columns, names=[*batch.schema.names, "part"])

    return rows.mapInArrow(placed, StructType([*rows.schema.fields, StructField("part", IntegerType())]))


class Values(NamedTuple):
    """The codes of an attribute in a part, ascending, and how many tuples and records have each."""

    codes: Ints
    tuples: Ints
    records: Ints


def larger_table(of: Planned, kinds: DataFrame) -> LargerTable:
    """Return the values of the columns that the clustering looks at, with how many records (persons) have each."""
    person = of.publication.roles.person
    counted = fn.sum("weight") if person is None else fn.countDistinct(of_struct("own", person))
    found = {}
    for name in dict.fromkeys([*of.quasi, *of.tested]):
        by = kinds.groupBy(of_struct("own", name).alias("value")).agg(counted.alias("size"))
        found[name] = by.toArrow()
    records = kinds.agg(fn.sum("weight")).collect()[0][0]
    return LargerTable(found, int(records or 0))


class Coded:
    """Kinds of records (`own`, `weight`) with their codes.

    `tuples`: rows `codes`, `weight`, one a tuple; NULL has the code after the last.
    """

    def __init__(self, asked: Asked, kinds: DataFrame, larger: LargerTable) -> None:
        of = planned(asked)
        self.of, self.records = of, larger.records
        self.attributes, self.sensitive = _spaces(of, larger)
        self.person = of.publication.roles.person
        self.constraint = Constraint(of.publication.k, of.publication.model_requirements, of.publication.is_joint)
        self.kinds = _coded(of, kinds, larger, self.attributes, self.sensitive)
        self.tuples = self.kinds.groupBy("codes").agg(fn.sum("weight").alias("weight")).persist()
        looked = ["codes", *(["looked"] if of.tested else []), *(["person"] if self.person else [])]
        self.groups = self.kinds.groupBy(*looked).agg(fn.sum("weight").alias("weight")).persist()

    def forget(self) -> None:
        """Return back what is kept of it."""
        self.tuples.unpersist()
        self.groups.unpersist()

    @property
    def is_limited(self) -> bool:
        """Whether max_level keeps blocks of tuples apart."""
        return any(map(_limited, self.attributes))

    def sizes(self, place: Place) -> dict[int, int]:
        """How many tuples each part has."""
        return {row["part"]: row["count"] for row in place(self.tuples).groupBy("part").count().collect()}

    def values(self, place: Place, wanted: Collection[int] | None = None) -> dict[int, list[Values]]:
        """What each part has of each attribute; of all parts, or of some."""
        found = place(self.tuples)
        if wanted is not None:
            found = found.where(fn.col("part").isin(list(wanted)))
        most = max(COUNTS // (max(len(wanted or ()), 1) * len(self.attributes)), 64)
        pairs = fn.array(*(_pair(j, attribute, most) for j, attribute in enumerate(self.attributes)))
        exploded = found.select("part", "weight", fn.explode(pairs).alias("at"))
        counted = exploded.groupBy("part", "at.j", "at.code")
        rows = counted.agg(fn.count(fn.lit(1)).alias("tuples"), fn.sum("weight").alias("records")).collect()
        return dict(_by_part(rows, len(self.attributes)))

    def missed(self, place: Place, parts: Collection[int], classes: int) -> set[int]:
        """Those of some parts that have fewer records than so many classes need, or miss a model; of blocks that
        max_level keeps apart, if one is."""
        found = place(self.groups).where(fn.col("part").isin(list(parts)))
        block = fn.array(*_blocks(self.attributes)) if self.is_limited else fn.lit(0)
        sized = found.withColumn("block", block)
        counted = fn.countDistinct("person") if self.person else fn.sum("weight")
        rows = sized.groupBy("part", "block").agg(counted.alias("size"), fn.sum("weight").alias("records")).collect()
        least = classes * self.constraint.min_records
        missed = set(parts) - {row["part"] for row in rows}
        missed |= {r["part"] for r in rows if r["size"] < self.constraint.k or r["records"] < least}
        for demand in self.constraint.models:
            value = fn.col("looked")[demand.sensitive].alias("value")
            tallied = sized.groupBy("part", "block", value).agg(counted.alias("size")).collect()
            missed |= _judged(demand, self.sensitive[demand.sensitive], tallied, rows)
        return missed


def _judged(
    demand: ModelRequirement, sensitive: SensitiveColumn, tallied: Sequence[Any], rows: Sequence[Any]
) -> set[int]:
    """Return the parts with a block that misses a model."""
    numbers = {(r["part"], json.dumps(r["block"])): i for i, r in enumerate(rows)}
    counts = np.zeros((len(rows), sensitive.values + 1), np.int64)
    for row in tallied:
        counts[numbers[row["part"], json.dumps(row["block"])], row["value"]] = row["size"]
    sizes = np.array([r["size"] for r in rows], np.int64)
    met = demand.is_satisfied(demand.measure(sensitive, counts, sizes))
    return {row["part"] for row, well in zip(rows, met, strict=True) if not well}


def _by_part(rows: Sequence[Any], attributes: int) -> Iterator[tuple[int, list[Values]]]:
    table = np.array([(r["part"], r["j"], r["code"], r["tuples"], r["records"]) for r in rows], np.int64).reshape(-1, 5)
    table = table[np.lexsort((table[:, 2], table[:, 1], table[:, 0]))]
    for part in np.unique(table[:, 0]):
        own = table[table[:, 0] == part]
        by = [own[own[:, 1] == j] for j in range(attributes)]
        yield int(part), [Values(b[:, 2], b[:, 3], b[:, 4]) for b in by]


def _pair(j: int, attribute: Attribute, most: int) -> Column:
    """Return an attribute's number and code; of more than `most` values neighbours are one."""
    code = fn.col("codes")[j]
    shift = max((attribute.values - 1) // most, 0).bit_length()
    if shift:
        together = fn.shiftleft(fn.shiftright(code, shift), shift)
        code = fn.when(code < attribute.values, together).otherwise(code)
    return fn.struct(fn.lit(j).alias("j"), code.alias("code"))


def _limited(attribute: Attribute) -> bool:
    return isinstance(attribute, CategoricalAttribute) and attribute.max_level is not None


def _blocks(attributes: Sequence[Attribute]) -> Iterator[Column]:
    """Which block a tuple is in, by attribute."""
    for j, attribute in enumerate(attributes):
        if isinstance(attribute, CategoricalAttribute) and attribute.max_level is not None:
            nodes = attribute.block(attribute.max_level).astype(int).tolist()
            yield fn.array(*map(fn.lit, nodes))[fn.col("codes")[j]]


def _coded(
    of: Planned,
    kinds: DataFrame,
    larger: LargerTable,
    attributes: Sequence[Attribute],
    sensitive: Sequence[SensitiveColumn],
) -> DataFrame:
    """Kinds with their `codes`, those of sensitive values (`looked`) and the `person`; NULL has the code after the
    last."""
    session, rows = kinds.sparkSession, kinds
    codes: dict[str, list[Column]] = {"codes": [], "looked": []}
    every = [("codes", n, a.values) for n, a in zip(of.quasi, attributes, strict=True)]
    every += [("looked", n, s.values) for n, s in zip(of.tested, sensitive, strict=True)]
    for i, (kind, name, missing) in enumerate(every):
        known = session.createDataFrame(of.codes(name, larger)).toDF(f"v{i}", f"c{i}")
        rows = rows.join(fn.broadcast(known), of_struct("own", name) == fn.col(f"v{i}"), "left").drop(f"v{i}")
        codes[kind].append(fn.coalesce(fn.col(f"c{i}").cast("int"), fn.lit(missing)))
    person = of.publication.roles.person
    more = [fn.array(*c).alias(kind) for kind, c in codes.items() if c]
    more += [of_struct("own", person).alias("person")] if person else []
    return rows.select("own", "weight", *more)


def _spaces(of: Planned, larger: LargerTable) -> tuple[list[Attribute], list[SensitiveColumn]]:
    """Return the attributes and sensitive columns as the clustering is given them."""
    row = of.domains(larger)
    asked: Mapping[str, Any] = json.loads(row.column(0)[0].as_py())
    domains = [column.combine_chunks() for column in row.columns[1:]]
    kinds = asked["attributes"]
    attributes = [
        cluster_input.attribute_from_domain(kind, d) for kind, d in zip(kinds, domains[: len(kinds)], strict=True)
    ]
    return attributes, [cluster_input.sensitive_from_domain(d) for d in domains[len(kinds) :]]
