"""The open clusters of a stream as arrays (see dbanon.kernels.streams.open_clusters), and their stored form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dbanon.algorithms.streams.state import StreamState, Workspace
from dbanon.encoding.encoded_table import Floats
from dbanon.kernels.streams.arrays import NEXT_ID, NEXT_RECENT, ClusterScratch, OpenClusterArrays

OWN_COUNTERS = slice(NEXT_ID, NEXT_RECENT + 1)
"""Positions of the counters that are stored with open clusters."""


@dataclass(frozen=True)
class OpenClusters:
    """Open (not yet published) clusters of a stream, as slots in arrays that kernels change.

    Attributes:
        recent: (mu,) losses of the last published classes.
        clusters: The slots: range, size and records of each cluster.
        scratch: For balancing and splitting clusters.
    """

    recent: Floats
    clusters: OpenClusterArrays
    scratch: ClusterScratch

    @classmethod
    def from_workspace(cls, workspace: Workspace, mu: int, n_slots: int) -> OpenClusters:
        """Return `n_slots` slots for open clusters, filled with those of the previous state if there is one.

        If there is a previous state, the algorithm's own counters in `workspace` are restored, too.

        Args:
            workspace: The arrays of the stream.
            mu: Number of last classes whose losses are kept.
            n_slots: Greatest number of open clusters.
        """
        records, width = workspace.arrivals.values.shape
        nodes = len(workspace.arrivals.places.share)
        clusters = OpenClusterArrays(
            is_open=np.zeros(n_slots, bool),
            ids=np.zeros(n_slots, np.int64),
            heads=np.full(n_slots, -1, np.int64),
            sizes=np.zeros(n_slots, np.int64),
            lows=np.zeros((n_slots, width)),
            highs=np.zeros((n_slots, width)),
            next_record=np.full(records, -1, np.int64),
            cluster_ids=np.full(records, -1, np.int64),
        )
        scratch = ClusterScratch(
            growths=np.zeros(n_slots),
            **{name: np.zeros(records, np.int64) for name in ("members", "pieces", "candidates", "remaining")},
            distances=np.zeros(records),
            node_distances=np.zeros(nodes),
            center=np.zeros(width),
            node_counts=np.zeros(nodes, np.int64),
        )
        open_clusters = cls(np.zeros(mu), clusters, scratch)
        if workspace.previous is not None:
            open_clusters._restore(workspace, workspace.previous)
        return open_clusters

    def _restore(self, workspace: Workspace, previous: StreamState) -> None:
        """Fill the slots with the clusters of the pending records in the previous state.

        A slot is the place of an open cluster in the arrays; slots are filled in the order of the clusters' numbers.
        The losses of the last classes, and the algorithm's own counters in `workspace`, are restored, too.
        """
        clusters = self.clusters
        recent, numbers = previous.own["recent"], previous.own["cluster"]
        self.recent[: len(recent)] = recent
        workspace.counters[OWN_COUNTERS] = previous.own["counters"]
        slots = {number: place for place, number in enumerate(sorted(set(numbers.tolist())))}
        spans = dict(zip(previous.own["open"].tolist(), range(len(previous.own["open"])), strict=True))
        for number, place in slots.items():
            clusters.is_open[place], clusters.ids[place] = True, number
            clusters.lows[place] = previous.own["open_lows"][spans[number]]
            clusters.highs[place] = previous.own["open_highs"][spans[number]]
        for record, number in enumerate(numbers.tolist()):
            place = slots[number]
            clusters.next_record[record], clusters.heads[place] = clusters.heads[place], record
            clusters.cluster_ids[record] = place
            clusters.sizes[place] += 1

    def own_arrays(self, workspace: Workspace) -> dict[str, npt.NDArray[np.generic]]:
        """Return the arrays to store: the open clusters and the losses of the last classes.

        `cluster` (records,) is the number of each pending record's cluster, -1 for the others. `open`, `open_lows` and
        `open_highs` are the numbers and ranges of the clusters, `recent` the losses, `counters` the algorithm's own
        counters.
        """
        clusters = self.clusters
        slots = np.flatnonzero(clusters.is_open)
        return {
            "recent": self.recent,
            "cluster": np.where(clusters.cluster_ids >= 0, clusters.ids[clusters.cluster_ids], -1),
            "open": clusters.ids[slots],
            "open_lows": clusters.lows[slots],
            "open_highs": clusters.highs[slots],
            "counters": workspace.counters[OWN_COUNTERS].copy(),
        }
