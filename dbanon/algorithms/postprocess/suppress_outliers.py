"""Suppression of whole clusters, if the other records are then published with less loss."""

from collections.abc import Callable

import numpy as np

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.class_bounds import ClassBounds, cluster_members
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

Repair = Callable[[EncodedTable, RunLengthLabels], RunLengthLabels]


def suppress_outliers(
    space: EncodedTable,
    constraint: Constraint,
    clusters: RunLengthLabels,
    repaired: RunLengthLabels,
    max_share: float,
    repair: Repair,
) -> RunLengthLabels:
    """Return the clusters of least average loss of a released record, with at most a share of records suppressed (-1).

    Two ways are tried. First, the repaired clusters of greatest loss are suppressed. Second, clusters of the algorithm
    that violate the constraint are suppressed, smallest first, and then those of greatest loss, and the other records
    are repaired. Privacy models compare with the released records, so both results are repaired again; a result that
    cannot be repaired is discarded. In a tie `repaired` is returned without suppression, or the first way is taken.

    Args:
        space: The encoded table.
        constraint: The constraint.
        clusters: The clusters of the algorithm.
        repaired: The same clusters after the repair.
        max_share: Greatest share of the records to suppress.
        repair: Merges clusters until they meet the constraint.
    """
    budget = int(max_share * space.rows)
    best, min_loss = repaired, _mean_loss(space, repaired)
    for runs, failing_first in ((repaired, False), (clusters, True)):
        reduced = _suppress_clusters(space, constraint, runs, budget, failing_first)
        if reduced.has_no_suppressed or reduced.next_cluster_number == 0:
            continue
        rest = published_table(space, constraint, reduced)
        reduced = repair(rest, reduced)
        if len(_failing_clusters(rest, constraint, reduced, ClassBounds.from_labels(rest, reduced))):
            continue
        loss = _mean_loss(space, reduced)
        if loss < min_loss:
            best, min_loss = reduced, loss
    return best


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
    total, n_published = float((loss * sizes).sum()), space.rows
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
