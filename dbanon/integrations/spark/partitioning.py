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
from dbanon.integrations.spark.session_call import CallPlanner, PortableCall, TableCounts

SCORE_STEPS = 2**16
"""The number of steps to which scores are rounded."""

Partitioning = Callable[[PartitionInput, Mapping[str, Any], int, int], Partitioner]
"""How an algorithm divides a table: from its input, its options, the aimed number of partitions, and the most tuples of
one.
"""


def partition_records(
    call: PortableCall, distinct_records: DataFrame, larger: TableCounts, max_tuples: int
) -> DataFrame:
    """Return the distinct records (`own`, `weight`) with the number of the partition (`part`) that each is in.

    `own` is a struct of a record's values, `weight` how many records have them. A partition has at most `max_tuples`
    combinations of quasi-identifiers, unless dividing it further would give one with too few records or without the
    privacy models.

    Args:
        call: The call.
        distinct_records: The distinct records of the table.
        larger: Counts of the values of the whole table.
        max_tuples: The most tuples (combinations of quasi-identifiers) of one partition.
    """
    encoded = PartitionInput(call, distinct_records, larger)
    try:
        spec = encoded.planner.spec
        options: Mapping[str, Any] = spec.run.options
        n_parts = max(-(-encoded.tuples.count() // max_tuples), int(options.get("parts", 1)))
        partitioner = PARTITIONINGS.get(spec.algorithm, _coarse_cells)(encoded, options, n_parts, max_tuples)
        return partitioner(encoded.distinct_records).select("part", "own", "weight")
    finally:
        encoded.unpersist()


def part_call(call: PortableCall, planner: CallPlanner) -> PortableCall:
    """Return the call that clusters one partition.

    It has `parts` = 1 if the algorithm has this parameter and partitioned the table by its own rule, so that it does
    not divide again.
    """
    algorithm = find(planner.spec.algorithm)
    is_partitioned_again = algorithm.name in PARTITIONINGS and any(p.name == "parts" for p in algorithm.own_parameters)
    return replace(call, parameters={**call.parameters, "parts": 1}) if is_partitioned_again else call


def _coarse_cells(encoded: PartitionInput, _: Mapping[str, Any], __: int, max_tuples: int) -> Partitioner:
    """Return a function that assigns rows to coarse cells: partitions found by repeated cuts at medians.

    A cell has at most `max_tuples` tuples (distinct combinations of codes), unless it cannot be cut. The options and
    the number of partitions are not used.
    """
    return partition_cuts.cut_parts(encoded, max_tuples, partition_cuts.CELLS)


def _mondrian_parts(encoded: PartitionInput, options: Mapping[str, Any], _: int, max_tuples: int) -> Partitioner:
    """Return a function that assigns rows to partitions made by the cuts of strict Mondrian, level by level.

    Cutting a partition ends when it has at most `max_tuples` tuples. The classes are then those of the whole table.
    Coarse cells (cuts at medians) are used if the options request another variant than strict Mondrian, or if a
    max_level separates blocks before any cut.
    """
    is_strict = options.get("strict", True) and options.get("base", "mondrian") == "mondrian"
    return partition_cuts.cut_parts(
        encoded, max_tuples, partition_cuts.MONDRIAN if is_strict and not encoded.has_blocks else partition_cuts.CELLS
    )


def _kmeans_parts(encoded: PartitionInput, options: Mapping[str, Any], n_parts: int, max_tuples: int) -> Partitioner:
    """Return a function that assigns rows to about `n_parts` k-means partitions (for PPPC and S-CPM).

    Partitions of more than `max_tuples` tuples are divided into coarse cells (by cuts at medians).
    """
    return partition_cuts.cut_parts(
        encoded,
        max_tuples,
        partition_cuts.CELLS,
        kmeans_partitions.kmeans_parts(encoded, n_parts, int(options.get("rounds", 20))),
    )


def _bisecting_kmeans_parts(
    encoded: PartitionInput, options: Mapping[str, Any], _: int, max_tuples: int
) -> Partitioner:
    """Return a function that assigns rows to partitions made by repeated 2-means (for DHkmeans).

    Partitions of more than `max_tuples` tuples are divided, with at most `options["rounds"]` rounds each.
    """
    return kmeans_partitions.bisecting_kmeans_parts(encoded, max_tuples, int(options["rounds"]))


def _hash_parts(encoded: PartitionInput, options: Mapping[str, Any], n_parts: int, max_tuples: int) -> Partitioner:
    """Return a function that assigns rows to `n_parts` partitions by a hash of codes and seed (for KNN-(G,S)).

    Partitions with too few records for a class, or that miss a privacy model, are merged with neighbours. Those of more
    than `max_tuples` tuples are then divided into coarse cells (by cuts at medians).
    """
    return partition_cuts.cut_parts(
        encoded,
        max_tuples,
        partition_cuts.CELLS,
        _merge_failing_neighbours(encoded, partial(_add_hash_part, str(options["seed"]), n_parts)),
    )


def _score_parts(encoded: PartitionInput, _: Mapping[str, Any], n_parts: int, max_tuples: int) -> Partitioner:
    """Return a function that assigns rows to `n_parts` ranges of scores with about equally many records (for GCCG).

    Partitions with too few records for a class, or that miss a privacy model, are merged with neighbours. Those of more
    than `max_tuples` tuples are then divided into coarse cells (by cuts at medians).
    """
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
    """Return rows with the column `part`: a hash of `codes` and the seed, modulo `n_parts`."""
    return rows.withColumn("part", fn.pmod(fn.xxhash64("codes", fn.lit(seed)), fn.lit(n_parts)).cast("int"))


CodeScores = list[npt.NDArray[np.float64]]
"""What each code of an attribute adds to the score of a record."""


def _code_scores(encoded: PartitionInput) -> CodeScores:
    """Return for each attribute an array with the score of each code (the last one for NULL).

    A number scores from 0 to 1 over the attribute's range; a category or NULL scores its share of the records. Scores
    are multiplied by the attribute's weight and divided by the sum of all weights. A record's score, the sum over
    attributes, is at most 1. They equal those of dbanon.algorithms.nearest_neighbour.gccg.
    """
    scores = []
    for attribute, counts in zip(encoded.attributes, encoded.code_counts(partition_cuts.single_part)[0], strict=True):
        share = np.bincount(counts.codes, weights=counts.records, minlength=attribute.values + 1) / encoded.n_records
        if isinstance(attribute, NumericAttribute) and attribute.values:
            share[:-1] = attribute.positions / max(float(attribute.positions[-1]), sys.float_info.min)
        scores.append(attribute.weight * share)
    return [share / max(sum(a.weight for a in encoded.attributes), sys.float_info.min) for share in scores]


def _add_score_part(code_scores: CodeScores, first_grades: Ints | None, rows: DataFrame) -> DataFrame:
    """Return rows with the column `part`: the record's score in steps of 1 / SCORE_STEPS, rounded down ("grade").

    With `first_grades`, `part` is the index of a range of grades instead.

    Args:
        code_scores: For each attribute, the score of each code; a record's score is the sum over attributes.
        first_grades: The first grade of each range, ascending; None for grades.
        rows: Rows with `codes`.
    """

    def grade_codes(codes: Codes) -> Ints:
        """Return the partition of each record, from an (attributes, records) array of codes."""
        score = sum(
            (share[column_codes] for share, column_codes in zip(code_scores, codes, strict=True)),
            np.zeros(codes.shape[1]),
        )
        grade = (np.round(score, 12) * SCORE_STEPS).astype(np.int64)
        return grade if first_grades is None else np.searchsorted(first_grades, grade, side="right") - 1

    return partition_by_codes(grade_codes, rows)


def _merge_failing_neighbours(encoded: PartitionInput, partitioner: Partitioner) -> Partitioner:
    """Return a function that assigns rows as `partitioner` does, then merges consecutive partitions until none fails.

    A partition fails if it has too few records for one class or misses a privacy model. It is merged with the next one,
    the last with the previous one. Merged partitions are numbered from 0; one partition is never merged.
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
    """Return rows with the `part` of `partitioner` replaced by `new_numbers[part]`."""
    table = rows.sparkSession.createDataFrame(list(enumerate(new_numbers)), "part int, joined int")
    return partitioner(rows).join(fn.broadcast(table), "part").drop("part").withColumnRenamed("joined", "part")
