"""KAPP: classes with each fuzzy cluster's share of sensitive values, merged until they are close to the table."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dbanon.algorithms.agglomerative.fuzzy_cmeans import fuzzy_centers, nearest_centers
from dbanon.algorithms.agglomerative.vulture_optimization import vulture_centers
from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import ClassBounds, cluster_members
from dbanon.algorithms.base.grow_clusters import MIN_BATCH, SAMPLE_GROUPS
from dbanon.algorithms.base.loss import Loss
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
from dbanon.algorithms.centroid.kmeans import ROUNDS
from dbanon.algorithms.greedy.least_loss import assign_by_least_growth
from dbanon.encoding import distance
from dbanon.encoding.encoded_table import Bools, EncodedTable, Floats, Ints
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.kernels.index_arrays import SumQuery
from dbanon.privacy_models.constraint import Constraint, value_counts
from dbanon.privacy_models.model import SLACK
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.table_functions.parameter_types import Choice, Integer
from dbanon.table_functions.parameters import Parameter


@single_cluster_below_2k
def kapp(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with KAPP, reconstructed from the published Algorithm 1, whose text we have without most formulas.

    Fuzzy c-means clusters the codes of the sensitive columns, each scaled from 0 to 1; a record is assigned to the
    nearest center. The centers begin as those of k-means++ and move until they no longer move. With `optimizer =
    'vultures'` they are searched for by African vultures optimization instead, as in the paper, whatever the mode.

    A class begins with the record nearest to the center of the sensitive cluster that has most records left. It takes
    k - 1 others, each from the sensitive cluster that lags most behind its share of the table, counted over all classes
    so far (by divisors 1, 3, 5, ... as Sainte-Lague): the one nearest by the quasi-identifiers, in the distance of the
    k-member papers. The last fewer than k records join the class whose whole loss grows least.

    If t-closeness is required, class after class is then united with others, until the earth mover's distances of its
    sensitive columns from the whole table, summed, are at most `t`, by default 0.1. That is more than t-closeness of
    each column. It is united with the nearest of the classes that bring it closer to the table, where the nearest is
    the one with which a record of the union loses least; if none does, with the one that takes it least far away. Other
    models and persons are met afterwards, by merging clusters that violate them. O(n^2 / k) time without the index,
    O(n) memory.

    Shares of the table, and the preference for classes that bring a class closer to it, are reconstructed: Algorithm 1
    says "the most similar". With equal numbers of each sensitive cluster, or the nearest class alone, a t of 0.1 is
    rarely reached before all records are one class.

    Which records are together depends on sensitive values, which no model checks: an attacker who knows the method can
    learn from it more than from other algorithms.
    """
    progress_check = progress.as_progress_check(check)
    labels = SpreadClasses(space, constraint.min_records, options, check).assign_classes(progress_check.subtask(0, 0.5))
    closeness = [m for m in constraint.models if m.model == "t_closeness"]
    if not closeness:
        return labels
    loss = Loss(space, constraint.min_records, "edges")
    return _merge_deviating(space, constraint, closeness, loss, labels, progress_check.subtask(0.5, 1))


# --- classes that spread over the clusters of sensitive values --------------------------------------------------------


