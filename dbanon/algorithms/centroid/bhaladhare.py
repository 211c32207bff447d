"""Systematic clustering of records that are sorted by some quasi-identifiers and sensitive columns together."""

from dbanon.algorithms.base.registry import LARGE, MODE, SEED, Check, Options, register, single_cluster_below_2k
from dbanon.algorithms.centroid.sorted_seeds import (
    A_PARAMETER,
    B_PARAMETER,
    SeededClusters,
    one_record_per_group,
    rows_by_first_columns,
)
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint


@single_cluster_below_2k
def bhaladhare(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Ints:
    """Cluster records sorted by quasi-identifiers and sensitive columns together (Bhaladhare and Jinwala).

    Reconstructed from the review of clustering methods. Records are sorted by the first `sort_quasi` quasi-identifiers,
    then by the first `sort_sensitive` sensitive columns (an "equal combination" if both numbers are equal), and cut
    into floor(n/k) groups of k consecutive records. A random record of each group (deterministic: the first) is a seed
    of a cluster. The others join, in sorted order, the cluster of fewer than k records whose whole loss grows least;
    the last ones, once all have k, join any cluster. O(n^2 / k) time, O(n) memory.

    Which records are together depends on sensitive values, which no model checks: an attacker who knows the method can
    learn from it more than from other algorithms.
    """
    rows = rows_by_first_columns(space, int(str(options["sort_quasi"])), int(str(options["sort_sensitive"])))
    k, number = constraint.min_records, space.rows // constraint.min_records
    clusters = SeededClusters(space, k, one_record_per_group(rows[: number * k].reshape(number, k), options), check)
    clusters.assign(rows[clusters.labels[rows] < 0])
    return clusters.labels


register(
    bhaladhare,
    title="Systematic clustering by a combination of quasi-identifiers and sensitive columns",
    summary=(
        "Works like `systematic`, but sorts records by some quasi-identifiers and sensitive columns together; the "
        "seeds are one random record of every k consecutive ones."
    ),
    source="Bhaladhare and Jinwala, as the review of clustering methods describes them",
    evidence="description",
    own_parameters=(A_PARAMETER, B_PARAMETER, SEED, MODE, LARGE),
    reads=("sensitive",),
)
