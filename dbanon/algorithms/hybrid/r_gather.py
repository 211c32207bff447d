"""r-gather: clusters of at least k records whose greatest radius is the least possible, up to a factor of two."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import RunLengthLabels, chain_heads
from dbanon.algorithms.base.registry import (
    LARGE,
    MAX_SUPPRESSED,
    Assignment,
    Check,
    Options,
    Suppression,
    register,
    single_cluster_below_2k,
)
from dbanon.algorithms.centroid.moving_centers import NULL_POSITION, MovingCenters
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.kernels.center_arrays import LIMIT_BELOW, LIMIT_FROM, N_VISITED, FlowEntries, RecordTree
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Float
from dbanon.table_functions.parameters import Parameter

STEPS_PER_CALL = 2**19
"""Boxes examined, in some 50 ms, after which kernels return for a check for interrupts."""

BOX_COST = 2.5
"""Cost of examining a box, in steps of dbanon.algorithms.base.progress."""

EXPECTED_TRIALS = 12
"""Approximate number of limits that are tried."""

PREPARATION_FRACTION = 0.3
"""Approximate share of the work before the first limit is tried."""


@single_cluster_below_2k
def r_gather(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with r-gather (Aggarwal et al. 2006): the greatest radius is at most twice the least possible one.

    The radius of a cluster is the greatest distance of a record to its center; the least possible one is over all
    clusters of at least k records around records. Distance: that of the k-member papers, which is a metric.

    The least distance limit is found by bisection of the integers that distances are, from the least one within which
    all records have k - 1 others. A limit is tried as follows: the first record that is not marked is a center and
    marks all that are within the limit; a flow then gives each center k records within the limit, if that is possible.
    In the end each center keeps the k nearest of its records, and all others join the nearest center.

    With `eps` at most that share of the records is suppressed, (r, eps)-gather: centers have k records within the limit
    and are more than two limits apart, and records farther than three limits from any are suppressed, so that the
    radius is at most three times the least. With persons or other privacy models a cluster has at least as many records
    as any of them needs; clusters that still violate the constraint are merged afterwards. O(n^2) time per limit
    without the tree of boxes, O(n) memory.
    """
    share = float(str(options["eps"]))
    max_suppressed = min(int(share * space.rows + 1e-9), int(str(options.get(MAX_SUPPRESSED, space.rows))))
    search = LimitSearch(space, constraint.min_records, max_suppressed, check)
    return search.clusters_of_least_limit(search.try_spread_centers if max_suppressed > 0 else search.try_flow)


@dataclass(frozen=True)
class LimitTrial:
    """The result of trying one distance limit.

    Attributes:
        first: The least limit that would give the same clusters.
        end: The first greater limit that may give others; all limits from `first` up to it, excluded, give the same.
        clusters: The clusters; None if the limit allows none.
    """

    first: int
    end: int
    clusters: RunLengthLabels | None


