"""Systematic clustering: every k-th record of the sorted table is a seed."""

import numpy as np

from dbanon.algorithms.base.registry import LARGE, MODE, SEED, Check, Options, register, single_cluster_below_2k
from dbanon.algorithms.centroid.sorted_seeds import SeededClusters, every_kth_record
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint


@single_cluster_below_2k
def systematic(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Ints:
    """Cluster with systematic clustering, from its abstract and the review of clustering methods.

    Records are sorted by the quasi-identifiers, numbers ascending and categories in the order of the leaves. Every k-th
    one, from a random one of the first k on (deterministic: from the middle one), is the seed of a cluster. The others
    join, in order, the cluster of fewer than k records whose whole loss grows least; the last ones, once all have k,
    any cluster. O(n^2 / k) time, O(n) memory.
    """
    k = constraint.min_records
    clusters = SeededClusters(space, k, every_kth_record(space, k, options), check)
    clusters.assign(np.flatnonzero(clusters.labels < 0))
    return clusters.labels


register(
    systematic,
    title="Systematic clustering",
    summary=(
        "Takes every k-th record of the sorted table as a seed. The other records join, in order, the cluster of fewer "
        "than k records whose loss grows least."
    ),
    source="systematic clustering, as the review of clustering methods describes it",
    evidence="abstract",
    own_parameters=(SEED, MODE, LARGE),
)
