"""k-Similar: the shortest tree that connects all records is cut at its longest edges."""

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import LARGE, Assignment, Check, Options, register, single_cluster_below_2k
from dbanon.encoding import distance
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

SAMPLE_TUPLES = 64
"""Tuples from which the time of all is estimated."""


@single_cluster_below_2k
def k_similar(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with k-Similar, reconstructed: the review only names it as one of the first systems for k-anonymity.

    It is known to divide the records into clusters of at least k close ones. Here, all records are connected by the
    shortest tree (found as by Prim, from the first record); equal records are one point. Its edges are cut, the longest
    first (in a tie the one that was added first), wherever both sides still have k records. What is connected then is a
    cluster. Distance of two records: what they lose together, as in the k-member papers. With persons or other models a
    cluster has at least as many records as any of them needs; clusters that still violate the constraint are merged
    afterwards. O(n^2) time, O(n) memory.
    """
    parent, length = _shortest_tree(space, constraint.min_records, progress.as_progress_check(check))
    return RunLengthLabels.from_tuple_clusters(
        space, _cut_longest(parent, length, space.counts, constraint.min_records)
    )


def _shortest_tree(space: EncodedTable, k: int, progress_check: progress.ProgressCheck) -> tuple[Ints, Ints]:
    """Return the edges of the shortest tree that connects all tuples, in the order in which they are added.

    Returns:
        (tuples - 1, 2) tuple that is connected already, and the tuple that is added; and the length of each edge.
    """
    tables, n_tuples = Loss(space, k, "edges").pair_tables(space), len(space.counts)
    outside, codes = np.arange(1, n_tuples), space.codes[1:]
    nearest, lengths = np.zeros(n_tuples - 1, np.int64), np.full(n_tuples - 1, np.iinfo(np.int64).max)
    edges, edge_lengths = np.empty((n_tuples - 1, 2), np.int64), np.empty(n_tuples - 1, np.int64)
    added, clock = 0, progress.thread_seconds()
    for i in range(n_tuples - 1):
        if i % 16 == 0:
            progress_check()
        distances = distance.distances_to_tuples(tables, space.codes[added], codes)
        is_nearer = distances < lengths
        lengths[is_nearer], nearest[is_nearer] = distances[is_nearer], added
        place = int(np.argmin(lengths))
        added = int(outside[place])
        edges[i], edge_lengths[i] = (nearest[place], added), lengths[place]
        outside, nearest, lengths = (np.delete(array, place) for array in (outside, nearest, lengths))
        codes = np.delete(codes, place, axis=0)
        progress_check.advance((i + 1) / n_tuples)
        if i == SAMPLE_TUPLES:
            steps, seconds = SAMPLE_TUPLES * space.codes.size, progress.thread_seconds() - clock
            progress_check.extrapolate(i / n_tuples, steps, seconds, 0.5)
    return edges, edge_lengths


def _cut_longest(edges: Ints, lengths: Ints, counts: Ints, k: int) -> Ints:
    """Cut the longest edges of a tree while both sides have k records, and return the cluster of each tuple.

    Args:
        edges: (tuples - 1, 2) a tuple and the one that was connected to it, parents before children; the root is 0.
        lengths: Length of each edge.
        counts: (tuples,) number of records of each tuple.
        k: Least number of records of a cluster.
    """
    parent, below = np.full(len(counts), -1), counts.astype(np.int64)
    for above, t in edges[::-1].tolist():
        below[above] += below[t]
        parent[t] = above
    above_of, records_below = parent.tolist(), below.tolist()
    for i in np.argsort(-lengths, kind="stable").tolist():
        t = int(edges[i, 1])
        if records_below[t] < k:
            continue
        path, node = [], above_of[t]
        while node >= 0:
            path.append(node)
            node = above_of[node]
        if records_below[path[-1]] - records_below[t] < k:
            continue
        for node in path:
            records_below[node] -= records_below[t]
        above_of[t] = -1
    cluster, n_clusters = np.zeros(len(counts), np.int64), 1
    for above, t in edges.tolist():
        if above_of[t] < 0:
            cluster[t], n_clusters = n_clusters, n_clusters + 1
        else:
            cluster[t] = cluster[above]
    return cluster


register(
    k_similar,
    title="k-Similar",
    summary="Connects all records by the shortest tree and cuts its longest edges while both sides have k records.",
    source="k-Similar, as the review of clustering methods names it",
    evidence="description",
    own_parameters=(LARGE,),
)
