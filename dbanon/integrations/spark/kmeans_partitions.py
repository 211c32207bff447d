"""Partition a table by k-means: tuples are assigned to the nearest center, and centers are averages of partitions.

The driver computes centers from counts of codes.
"""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from dbanon.algorithms.partitioning.part_distances import PartDistances, Point
from dbanon.encoding.encoded_table import Codes, EncodedTable, Ints
from dbanon.integrations.spark import partition_cuts
from dbanon.integrations.spark.encode import CodeCounts, Partitioner, PartitionInput, partition_by_codes

Centers = Mapping[int, Point]
"""Centers by the number of their part."""

Stage = Mapping[int, Centers]
"""The centers of the partitions that each partition is divided into."""


def kmeans_parts(encoded: PartitionInput, n_parts: int, rounds: int) -> Partitioner:
    """Return a function that assigns rows to about `n_parts` partitions found by k-means.

    The first centers are those of coarse cells (partitions cut at medians), since sampled records would have to be sent
    to the driver. A center has the mean of numbers and the most frequent value of categories. A partition that has too
    few records for a class, or misses a privacy model, is merged with that of the nearest center. O(rounds * tuples *
    n_parts) time.

    Args:
        encoded: The distinct records of the table as codes.
        n_parts: The aimed number of partitions.
        rounds: The most rounds of k-means; fewer are made if no center changes.
    """
    distances = _CenterDistances(encoded)
    cells = partition_cuts.cut_parts(encoded, -(-encoded.tuples.count() // n_parts), partition_cuts.CELLS)
    centers = distances.averages(encoded.code_counts(cells))
    for _ in range(rounds):
        new_centers = centers | distances.averages(encoded.code_counts(distances.assign_nearest([{0: centers}])))
        if new_centers == centers:
            break
        centers = new_centers
    merged: dict[int, Centers] = {}
    while True:
        partitioner = distances.assign_nearest([{0: centers}, merged])
        parts = encoded.tuple_counts(partitioner).keys()
        failing = encoded.failing_parts(partitioner, parts, 1)
        if not failing or len(parts) == 1:
            return partitioner
        dissolved = min(failing)
        nearest = distances.nearest_center(
            centers[dissolved], {part: centers[part] for part in sorted(parts) if part != dissolved}
        )
        merged |= {part: {nearest: centers[nearest]} for part, targets in merged.items() if dissolved in targets}
        merged[dissolved] = {nearest: centers[nearest]}


def bisecting_kmeans_parts(encoded: PartitionInput, max_tuples: int, rounds: int) -> Partitioner:
    """Return a function that assigns rows to partitions found by repeated 2-means.

    A partition of more than `max_tuples` tuples (distinct combinations of codes) is divided into two if each of these
    has the records of a class and meets the privacy models; otherwise it is not divided. The first centers are those of
    the two sides of a cut at a median. Each 2-means makes at most `rounds` rounds. O(rounds * tuples) time per level.
    """
    distances, stages = _CenterDistances(encoded), list[Stage]()
    partitioner, n_parts = distances.assign_nearest(stages), 1
    open_parts = encoded.tuple_counts(partitioner)
    while large_parts := [part for part, n in open_parts.items() if n > max_tuples]:
        cuts = list(
            partition_cuts.first_cuts(
                encoded, partition_cuts.CELLS, encoded.code_counts(partitioner, large_parts), n_parts
            )
        )
        n_parts += len(cuts)
        pairs = {c.part: c.sides for c in cuts}
        sides = [side for pair in pairs.values() for side in pair]
        stage = _paired_centers(
            pairs,
            distances.averages(encoded.code_counts(partial(partition_cuts.apply_cuts, partitioner, [cuts]), sides)),
        )
        for _ in range(rounds):
            averages = distances.averages(encoded.code_counts(distances.assign_nearest([*stages, stage]), sides))
            new_stage = _paired_centers(
                pairs, {side: center for centers in stage.values() for side, center in centers.items()} | averages
            )
            if new_stage == stage:
                break
            stage = new_stage
        failing = encoded.failing_parts(distances.assign_nearest([*stages, stage]), sides, 1)
        stage = {part: centers for part, centers in stage.items() if not failing.intersection(centers)}
        stages.append(stage)
        partitioner = distances.assign_nearest(stages)
        split_sides = {side for centers in stage.values() for side in centers}
        open_parts = {part: n for part, n in encoded.tuple_counts(partitioner).items() if part in split_sides}
    return partitioner


def _paired_centers(pairs: Mapping[int, Sequence[int]], centers: Centers) -> Stage:
    """Return the centers of the sides into which each partition is divided: {partition: {side: center}}.

    Args:
        pairs: The numbers of the two sides, by partition.
        centers: The center of every side, by the side's number.
    """
    return {part: {side: centers[side] for side in sides} for part, sides in pairs.items()}


class _CenterDistances:
    """Computes centers (averages) of partitions, and distances between tuples and centers.

    Distances are relative to the ranges of the whole table.
    """

    def __init__(self, encoded: PartitionInput) -> None:
        """Prepare the distances of the attributes of `encoded`; no tuple is read."""
        missing = np.array([[a.values for a in encoded.attributes]], np.int32)
        table = EncodedTable(tuple(encoded.attributes), missing, np.ones(1, np.int64), None, encoded.n_records)
        self.distances = PartDistances(table, "edges")

    def averages(self, code_counts: Mapping[int, Sequence[CodeCounts]]) -> dict[int, Point]:
        """Return the center of each partition: the mean of numbers and the most frequent value of categories.

        `code_counts` has, by partition, the `CodeCounts` of each attribute.
        """
        columns = self.distances.columns
        return {
            part: [
                column.average(v.codes.astype(np.int32), v.records) for column, v in zip(columns, counts, strict=True)
            ]
            for part, counts in code_counts.items()
        }

    def nearest_center(self, center: Point, others: Centers) -> int:
        """Return the number of the partition in `others` whose center is nearest; the lowest of equally near ones."""
        return min(others, key=lambda part: (self.distances.point_distance(center, others[part]), part))

    def assign_nearest(self, stages: Sequence[Stage]) -> Partitioner:
        """Return a function that assigns rows to the partition of the nearest center, stage by stage.

        All rows begin in partition 0. Each stage gives, for some partitions, the centers of those into which they are
        divided; rows of other partitions remain there. Without stages, all rows remain in partition 0.
        """
        return partial(partition_by_codes, partial(_nearest_parts, self.distances, tuple(stages)))


def _nearest_parts(distances: PartDistances, stages: Sequence[Stage], codes: Codes) -> Ints:
    """Return the (tuples,) partition numbers of an (attributes, tuples) array of codes.

    All tuples begin in partition 0. In each stage, tuples of a partition that the stage divides move to the partition
    of the nearest center, the first of equally near ones.

    Args:
        distances: The distances.
        stages: For each stage: {partition to divide: {number of a new partition: its center}}.
        codes: The codes.
    """
    parts = np.zeros(codes.shape[1], np.int64)
    for stage in stages:
        parents = parts.copy()
        for parent, centers in stage.items():
            members = np.flatnonzero(parents == parent)
            best_distances, nearest_parts = np.empty(0, np.int64), np.full(len(members), parent)
            for number, center in centers.items():
                new_distances = distances.distances_to(center, codes[:, members])
                if len(best_distances):
                    nearer = new_distances < best_distances
                    nearest_parts[nearer], best_distances = number, np.where(nearer, new_distances, best_distances)
                else:
                    nearest_parts[:], best_distances = number, new_distances
            parts[members] = nearest_parts
    return parts
