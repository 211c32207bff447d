"""Divide a table into partitions that are anonymized separately.

An algorithm with a rule of its own divides by that; the others use coarse cells as in
dbanon.encoding.coarse_partitions. The driver receives only values of columns and counts.
"""

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
from dbanon.integrations.spark.encode import Partitioner, PartitionInput, partition_by_codes
from dbanon.integrations.spark.session_call import CallPlanner, LargerTable, PortableCall

SCORE_STEPS = 2**16
"""The number of steps to which scores are rounded."""

Partitioning = Callable[[PartitionInput, Mapping[str, Any], int, int], Partitioner]
"""How an algorithm divides a table: from its input, its options, the aimed number of partitions, and the most tuples of
one.
"""


def partition_records(
    call: PortableCall, distinct_records: DataFrame, larger: LargerTable, max_tuples: int
) -> DataFrame:
    """Return distinct records (`own`, `weight`) with the partition (`part`) that each is in.

    A partition has at most `max_tuples` tuples, as far as every partition has enough records and meets the models.
    """
    encoded = PartitionInput(call, distinct_records, larger)
    try:
        publication = encoded.planner.spec
        options: Mapping[str, Any] = publication.run.options
        n_parts = max(-(-encoded.tuples.count() // max_tuples), int(options.get("parts", 1)))
        partitioner = PARTITIONINGS.get(publication.algorithm, _coarse_cells)(encoded, options, n_parts, max_tuples)
        return partitioner(encoded.distinct_records).select("part", "own", "weight")
    finally:
        encoded.unpersist()


def part_call(call: PortableCall, planner: CallPlanner) -> PortableCall:
    """Return the call for one partition: an algorithm does not divide it again by the same rule."""
    algorithm = find(planner.spec.algorithm)
    is_partitioned_again = algorithm.name in PARTITIONINGS and any(p.name == "parts" for p in algorithm.own)
    return replace(call, parameters={**call.parameters, "parts": 1}) if is_partitioned_again else call


def _coarse_cells(encoded: PartitionInput, _: Mapping[str, Any], __: int, max_tuples: int) -> Partitioner:
    """Divide a table into coarse cells."""
    return partition_cuts.cut_parts(encoded, max_tuples, partition_cuts.CELLS)


def _mondrian_parts(encoded: PartitionInput, options: Mapping[str, Any], _: int, max_tuples: int) -> Partitioner:
    """Divide a table by the cuts of strict Mondrian, level by level, until one process can continue with a partition.

    The classes are then those of the whole table. Coarse cells are used if the cuts are others, or if max_level
    separates blocks before any cut.
    """
    is_strict = options.get("strict", True) and options.get("base", "mondrian") == "mondrian"
    return partition_cuts.cut_parts(
        encoded, max_tuples, partition_cuts.MONDRIAN if is_strict and not encoded.has_blocks else partition_cuts.CELLS
    )


def _kmeans_parts(encoded: PartitionInput, options: Mapping[str, Any], n_parts: int, max_tuples: int) -> Partitioner:
    """Divide a table for PPPC and S-CPM: by k-means, then partitions of too many tuples into coarse cells."""
    return partition_cuts.cut_parts(
        encoded,
        max_tuples,
        partition_cuts.CELLS,
        kmeans_partitions.kmeans_parts(encoded, n_parts, int(options.get("rounds", 20))),
    )


def _bisecting_kmeans_parts(
    encoded: PartitionInput, options: Mapping[str, Any], _: int, max_tuples: int
) -> Partitioner:
    """Divide a table for DHkmeans: by repeated 2-means."""
    return kmeans_partitions.bisecting_kmeans_parts(encoded, max_tuples, int(options["rounds"]))


def _hash_parts(encoded: PartitionInput, options: Mapping[str, Any], n_parts: int, max_tuples: int) -> Partitioner:
    """Divide a table for KNN-(G,S): by a hash of codes and seed."""
    return partition_cuts.cut_parts(
        encoded,
        max_tuples,
        partition_cuts.CELLS,
        _merge_failing_neighbours(encoded, partial(_add_hash_part, str(options["seed"]), n_parts)),
    )


def _score_parts(encoded: PartitionInput, _: Mapping[str, Any], n_parts: int, max_tuples: int) -> Partitioner:
    """Divide a table for GCCG: into ranges of scores with about equal numbers of records."""
    code_scores = _code_scores(encoded)
    rows = (
        _add_score_part(code_scores, None, encoded.tuples)
        .groupBy("part")
        .agg(fn.sum("weight").alias("records"))
        .collect()
    )
    grades, records = np.array(sorted((row["part"], row["records"]) for row in rows), np.int64).T
    part = (np.cumsum(records) - 1) * n_parts // records.sum()
    first_grades = grades[np.flatnonzero(np.append(True, part[1:] != part[:-1]))]
    return partition_cuts.cut_parts(
        encoded,
        max_tuples,
        partition_cuts.CELLS,
        _merge_failing_neighbours(encoded, partial(_add_score_part, code_scores, first_grades)),
    )


PARTITIONINGS: Mapping[str, Partitioning] = {
    "mondrian": _mondrian_parts,
    "mr_mondrian": _mondrian_parts,
    "ldiversity_mondrian": _mondrian_parts,
    "pppc": _kmeans_parts,
    "s_cpm": _kmeans_parts,
    "dhkmeans": _bisecting_kmeans_parts,
    "knn_gs": _hash_parts,
    "gccg": _score_parts,
}
"""The algorithms that have a rule of their own."""


def _add_hash_part(seed: str, n_parts: int, rows: DataFrame) -> DataFrame:
    hashed = fn.xxhash64("codes", fn.lit(seed))
    return rows.withColumn("part", fn.pmod(hashed, fn.lit(n_parts)).cast("int"))


CodeScores = list[npt.NDArray[np.float64]]
"""What each code of an attribute adds to the score of a record."""


def _code_scores(encoded: PartitionInput) -> CodeScores:
    """Return the scores of codes, as dbanon.algorithms.nearest_neighbour.gccg computes them.

    Numbers score from 0 to 1 over their range, categories and NULL by relative frequency, times the weights; a record's
    score is at most 1.
    """
    scores = []
    for attribute, counts in zip(encoded.attributes, encoded.code_counts(partition_cuts.single_part)[0], strict=True):
        share = np.bincount(counts.codes, weights=counts.records, minlength=attribute.values + 1) / encoded.n_records
        if isinstance(attribute, NumericAttribute) and attribute.values:
            share[:-1] = attribute.positions / max(float(attribute.positions[-1]), sys.float_info.min)
        scores.append(attribute.weight * share)
    return [share / max(sum(a.weight for a in encoded.attributes), sys.float_info.min) for share in scores]


def _add_score_part(code_scores: CodeScores, first_grades: Ints | None, rows: DataFrame) -> DataFrame:
    """Return rows with their rounded score as the partition; with `first_grades`, the range of scores that it is in."""

    def grade_codes(codes: Codes) -> Ints:
        score = sum(
            (share[column_codes] for share, column_codes in zip(code_scores, codes, strict=True)),
            np.zeros(codes.shape[1]),
        )
        grade = (np.round(score, 12) * SCORE_STEPS).astype(np.int64)
        return grade if first_grades is None else np.searchsorted(first_grades, grade, side="right") - 1

    return partition_by_codes(grade_codes, rows)


def _merge_failing_neighbours(encoded: PartitionInput, partitioner: Partitioner) -> Partitioner:
    """Return consecutive partitions, where each that fails is merged with the next one.

    The last one is merged with the previous one.
    """
    new_numbers = list(range(max(encoded.tuple_counts(partitioner)) + 1))
    while True:
        merged = partial(_renumber_parts, partitioner, new_numbers)
        parts = sorted(encoded.tuple_counts(merged))
        failing = encoded.failing_parts(merged, parts, 1)
        if not failing or len(parts) == 1:
            return merged
        groups: list[list[int]] = [[]]
        for part in parts:
            groups[-1].append(part)
            if part not in failing or len(groups[-1]) > 1:
                groups.append([])
        last = groups.pop()
        groups[-1:] = [[*groups[-1], *last]] if groups else [last]
        number = {part: i for i, group in enumerate(groups) for part in group}
        new_numbers = [number.get(part, 0) for part in new_numbers]


def _renumber_parts(partitioner: Partitioner, new_numbers: Sequence[int], rows: DataFrame) -> DataFrame:
    table = rows.sparkSession.createDataFrame(list(enumerate(new_numbers)), "part int, joined int")
    return partitioner(rows).join(fn.broadcast(table), "part").drop("part").withColumnRenamed("joined", "part")
