"""Parts that are cut level by level, each between values of an attribute, until they are small enough."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from pyspark.sql import DataFrame, functions as fn

from dbanon.algorithms.partitioning.partition_tree import attributes_by_width, side_starts
from dbanon.encoding import coarse_partitions
from dbanon.encoding.encoded_table import Attribute
from dbanon.integrations.spark.encode import Coded, Place, Values

Ways = Callable[[Sequence[Attribute], Sequence[Values]], Iterable[tuple[int, Sequence[int]]]]
"""Where a part can be cut, the best first: an attribute, and the codes that begin the second and further sides."""


@dataclass(frozen=True)
class Rule:
    """How parts are cut: where they can be, and how many classes each side must have the records of."""

    ways: Ways
    classes: int


def _halves(attributes: Sequence[Attribute], values: Sequence[Values]) -> Iterator[tuple[int, Sequence[int]]]:
    for j, begin in coarse_partitions.ranked_cuts(attributes, [(v.codes, v.tuples) for v in values]):
        yield j, (begin,)


def _by_mondrian(attributes: Sequence[Attribute], values: Sequence[Values]) -> Iterator[tuple[int, Sequence[int]]]:
    for j in attributes_by_width(attributes, [v.codes for v in values]):
        sides = side_starts(attributes[j], values[j].codes, values[j].records)
        if sides:
            yield j, sides


CELLS = Rule(_halves, 2)
"""Coarse cells: halves between the two values nearest to the median tuple."""

MONDRIAN = Rule(_by_mondrian, 1)
"""The cuts of strict Mondrian itself, so that what is cut on is clustered as the whole table would be."""


@dataclass(frozen=True)
class Cut:
    """Of part `part` those go to part `rights[i]` whose attribute `j` has a code from `begins[i]` on, below the next
    of `begins`."""

    part: int
    j: int
    begins: tuple[int, ...]
    rights: tuple[int, ...]

    @property
    def sides(self) -> tuple[int, ...]:
        """The parts that it leaves."""
        return (self.part, *self.rights)


@dataclass
class _Tree:
    """The cuts that have been made, level by level, and how many tuples the parts have that may be cut further."""

    waiting: dict[int, int]
    parts: int
    levels: list[list[Cut]] = field(default_factory=list)

    def propose(self, part: int, way: tuple[int, Sequence[int]]) -> Cut:
        """Return a cut whose new sides have numbers that no other part has."""
        self.parts += len(way[1])
        return Cut(part, way[0], tuple(way[1]), tuple(range(self.parts - len(way[1]), self.parts)))


def whole(rows: DataFrame) -> DataFrame:
    """Return all rows in one part."""
    return rows.withColumn("part", fn.lit(0))


def cut(coded: Coded, most: int, rule: Rule, start: Place = whole) -> Place:
    """Parts of at most `most` tuples, as far as each side of a cut has records enough and meets the models; cut from
    those of `start`."""
    waiting = coded.sizes(start)
    tree = _Tree(waiting, max(waiting, default=0) + 1)
    while any(n > most for n in tree.waiting.values()):
        _level(coded, tree, most, rule, start)
    return partial(divided, start, tree.levels)


def _level(coded: Coded, tree: _Tree, most: int, rule: Rule, start: Place) -> None:
    """Cut every part once that has too many tuples and can be cut."""
    wanted = [part for part, n in tree.waiting.items() if n > most]
    values = coded.values(partial(divided, start, tree.levels), wanted)
    ways = {part: iter(rule.ways(coded.attributes, values[part])) for part in wanted}
    made: list[Cut] = []
    left: Collection[int] = wanted
    while left:
        found = [(part, next(ways[part], None)) for part in left]
        proposed = [tree.propose(part, way) for part, way in found if way is not None]
        if not proposed:
            break
        sides = [side for c in proposed for side in c.sides]
        small = coded.missed(partial(divided, start, [*tree.levels, proposed]), sides, rule.classes)
        made += [c for c in proposed if not small.intersection(c.sides)]
        left = [c.part for c in proposed if small.intersection(c.sides)]
    tree.waiting = {}
    for c in made:
        of = values[c.part][c.j]
        ends = [int(of.tuples[of.codes < begin].sum()) for begin in c.begins] + [int(of.tuples.sum())]
        sizes = [end - before for before, end in zip([0, *ends], ends, strict=False)]
        tree.waiting |= dict(zip(c.sides, sizes, strict=True))
    if made:
        tree.levels.append(made)


def first_cuts(coded: Coded, rule: Rule, values: Mapping[int, Sequence[Values]], parts: int) -> Iterator[Cut]:
    """The best cut of each part that has one, into halves, whatever their sides hold; new parts have numbers from
    `parts` on."""
    for part, of in values.items():
        for j, begins_ in rule.ways(coded.attributes, of):
            yield Cut(part, j, tuple(begins_[:1]), (parts,))
            parts += 1
            break


def divided(start: Place, levels: Sequence[Sequence[Cut]], rows: DataFrame) -> DataFrame:
    """Return rows with the part that the cuts, after `start`, put each in."""
    rows, session = start(rows), rows.sparkSession
    for level in levels:
        table = [(c.part, c.j, list(c.begins), list(c.sides)) for c in level]
        cuts = session.createDataFrame(table, "part int, j int, begins array<int>, sides array<int>")
        passed = fn.size(fn.filter("begins", lambda begin: begin <= fn.get("codes", fn.col("j"))))
        part = fn.coalesce(fn.get("sides", passed), fn.col("part"))
        rows = rows.join(fn.broadcast(cuts), "part", "left").withColumn("part", part).drop("j", "begins", "sides")
    return rows
