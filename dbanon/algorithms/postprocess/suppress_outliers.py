"""Leaving records out: whole clusters, where the rest is then published with less loss."""

from collections.abc import Callable

import numpy as np

from dbanon.algorithms.base.assignments import Runs
from dbanon.algorithms.base.class_bounds import Extents, members
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint

Repair = Callable[[EncodedTable, Runs], Runs]


def left_out(
    space: EncodedTable, constraint: Constraint, clusters: Runs, whole: Runs, share: float, repair: Repair
) -> Runs:
    """The clusters of least average loss of a released record, with at most a share of the records left out (-1).

    `clusters` are those of the algorithm, `whole` the same repaired. Two ways are tried: the repaired clusters of
    greatest loss are left out; or clusters that miss the model, smallest first, and then those of greatest loss, and
    what is left is repaired. The models compare with what is released, so both are repaired again; a way that cannot
    be is not taken. Ties go to fewer records left out.
    """
    budget = int(share * space.rows)
    best, least = whole, _mean_loss(space, whole)
    for runs, offenders in ((whole, False), (clusters, True)):
        lean = _without(space, constraint, runs, budget, offenders)
        if lean.are_all_kept or lean.clusters_most == 0:
            continue
        rest = rest_of(space, constraint, lean)
        lean = repair(rest, lean)
        if len(_missed(rest, constraint, lean, Extents.of_runs(rest, lean))):
            continue
        loss = _mean_loss(space, lean)
        if loss < least:
            best, least = lean, loss
    return best


def taken_back(space: EncodedTable, constraint: Constraint, clusters: Runs, repair: Repair) -> Runs:
    """Return the clusters of an algorithm that leaves records out by its own rule, repaired.

    The models compare with what is released; where that cannot meet them, what was left out is a cluster again and
    repaired with the others.
    """
    if clusters.are_all_kept:
        return repair(space, clusters)
    if clusters.clusters_most:
        rest = rest_of(space, constraint, clusters)
        repaired = repair(rest, clusters)
        if not len(_missed(rest, constraint, repaired, Extents.of_runs(rest, repaired))):
            return repaired
    again = np.where(clusters.clusters < 0, clusters.clusters_most, clusters.clusters)
    return repair(space, Runs.of(clusters.tuples, again, clusters.counts))


def rest_of(space: EncodedTable, constraint: Constraint, runs: Runs) -> EncodedTable:
    """Return the space where models compare with the records that runs do not leave out."""
    if constraint.counts_records(space) or runs.are_all_kept:
        return space
    return space.with_reference_rows(np.flatnonzero(runs.labels() >= 0))


def _without(space: EncodedTable, constraint: Constraint, runs: Runs, budget: int, offenders: bool) -> Runs:
    """Return the runs where clusters are left out as long as the budget of records lasts."""
    extents = Extents.of_runs(space, runs)
    loss, sizes = extents.losses(space), extents.sizes
    order: list[int] = []
    if offenders:
        bad = _missed(space, constraint, runs, extents)
        order = bad[np.argsort(sizes[bad], kind="stable")].tolist()
    missed = set(order)
    order += [c for c in np.argsort(-loss, kind="stable").tolist() if c not in missed]
    stays = np.ones(len(sizes), bool)
    total, kept = float((loss * sizes).sum()), space.rows
    for c in order:
        if sizes[c] > budget or sizes[c] == kept:
            continue
        if c not in missed and loss[c] <= total / kept:  # all that follow lose no more
            break
        stays[c] = False
        budget -= int(sizes[c])
        total, kept = total - loss[c] * sizes[c], kept - int(sizes[c])
    number = np.full(runs.clusters_most, -1)
    named = np.unique(runs.kept().clusters)
    number[named[stays]] = named[stays]
    return runs.numbered(number)


def _missed(space: EncodedTable, constraint: Constraint, runs: Runs, extents: Extents) -> Ints:
    """Which clusters, by their numbers, miss the model."""
    if constraint.counts_records(space):
        return np.flatnonzero(extents.sizes < constraint.least)
    return constraint.missed(space, members(runs.labels()))


def _mean_loss(space: EncodedTable, runs: Runs) -> float:
    """Return the average loss of a released record."""
    extents = Extents.of_runs(space, runs)
    return float((extents.losses(space) * extents.sizes).sum() / extents.sizes.sum())