class ClusterPool:
    """The records of one cluster of sensitive values that are in no class yet.

    Attributes:
        rows: Canonical row numbers of the cluster's records, ascending.
        first: The same rows in the order in which they begin classes, nearest to the cluster's center first.
        tuples: Numbers in the whole table of the tuples that occur.
        space: The encoded table of these records alone.
        index: An index of its remaining records.
        n_taken: Number of records that classes took.
    """

    def __init__(self, space: EncodedTable, rows: Ints, first: Ints, tables: Sequence[distance.DistanceTable]) -> None:
        """Build the encoded table of these records and its index.

        Args:
            space: The encoded table of all records.
            rows: Canonical row numbers of the cluster's records, ascending.
            first: The same rows in the order in which they begin classes.
            tables: The distances of each attribute.
        """
        self.rows, self.first, self.next_first, self.n_taken = rows, first, 0, 0
        self.tuples, counts = np.unique(np.searchsorted(space.starts, rows, side="right") - 1, return_counts=True)
        self.space = EncodedTable(space.attributes, space.codes[self.tuples], counts, None, space.total)
        self.index = TupleIndex(self.space, tables)
        self.next_place = self.space.starts.copy()

    def lag(self, n_more: int) -> float:
        """Return a number that is the least for the pool that lags most behind its share of all records.

        Pools with the least number one after another give seats as apportioned by Sainte-Lague. `n_more` is the number
        of records that the class under formation takes in addition to `n_taken`.
        """
        return (2 * (self.n_taken + n_more) + 1) / len(self.rows)

    def take_seed(self, is_free: Bools) -> int:
        """Take the first free record in the order in which records begin classes, and return its row number.

        `is_free` says for each row of the whole table whether it is in no class yet; it is updated.
        """
        while not is_free[self.first[self.next_first]]:
            self.next_first += 1
        row = int(self.first[self.next_first])
        t = int(np.searchsorted(self.space.starts, np.searchsorted(self.rows, row), side="right")) - 1
        self.index.remove_records(np.array([t]), np.ones(1, np.int64))
        self.n_taken, is_free[row] = self.n_taken + 1, False
        return row

    def take_nearest(self, n_records: int, query: SumQuery, is_free: Bools) -> list[int]:
        """Take the `n_records` free records nearest by a query of the index, and return their row numbers.

        At least so many must be free. `is_free` says for each row of the whole table whether it is in no class yet; it
        is updated.
        """
        tuples, counts = self.index.nearest(query, n_records)
        taken_rows = []
        for t, count in zip(tuples.tolist(), counts.tolist(), strict=True):
            for _ in range(count):
                while not is_free[self.rows[self.next_place[t]]]:
                    self.next_place[t] += 1
                row = int(self.rows[self.next_place[t]])
                is_free[row] = False
                taken_rows.append(row)
        self.index.remove_records(tuples, counts)
        self.n_taken += n_records
        return taken_rows


class SpreadClasses:
    """A former of classes of k records each, with every cluster of sensitive values in proportion to its share."""

    def __init__(self, space: EncodedTable, k: int, options: Options, check: Check) -> None:
        """Cluster the records by sensitive values and make a pool of each cluster; no class is formed yet.

        A pool has the records of a cluster that are in no class.

        Args:
            space: The encoded table.
            k: Number of records of a class.
            options: The options of the algorithm.
            check: Called from time to time; raises if the run was interrupted.
        """
        self.space, self.k, self.loss = space, k, Loss(space, k, "edges")
        tables = self.loss.pair_tables(space)
        cluster_of, distance_rank = _sensitive_clusters(space, k, options, check)
        order = np.lexsort((np.arange(space.rows), distance_rank, cluster_of))
        parts = np.split(order, np.cumsum(np.bincount(cluster_of))[:-1])
        self.pools = [ClusterPool(space, np.sort(first), first, tables) for first in parts if len(first)]
        self.is_free = np.ones(space.rows, bool)
        self.tuple_of = space.tuple_of

    @property
    def steps(self) -> int:
        """Number of values and nodes that searches in the pools have visited, for time estimates."""
        return sum(pool.index.steps for pool in self.pools)

    def assign_classes(self, progress_check: progress.ProgressCheck) -> Ints:
        """Form classes while k records remain, and return the (n,) class of every record.

        The last fewer than k records join the class whose whole loss grows least. Progress and a time estimate are
        reported to `progress_check`.
        """
        labels, n_classes, n_remaining = np.full(self.space.rows, -1, np.int64), 0, self.space.rows
        clock, steps = 0.0, 0
        while n_remaining >= self.k:
            progress_check()
            if n_classes == MIN_BATCH:
                clock, steps = progress.thread_seconds(), self.steps
            rows = self._next_class()
            labels[rows], n_remaining = n_classes, n_remaining - self.k
            n_classes += 1
            progress_check.advance(1 - n_remaining / self.space.rows)
            if n_classes == MIN_BATCH + SAMPLE_GROUPS:
                fraction = SAMPLE_GROUPS * self.k / self.space.rows
                progress_check.extrapolate(fraction, self.steps - steps, progress.thread_seconds() - clock)
        rest = np.flatnonzero(labels < 0)
        if len(rest):
            groups = RunLengthLabels.from_labels(self.space, labels)
            labels[rest] = assign_by_least_growth(self.space, self.loss, groups, self.tuple_of[rest], progress_check)
        return labels

    def _next_class(self) -> Ints:
        """Form the next class and return its k row numbers; its records are removed from the pools.

        A pool has the unassigned records of one cluster of sensitive values. The seed is the first free record of the
        pool with most remaining records. Each further record is the nearest to the seed in the pool that lags most
        behind its share of the table.
        """
        seed_pool = max(self.pools, key=lambda pool: pool.index.records)
        rows = [seed_pool.take_seed(self.is_free)]
        seed_codes = self.space.codes[self.tuple_of[rows[0]]].tolist()
        n_wanted = [0] * len(self.pools)
        heads = [(pool.lag(0), c) for c, pool in enumerate(self.pools) if pool.index.records]
        heapq.heapify(heads)
        for _ in range(self.k - 1):
            c = heads[0][1]
            pool = self.pools[c]
            n_wanted[c] += 1
            if n_wanted[c] < pool.index.records:
                heapq.heapreplace(heads, (pool.lag(n_wanted[c]), c))
            else:
                heapq.heappop(heads)
        for pool, n_records in zip(self.pools, n_wanted, strict=True):
            if n_records:
                query = pool.index.distance_query(seed_codes)
                rows += pool.take_nearest(n_records, query, self.is_free)
        return np.array(rows)


