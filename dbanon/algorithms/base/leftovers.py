"""Records in no cluster, which join, one after another, the cluster whose whole loss grows least (MINIL)."""

import numpy as np

from dbanon.algorithms.base.kernel_inputs import Layout
from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import Ints

STEPS = 2**22
"""Clusters that are looked at between two looks for interrupts."""


def join(problem: Layout, tuple_of: Ints, labels: Ints, check: Check) -> None:
    """Gives the records of label -1, in canonical order, a cluster; labels are those of all records, clusters are
    numbered without gaps. Ties go to the earlier cluster. O(records * clusters) time at worst."""
    from dbanon.kernels import min_loss_assignment

    clusters = int(labels.max(initial=-1)) + 1
    spans = np.zeros((clusters, len(problem.terms), 4), np.int64)
    sizes, losses = np.zeros((2, clusters), np.int64)
    min_loss_assignment.add_labelled_tuples(tuple_of, labels, problem.measure, spans, sizes, losses)
    rows = np.flatnonzero(labels < 0)
    items, joined, begin = tuple_of[rows], np.empty(len(rows), np.int64), 0
    while begin < len(rows):
        check()
        begin, _ = min_loss_assignment.assign_tuples(
            begin, STEPS, items, len(labels) + 1, problem.measure, spans, sizes, losses, joined
        )
    labels[rows] = joined
