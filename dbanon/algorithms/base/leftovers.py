"""Assign records in no cluster, one after another, to the cluster whose whole loss grows least (MINIL)."""

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.kernel_inputs import KernelInputs
from dbanon.algorithms.base.registry import Check
from dbanon.encoding.encoded_table import Ints


def assign_leftovers(kernel_inputs: KernelInputs, tuple_of: Ints, labels: Ints, check: Check) -> None:
    """Assign each record with label -1, in canonical order, to the cluster whose whole loss grows least.

    Each record is added before the next one is assigned. Ties go to the earlier cluster. O(records * clusters) time at
    worst.

    Args:
        kernel_inputs: The arrays of the encoded table.
        tuple_of: (n,) tuple of every record.
        labels: (n,) cluster of every record, numbered without gaps, or -1; changed in place.
        check: Called from time to time; raises if the run was interrupted.
    """
    from dbanon.kernels import min_loss_assignment

    clusters = int(labels.max(initial=-1)) + 1
    spans = np.zeros((clusters, len(kernel_inputs.terms), 4), np.int64)
    sizes, losses = np.zeros((2, clusters), np.int64)
    min_loss_assignment.add_labelled_tuples(tuple_of, labels, kernel_inputs.loss_arrays, spans, sizes, losses)
    rows = np.flatnonzero(labels < 0)
    items, joined_clusters, begin = tuple_of[rows], np.empty(len(rows), np.int64), 0
    while begin < len(rows):
        check()
        begin, _ = min_loss_assignment.assign_tuples(
            begin,
            progress.STEPS_PER_CALL,
            items,
            len(labels) + 1,
            kernel_inputs.loss_arrays,
            spans,
            sizes,
            losses,
            joined_clusters,
        )
    labels[rows] = joined_clusters