class LimitSearch:
    """A search for the least distance limit that allows clusters of at least k records around centers.

    Args:
        space: The encoded table.
        k: Least number of records of a cluster.
        max_suppressed: Greatest number of records that may be suppressed.
        check: Called between kernel calls; raises if the run was interrupted.
    """

    def __init__(self, space: EncodedTable, k: int, max_suppressed: int, check: Check) -> None:
        """Build a tree of boxes over all tuples, with the number of tuples below each node."""
        self.space, self.k, self.max_suppressed, self.check = (
            space,
            k,
            max_suppressed,
            progress.as_progress_check(check),
        )
        tuples = np.arange(len(space.counts))
        self.centers = MovingCenters(space, k, space.starts, tuples, True, 1, check)
        self.centers.build_tree(tuples.copy())
        self.counters, self.estimate = np.array([0, 0, NULL_POSITION]), progress.KernelEstimate(self.check)
        self.tree = RecordTree(self.centers.tree, space.counts, self.counters)
        parent, node = self.centers.boxes.parents, self.centers.boxes.leaves
        self.n_tuples_below = np.zeros(len(parent), np.int64)  # tuples below each node
        while len(node):
            np.add.at(self.n_tuples_below, node, 1)
            node = parent[node]
            node = node[node >= 0]
        self.all_open = np.ones(len(parent), np.int64)

    def clusters_of_least_limit(self, try_limit: Callable[[int], LimitTrial]) -> RunLengthLabels:
        """Return the clusters of the least distance limit, found by bisection, for which `try_limit` gives clusters.

        Limits that a trial showed to give the same result are not tried again.
        """
        low = self._min_limit() - 1 if self.max_suppressed == 0 else -1
        high = self._max_distance()
        best: RunLengthLabels | None = None
        feasible_from, infeasible_until, limit, initial_width = high + 1, low, low + 1, high - low
        while True:
            if limit >= feasible_from:
                high = limit
            elif limit < infeasible_until:
                low = limit
            else:
                self.check.advance(
                    1 - (1 - PREPARATION_FRACTION) * np.log2(1 + high - low) / np.log2(1 + initial_width)
                )
                trial = try_limit(limit)
                if trial.clusters is None:
                    low, infeasible_until = limit, trial.end
                else:
                    high, feasible_from, best = limit, trial.first, trial.clusters
            if best is not None and high <= low + 1:
                return best
            limit = (low + high + 1) // 2

    def try_flow(self, limit: int) -> LimitTrial:
        """Try to give each center k records within the distance limit by a flow, and return the trial.

        It has no clusters if that is impossible. Otherwise each center keeps the k nearest of its records and the
        others join the nearest center.
        """
        from dbanon.kernels.r_gather import balance_loads

        self.counters[[LIMIT_FROM, LIMIT_BELOW]] = 0, NULL_POSITION
        center_of, centers = self._mark_centers(limit, 1, 0)
        counts = self.space.counts
        load = np.bincount(center_of, weights=counts, minlength=len(centers)).astype(np.int64)
        assigned_center, n_assigned, following = np.zeros((3, self.space.rows), np.int64)
        assigned_center[: len(counts)], n_assigned[: len(counts)], following[:] = center_of, counts, -1
        center = 0
        entries = FlowEntries(assigned_center, n_assigned, following, np.array([len(counts)]))
        while 0 <= center < len(centers):
            center = self._run_kernel(
                center,
                len(centers),
                lambda begin: balance_loads(
                    begin, STEPS_PER_CALL, limit, self.k, self.tree, self.all_open, centers, load, entries
                ),
            )
        if center < 0:
            return self._trial(None)
        n_used = int(entries.n_entries[0])
        tuple_of, not_empty = chain_heads(following[:n_used]), np.flatnonzero(n_assigned[:n_used])
        return self._trial(
            self._keep_nearest_k(tuple_of[not_empty], assigned_center[not_empty], n_assigned[not_empty], centers)
        )

    def try_spread_centers(self, limit: int) -> LimitTrial:
        """Try to cluster around centers more than two distance limits apart, each with k records within the limit.

        Records farther than three limits from all centers are suppressed (-1). The trial has no clusters if there is no
        center or more than `max_suppressed` records would be suppressed.
        """
        from dbanon.kernels.centers import center_distances

        self.counters[[LIMIT_FROM, LIMIT_BELOW]] = 0, NULL_POSITION
        _, centers = self._mark_centers(limit, 2, self.k)
        if len(centers) == 0:
            return self._trial(None)
        nearest = self._nearest(np.arange(len(self.space.counts)), centers)
        tree = self.tree.tuples
        needed_limit = (center_distances(tree.points, centers[nearest], tree.points, tree.axes) + 2) // 3
        is_outlier = needed_limit > limit
        self.counters[LIMIT_FROM] = max(self.counters[LIMIT_FROM], needed_limit[~is_outlier].max())
        self.counters[LIMIT_BELOW] = min(
            self.counters[LIMIT_BELOW], needed_limit[is_outlier].min(initial=NULL_POSITION)
        )
        if int(self.space.counts[is_outlier].sum()) > self.max_suppressed:
            return self._trial(None)
        return self._trial(RunLengthLabels.from_tuple_clusters(self.space, np.where(is_outlier, -1, nearest)))

    # --- steps -------------------------------------------------------------------------------------------

    def _max_distance(self) -> int:
        """Return an upper bound of the distance of any two records."""
        points, axes = self.centers.points, self.centers.axes
        places = np.where(points < NULL_POSITION, points, 0).max(axis=0)
        return int(np.where(axes.is_hierarchy > 0, axes.null_distances, np.maximum(axes.null_distances, places)).sum())

    def _min_limit(self) -> int:
        """Return the least distance limit within which every record has k - 1 other records."""
        from dbanon.kernels.r_gather import update_max_radius

        max_reach, t, tuples = np.zeros(1, np.int64), 0, len(self.space.counts)
        while t < tuples:
            t = self._run_kernel(
                t,
                tuples,
                lambda begin: update_max_radius(begin, STEPS_PER_CALL, self.k, self.tree, max_reach),
                PREPARATION_FRACTION,
            )
            self.check.advance(PREPARATION_FRACTION * t / tuples)
        return int(max_reach[0])

    def _mark_centers(self, limit: int, factor: int, min_records: int) -> tuple[Ints, Ints]:
        """Select centers: each tuple in turn that no center has marked and that has enough records near it.

        Args:
            limit: The distance limit.
            factor: A center marks all unmarked tuples within `factor` times the limit.
            min_records: Least number of records within the limit that a center must have; 0 for any.

        Returns:
            (tuples,) index of the center that marked each tuple, -1 for none; and the tuples that are centers.
        """
        from dbanon.kernels.r_gather import select_centers

        tuples = len(self.space.counts)
        n_open, center_of, centers = (
            self.n_tuples_below.copy(),
            np.full(tuples, -1, np.int64),
            np.empty(tuples, np.int64),
        )
        t, n_centers = 0, 0
        while t < tuples:

            def continue_spread(begin: int) -> int:
                """Run the kernel from tuple `begin` for a limited time, and return the tuple that it reached."""
                nonlocal n_centers
                begin, n_centers = select_centers(
                    begin, STEPS_PER_CALL, limit, factor, min_records, self.tree, n_open, center_of, centers, n_centers
                )
                return begin

            t = self._run_kernel(t, tuples, continue_spread)
        return center_of, centers[:n_centers]

    def _run_kernel(
        self,
        begin: int,
        end: int,
        kernel: Callable[[int], int],
        work_fraction: float = (1 - PREPARATION_FRACTION) / EXPECTED_TRIALS,
    ) -> int:
        """Run a kernel from position `begin` until it returns, and return the position that it reached.

        The time of all work is estimated at the second early return; the first one may include compilation.

        Args:
            begin: Position to begin with.
            end: Position at which the kernel is done; it may return earlier, after a limited number of steps.
            kernel: Takes the position to begin with and returns the position that it reached.
            work_fraction: Approximate share of this kind of work in all work.
        """
        self.check()
        clock, steps_before = progress.thread_seconds(), int(self.counters[N_VISITED])
        position = kernel(begin)
        if begin < position < end:
            steps = float(self.counters[N_VISITED] - steps_before) * BOX_COST
            self.estimate.report_return(
                (position - begin) / end * work_fraction, steps, progress.thread_seconds() - clock
            )
        return position

    def _trial(self, clusters: RunLengthLabels | None) -> LimitTrial:
        """Return the trial of a distance limit with these clusters, None for none.

        The range of limits with the same result is read from the counters of the kernels.
        """
        return LimitTrial(int(self.counters[LIMIT_FROM]), int(self.counters[LIMIT_BELOW]), clusters)

    def _keep_nearest_k(self, tuples: Ints, assigned_center: Ints, counts: Ints, centers: Ints) -> RunLengthLabels:
        """Return the clusters in which each center keeps the k nearest of its records; others join the nearest center.

        Args:
            tuples: Tuple of each entry of the flow.
            assigned_center: Index of the center that the flow assigned.
            counts: Number of records of the entry.
            centers: The tuples that are centers.
        """
        from dbanon.kernels.centers import center_distances

        distance = center_distances(
            self.tree.tuples.points[tuples], centers[assigned_center], self.tree.tuples.points, self.tree.tuples.axes
        )
        order = np.lexsort((tuples, distance, assigned_center))
        tuples, assigned_center, counts = tuples[order], assigned_center[order], counts[order]
        cumulative = np.cumsum(counts)
        begins = np.flatnonzero(np.append(True, assigned_center[1:] != assigned_center[:-1]))
        n_before = (
            cumulative
            - counts
            - np.repeat((cumulative - counts)[begins], np.diff(np.append(begins, len(assigned_center))))
        )
        n_kept = np.clip(self.k - n_before, 0, counts)
        others = np.flatnonzero(counts > n_kept)
        nearest = self._nearest(np.unique(tuples[others]), centers)[tuples[others]]
        tuples, assigned_center = np.concatenate((tuples, tuples[others])), np.concatenate((assigned_center, nearest))
        counts = np.concatenate((n_kept, (counts - n_kept)[others]))
        order = np.lexsort((assigned_center, tuples))
        order = order[counts[order] > 0]
        return RunLengthLabels.from_runs(tuples[order], assigned_center[order], counts[order])

    def _nearest(self, tuples: Ints, centers: Ints) -> Ints:
        """Return the (all tuples,) index of the nearest center of each of `tuples`, the first one in a tie.

        Entries of other tuples are 0.
        """
        clusters = MovingCenters(self.space, self.k, self.space.starts[centers], tuples, True, 1, self.check)
        nearest = np.zeros(len(self.space.counts), np.int64)
        clusters.build_tree(np.arange(len(centers)))
        clusters.find_nearest(tuples, nearest, keep_earlier=False)
        return nearest


register(
    r_gather,
    title="r-gather: clusters with the smallest maximum radius",
    summary=(
        "Minimizes the greatest distance of a record to the center of its cluster, up to a factor of two: it chooses "
        "centers that are far apart, and a flow assigns k records to each. With `eps`, outliers are suppressed and the "
        "factor is three."
    ),
    source="Aggarwal et al. 2006, as the review of clustering methods describes it",
    evidence="textbook",
    complexity="O(n^2) time per limit without the index, O(n) memory",
    own_parameters=(
        Parameter("eps", Float(0, 1), "Greatest share of the records that may be suppressed as outliers.", 0.0),
        LARGE,
    ),
    defaults={"suppress": 1.0},
    abilities=(
        Suppression(
            "those farther than three times the radius from all centers, at most the share eps",
            default_max_records=lambda options, k: None if float(str(options["eps"])) > 0 else 0,
        ),
    ),
)
