"""KNN-(G,S): clusters of the nearest records, some from each group of sensitive values."""

import numpy as np

from dbanon.algorithms.base.grow_clusters import KernelCountedRules, grow_groups
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.random_seeds import random_order
from dbanon.algorithms.base.registry import (
    LARGE,
    MODE,
    SEED,
    Assignment,
    Check,
    Options,
    register,
    single_cluster_below_2k,
)
from dbanon.algorithms.base.sensitive_groups import SensitiveGroups
from dbanon.encoding import distance
from dbanon.encoding.encoded_table import EncodedTable, Ints, SensitiveColumn
from dbanon.kernels.arrays import GroupPools
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

MAX_CLUSTERS_PER_CALL = 2**16
"""Greatest number of clusters that one call forms."""


@single_cluster_below_2k
def knn_gs(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with KNN-(G,S), the single-machine form.

    Reconstructed from the summary of its paper and the review of clustering methods. Sensitive values are put into
    groups: the nodes `group_level` steps above them in their hierarchy, or else `n_groups` runs of consecutive values
    with about equally many records. With several columns every combination of their groups is a group.

    Each cluster is a random record and the records nearest to it (the distance of the k-member papers) of each group,
    until it has `records_per_group` of every group, by default as many as k needs. If a group has fewer left, more are
    taken from the group with most records left. Clusters are formed while k records remain; the remaining records join
    the cluster with the nearest seed. The paper takes records from the 4GS nearest and looks further if these are not
    enough, which gives the same clusters. O(n^2 / k) time, O(n) memory.

    Which records are together depends on sensitive values; privacy models of these are met afterwards, by merging
    clusters that violate them.
    """
    return grow_groups(space, _GroupBalancedClusters(space, constraint.min_records, options), check)


def value_groups(sensitive: SensitiveColumn, groups: int, level: int | None) -> Ints:
    """Return the group of each value of a sensitive column, by code and, last, of NULL.

    Groups are the ancestors `level` steps above the values if a level is given and the column has a hierarchy. If not,
    each value is a group if at most `groups` occur; otherwise groups are at most `groups` runs of consecutive codes
    with about equally many records.

    Args:
        sensitive: The sensitive column.
        groups: Greatest number of groups if the hierarchy is not used.
        level: Steps up the hierarchy; None for groups of consecutive codes.
    """
    if level is not None and sensitive.tree is not None:
        return np.asarray(np.unique(sensitive.tree.block(level), return_inverse=True)[1], np.int64)
    records = np.bincount(sensitive.codes, minlength=sensitive.values + 1)
    if (records > 0).sum() <= groups:
        return np.arange(sensitive.values + 1)
    middle = 2 * np.cumsum(records) - records
    return np.asarray(np.minimum(middle * groups // max(2 * int(records.sum()), 1), groups - 1), np.int64)


class _GroupBalancedClusters(KernelCountedRules):
    """Growth rules of KNN-(G,S), in compiled code: clusters with records of each group of sensitive values."""

    def __init__(self, space: EncodedTable, k: int, options: Options) -> None:
        """Group the records by their sensitive values, and set how many records of each group a cluster takes.

        That is the option `records_per_group`, but at least as many as k needs. Seeds are taken in a random order.
        """
        super().__init__(space, k, np.array([0, space.rows], np.int64))
        groups, level, requested = (options[name] for name in ("n_groups", "group_level", "records_per_group"))
        above = None if level is None else int(str(level))
        codes = np.stack([value_groups(s, int(str(groups)), above)[s.codes] for s in space.sensitive])
        sensitive_groups = SensitiveGroups.from_codes(space, codes)
        n_remaining_of = np.bincount(sensitive_groups.group_of)
        min_per_group = -(-k // len(n_remaining_of))
        self.n_per_group = (
            min_per_group if requested is None else min(max(int(str(requested)), min_per_group), space.rows)
        )
        pools = sensitive_groups.pools_in_record_order()
        self.pools = GroupPools(pools, random_order(space, options), np.argsort(pools.rows), n_remaining_of)
        self.seeds: list[int] = []

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` clusters, numbered from `first_number`, and return how many were formed."""
        from dbanon.kernels.bucket_growth import grow_group_clusters

        seeds = np.empty(min(max_groups, MAX_CLUSTERS_PER_CALL), np.int64)
        inputs = (self.pools, self.kernel_inputs.loss_arrays, self.code_offsets, self.labels, seeds)
        n_formed = self.count_examined(
            *grow_group_clusters(self.state, len(seeds), first_number, self.k, self.n_per_group, *inputs)
        )
        self.seeds += seeds[:n_formed].tolist()
        return n_formed

    def assign_leftovers(self, n_groups: int, check: Check) -> None:
        """Assign each remaining record to the cluster with the nearest seed, the first one in a tie."""
        rows = np.flatnonzero(self.labels < 0)
        tables = Loss(self.space, 1, "edges").pair_tables(self.space)
        seeds = self.space.codes[self.seeds]
        for row, t in zip(rows.tolist(), self.space.tuple_of[rows].tolist(), strict=True):
            check()
            self.labels[row] = int(np.argmin(distance.distances_to_tuples(tables, self.space.codes[t], seeds)))


register(
    knn_gs,
    title="KNN-(G,S): nearest records of each group of sensitive values",
    summary=(
        "KNN-(G,S): starts each cluster at a random record and adds the S nearest records of each of G groups of "
        "sensitive values."
    ),
    source="Nayahi and Kavitha 2017, as the review of clustering methods describes it",
    evidence="abstract",
    own_parameters=(
        Parameter("n_groups", Integer(1, 1000), "Number of groups of sensitive values in each column: G.", 2),
        Parameter(
            "records_per_group",
            Integer(1),
            "Number of records of each group in a cluster: S; default: as many as k needs.",
        ),
        Parameter(
            "group_level",
            Integer(0),
            "Number of steps up the hierarchy of a sensitive column; the nodes there are the groups. Columns without "
            "a hierarchy have `n_groups` groups.",
        ),
        SEED,
        MODE,
        LARGE,
    ),
    reads=("sensitive",),
    looks_up="group_level",
)
