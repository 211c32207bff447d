"""The one repair that all algorithms share: a cluster that does not meet the privacy model is merged with the partner
that costs least, until all meet it. The whole table does, so this ends; a release is never weaker than asked."""

import heapq
from typing import Protocol

import numpy as np

from dbanon.algorithms.base.class_bounds import Extents, losses, members, united
from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint, Groups

NEAREST = 64
"""Partners that are tried."""


def merged(space: EncodedTable, constraint: Constraint, labels: Ints, check: Check) -> Ints:
    """The labels with clusters merged until each class that a reader sees meets the constraint, numbered from 0 in the
    order of the clusters. Rows of label -1 keep it.

    Where persons are counted, clusters that publish the same values are merged first: each may meet a model that they
    miss together, since a person who is in both is counted once. Where records are, no union of groups that meet a
    model misses it.
    """
    if space.persons is None or not constraint.models or not (labels >= 0).any():
        return joined(space, constraint, labels, check)
    while True:
        repaired = joined(space, constraint, united(space, labels), check)
        if repaired.max() == labels.max():
            return repaired
        labels = repaired


class Judge(Protocol):
    """What a cluster must be."""

    def missed(self, space: EncodedTable, groups: list[Ints]) -> Ints:
        """Which of several groups of records do not hold."""

    def groups(self, space: EncodedTable, rows: list[Ints]) -> Groups:
        """Return groups of records that will be united."""


def joined(space: EncodedTable, constraint: Judge, labels: Ints, check: Check) -> Ints:
    """Return the labels with clusters merged until each meets the constraint.

    The smallest offender goes first (ties: the first). Its partner is the one with the least additional loss among
    those with which the union meets the model; if there is none among the nearest, the one with the least loss.
    """
    rows = members(labels)
    bad = [(len(rows[c]), c) for c in constraint.missed(space, rows).tolist()]
    if not bad:
        return labels
    heapq.heapify(bad)
    extents = Extents.of(space, rows)
    low, high, sizes, own = extents.low, extents.high, extents.sizes, extents.losses(space)
    alive = np.ones(len(rows), bool)
    groups = constraint.groups(space, rows)
    while bad:
        check()
        size, c = heapq.heappop(bad)
        if not alive[c] or size != len(rows[c]):
            continue
        others = np.flatnonzero(alive & (np.arange(len(rows)) != c))
        if len(others) == 0:
            break
        loss = losses(space, np.minimum(low[c], low[others]), np.maximum(high[c], high[others]))
        more = loss * (sizes[c] + sizes[others]) - own[c] * sizes[c] - own[others] * sizes[others]
        order = others[np.argsort(more, kind="stable")]
        near = order[:NEAREST]
        held = groups.hold_with(c, near)
        partner, meets = int(near[np.argmax(held)]), bool(held.any())
        keep, gone = min(c, partner), max(c, partner)
        groups.unite(keep, gone)
        rows[keep] = np.concatenate((rows[keep], rows[gone]))
        low[keep], high[keep] = np.minimum(low[c], low[partner]), np.maximum(high[c], high[partner])
        sizes[keep], alive[gone] = len(rows[keep]), False
        own[keep] = losses(space, low[keep : keep + 1], high[keep : keep + 1])[0]
        if not meets:
            heapq.heappush(bad, (len(rows[keep]), keep))
    repaired = np.full_like(labels, -1)
    for number, c in enumerate(np.flatnonzero(alive).tolist()):
        repaired[rows[c]] = number
    return repaired
