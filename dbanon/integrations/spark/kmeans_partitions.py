"""Parts around centers: tuples go to the nearest, and centers to the averages of their parts, which counts tell."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from dbanon.algorithms.partitioning.part_distances import PartDistances, Point
from dbanon.encoding.encoded_table import Codes, EncodedTable, Ints
from dbanon.integrations.spark import partition_cuts
from dbanon.integrations.spark.encode import Coded, Place, Values, by_codes

Centers = Mapping[int, Point]
"""Centers by the number of their part."""

Stage = Mapping[int, Centers]
"""By part: the centers of those that it is divided into."""


def around(coded: Coded, number: int, rounds: int) -> Place:
    """About `number` parts by k-means, all with the records of a class and meeting the models.

    The first centers are those of coarse cells, since records that are drawn would have to be told; a center is the
    mean of numbers and the most frequent value of categories. Rounds end when no center moves, or after `rounds`. A
    part that is too small or misses a model joins that of the nearest center. O(rounds * tuples * number) time.
    """
    within = _Within(coded)
    cells = partition_cuts.cut(coded, -(-coded.tuples.count() // number), partition_cuts.CELLS)
    centers = within.averages(coded.values(cells))
    for _ in range(rounds):
        moved = centers | within.averages(coded.values(within.nearest([{0: centers}])))
        if moved == centers:
            break
        centers = moved
    joined: dict[int, Centers] = {}
    while True:
        place = within.nearest([{0: centers}, joined])
        parts = coded.sizes(place).keys()
        small = coded.missed(place, parts, 1)
        if not small or len(parts) == 1:
            return place
        gone = min(small)
        into = within.first(centers[gone], {part: centers[part] for part in sorted(parts) if part != gone})
        joined |= {part: {into: centers[into]} for part, to in joined.items() if gone in to}
        joined[gone] = {into: centers[into]}


def halved(coded: Coded, most: int, rounds: int) -> Place:
    """Parts of at most `most` tuples by 2-means, level by level, as far as both halves have the records of a class and
    meet the models. The first centers are those of the halves of a coarse cell, see `around`. O(rounds * tuples) time a
    level."""
    within, stages = _Within(coded), list[Stage]()
    place, parts = within.nearest(stages), 1
    waiting = coded.sizes(place)
    while wanted := [part for part, n in waiting.items() if n > most]:
        first = list(partition_cuts.first_cuts(coded, partition_cuts.CELLS, coded.values(place, wanted), parts))
        parts += len(first)
        pairs = {c.part: c.sides for c in first}
        sides = [side for pair in pairs.values() for side in pair]
        stage = _paired(pairs, within.averages(coded.values(partial(partition_cuts.divided, place, [first]), sides)))
        for _ in range(rounds):
            averages = within.averages(coded.values(within.nearest([*stages, stage]), sides))
            moved = _paired(pairs, {side: at for of in stage.values() for side, at in of.items()} | averages)
            if moved == stage:
                break
            stage = moved
        small = coded.missed(within.nearest([*stages, stage]), sides, 1)
        stage = {part: of for part, of in stage.items() if not small.intersection(of)}
        stages.append(stage)
        place = within.nearest(stages)
        left = {side for of in stage.values() for side in of}
        waiting = {part: n for part, n in coded.sizes(place).items() if part in left}
    return place


def _paired(pairs: Mapping[int, Sequence[int]], centers: Centers) -> Stage:
    return {part: {side: centers[side] for side in sides} for part, sides in pairs.items()}


class _Within:
    """Distances to centers in a table."""

    def __init__(self, coded: Coded) -> None:
        missing = np.array([[a.values for a in coded.attributes]], np.int32)
        one = EncodedTable(tuple(coded.attributes), missing, np.ones(1, np.int64), None, coded.records)
        self.distances = PartDistances(one, "edges")

    def averages(self, values: Mapping[int, Sequence[Values]]) -> dict[int, Point]:
        """Return the centers of parts."""
        columns = self.distances.columns
        return {
            part: [column.average(v.codes.astype(np.int32), v.records) for column, v in zip(columns, of, strict=True)]
            for part, of in values.items()
        }

    def first(self, center: Point, others: Centers) -> int:
        """Return the part of the center nearest to another one (ties: the first)."""
        return min(others, key=lambda part: (self.distances.point_distance(center, others[part]), part))

    def nearest(self, stages: Sequence[Stage]) -> Place:
        """Return tuples in the part of the nearest center (ties: the first), stage by stage."""
        return partial(by_codes, partial(_placed, self.distances, tuple(stages)))


def _placed(distances: PartDistances, stages: Sequence[Stage], codes: Codes) -> Ints:
    """Return the part of each tuple (attributes, tuples)."""
    parts = np.zeros(codes.shape[1], np.int64)
    for stage in stages:
        before = parts.copy()
        for parent, centers in stage.items():
            own = np.flatnonzero(before == parent)
            away, best = np.empty(0, np.int64), np.full(len(own), parent)
            for number, center in centers.items():
                to = distances.distances_to(center, codes[:, own])
                if len(away):
                    nearer = to < away
                    best[nearer], away = number, np.where(nearer, to, away)
                else:
                    best[:], away = number, to
            parts[own] = best
    return parts
