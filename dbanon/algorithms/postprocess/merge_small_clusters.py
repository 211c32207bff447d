"""The one repair that all algorithms share: a cluster that does not meet the privacy model is merged with the partner
that costs least, until all meet it. The whole table does, so this ends; a release is never weaker than asked."""

import heapq
from typing import Protocol

import numpy as np

from dbanon.algorithms.base.class_bounds import ClassBounds, cluster_members, record_losses, unite_equal_classes
from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint, MergeableClusters

MAX_PARTNERS = 64
"""Partners that are tried."""


def merge_failing_clusters(space: EncodedTable, constraint: Constraint, labels: Ints, check: Check) -> Ints:
    """The labels with clusters merged until each class that a reader sees meets the constraint, numbered from 0 in the
    order of the clusters. Rows of label -1 keep it.

    Where persons are counted, clusters that publish the same values are merged first: each may meet a model that they
    miss together, since a person who is in both is counted once. Where records are, no union of groups that meet a
    model misses it.
    """
    if space.persons is None or not constraint.models or not (labels >= 0).any():
        return merge_until_met(space, constraint, labels, check)
    while True:
        repaired = merge_until_met(space, constraint, unite_equal_classes(space, labels), check)
        if repaired.max() == labels.max():
            return repaired
        labels = repaired


class ClusterConstraint(Protocol):
    """A requirement of every cluster."""

    def failing_clusters(self, space: EncodedTable, clusters: list[Ints]) -> Ints:
        """Return the indices of the clusters that violate the requirement."""

    def mergeable_clusters(self, space: EncodedTable, rows: list[Ints]) -> MergeableClusters:
        """Return groups of records that will be united."""


def merge_until_met(space: EncodedTable, constraint: ClusterConstraint, labels: Ints, check: Check) -> Ints:
    """Return the labels with clusters merged until each meets the constraint.

    The smallest offender goes first (ties: the first). Its partner is the one with the least additional loss among
    those with which the union meets the model; if there is none among the nearest, the one with the least loss.
    """
    rows = cluster_members(labels)
    failing = [(len(rows[cluster]), cluster) for cluster in constraint.failing_clusters(space, rows).tolist()]
    if not failing:
        return labels
    heapq.heapify(failing)
    bounds = ClassBounds.from_members(space, rows)
    low, high, sizes, own = bounds.low, bounds.high, bounds.sizes, bounds.record_losses(space)
    is_alive = np.ones(len(rows), bool)
    groups = constraint.mergeable_clusters(space, rows)
    while failing:
        check()
        size, cluster = heapq.heappop(failing)
        if not is_alive[cluster] or size != len(rows[cluster]):
            continue
        others = np.flatnonzero(is_alive & (np.arange(len(rows)) != cluster))
        if len(others) == 0:
            break
        union_losses = record_losses(
            space, np.minimum(low[cluster], low[others]), np.maximum(high[cluster], high[others])
        )
        added_losses = (
            union_losses * (sizes[cluster] + sizes[others])
            - own[cluster] * sizes[cluster]
            - own[others] * sizes[others]
        )
        order = others[np.argsort(added_losses, kind="stable")]
        cheapest = order[:MAX_PARTNERS]
        is_met = groups.unions_satisfy(cluster, cheapest)
        partner, has_partner = int(cheapest[np.argmax(is_met)]), bool(is_met.any())
        keep, absorbed_cluster = min(cluster, partner), max(cluster, partner)
        groups.merge(keep, absorbed_cluster)
        rows[keep] = np.concatenate((rows[keep], rows[absorbed_cluster]))
        low[keep], high[keep] = np.minimum(low[cluster], low[partner]), np.maximum(high[cluster], high[partner])
        sizes[keep], is_alive[absorbed_cluster] = len(rows[keep]), False
        own[keep] = record_losses(space, low[keep : keep + 1], high[keep : keep + 1])[0]
        if not has_partner:
            heapq.heappush(failing, (len(rows[keep]), keep))
    repaired = np.full_like(labels, -1)
    for number, cluster in enumerate(np.flatnonzero(is_alive).tolist()):
        repaired[rows[cluster]] = number
    return repaired
