"""Suppression of records, if the others are then published with less loss: whole clusters, or single outliers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import ClassBounds, cluster_members
from dbanon.algorithms.postprocess.isolation import isolation_losses
from dbanon.encoding.encoded_table import AnyInts, EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

ROUNDING = 1e-9
"""Losses that differ relatively by less are equal."""

CLASS_LOSS_FACTOR = 3
"""Loss of a class of the records nearest to one, about, relative to the loss with the farthest of them."""

Repair = Callable[[EncodedTable, RunLengthLabels], RunLengthLabels]


@dataclass(frozen=True)
class OutlierSearch:
    """The search for the records whose suppression lowers the average loss of the others most.

    Attributes:
        space: The encoded table.
        constraint: The constraint.
        max_records: Greatest number of records that may be suppressed in all.
        repair: Merges clusters until they meet the constraint.
        cluster_rest: Runs the algorithm on some of the tuples, repairs the clusters, and returns them; None if that is
            not possible.
    """

    space: EncodedTable
    constraint: Constraint
    max_records: int
    repair: Repair
    cluster_rest: Callable[[Ints], RunLengthLabels | None]

    def best_clusters(self, clusters: RunLengthLabels, repaired: RunLengthLabels) -> RunLengthLabels:
        """Return the clusters of least average loss of a released record; suppressed records have -1.

        Three ways are tried. First, the repaired clusters of greatest loss are suppressed. Second, clusters of the
        algorithm that violate the constraint are suppressed, smallest first, and then those of greatest loss, and the
        other records are repaired. Third, the most isolated tuples are suppressed, and the algorithm runs on the
        others. Privacy models compare with the released records, so all results are repaired again; a result that
        cannot be repaired is discarded. Of results with equal loss the one with fewest suppressed records is taken,
        then the first.

        Args:
            clusters: The clusters of the algorithm.
            repaired: The same clusters after the repair.
        """
        space = self.space
        results = [(_mean_loss(space, repaired), repaired.n_suppressed, repaired)]
        if results[0][0] == 0 or results[0][1] >= self.max_records:
            return repaired
        results += [
            (self._loss_if_met(runs), runs.n_suppressed, runs)
            for runs in self._with_suppressed_clusters(clusters, repaired)
        ]
        tuples, estimated_loss = isolated_tuples(space, repaired, self.constraint.min_records, self.max_records)
        if len(tuples) and (estimated_loss, int(space.counts[tuples].sum())) < min(results, key=_rank)[:2]:
            remaining = self._without_tuples(tuples)
            if remaining is not None:
                results.append((self._loss_if_met(remaining), remaining.n_suppressed, remaining))
        return min(results, key=_rank)[2]

    def _with_suppressed_clusters(
        self, clusters: RunLengthLabels, repaired: RunLengthLabels
    ) -> Iterator[RunLengthLabels]:
        """Yield clusters with whole clusters suppressed, after repair: in the first and second way, if they differ."""
        for runs, failing_first in ((repaired, False), (clusters, True)):
            n_left = self.max_records - runs.n_suppressed
            reduced = _suppress_clusters(self.space, self.constraint, runs, n_left, failing_first)
            if not reduced.has_no_suppressed and reduced.next_cluster_number:
                yield self.repair(published_table(self.space, self.constraint, reduced), reduced)
            if clusters is repaired:
                break

    def _without_tuples(self, suppressed_tuples: Ints) -> RunLengthLabels | None:
        """Return the clusters of all other tuples; None if these cannot be clustered.

        `suppressed_tuples` are suppressed with all their records; they are sorted.
        """
        tuples = np.setdiff1d(np.arange(len(self.space.counts)), suppressed_tuples, assume_unique=True)
        rest = self.cluster_rest(tuples) if len(tuples) else None
        if rest is None:
            return None
        suppressed = RunLengthLabels.suppressed(self.space.counts[suppressed_tuples])
        return RunLengthLabels.concatenate([(tuples, rest), (suppressed_tuples, suppressed)])

    def _loss_if_met(self, runs: RunLengthLabels) -> float:
        """Return the average loss of a released record; infinity if too many are suppressed or a cluster fails."""
        is_allowed = runs.n_suppressed <= self.max_records and self._is_met(runs)
        return _mean_loss(self.space, runs) if is_allowed else np.inf

    def _is_met(self, runs: RunLengthLabels) -> bool:
        """Return whether there are clusters, and all meet the constraint, compared with the released records."""
        if runs.next_cluster_number == 0:
            return False
        rest = published_table(self.space, self.constraint, runs)
        return not len(_failing_clusters(rest, self.constraint, runs, ClassBounds.from_labels(rest, runs)))


def isolated_tuples(
    space: EncodedTable, repaired: RunLengthLabels, min_records: int, max_records: int
) -> tuple[Ints, float]:
    """Return the tuples that are most isolated, relative to their records, and the estimated loss without them.

    The tuples are sorted; they are of clusters that lose at least the average. The loss is an estimate of the average
    loss of the other records: those whose cluster has lost a tuple lose CLASS_LOSS_FACTOR times their isolation.

    Args:
        space: The encoded table.
        repaired: The clusters without suppression, or with records that the algorithm suppresses.
        min_records: Least number of records of a class.
        max_records: Greatest number of records of the tuples.
    """
    bounds = ClassBounds.from_labels(space, repaired)
    losses = bounds.record_losses(space)
    mean_loss = float((losses * bounds.sizes).sum() / bounds.sizes.sum())
    run_losses = np.full(repaired.next_cluster_number + 1, np.inf)  # the last is that of suppressed records
    run_losses[np.unique(repaired.without_suppressed().clusters)] = losses
    run_losses = run_losses[repaired.clusters]
    is_candidate = run_losses >= mean_loss * (1 - ROUNDING)
    tuples = np.unique(repaired.tuples[is_candidate]).astype(np.int64)
    isolation = np.zeros(len(space.counts))
    isolation[tuples] = isolation_losses(space, tuples, min_records)
    tuples = tuples[(space.counts[tuples] <= max_records) & (isolation[tuples] > 0)]
    order = np.argsort(-isolation[tuples] / space.counts[tuples], kind="stable")
    tuples = np.sort(tuples[order[_fitting(space.counts[tuples[order]], max_records)]])
    is_suppressed = np.zeros(len(space.counts), bool)
    is_suppressed[tuples] = True
    has_lost = np.zeros(repaired.next_cluster_number + 1, bool)
    has_lost[repaired.clusters[is_suppressed[repaired.tuples]]] = True
    has_lost[-1] = True
    rejoined_losses = np.minimum(CLASS_LOSS_FACTOR * isolation[repaired.tuples], run_losses)
    estimates = np.where(has_lost[repaired.clusters], rejoined_losses, run_losses)
    is_released = ~is_suppressed[repaired.tuples]
    n_released = int(repaired.counts[is_released].sum())
    return tuples, float((estimates * repaired.counts)[is_released].sum()) / n_released if n_released else np.inf


def _fitting(counts: AnyInts, max_records: int) -> Ints:
    """Return the indices of the longest start of `counts` whose sum is at most `max_records`, and of later that fit."""
    chosen = np.flatnonzero(np.cumsum(counts) <= max_records)
    n_left = max_records - int(counts[chosen].sum())
    more = []
    for i in np.flatnonzero(counts[len(chosen) :] <= n_left)[:max_records] + len(chosen):
        if counts[i] <= n_left:
            more.append(i)
            n_left -= int(counts[i])
        if n_left == 0:
            break
    return np.concatenate((chosen, np.array(more, np.int64)))


def _rank(result: tuple[float, int, RunLengthLabels]) -> tuple[float, int]:
    """Return the loss and the number of suppressed records of a result, by which results are compared."""
    return result[:2]


def repair_after_suppression(
    space: EncodedTable, constraint: Constraint, clusters: RunLengthLabels, repair: Repair
) -> RunLengthLabels:
    """Merge clusters of an algorithm that suppresses records until they meet the constraint, and return the labels.

    Privacy models compare with the released records. If these cannot meet the constraint, the suppressed records become
    one more cluster, which is repaired with the others, so that none is suppressed.

    Args:
        space: The encoded table.
        constraint: The constraint.
        clusters: The clusters; -1 for records that the algorithm suppresses by its own rule.
        repair: Merges clusters until they meet the constraint.
    """
    if clusters.has_no_suppressed:
        return repair(space, clusters)
    if clusters.next_cluster_number:
        rest = published_table(space, constraint, clusters)
        repaired = repair(rest, clusters)
        if not len(_failing_clusters(rest, constraint, repaired, ClassBounds.from_labels(rest, repaired))):
            return repaired
    with_suppressed_cluster = np.where(clusters.clusters < 0, clusters.next_cluster_number, clusters.clusters)
    return repair(space, RunLengthLabels.from_runs(clusters.tuples, with_suppressed_cluster, clusters.counts))


def published_table(space: EncodedTable, constraint: Constraint, runs: RunLengthLabels) -> EncodedTable:
    """Return the table in which privacy models compare with the records that `runs` does not suppress.

    It is `space` itself if nothing is suppressed, or if any k records meet the constraint. All records stay in the
    table.
    """
    if constraint.counts_only_records(space) or runs.has_no_suppressed:
        return space
    return space.with_reference_rows(np.flatnonzero(runs.labels() >= 0))


def _suppress_clusters(
    space: EncodedTable, constraint: Constraint, runs: RunLengthLabels, budget: int, failing_first: bool
) -> RunLengthLabels:
    """Return the runs with whole clusters suppressed, as far as the budget of records allows; numbers stay.

    With `failing_first`, clusters that violate the constraint are suppressed, smallest first. Then those of greatest
    loss are, as long as a cluster's loss is above the average of the published records. A cluster too large for the
    rest of the budget is skipped, and the last cluster is never suppressed.
    """
    bounds = ClassBounds.from_labels(space, runs)
    loss, sizes = bounds.record_losses(space), bounds.sizes
    order: list[int] = []
    if failing_first:
        bad = _failing_clusters(space, constraint, runs, bounds)
        order = bad[np.argsort(sizes[bad], kind="stable")].tolist()
    failing = set(order)
    order += [c for c in np.argsort(-loss, kind="stable").tolist() if c not in failing]
    is_published = np.ones(len(sizes), bool)
    total, n_published = float((loss * sizes).sum()), int(sizes.sum())
    for c in order:
        if sizes[c] > budget or sizes[c] == n_published:
            continue
        if c not in failing and loss[c] <= total / n_published:  # all that follow lose no more
            break
        is_published[c] = False
        budget -= int(sizes[c])
        total, n_published = total - loss[c] * sizes[c], n_published - int(sizes[c])
    new_numbers = np.full(runs.next_cluster_number, -1)
    used_numbers = np.unique(runs.without_suppressed().clusters)
    new_numbers[used_numbers[is_published]] = used_numbers[is_published]
    return runs.with_cluster_numbers(new_numbers)


def _failing_clusters(space: EncodedTable, constraint: Constraint, runs: RunLengthLabels, bounds: ClassBounds) -> Ints:
    """Return the numbers of the clusters that violate the constraint; `bounds` are those of `runs`."""
    if constraint.counts_only_records(space):
        return np.flatnonzero(bounds.sizes < constraint.min_records)
    return constraint.failing_clusters(space, cluster_members(runs.labels()))


def _mean_loss(space: EncodedTable, runs: RunLengthLabels) -> float:
    """Return the average loss of a record that is not suppressed."""
    bounds = ClassBounds.from_labels(space, runs)
    return float((bounds.record_losses(space) * bounds.sizes).sum() / bounds.sizes.sum())
