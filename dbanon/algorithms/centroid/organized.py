"""Organized clustering: a random record of every sorted group begins a cluster, which takes the cheapest records."""

from dataclasses import replace

import numpy as np

from dbanon.algorithms.base.grow_clusters import grow_groups
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
from dbanon.algorithms.centroid.adaptive_k import SeededGroups
from dbanon.algorithms.centroid.sorted_seeds import A_PARAMETER, one_record_per_group, rows_by_first_columns
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.arrays import N_REMAINING, NEXT_SEED, SUMMED_GROWTH
from dbanon.privacy_models.constraint import Constraint


@single_cluster_below_2k
def organized(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with organized clustering (Ashoka and Poornima), reconstructed from the review of clustering methods.

    Records are sorted by the first `sort_quasi` quasi-identifiers, then by as many sensitive columns, and cut into
    floor(n/k) groups of k consecutive records. A random record of each group (deterministic: the first) is the centroid
    of a cluster. In the order of the groups, each cluster takes, k - 1 times, the record of any group with which its
    loss grows least; centroids are not taken. The last fewer than k records join the cluster whose whole loss grows
    least. O(n^2) time, O(n) memory.

    The review says that records are placed "from group to cluster based on low information loss". Reconstructed are the
    order, and that a cluster may take records of every group: restricted to their own groups, records lose several
    times as much as with `kmember`, of which the paper claims the opposite.

    Which records are together depends on sensitive values, which no model checks: an attacker who knows the method can
    learn from it more than from other algorithms.
    """
    k, n_sort_columns = constraint.min_records, int(str(options["sort_quasi"]))
    rows, n_clusters = rows_by_first_columns(space, n_sort_columns, n_sort_columns), space.rows // k
    centroids = one_record_per_group(rows[: n_clusters * k].reshape(n_clusters, k), options)
    return grow_groups(space, ReservedSeedGroups(space, k, space.tuple_of[centroids]), check)


class ReservedSeedGroups(SeededGroups):
    """Growth rules of organized clustering: clusters of k records, none of which takes the seed of another one."""

    def __init__(self, space: EncodedTable, k: int, seeds: Ints) -> None:
        """Reserve the seeds: no cluster but its own takes a seed. `seeds` is the tuple of each seed."""
        super().__init__(space, k, seeds)
        np.subtract.at(self.n_remaining_of, seeds, 1)
        self.n_started = 0
        # No growth is cheap enough for more than k records.
        self.state[[N_REMAINING, SUMMED_GROWTH]] = space.rows - len(seeds), -np.inf

    def can_form_group(self) -> bool:
        """Return whether a seed has no cluster yet."""
        return self.n_started < len(self.seeds)

    def form_groups(self, first_number: int, max_groups: int) -> int:
        """Form up to `max_groups` groups, log them from number `first_number` on, and return how many were formed."""
        seeds = self.seeds[self.n_started : self.n_started + max_groups]
        members = np.empty((self.k + 1, 2), np.int64)
        for number, seed in enumerate(seeds, first_number):
            self.n_remaining_of[seed] += 1
            self.state[[NEXT_SEED, N_REMAINING]] = 0, self.state[N_REMAINING] + 1
            self.grow(np.array([seed]), 1, members, number)
        self.n_started += len(seeds)
        return len(seeds)


register(
    organized,
    title="Organized clustering",
    summary=(
        "Sorts and groups the records as `bhaladhare` does. A random record of each group begins a cluster, which "
        "takes the records that raise its loss least, of any group."
    ),
    source="Ashoka and Poornima, as the review of clustering methods describes them",
    evidence="description",
    own_parameters=(
        replace(
            A_PARAMETER,
            doc="Number of quasi-identifiers, and of sensitive columns, by which records are sorted; "
            "the first ones are used.",
        ),
        SEED,
        MODE,
        LARGE,
    ),
    reads=("sensitive",),
)
