"""KAPP: classes that spread over fuzzy clusters of sensitive values, and merge until they are close to the table."""

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
from dbanon.encoding.distance import NumericDistances
from dbanon.encoding.encoded_table import Bools, Codes, EncodedTable, Ints
from dbanon.encoding.tuple_index import SumQuery, TupleIndex
from dbanon.privacy_models.constraint import Constraint, value_counts
from dbanon.privacy_models.model import SLACK
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.table_functions.parameter_types import Choice, Integer
from dbanon.table_functions.parameters import Parameter


@single_cluster_below_2k
def kapp(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with KAPP, reconstructed from the review of clustering methods, which prints it without its formulas.

    Fuzzy c-means clusters the codes of the sensitive columns, each scaled from 0 to 1; a record is assigned to the
    nearest center. The centers begin as those of k-means++ and move until they no longer move. With `optimizer =
    'vultures'` they are searched for by African vultures optimization instead, as in the paper, whatever the mode.

    A class begins with the record nearest to the center of the sensitive cluster that has most records left. It takes
    k - 1 others, each from a sensitive cluster of which it has fewest: the one nearest by the quasi-identifiers, in the
    distance of the k-member papers. The last fewer than k records join the class whose whole loss grows least.

    If t-closeness is required, class after class is then united with the nearest class (in which a record of the union
    loses least), until the earth mover's distances of its sensitive columns from the whole table, summed, are at most
    `t`, by default 0.1. That is more than t-closeness of each column. Other models and persons are met afterwards, by
    merging clusters that violate them. O(n^2 / k) time without the index, O(n) memory.

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


class TupleDistances:
    """The distances of one tuple to others, by attribute; the tuple can be replaced by another one.

    Rows of distance tables are cached over all tuples, since seeds have few different values.
    """

    def __init__(self, tables: Sequence[distance.DistanceTable], codes: Codes) -> None:
        """Measure distances from the tuple with these codes; `tables` are the distances of each attribute."""
        self.tables, self.codes = tables, codes.tolist()
        self.cached_rows: list[dict[int, Ints]] = [{} for _ in tables]

    def set_origin(self, codes: Codes) -> TupleDistances:
        """Measure distances from the tuple with these codes from now on, in place; return this object."""
        self.codes = codes.tolist()
        return self

    def row(self, j: int) -> Ints:
        """Return the distances of this object's tuple to all values of attribute `j` by code and, last, to NULL.

        Rows are cached by code.
        """
        cache, code = self.cached_rows[j], self.codes[j]
        if code not in cache:
            row = self.tables[j].row(code)
            if len(cache) * len(row) > distance.MAX_CACHED_ENTRIES:
                cache.clear()
            cache[code] = row
        return cache[code]

    def index_query(self, index: TupleIndex) -> SumQuery:
        """Return the query of a tuple index for the distance to the tuple of this object."""
        return index.interval_query([self.row(j) for j in sorted(index.tabular)], self.codes, self.codes)

    def distances_to(self, codes: Codes) -> Ints:
        """Return the (n,) distances, summed over attributes, of this object's tuple to n others.

        `codes` is (n, attributes), the codes of the others.
        """
        total = np.zeros(len(codes), np.int64)
        for j, table in enumerate(self.tables):
            total += (
                _axis_distances(table, self.codes[j], codes[:, j])
                if isinstance(table, NumericDistances)
                else self.row(j)[codes[:, j]]
            )
        return total


def _axis_distances(axis: NumericDistances, code: int, codes: Codes) -> Ints:
    """Return the distances of one code of a numeric attribute to an array of codes; either may be the code of NULL.

    `axis` are the distances of the attribute. NULL is at distance 0 from NULL, and at `axis.null` from any value.
    """
    last, null = len(axis.positions) - 1, codes == len(axis.positions)
    if code > last:
        return np.where(null, 0, axis.null)
    return np.where(null, axis.null, np.abs(axis.positions[np.minimum(codes, last)] - axis.positions[code]))


class ClusterPool:
    """The records of one cluster of sensitive values that are in no class yet.

    Attributes:
        rows: Canonical row numbers of the cluster's records, ascending.
        first: The same rows in the order in which they begin classes, nearest to the cluster's center first.
        tuples: Numbers in the whole table of the tuples that occur.
        space: The encoded table of these records alone.
        index: An index of its remaining records.
    """

    def __init__(self, space: EncodedTable, rows: Ints, first: Ints, tables: Sequence[distance.DistanceTable]) -> None:
        """Build the encoded table of these records and its index.

        Args:
            space: The encoded table of all records.
            rows: Canonical row numbers of the cluster's records, ascending.
            first: The same rows in the order in which they begin classes.
            tables: The distances of each attribute.
        """
        self.rows, self.first, self.next_first = rows, first, 0
        tuple_of = np.searchsorted(space.starts, rows, side="right") - 1
        self.tuples, counts = np.unique(tuple_of, return_counts=True)
        self.space = EncodedTable(space.attributes, space.codes[self.tuples], counts, None, space.total)
        self.index = TupleIndex(self.space, tables)
        self.next_place = self.space.starts.copy()

    def next_free_row(self, t: int, is_free: Bools) -> int:
        """Return the first row (of the whole table) of the pool's tuple number `t` that is in no class.

        At least one row must be. `is_free` says for each row of the whole table whether it is in no class yet.
        """
        while not is_free[self.rows[self.next_place[t]]]:
            self.next_place[t] += 1
        return int(self.rows[self.next_place[t]])


class SpreadClasses:
    """A former of classes of k records each, from as many clusters of sensitive values as possible."""

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
        self.distances = TupleDistances(tables, space.codes[0])
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
                share = SAMPLE_GROUPS * self.k / self.space.rows
                progress_check.on_estimate(
                    *progress.WorkSample(share, self.steps - steps, progress.thread_seconds() - clock).extrapolate()
                )
        rest = np.flatnonzero(labels < 0)
        if len(rest):
            groups = RunLengthLabels.from_labels(self.space, labels)
            labels[rest] = assign_by_least_growth(self.space, self.loss, groups, self.tuple_of[rest], progress_check)
        return labels

    def _next_class(self) -> Ints:
        """Form the next class and return its k row numbers; its records are removed from the pools.

        A pool has the unassigned records of one cluster of sensitive values. The seed is the first free record of the
        pool with most remaining records. Each further record is the nearest to the seed in a pool of which the class
        has fewest records.
        """
        pools = self.pools
        seed_pool = max(range(len(pools)), key=lambda c: (pools[c].index.records, -c))
        pool = pools[seed_pool]
        while not self.is_free[pool.first[pool.next_first]]:
            pool.next_first += 1
        seed = int(pool.first[pool.next_first])
        self.is_free[seed] = False
        pool.index.remove_records(np.searchsorted(pool.tuples, self.tuple_of[[seed]]), np.ones(1, np.int64))
        rows, n_taken = [seed], [int(c == seed_pool) for c in range(len(pools))]
        around = self.distances.set_origin(self.space.codes[self.tuple_of[seed]])
        nearest_records = [_NearestRecords(p, around, self.k // len(pools) + 1) for p in pools]
        heads: list[tuple[int, int, int, int]] = []
        for c in range(len(pools)):
            self._offer_next(heads, n_taken[c], nearest_records[c], c)
        taken_tuples: list[tuple[int, int]] = []
        while len(rows) < self.k:
            _, _, row, c = heapq.heappop(heads)
            rows.append(row)
            self.is_free[row] = False
            taken_tuples.append((c, nearest_records[c].current_tuple()))
            nearest_records[c].advance()
            n_taken[c] += 1
            self._offer_next(heads, n_taken[c], nearest_records[c], c)
        for c in range(len(pools)):
            tuples, counts = np.unique([t for pool_number, t in taken_tuples if pool_number == c], return_counts=True)
            if len(tuples):
                pools[c].index.remove_records(tuples, counts)
        return np.array(rows)

    def _offer_next(
        self, heads: list[tuple[int, int, int, int]], n_taken: int, nearest_records: _NearestRecords, c: int
    ) -> None:
        """Push the next nearest record of a pool on the heap `heads`, in place.

        A pool has the unassigned records of one cluster of sensitive values. Nothing is done if none remains.

        Args:
            heads: Heap of (records taken from the pool, distance, row number, pool number).
            n_taken: Number of records that the class already took from the pool.
            nearest_records: The pool's remaining records by distance from the seed.
            c: Number of the pool.
        """
        head = nearest_records.head(self.is_free)
        if head is not None:
            heapq.heappush(heads, (n_taken, *head, c))


class _NearestRecords:
    """The remaining records of a pool in ascending distance from a tuple, searched for `reach` records at a time."""

    def __init__(self, pool: ClusterPool, distances: TupleDistances, reach: int) -> None:
        """Search for the first `reach` records of the pool (unassigned records) nearest to the tuple of `distances`."""
        self.pool, self.distances, self.reach = pool, distances, reach
        self.distance_query, self.place, self.n_used = distances.index_query(pool.index), 0, 0
        self._search()

    def _search(self) -> None:
        """Find the `reach` records nearest to the tuple, and store their tuples, records per tuple, and distances."""
        self.tuples, self.counts = self.pool.index.nearest(self.distance_query, self.reach)
        self.distances_found = self.distances.distances_to(self.pool.space.codes[self.tuples])

    def current_tuple(self) -> int:
        """Return the tuple of the next record, by its number among the tuples of the pool."""
        return int(self.tuples[self.place])

    def head(self, is_free: Bools) -> tuple[int, int] | None:
        """Return the distance and row number of the next record; None if all records of the pool were passed.

        If those found so far are used up, four times as many are searched for.
        """
        if self.place == len(self.tuples):
            if int(self.counts.sum()) >= self.pool.index.records:
                return None
            n_passed = int(self.counts.sum())
            self.reach *= 4
            self._search()  # the last tuple may have more records now
            cumulative = np.cumsum(self.counts)
            self.place = int(np.searchsorted(cumulative, n_passed, side="right"))
            self.n_used = n_passed - int(cumulative[self.place] - self.counts[self.place])
        return int(self.distances_found[self.place]), self.pool.next_free_row(self.current_tuple(), is_free)

    def advance(self) -> None:
        """Move on to the record after the current one, which was taken."""
        self.n_used += 1
        if self.n_used == self.counts[self.place]:
            self.place, self.n_used = self.place + 1, 0


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
        random = options["mode"] != "deterministic"
        draws = np.random.PCG64(seed).random_raw(n_clusters) if random else None  # its stream is promised not to change
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
            [] if self.needs_records else [[value_counts(space, r, m.sensitive)[0] for r in rows] for m in models]
        )

    def deviation(self, c: int) -> float:
        """Return the earth mover's distances of class `c` from the whole table, summed over sensitive columns."""
        if self.needs_records:
            return sum(float(self.constraint.worst_measure(self.space, self.rows[c], m)) for m in self.models)
        total, size = 0.0, np.array([len(self.rows[c])])
        for model, counts in zip(self.models, self.counts, strict=True):
            total += float(model.measure(self.space.sensitive[model.sensitive], counts[c][None, :], size)[0])
        return total

    def merge(self, keep: int, absorbed: int) -> None:
        """Merge class `absorbed` into class `keep`: add its rows and its counts of sensitive values."""
        self.rows[keep] = np.concatenate((self.rows[keep], self.rows[absorbed]))
        for counts in self.counts:
            counts[keep] = counts[keep] + counts[absorbed]


def _merge_deviating(
    space: EncodedTable,
    constraint: Constraint,
    models: Sequence[ModelRequirement],
    loss: Loss,
    labels: Ints,
    progress_check: progress.ProgressCheck,
) -> Ints:
    """Unite each class with the nearest one until its deviation from the whole table is at most t.

    The nearest class is the one with which a record of the union loses least.

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
            others = np.flatnonzero(is_alive)
            others = others[others != c]
            if len(others) == 0:
                break
            union_losses = loss.record_losses(np.minimum(low[others], low[c]), np.maximum(high[others], high[c]))
            other = int(others[np.argmin(union_losses)])
            deviation.merge(c, other)
            low[c], high[c] = np.minimum(low[c], low[other]), np.maximum(high[c], high[other])
            is_alive[other], merged_into[other] = False, c
            merges += 1
            if merges == SAMPLE_GROUPS:
                steps = SAMPLE_GROUPS * len(rows) * len(space.attributes)
                progress_check.on_estimate(
                    *progress.WorkSample(
                        SAMPLE_GROUPS / len(rows), steps, progress.thread_seconds() - clock
                    ).extrapolate(0.5)
                )
        progress_check.advance((c + 1) / len(rows))
    while (merged_into[merged_into] != merged_into).any():
        merged_into = merged_into[merged_into]
    return merged_into[labels]


register(
    kapp,
    title="KAPP: classes with spread sensitive values, merged until they are close to the table",
    summary=(
        "Clusters the sensitive values by fuzzy c-means, and forms classes whose records are from different clusters "
        "of values. It then merges each class with the nearest one until the distribution of sensitive values in the "
        "class is close to that of the whole table: the sum of the distances of all sensitive columns is at most `t` "
        "(default 0.1)."
    ),
    source="KAPP, as the review of clustering methods describes it",
    evidence="RECON",
    own=(
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
