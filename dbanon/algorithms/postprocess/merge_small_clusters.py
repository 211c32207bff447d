"""The repair that all algorithms share: clusters that violate the constraint are merged with the cheapest partner.

Merging goes on until all clusters meet the constraint. The whole table does, so this ends; a release is never weaker
than requested.
"""

import heapq
from typing import Protocol

import numpy as np

from dbanon.algorithms.base.class_bounds import ClassBounds, cluster_members, record_losses, unite_equal_classes
from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint, MergeableClusters

MAX_PARTNERS = 64
"""Greatest number of partners that are tried."""


def merge_failing_clusters(space: EncodedTable, constraint: Constraint, labels: Ints, check: Check) -> Ints:
    """Merge clusters until each published class meets the constraint, and return the labels; label -1 stays.

    New labels are numbered from 0; the labels are returned unchanged if no cluster fails. If persons are counted and
    other models are required, clusters that publish the same values are merged first, since readers see them as one
    class: each may meet a model that the class violates, because a person in both counts once. If records are counted,
    a union of clusters that meet a model meets it, too.
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
        """Return the indices of the clusters that violate the requirement; `clusters` has the row numbers of each."""

    def mergeable_clusters(self, space: EncodedTable, rows: list[Ints]) -> MergeableClusters:
        """Return a structure that merges clusters and checks unions of two; `rows` has the row numbers of each."""


def merge_until_met(space: EncodedTable, constraint: ClusterConstraint, labels: Ints, check: Check) -> Ints:
    """Merge clusters until each meets the constraint, or only one is left, and return the labels; -1 stays.

    New labels are numbered from 0; the labels are returned unchanged if no cluster fails. The smallest failing cluster
    is first (ties: the first). Its partner is the one with the least additional loss among those with which the union
    meets the constraint. If there is none among the MAX_PARTNERS cheapest, it is the cheapest of all, and the union is
    merged further.
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
        cheapest = others[np.argsort(added_losses, kind="stable")][:MAX_PARTNERS]
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
