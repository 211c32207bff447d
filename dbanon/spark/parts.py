"""A table cut into parts that are anonymized each for itself: coarse cells as in dbanon.space.cells, from counts that
Spark makes. Nothing reaches the driver but values of columns, and how many records and tuples have them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from dbanon.engine import tables
from dbanon.models.constraint import AtLeast
from dbanon.models.demand import Demand
from dbanon.space.cells import cuts
from dbanon.space.space import Attribute, Ints, Sensitive, Tree
from dbanon.spark.asked import Asked, LargerTable, Planned, planned
from dbanon.spark.columns import of_struct

COUNTS = 2**21
"""About how many counts the driver is told at a time: beyond that, neighbouring numbers are counted as one."""


@dataclass(frozen=True)
class Cut:
    """Of part `part` those go to part `right` whose attribute `j` has a code of at least `begin`."""

    part: int
    j: int
    begin: int
    right: int


@dataclass
class _Tree:
    """The cuts that have been made, level by level, and how many tuples the parts have that may be cut further."""

    levels: list[list[Cut]] = field(default_factory=list)
    waiting: dict[int, int] = field(default_factory=dict)
    parts: int = 1


def larger_table(of: Planned, kinds: DataFrame) -> LargerTable:
    """The values of the columns that the clustering looks at, with how many records (persons) have each."""
    person = of.publication.roles.person
    counted = fn.sum("weight") if person is None else fn.countDistinct(of_struct("own", person))
    found = {}
    for name in dict.fromkeys([*of.quasi, *of.tested]):
        by = kinds.groupBy(of_struct("own", name).alias("value")).agg(counted.alias("size"))
        found[name] = by.toArrow()
    records = kinds.agg(fn.sum("weight")).collect()[0][0]
    return LargerTable(found, int(records or 0))


def cut(asked: Asked, kinds: DataFrame, larger: LargerTable, most: int) -> DataFrame:
    """Kinds of records (`own`, `weight`) with the `part` that each is in: at most `most` tuples, as far as every part
    has the records of two classes and meets the models."""
    return _Cutting(asked, kinds, larger, most).parts()


class _Cutting:
    def __init__(self, asked: Asked, kinds: DataFrame, larger: LargerTable, most: int) -> None:
        of = planned(asked)
        self.of, self.most = of, most
        self.attributes, self.sensitive = _spaces(of, larger)
        self.person = of.publication.roles.person
        self.constraint = AtLeast(of.publication.k, of.publication.demands, of.publication.joint)
        self.coded = _coded(of, kinds, larger, self.attributes, self.sensitive)
        self.tuples = self.coded.groupBy("codes").agg(fn.lit(0).cast("int").alias("part")).persist()
        looked = ["codes", *(["looked"] if of.tested else []), *(["person"] if self.person else [])]
        self.groups = self.coded.groupBy(*looked).agg(fn.sum("weight").alias("weight")).persist()

    def parts(self) -> DataFrame:
        """All kinds, each with its part."""
        try:
            tree = _Tree(waiting={0: self.tuples.count()})
            while any(n > self.most for n in tree.waiting.values()):
                self._level(tree)
        finally:
            self.tuples.unpersist()
            self.groups.unpersist()
        return _divided(self.coded, tree.levels).select("part", "own", "weight")

    def _level(self, tree: _Tree) -> None:
        """Cuts every part once that has too many tuples and can be cut."""
        wanted = [part for part, n in tree.waiting.items() if n > self.most]
        values = dict(_by_part(self._values(tree.levels, wanted), len(self.attributes)))
        ways = {part: iter(cuts(self.attributes, values[part])) for part in wanted}
        proposed: dict[int, Cut] = {}
        for part in wanted:
            _next(proposed, part, ways[part], tree.parts + len(proposed))
        made: list[Cut] = []
        while proposed:
            small = self._missed(tree.levels, list(proposed.values()))
            accepted = [c for c in proposed.values() if not {c.part, c.right} & small]
            made += accepted
            left = [c for c in proposed.values() if {c.part, c.right} & small]
            proposed = {}
            for c in left:
                _next(proposed, c.part, ways[c.part], c.right)
        tree.parts += len(wanted)
        tree.waiting = {}
        for c in made:
            codes, counts = values[c.part][c.j]
            before = int(counts[codes < c.begin].sum())
            tree.waiting |= {c.part: before, c.right: int(counts.sum()) - before}
        if made:
            tree.levels.append(made)

    def _values(self, levels: Sequence[Sequence[Cut]], wanted: Sequence[int]) -> list[Any]:
        """Rows (part, attribute, code, tuples) of some parts."""
        most = max(COUNTS // (len(wanted) * len(self.attributes)), 64)
        pairs = fn.array(*(_pair(j, attribute, most) for j, attribute in enumerate(self.attributes)))
        found = _divided(self.tuples, levels).where(fn.col("part").isin(list(wanted)))
        exploded = found.select("part", fn.explode(pairs).alias("at"))
        rows: list[Any] = exploded.groupBy("part", "at.j", "at.code").count().collect()
        return rows

    def _missed(self, levels: Sequence[Sequence[Cut]], proposed: list[Cut]) -> set[int]:
        """The parts that would be too small, or miss a model; of blocks that max_level keeps apart, if one is."""
        sides = [part for c in proposed for part in (c.part, c.right)]
        found = _divided(self.groups, [*levels, proposed]).where(fn.col("part").isin(sides))
        block = fn.array(*_blocks(self.attributes)) if any(map(_limited, self.attributes)) else fn.lit(0)
        sized = found.withColumn("block", block)
        counted = fn.countDistinct("person") if self.person else fn.sum("weight")
        rows = sized.groupBy("part", "block").agg(counted.alias("size"), fn.sum("weight").alias("records")).collect()
        least = 2 * self.constraint.least
        missed = set(sides) - {row["part"] for row in rows}
        missed |= {r["part"] for r in rows if r["size"] < self.constraint.k or r["records"] < least}
        for demand in self.constraint.models:
            value = fn.col("looked")[demand.sensitive].alias("value")
            tallied = sized.groupBy("part", "block", value).agg(counted.alias("size")).collect()
            missed |= _judged(demand, self.sensitive[demand.sensitive], tallied, rows)
        return missed


def _next(proposed: dict[int, Cut], part: int, ways: Iterator[tuple[int, int]], right: int) -> None:
    way = next(ways, None)
    if way is not None:
        proposed[part] = Cut(part, *way, right)


def _judged(demand: Demand, sensitive: Sensitive, tallied: Sequence[Any], rows: Sequence[Any]) -> set[int]:
    """The parts with a block that misses a model."""
    numbers = {(r["part"], json.dumps(r["block"])): i for i, r in enumerate(rows)}
    counts = np.zeros((len(rows), sensitive.values + 1), np.int64)
    for row in tallied:
        counts[numbers[row["part"], json.dumps(row["block"])], row["value"]] = row["size"]
    sizes = np.array([r["size"] for r in rows], np.int64)
    met = demand.met(demand.measure(sensitive, counts, sizes))
    return {row["part"] for row, well in zip(rows, met, strict=True) if not well}


def _by_part(rows: Sequence[Any], attributes: int) -> Iterator[tuple[int, list[tuple[Ints, Ints]]]]:
    """The codes of each attribute by part, ascending, and how many tuples have them."""
    table = np.array([(r["part"], r["j"], r["code"], r["count"]) for r in rows], np.int64).reshape(-1, 4)
    table = table[np.lexsort((table[:, 2], table[:, 1], table[:, 0]))]
    for part in np.unique(table[:, 0]):
        own = table[table[:, 0] == part]
        by = [own[own[:, 1] == j] for j in range(attributes)]
        yield int(part), [(b[:, 2], b[:, 3]) for b in by]


def _pair(j: int, attribute: Attribute, most: int) -> Column:
    """An attribute's number and code; of more than `most` values neighbours are one."""
    code = fn.col("codes")[j]
    shift = max((attribute.values - 1) // most, 0).bit_length()
    if shift:
        together = fn.shiftleft(fn.shiftright(code, shift), shift)
        code = fn.when(code < attribute.values, together).otherwise(code)
    return fn.struct(fn.lit(j).alias("j"), code.alias("code"))


def _limited(attribute: Attribute) -> bool:
    return isinstance(attribute, Tree) and attribute.max_level is not None


def _blocks(attributes: Sequence[Attribute]) -> Iterator[Column]:
    """Which block a tuple is in, by attribute."""
    for j, attribute in enumerate(attributes):
        if isinstance(attribute, Tree) and attribute.max_level is not None:
            nodes = attribute.block(attribute.max_level).astype(int).tolist()
            yield fn.array(*map(fn.lit, nodes))[fn.col("codes")[j]]


def _divided(rows: DataFrame, levels: Sequence[Sequence[Cut]]) -> DataFrame:
    """Rows (`codes`) with the `part` that the cuts put them in."""
    session = rows.sparkSession
    rows = rows.withColumn("part", fn.lit(0))
    for level in levels:
        table = [(c.part, c.j, c.begin, c.right) for c in level]
        cuts_ = fn.broadcast(session.createDataFrame(table, "part int, j int, begin int, right int"))
        goes = fn.get("codes", fn.col("j")) >= fn.col("begin")
        part = fn.when(goes, fn.col("right")).otherwise(fn.col("part"))
        rows = rows.join(cuts_, "part", "left").withColumn("part", part).drop("j", "begin", "right")
    return rows


def _coded(
    of: Planned, kinds: DataFrame, larger: LargerTable, attributes: Sequence[Attribute], sensitive: Sequence[Sensitive]
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


def _spaces(of: Planned, larger: LargerTable) -> tuple[list[Attribute], list[Sensitive]]:
    """The attributes and sensitive columns as the clustering is given them."""
    row = of.domains(larger)
    asked: Mapping[str, Any] = json.loads(row.column(0)[0].as_py())
    domains = [column.combine_chunks() for column in row.columns[1:]]
    kinds = asked["attributes"]
    attributes = [tables.attribute_of(kind, d) for kind, d in zip(kinds, domains[: len(kinds)], strict=True)]
    return attributes, [tables.sensitive_of(d) for d in domains[len(kinds) :]]
