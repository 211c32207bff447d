"""Partition a table by cutting it level by level, each time between values of an attribute."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pyspark.sql import DataFrame, functions as fn

from dbanon.algorithms.partitioning.partition_tree import attributes_by_width, side_starts
from dbanon.encoding import coarse_partitions
from dbanon.encoding.encoded_table import Attribute
from dbanon.integrations.spark.encode import CodeCounts, Partitioner, PartitionInput

CutFinder = Callable[[Sequence[Attribute], Sequence[CodeCounts]], Iterable[tuple[int, Sequence[int]]]]
"""A function that yields the possible cuts of a partition, the best first.

A cut is an attribute, and the codes at which the second and further sides start.

"""


@dataclass(frozen=True)
class CutRule:
    """A rule for cutting partitions.

    Attributes:
        find_cuts: Yields the possible cuts of a partition, the best first.
        min_classes: For how many classes each side of a cut must have enough records.
    """

    find_cuts: CutFinder
    min_classes: int


def _median_cuts(attributes: Sequence[Attribute], values: Sequence[CodeCounts]) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield one cut per attribute with several values, best first: (attribute index, (first code of second side,)).

    A cut divides the distinct tuples, not the records, about equally. The cut that narrows its attribute most is best,
    unless it puts few tuples on one side (see `coarse_partitions.ranked_cuts`).

    Args:
        attributes: The attributes.
        values: The codes of each attribute in the partition, with the numbers of tuples and records of each.
    """
    for j, begin in coarse_partitions.ranked_cuts(attributes, [(v.codes, v.tuples) for v in values]):
        yield j, (begin,)


