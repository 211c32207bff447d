"""r-cellular clustering: the smallest ball with k remaining records is a cluster, again and again."""

import heapq

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.assignments import AssignmentLog, RunLengthLabels
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import LARGE, Assignment, Check, Options, register, single_cluster_below_2k
from dbanon.encoding import distance
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.encoding.tuple_index import TupleIndex
from dbanon.privacy_models.constraint import Constraint

SAMPLE_QUERIES = 64
"""Searches from which the time of all is estimated."""


@single_cluster_below_2k
def r_cellular(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with r-cellular clustering (Aggarwal et al. 2006), by a greedy algorithm of this project.

    Each cluster has a center and at least k records (r in the paper), and costs its number of records times its radius;
    the sum of these costs is kept low, while `r_gather` keeps the greatest radius low. Of all remaining records, the
    one with k remaining records in the smallest ball around it is the next center, and these records are its cluster.
    The last fewer than k records join, in canonical order, the cluster whose cost grows least. Distance of two records:
    what they lose together, as in the k-member papers.

    The paper has an algorithm of constant factor, which its descriptions do not give; radii are not published, since
    the ranges of a class show more. With persons or other models a cluster has at least as many records as any of them
    needs; clusters that still violate the constraint are merged afterwards. O(n^2) time without the index, O(n) memory.
    """
    return SmallestBalls(space, constraint.min_records).form_clusters(progress.as_progress_check(check))


class SmallestBalls:
    """The remaining records, and a queue of centers by the radius that their ball had when it was last computed.

    A radius never shrinks, since records are only taken away. So the first center of the queue is the one to take if
    its radius, computed again, is not greater than that of the second.
    """

    def __init__(self, space: EncodedTable, k: int) -> None:
        """Build the index of the records."""
        self.space, self.k = space, k
        self.tables = Loss(space, k, "edges").pair_tables(space)
        self.index = TupleIndex(space, self.tables)

    def ball(self, t: int) -> tuple[int, Ints, Ints]:
        """Return radius, tuples and numbers of records of the smallest ball of k remaining records around tuple `t`."""
        query = self.index.distance_query(self.space.codes[t].tolist())
        tuples, counts = self.index.nearest(query, self.k)
        radius = distance.distances_to_tuples(self.tables, self.space.codes[t], self.space.codes[tuples[-1:]])
        return int(radius[0]), tuples, counts

    def form_clusters(self, progress_check: progress.ProgressCheck) -> RunLengthLabels:
        """Form clusters while k records remain, assign the others, and return the cluster of every record."""
        queue, clock, log = [], progress.thread_seconds(), AssignmentLog()
        for t in range(len(self.space.counts)):
            progress_check()
            if t == SAMPLE_QUERIES:
                seconds = progress.thread_seconds() - clock
                progress_check.extrapolate(t / len(self.space.counts), self.index.steps, seconds, 2)
            queue.append((self.ball(t)[0], t))
            progress_check.advance(0.5 * t / len(self.space.counts))
        heapq.heapify(queue)
        centers: list[int] = []
        radii: list[int] = []
        while self.index.records >= self.k:
            progress_check()
            t = queue[0][1]
            if not self.index.remaining[t]:
                heapq.heappop(queue)
                continue
            radius, tuples, counts = self.ball(t)
            heapq.heapreplace(queue, (radius, t))
            if queue[0] != (radius, t):
                continue
            log.add(tuples, counts, np.full(len(tuples), len(centers)))
            self.index.remove_records(tuples, counts)
            centers.append(t)
            radii.append(radius)
            progress_check.advance(1 - 0.5 * self.index.records / self.space.rows)
        log.assign_remaining(self.index.remaining, lambda _, tuples: self._least_growth(centers, radii, tuples))
        return log.to_labels()

    def _least_growth(self, centers: list[int], radii: list[int], tuples: Ints) -> Ints:
        """Return, for the tuple of each leftover record, the cluster whose number times radius grows least."""
        radius, sizes = np.array(radii, np.int64), np.full(len(radii), self.k)
        joined = np.empty(len(tuples), np.int64)
        for i, t in enumerate(tuples.tolist()):
            distances = distance.distances_to_tuples(self.tables, self.space.codes[t], self.space.codes[centers])
            grown = np.maximum(radius, distances)
            joined[i] = c = int(np.argmin(grown * (sizes + 1) - radius * sizes))
            radius[c], sizes[c] = grown[c], sizes[c] + 1
        return joined


register(
    r_cellular,
    title="r-cellular clustering",
    summary=(
        "Finds the smallest ball that contains k of the remaining records, makes these a cluster, and repeats this, "
        "so that the sum of the radii over all records is small."
    ),
    source="Aggarwal et al. 2006, as the review of clustering methods describes it",
    evidence="description",
    own_parameters=(LARGE,),
)
