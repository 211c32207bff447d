"""The number of tuples that searches in partitions examine where many distances are equal."""

from __future__ import annotations

import numpy as np

from dbanon.encoding.attribute_partitions import AttributePartitions
from dbanon.encoding.distance import kacpc_distances
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable


def test_equal_sums_do_not_recompute_candidates() -> None:
    """In a flat hierarchy all sums are equal; a tie with the last candidate is decided without all other tuples."""
    n, k = 1_500, 5
    flat = CategoricalAttribute(np.append(-1, np.zeros(n)).astype(np.int32), np.arange(1, n + 1, dtype=np.int32))
    codes = np.arange(n, dtype=np.int32)[:, None]
    space = EncodedTable((flat,), codes, np.ones(n, np.int64), None, n)
    partitions = AttributePartitions(space, kacpc_distances(space, k, True), space.counts.copy())
    members, seeds = np.empty((n // k * (k + 2), 2), np.int64), np.empty(n // k, np.int64)
    n_rows, n_clusters = partitions.gather_clusters(k, 0, members, seeds)
    assert n_clusters == n // k
    tuples = members[:n_rows, 0]
    assert np.sort(tuples[tuples >= 0].reshape(n_clusters, k), axis=1).ravel().tolist() == list(range(n))
    assert partitions.steps < 0.6 * n * n_clusters