def _mondrian_cuts(
    attributes: Sequence[Attribute], values: Sequence[CodeCounts]
) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield the cuts of strict Mondrian, widest attribute first: (attribute index, first codes of the further sides).

    A number is cut after the lower median of the records, a category between children of a hierarchy node, and NULL
    from other values (see `side_starts`). Attributes that cannot be cut are omitted.

    Args:
        attributes: The attributes.
        values: The codes of each attribute in the partition, with the numbers of tuples and records of each.
    """
    for j in attributes_by_width(attributes, [v.codes for v in values]):
        sides = side_starts(attributes[j], values[j].codes, values[j].records)
        if sides:
            yield j, sides


CELLS = CutRule(_median_cuts, 2)
"""Coarse cells: halves between the two values nearest to the median tuple."""

MONDRIAN = CutRule(_mondrian_cuts, 1)
"""The cuts of strict Mondrian itself, so that what is cut on is clustered as the whole table would be."""


@dataclass(frozen=True)
class Cut:
    """A cut of partition `part` by one attribute into two or more sides, which become partitions.

    Tuples whose code of the attribute with index `attribute` is at least `starts[i]`, and below the next start, move to
    partition `new_parts[i]`; those below `starts[0]` remain in `part`.
    """

    part: int
    attribute: int
    starts: tuple[int, ...]
    new_parts: tuple[int, ...]

    @property
    def sides(self) -> tuple[int, ...]:
        """The numbers of the partitions after the cut: `part`, then `new_parts`."""
        return (self.part, *self.new_parts)


@dataclass
class _CutTree:
    """All cuts so far.

    Attributes:
        open_parts: The number of tuples of each partition that may be cut further, by partition.
        n_parts: The next unused partition number.
        levels: The cuts of each level, in order; a cut may divide a side of a cut on an earlier level.
    """

    open_parts: dict[int, int]
    n_parts: int
    levels: list[list[Cut]] = field(default_factory=list)

    def propose(self, part: int, candidate: tuple[int, Sequence[int]]) -> Cut:
        """Return a cut of `part` with unused numbers for its new sides, and increase `n_parts` by their number.

        The cut is not added to `levels`. `candidate` is (attribute index, first codes of the second and further sides).
        """
        self.n_parts += len(candidate[1])
        return Cut(
            part, candidate[0], tuple(candidate[1]), tuple(range(self.n_parts - len(candidate[1]), self.n_parts))
        )


def single_part(rows: DataFrame) -> DataFrame:
    """Return the rows with the column `part`, 0 in all of them."""
    return rows.withColumn("part", fn.lit(0))


def cut_parts(encoded: PartitionInput, max_tuples: int, rule: CutRule, start: Partitioner = single_part) -> Partitioner:
    """Return a function that assigns rows to partitions of at most `max_tuples` tuples, by cutting those of `start`.

    A cut is made only if each of its sides has enough records and meets the privacy models, so a partition can remain
    larger. The cuts are found here; the function only applies them.

    Args:
        encoded: The distinct records of the table as codes.
        max_tuples: The most tuples (distinct combinations of codes) of a partition, if it can be cut.
        rule: Which cuts are tried, and how many records a side needs.
        start: Assigns rows to the first partitions; by default all rows are in partition 0.
    """
    open_parts = encoded.tuple_counts(start)
    tree = _CutTree(open_parts, max(open_parts, default=0) + 1)
    while any(n > max_tuples for n in tree.open_parts.values()):
        _cut_level(encoded, tree, max_tuples, rule, start)
    return partial(apply_cuts, start, tree.levels)


def _cut_level(encoded: PartitionInput, tree: _CutTree, max_tuples: int, rule: CutRule, start: Partitioner) -> None:
    """Cut each partition of more than `max_tuples` tuples once, by its best cut whose sides do not fail.

    Appends the cuts to `tree.levels` as one level and sets `tree.open_parts` to their sides; a partition that cannot be
    cut is not in it any more. A side fails if it has too few records or misses a privacy model.

    Args:
        encoded: The distinct records of the table as codes.
        tree: The cuts so far; changed in place.
        max_tuples: The most tuples of a partition that is not cut.
        rule: Which cuts are tried, and how many records a side needs.
        start: Assigns rows to the first partitions.
    """
    large_parts = [part for part, n in tree.open_parts.items() if n > max_tuples]
    values = encoded.code_counts(partial(apply_cuts, start, tree.levels), large_parts)
    candidates = {part: iter(rule.find_cuts(encoded.attributes, values[part])) for part in large_parts}
    cuts: list[Cut] = []
    uncut_parts: Collection[int] = large_parts
    while uncut_parts:
        next_cuts = [(part, next(candidates[part], None)) for part in uncut_parts]
        proposed = [tree.propose(part, candidate) for part, candidate in next_cuts if candidate is not None]
        if not proposed:
            break
        sides = [side for c in proposed for side in c.sides]
        failing = encoded.failing_parts(partial(apply_cuts, start, [*tree.levels, proposed]), sides, rule.min_classes)
        cuts += [c for c in proposed if not failing.intersection(c.sides)]
        uncut_parts = [c.part for c in proposed if failing.intersection(c.sides)]
    tree.open_parts = {}
    for c in cuts:
        counts = values[c.part][c.attribute]
        ends = [int(counts.tuples[counts.codes < begin].sum()) for begin in c.starts] + [int(counts.tuples.sum())]
        sizes = [end - start for start, end in zip([0, *ends], ends, strict=False)]
        tree.open_parts |= dict(zip(c.sides, sizes, strict=True))
    if cuts:
        tree.levels.append(cuts)


def first_cuts(
    encoded: PartitionInput, rule: CutRule, values: Mapping[int, Sequence[CodeCounts]], n_parts: int
) -> Iterator[Cut]:
    """Yield the best cut of each partition that has one, into two sides, without checking the sides.

    Args:
        encoded: The distinct records of the table as codes.
        rule: Yields the possible cuts of a partition, the best first.
        values: By partition, the `CodeCounts` of each attribute.
        n_parts: The number of the first new partition; each cut takes the next one.
    """
    for part, counts in values.items():
        for j, starts in rule.find_cuts(encoded.attributes, counts):
            yield Cut(part, j, tuple(starts[:1]), (n_parts,))
            n_parts += 1
            break


def apply_cuts(start: Partitioner, levels: Sequence[Sequence[Cut]], rows: DataFrame) -> DataFrame:
    """Return the rows with the column `part`: as `start` assigns it, then changed by the cuts of each level in order.

    `rows` have the column `codes`. The cuts of a level are of different partitions.
    """
    rows, session = start(rows), rows.sparkSession
    for level in levels:
        table = [(c.part, c.attribute, list(c.starts), list(c.sides)) for c in level]
        cuts = session.createDataFrame(table, "part int, j int, begins array<int>, sides array<int>")
        side_number = fn.size(fn.filter("begins", lambda begin: begin <= fn.get("codes", fn.col("j"))))
        part = fn.coalesce(fn.get("sides", side_number), fn.col("part"))
        rows = rows.join(fn.broadcast(cuts), "part", "left").withColumn("part", part).drop("j", "begins", "sides")
    return rows
