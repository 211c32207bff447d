"""(K,L)-member: k-member whose clusters begin with records of l different sensitive values."""

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.kernel_inputs import build_kernel_inputs
from dbanon.algorithms.base.leftovers import assign_leftovers
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.random_seeds import generator, random_tuple
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
from dbanon.algorithms.greedy.eld import required_values
from dbanon.encoding import distance
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

SAMPLE_CLUSTERS = 4
"""Clusters from which the time of all is estimated."""


@single_cluster_below_2k
def kl_member(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with (K,L)-member, reconstructed from the review of clustering methods: diverse records first.

    The first cluster begins at the record farthest from a random one, later ones at the record farthest from the seed
    before. As long as a cluster lacks some of the `l` different values of a sensitive column, it takes the record that
    raises the information loss least among those whose value it does not have; then, until it has k records, among all.
    (`eld` takes the cheapest record whatever its value, and goes on until it has the values.) If no remaining record
    has a value that the cluster lacks, its records and all others join, in canonical order, the cluster whose whole
    loss grows least. Other models and forms of l, and persons, are met afterwards, by merging clusters that violate
    them. O(n^2) time, O(n) memory.
    """
    reference = random_tuple(space, options, generator(options))
    labels = DiverseFirst(space, constraint, reference).labels(progress.as_progress_check(check))
    if labels.max() < 0:
        return RunLengthLabels.single_cluster(space)
    assign_leftovers(build_kernel_inputs(space, Constraint(1), "edges"), space.tuple_of, labels, check)
    return labels


class DiverseFirst:
    """The remaining records, and the rule by which a cluster takes them.

    Attributes:
        rows: The canonical rows of the remaining records, ascending.
    """

    def __init__(self, space: EncodedTable, constraint: Constraint, reference: int) -> None:
        """Begin with all records; `reference` is the tuple from which the first seed is farthest."""
        self.space, self.k, self.reference = space, constraint.min_records, reference
        self.loss = Loss(space, constraint.min_records, "edges")
        self.tables = self.loss.pair_tables(space)
        required = required_values(space, constraint)
        self.values, self.min_values = required.codes, required.min_values
        self.rows, self.codes = np.arange(space.rows), space.codes[space.tuple_of]

    def labels(self, progress_check: progress.ProgressCheck) -> Ints:
        """Form clusters while possible, and return the cluster of every row; -1 for those in none."""
        labels, n_clusters, clock = np.full(self.space.rows, -1, np.int64), 0, progress.thread_seconds()
        while len(self.rows) >= self.k:
            progress_check()
            cluster = self._next_cluster()
            if cluster is None:
                break
            labels[self.rows[cluster]] = n_clusters
            self.rows, self.codes = np.delete(self.rows, cluster), np.delete(self.codes, cluster, axis=0)
            n_clusters += 1
            fraction = 1 - len(self.rows) / self.space.rows
            progress_check.advance(fraction)
            if n_clusters == SAMPLE_CLUSTERS:
                steps, seconds = SAMPLE_CLUSTERS * self.k * self.codes.size, progress.thread_seconds() - clock
                progress_check.extrapolate(fraction, steps, seconds, 0.5)
        return labels

    def _next_cluster(self) -> list[int] | None:
        """Return the next cluster as indices of `rows`; None if it cannot have enough different values.

        The reference becomes the seed's tuple.
        """
        seed = int(np.argmax(distance.distances_to_tuples(self.tables, self.space.codes[self.reference], self.codes)))
        self.reference = int(np.searchsorted(self.space.starts, self.rows[seed], side="right")) - 1
        cluster, low, high = [seed], self.codes[seed].copy(), self.codes[seed].copy()
        is_free = np.ones(len(self.rows), bool)
        is_free[seed] = False
        losses = [self._joined_losses(j, low, high) for j in range(len(low))]
        total = sum((table[self.codes[:, j]] for j, table in enumerate(losses)), np.zeros(len(self.rows), np.int64))
        while (lacking := self._lacking_column(cluster)) >= 0 or len(cluster) < self.k:
            is_candidate = is_free
            if lacking >= 0:
                own = self.values[lacking, self.rows]
                is_candidate = is_free & (own >= 0) & ~np.isin(own, own[cluster])
            candidates = np.flatnonzero(is_candidate)
            if not len(candidates):
                return None
            best = int(candidates[np.argmin(total[candidates])])
            cluster.append(best)
            is_free[best] = False
            code = self.codes[best]
            for j in np.flatnonzero((code < low) | (code > high)).tolist():
                low[j], high[j] = min(low[j], code[j]), max(high[j], code[j])
                table = self._joined_losses(j, low, high)
                total += (table - losses[j])[self.codes[:, j]]
                losses[j] = table
        return cluster

    def _joined_losses(self, j: int, low: Ints, high: Ints) -> Ints:
        """Return, for each code of attribute `j`, the loss on it of a cluster of these bounds with that code."""
        codes = np.arange(self.space.attributes[j].values + 1)
        return self.loss.terms[j].losses(np.minimum(codes, low[j]), np.maximum(codes, high[j]))

    def _lacking_column(self, cluster: list[int]) -> int:
        """Return the first sensitive column of which the cluster has too few different values; -1 if there is none."""
        for s, min_values in enumerate(self.min_values.tolist()):
            values = self.values[s, self.rows[cluster]]
            if len(np.unique(values[values >= 0])) < min_values:
                return s
        return -1


register(
    kl_member,
    title="(K,L)-member: k-member with diverse records first",
    summary=(
        "Grows clusters greedily as `kmember` does, but first takes records of `l` (default 2) different sensitive "
        "values."
    ),
    source="(K,L)-member, as the review of clustering methods names it",
    evidence="description",
    own_parameters=(SEED, MODE, LARGE),
    defaults={"l": 2},
    meets=("k", "l", "p"),
)
