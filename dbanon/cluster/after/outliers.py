"""Leaving records out: whole clusters, where the rest is then published with less loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dbanon.cluster.extent import Extents, members
from dbanon.models.constraint import Constraint
from dbanon.space.space import Ints, Space

Repair = Callable[[Space, Ints], Ints]


def left_out(space: Space, constraint: Constraint, clusters: Ints, whole: Ints, share: float, repair: Repair) -> Ints:
    """The labels of least average loss of a released record, with at most a share of the records left out (label -1).

    `clusters` are those of the algorithm, `whole` the same repaired. Two ways are tried: the repaired clusters of
    greatest loss are left out; or clusters that miss the model, smallest first, and then those of greatest loss, and
    what is left is repaired. The models compare with what is released, so both are repaired again; a way that cannot
    be is not taken. Ties go to fewer records left out.
    """
    budget = int(share * space.rows)
    best, least = whole, _mean_loss(space, whole)
    for labels, offenders in ((whole, False), (clusters, True)):
        lean = _without(space, constraint, labels, budget, offenders)
        if not (lean < 0).any() or not (lean >= 0).any():
            continue
        rest = space.among(np.flatnonzero(lean >= 0))
        lean = repair(rest, lean)
        if len(constraint.missed(rest, members(lean))):
            continue
        loss = _mean_loss(space, lean)
        if loss < least:
            best, least = lean, loss
    return best


def _without(space: Space, constraint: Constraint, labels: Ints, budget: int, offenders: bool) -> Ints:
    """Labels where clusters are -1 as long as the budget of records lasts."""
    clusters = members(labels)
    loss = Extents.of(space, clusters).losses(space)
    sizes = np.array([len(rows) for rows in clusters])
    order: list[int] = []
    if offenders:
        bad = constraint.missed(space, clusters)
        order = bad[np.argsort(sizes[bad], kind="stable")].tolist()
    missed = set(order)
    order += [c for c in np.argsort(-loss, kind="stable").tolist() if c not in missed]
    lean = labels.copy()
    total, kept = float((loss * sizes).sum()), space.rows
    for c in order:
        if sizes[c] > budget or sizes[c] == kept:
            continue
        if c not in missed and loss[c] <= total / kept:  # all that follow lose no more
            break
        lean[clusters[c]] = -1
        budget -= int(sizes[c])
        total, kept = total - loss[c] * sizes[c], kept - int(sizes[c])
    return lean


def _mean_loss(space: Space, labels: Ints) -> float:
    """Average loss of a released record."""
    extents = Extents.of(space, members(labels))
    return float((extents.losses(space) * extents.sizes).sum() / extents.sizes.sum())