def _sensitive_clusters(space: EncodedTable, k: int, options: Options, check: Check) -> tuple[Ints, Ints]:
    """Assign every record to a cluster of its sensitive values, and rank its distance to the cluster's center.

    Clusters are those of fuzzy c-means on the codes of the sensitive columns, scaled to at most 1. With the option
    `optimizer` 'vultures' the centers are those of African vultures optimization instead. Without sensitive columns all
    records are in cluster 0 with rank 0.

    Args:
        space: The encoded table.
        k: Greatest number of clusters unless the option `sensitive_clusters` states it.
        options: The options of the algorithm.
        check: Called from time to time; raises if the run was interrupted.

    Returns:
        (n,) cluster of each record, and (n,) rank of its distance, equal distances having equal ranks.
    """
    if not space.sensitive:
        return np.zeros(space.rows, np.int64), np.zeros(space.rows, np.int64)
    codes = np.stack([s.codes for s in space.sensitive])
    distinct, tuple_index, counts = np.unique(codes, axis=1, return_inverse=True, return_counts=True)
    points = distinct / np.maximum(distinct.max(axis=1), 1)[:, None]
    requested = options["sensitive_clusters"]
    n_clusters = min(k if requested is None else int(str(requested)), len(counts))
    seed, rounds = int(str(options["seed"])), int(str(options["rounds"]))
    if options["optimizer"] == "vultures":
        centers = vulture_centers(points, counts, n_clusters, seed, rounds, check)
    else:
        stream = np.random.PCG64(seed)  # promised not to change
        draws = None if options["mode"] == "deterministic" else stream.random_raw(n_clusters)
        centers = fuzzy_centers(points, counts, n_clusters, draws, rounds, check)
    cluster, distances = nearest_centers(points, centers)
    rank = np.unique(distances, return_inverse=True)[1]
    tuple_index = tuple_index.reshape(-1)
    return cluster[tuple_index], rank.reshape(-1)[tuple_index]


# --- classes that merge until they are close --------------------------------------------------------------------------


class ClassDeviations:
    """Deviations of classes from the whole table: their t-closeness measures, summed over sensitive columns.

    Args:
        space: The encoded table.
        constraint: The constraint.
        models: The t-closeness requirements, one per sensitive column.
        rows: The canonical row numbers of each class; changed in place by `merge`.
    """

    def __init__(
        self, space: EncodedTable, constraint: Constraint, models: Sequence[ModelRequirement], rows: list[Ints]
    ) -> None:
        """Count each class's sensitive values, unless persons or a joint constraint require the records."""
        self.space, self.constraint, self.models, self.rows = space, constraint, models, rows
        self.needs_records = space.persons is not None or (constraint.joint and len(space.sensitive) > 1)
        self.counts = (
            []
            if self.needs_records
            else [np.array([value_counts(space, r, m.sensitive)[0] for r in rows]) for m in models]
        )

    def deviation(self, c: int) -> float:
        """Return the earth mover's distances of class `c` from the whole table, summed over sensitive columns."""
        if self.needs_records:
            return sum(float(self.constraint.worst_measure(self.space, self.rows[c], m)) for m in self.models)
        size = np.array([len(self.rows[c])])
        return sum(
            float(model.measure(self.space.sensitive[model.sensitive], counts[[c]], size)[0])
            for model, counts in zip(self.models, self.counts, strict=True)
        )

    def union_deviations(self, c: int, others: Ints) -> Floats:
        """Return the deviation of the union of class `c` with each of the classes `others`."""
        if self.needs_records:
            unions = [np.concatenate((self.rows[c], self.rows[o])) for o in others.tolist()]
            return np.array(
                [sum(float(self.constraint.worst_measure(self.space, u, m)) for m in self.models) for u in unions]
            )
        sizes = np.array([len(self.rows[c]) + len(self.rows[o]) for o in others.tolist()])
        model_deviations = (
            model.measure(self.space.sensitive[model.sensitive], counts[others] + counts[c], sizes)
            for model, counts in zip(self.models, self.counts, strict=True)
        )
        return sum(model_deviations, np.zeros(len(others)))

    def merge(self, keep: int, absorbed: int) -> None:
        """Merge class `absorbed` into class `keep`: add its rows and its counts of sensitive values."""
        self.rows[keep] = np.concatenate((self.rows[keep], self.rows[absorbed]))
        for counts in self.counts:
            counts[keep] += counts[absorbed]


