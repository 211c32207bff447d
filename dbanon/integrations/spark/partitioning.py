"""A table divided into parts that are anonymized each for itself: by the system's own rule where it has one, else into
coarse cells as in dbanon.encoding.coarse_partitions. Nothing reaches the driver but values of columns, and counts."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from pyspark.sql import DataFrame, functions as fn

from dbanon.algorithms import find
from dbanon.encoding.encoded_table import Codes, Ints, NumericAttribute
from dbanon.integrations.spark import kmeans_partitions, partition_cuts
from dbanon.integrations.spark.encode import Coded, Place, by_codes
from dbanon.integrations.spark.session_call import Asked, LargerTable, Planned

GRADES = 2**16
"""Scores are told apart by so many steps."""

Divide = Callable[[Coded, Mapping[str, Any], int, int], Place]
"""How a system divides a table: its options, about how many parts there are to be, and the most tuples of one."""


def parts(asked: Asked, kinds: DataFrame, larger: LargerTable, most: int) -> DataFrame:
    """Kinds of records (`own`, `weight`) with the `part` that each is in: of at most `most` tuples, as far as every
    part has the records that it must have and meets the models."""
    coded = Coded(asked, kinds, larger)
    try:
        publication = coded.of.publication
        options: Mapping[str, Any] = publication.run.options
        number = max(-(-coded.tuples.count() // most), int(options.get("parts", 1)))
        place = DIVIDED.get(publication.algorithm, _cells)(coded, options, number, most)
        return place(coded.kinds).select("part", "own", "weight")
    finally:
        coded.forget()


def of_part(asked: Asked, of: Planned) -> Asked:
    """What is asked of a part: one that a system has made is not divided again by the same rule."""
    algorithm = find(of.publication.algorithm)
    again = algorithm.name in DIVIDED and any(p.name == "parts" for p in algorithm.own)
    return replace(asked, parameters={**asked.parameters, "parts": 1}) if again else asked


def _cells(coded: Coded, _: Mapping[str, Any], __: int, most: int) -> Place:
    return partition_cuts.cut(coded, most, partition_cuts.CELLS)


def _mondrian(coded: Coded, options: Mapping[str, Any], _: int, most: int) -> Place:
    """The cuts of strict Mondrian, level by level as map and reduce make them, until a process can go on with a part
    alone: the classes are those of the whole table. Coarse cells where cuts are others, or where max_level keeps blocks
    apart before any cut."""
    is_strict = options.get("strict", True) and options.get("base", "mondrian") == "mondrian"
    return partition_cuts.cut(
        coded, most, partition_cuts.MONDRIAN if is_strict and not coded.is_limited else partition_cuts.CELLS
    )


def _around(coded: Coded, options: Mapping[str, Any], number: int, most: int) -> Place:
    """PPPC and S-CPM: parts by k-means, those of too many tuples cut into coarse cells."""
    return partition_cuts.cut(
        coded, most, partition_cuts.CELLS, kmeans_partitions.around(coded, number, int(options.get("rounds", 20)))
    )


def _halved(coded: Coded, options: Mapping[str, Any], _: int, most: int) -> Place:
    """DHkmeans: 2-means, level by level as map and reduce make it."""
    return kmeans_partitions.halved(coded, most, int(options["rounds"]))


def _hashed(coded: Coded, options: Mapping[str, Any], number: int, most: int) -> Place:
    """KNN-(G,S): tuples by a hash of their codes and the seed."""
    return partition_cuts.cut(
        coded, most, partition_cuts.CELLS, _in_a_row(coded, partial(_by_hash, str(options["seed"]), number))
    )


def _graded(coded: Coded, _: Mapping[str, Any], number: int, most: int) -> Place:
    """GCCG: runs of the records by score, of about equal size."""
    shares = _shares(coded)
    counted = _by_score(shares, None, coded.tuples).groupBy("part").agg(fn.sum("weight").alias("records")).collect()
    grades, records = np.array(sorted((row["part"], row["records"]) for row in counted), np.int64).T
    part = (np.cumsum(records) - 1) * number // records.sum()
    first = grades[np.flatnonzero(np.append(True, part[1:] != part[:-1]))]
    return partition_cuts.cut(coded, most, partition_cuts.CELLS, _in_a_row(coded, partial(_by_score, shares, first)))


DIVIDED: Mapping[str, Divide] = {
    "mondrian": _mondrian,
    "mr_mondrian": _mondrian,
    "ldiversity_mondrian": _mondrian,
    "pppc": _around,
    "s_cpm": _around,
    "dhkmeans": _halved,
    "knn_gs": _hashed,
    "gccg": _graded,
}
"""The systems that have a rule of their own."""


def _by_hash(seed: str, number: int, rows: DataFrame) -> DataFrame:
    hashed = fn.xxhash64("codes", fn.lit(seed))
    return rows.withColumn("part", fn.pmod(hashed, fn.lit(number)).cast("int"))


Shares = list[npt.NDArray[np.float64]]
"""What each code of an attribute adds to the score of a record."""


def _shares(coded: Coded) -> Shares:
    """As dbanon.algorithms.nearest_neighbour.gccg scores: numbers from 0 to 1 over their ranges, categories and NULL by
    their relative frequencies, times the weights; altogether at most 1."""
    found = []
    for attribute, of in zip(coded.attributes, coded.values(partition_cuts.whole)[0], strict=True):
        share = np.bincount(of.codes, weights=of.records, minlength=attribute.values + 1) / coded.records
        if isinstance(attribute, NumericAttribute) and attribute.values:
            share[:-1] = attribute.positions / max(float(attribute.positions[-1]), sys.float_info.min)
        found.append(attribute.weight * share)
    return [share / max(sum(a.weight for a in coded.attributes), sys.float_info.min) for share in found]


def _by_score(shares: Shares, first: Ints | None, rows: DataFrame) -> DataFrame:
    """Return rows with their grade as the part; or, where parts begin at some grades, with the part."""

    def graded(codes: Codes) -> Ints:
        score = sum((share[of] for share, of in zip(shares, codes, strict=True)), np.zeros(codes.shape[1]))
        grade = (np.round(score, 12) * GRADES).astype(np.int64)
        return grade if first is None else np.searchsorted(first, grade, side="right") - 1

    return by_codes(graded, rows)


def _in_a_row(coded: Coded, place: Place) -> Place:
    """Parts in a row, of which those that have too few records or miss a model are one with the next; the last with the
    one before."""
    into = list(range(max(coded.sizes(place)) + 1))
    while True:
        joined = partial(_renumbered, place, into)
        there = sorted(coded.sizes(joined))
        small = coded.missed(joined, there, 1)
        if not small or len(there) == 1:
            return joined
        groups: list[list[int]] = [[]]
        for part in there:
            groups[-1].append(part)
            if part not in small or len(groups[-1]) > 1:
                groups.append([])
        last = groups.pop()
        groups[-1:] = [[*groups[-1], *last]] if groups else [last]
        number = {part: i for i, group in enumerate(groups) for part in group}
        into = [number.get(part, 0) for part in into]


def _renumbered(place: Place, into: Sequence[int], rows: DataFrame) -> DataFrame:
    table = rows.sparkSession.createDataFrame(list(enumerate(into)), "part int, joined int")
    return place(rows).join(fn.broadcast(table), "part").drop("part").withColumnRenamed("joined", "part")
