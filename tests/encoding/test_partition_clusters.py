"""Clusters gathered from partitions of one attribute with a hierarchy, compared with a plain loop over all records."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dbanon.encoding import attribute_partitions
from dbanon.encoding.attribute_partitions import AttributePartitions
from dbanon.encoding.distance import DistanceTable, kacpc_distances
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable


def random_tree(rng: random.Random, depth: int, is_even: bool) -> CategoricalAttribute:
    """Return a hierarchy of `depth` levels below the root, fewer in some subtrees if it is not even."""
    parents, leaves = [-1], []

    def grow(node: int, level: int) -> None:
        if level == depth or (not is_even and level and rng.random() < 0.3):
            leaves.append(node)
            return
        for _ in range(rng.randint(1, 6) if depth > 1 else 60):
            parents.append(node)
            grow(len(parents) - 1, level + 1)

    grow(0, 0)
    return CategoricalAttribute(np.array(parents, np.int32), np.array(leaves, np.int32))


def random_space(rng: random.Random, depth: int, is_even: bool, most_records: int) -> EncodedTable:
    """Return a table of one attribute: every value, and in half of the cases NULL, occurs 1 to `most_records` times."""
    tree = random_tree(rng, depth, is_even)
    codes = np.arange(tree.values + rng.randint(0, 1), dtype=np.int32)[:, None]
    counts = np.array([rng.randint(1, most_records) for _ in codes], np.int64)
    return EncodedTable((tree,), codes, counts, None, int(counts.sum()))


def plain_clusters(space: EncodedTable, distances: DistanceTable, k: int, first_seed: int) -> list[list[int]]:
    """Return the sorted tuples of each cluster: a seed of least summed distance, and its k - 1 nearest records.

    Ties go to the first tuple.
    """
    remaining, sums, clusters = space.counts.tolist(), [0] * len(space.counts), []
    seed = first_seed
    while sum(remaining) >= k:
        tuples = [t for t, n in enumerate(remaining) if n]
        if clusters:
            seed = min(tuples, key=lambda t: (sums[t], t))
        remaining[seed] -= 1
        row = distances.row(int(space.codes[seed, 0])).tolist()
        nearest = sorted((row[space.codes[t, 0]], t) for t in tuples for _ in range(remaining[t]))[: k - 1]
        for _, t in nearest:
            remaining[t] -= 1
        clusters.append(sorted([seed, *(t for _, t in nearest)]))
        sums = [total + row[code] for total, code in zip(sums, space.codes[:, 0].tolist(), strict=True)]
    return clusters


@pytest.mark.parametrize("most_records", [1, 3, 9])
@pytest.mark.parametrize(("depth", "is_even"), [(1, True), (3, True), (4, False)], ids=["flat", "even", "uneven"])
def test_clusters_of_one_hierarchy_equal_plain_loop(
    depth: int, is_even: bool, most_records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attribute_partitions, "N_CANDIDATES", 8)  # so that not all tuples are candidates
    for number in range(12):
        rng = random.Random(1_000 * depth + number)
        space = random_space(rng, depth, is_even, most_records)
        k = rng.randint(2, 6)
        if space.rows < k or len(space.counts) < 3:
            continue
        distances, first_seed = kacpc_distances(space, k, True), rng.randrange(len(space.counts))
        partitions = AttributePartitions(space, distances, space.counts.copy())
        members = np.empty((space.rows // k * (k + 2), 2), np.int64)
        seeds = np.empty(space.rows // k, np.int64)
        n_rows, n_clusters = partitions.gather_clusters(k, first_seed, members, seeds)
        clusters: list[list[int]] = [[]]
        for t, n_records in members[:n_rows].tolist():
            if t < 0:
                clusters.append([])
            else:
                clusters[-1] += [t] * n_records
        assert [sorted(c) for c in clusters[:n_clusters]] == plain_clusters(space, distances[0], k, first_seed), number