def _merge_deviating(
    space: EncodedTable,
    constraint: Constraint,
    models: Sequence[ModelRequirement],
    loss: Loss,
    labels: Ints,
    progress_check: progress.ProgressCheck,
) -> Ints:
    """Unite each class with others until its deviation from the whole table is at most t.

    It is united with the nearest class that lowers its deviation, the one with which a record of the union loses least;
    if none does, with the one that raises it least.

    Args:
        space: The encoded table.
        constraint: The constraint.
        models: The t-closeness requirements; the least of their bounds is used.
        loss: The loss.
        labels: (n,) class of every record; no record is without one.
        progress_check: Called for interrupts, progress and a time estimate.

    Returns:
        The new class of every record: the number of one of the united classes, so numbers have gaps.
    """
    rows = cluster_members(labels)
    bounds, deviation = ClassBounds.from_members(space, rows), ClassDeviations(space, constraint, models, rows)
    low, high = bounds.low, bounds.high
    is_alive, merged_into, max_deviation = np.ones(len(rows), bool), np.arange(len(rows)), min(m.bound for m in models)
    merges, clock = 0, progress.thread_seconds()
    for c in range(len(rows)):
        while is_alive[c] and deviation.deviation(c) > max_deviation + SLACK:
            progress_check()
            others = np.flatnonzero(is_alive & (np.arange(len(rows)) != c))
            if len(others) == 0:
                break
            deviations = deviation.union_deviations(c, others)
            is_closer = deviations < deviation.deviation(c) - SLACK
            if not is_closer.any():
                is_closer = deviations <= deviations.min() + SLACK
            others = others[is_closer]
            union_losses = loss.record_losses(np.minimum(low[others], low[c]), np.maximum(high[others], high[c]))
            other = int(others[np.argmin(union_losses)])
            deviation.merge(c, other)
            low[c], high[c] = np.minimum(low[c], low[other]), np.maximum(high[c], high[other])
            is_alive[other], merged_into[other] = False, c
            merges += 1
            if merges == SAMPLE_GROUPS:
                steps = SAMPLE_GROUPS * len(rows) * len(space.attributes)
                progress_check.extrapolate(SAMPLE_GROUPS / len(rows), steps, progress.thread_seconds() - clock, 0.5)
        progress_check.advance((c + 1) / len(rows))
    while (merged_into[merged_into] != merged_into).any():
        merged_into = merged_into[merged_into]
    return merged_into[labels]


register(
    kapp,
    title="KAPP: classes with spread sensitive values, merged until they are close to the table",
    summary=(
        "Clusters the sensitive values by fuzzy c-means, and forms each class from records of all clusters of values, "
        "in proportion to their shares. It then merges each class with the nearest one that brings it closer to the "
        "table, until the class is close enough: the sum of the distances of its sensitive columns from the whole "
        "table is at most `t` (default 0.1)."
    ),
    source="KAPP, as the review of clustering methods describes it",
    evidence="abstract",
    own_parameters=(
        Parameter(
            "sensitive_clusters",
            Integer(1, 1000),
            "Number of fuzzy clusters of the sensitive values; default: least size of a class.",
        ),
        Parameter(
            "optimizer",
            Choice(("kmeans++", "vultures")),
            "How the centers of the fuzzy clusters are found: kmeans++: they start as those of k-means++ and move "
            "until they no longer change; vultures: by the search of the paper, which takes longer.",
            "kmeans++",
        ),
        replace(ROUNDS, default=200),
        SEED,
        MODE,
        LARGE,
    ),
    defaults={"t": 0.1},
    reads=("sensitive",),
    meets=("k", "t"),
)
