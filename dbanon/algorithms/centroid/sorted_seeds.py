"""Clusters from seeds: record after record joins the cluster whose whole loss grows least."""

from collections.abc import Sequence

import numpy as np

from dbanon.algorithms.base import progress
from dbanon.algorithms.base.kernel_inputs import build_kernel_inputs
from dbanon.algorithms.base.random_seeds import generator
from dbanon.algorithms.base.registry import Check, Options
from dbanon.encoding.encoded_table import EncodedTable, Ints
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

CLUSTER_COST = 0.5
"""Cost of examining a cluster, in steps of dbanon.algorithms.base.progress: most are rejected at the first attribute.
"""


class SeededClusters:
    """Clusters that begin with one record each and grow by the records whose joining raises the loss least.

    The loss is that of the k-member papers.

    Attributes:
        labels: (n,) cluster of every canonical row; -1 until it joins one.
        sizes: (clusters,) number of records of each cluster.
    """

    def __init__(self, space: EncodedTable, k: int, seeds: Ints, check: Check) -> None:
        """Put each of the rows `seeds` in a cluster of its own; no other row is assigned."""
        from dbanon.kernels import min_loss_assignment

        self.k, self.tuple_of, self.check = k, space.tuple_of, check
        self.kernel_inputs = build_kernel_inputs(space, Constraint(k), "edges")
        self.labels = np.full(space.rows, -1, np.int64)
        self.spans = np.zeros((len(seeds), len(space.attributes), 4), np.int64)
        self.sizes, self.losses = np.zeros((2, len(seeds)), np.int64)
        self.labels[seeds] = np.arange(len(seeds))
        min_loss_assignment.add_labelled_tuples(
            self.tuple_of[seeds],
            self.labels[seeds],
            self.kernel_inputs.loss_arrays,
            self.spans,
            self.sizes,
            self.losses,
        )

    def assign(self, rows: Ints) -> None:
        """Assign the rows, in order, to the cluster of fewer than k records whose whole loss grows least.

        Once all clusters have k records, any cluster may be joined. `labels` and the clusters are updated. Progress and
        a time estimate are reported.
        """
        from dbanon.kernels.min_loss_assignment import assign_tuples

        progress_check = progress.as_progress_check(self.check)
        expected = len(rows) * len(self.sizes) / 2 * CLUSTER_COST
        row_tuples, labels = self.tuple_of[rows], np.empty(len(rows), np.int64)
        begin, clock = 0, progress.thread_seconds()
        for cap in (self.k, len(self.labels) + 1):
            while begin < len(rows) and (self.sizes < cap).any():
                self.check()
                begin, _ = assign_tuples(
                    begin,
                    progress.STEPS_PER_CALL,
                    row_tuples,
                    cap,
                    self.kernel_inputs.loss_arrays,
                    self.spans,
                    self.sizes,
                    self.losses,
                    labels,
                )
                if expected:
                    seconds = (progress.thread_seconds() - clock) * expected / (progress.STEPS_PER_CALL * CLUSTER_COST)
                    progress_check.on_estimate(expected, seconds)
                    expected = 0
                progress_check.advance(begin / len(rows))
        self.labels[rows] = labels


def every_kth_record(space: EncodedTable, k: int, options: Options) -> Ints:
    """Return every k-th row, floor(n / k) in all, starting at a random one of the first k.

    In the deterministic mode it starts at the middle one of the first k.
    """
    begin = (k + 1) // 2 - 1 if options["mode"] == "deterministic" else int(generator(options).integers(k))
    return begin + np.arange(space.rows // k) * k


def one_record_per_group(groups: Ints, options: Options) -> Ints:
    """Return one random entry of each row of `groups` (groups, k); in the deterministic mode the first entry."""
    if options["mode"] == "deterministic":
        return np.asarray(groups[:, 0], np.int64)
    places = generator(options).integers(groups.shape[1], size=len(groups))
    return np.asarray(groups[np.arange(len(groups)), places], np.int64)


A_PARAMETER = Parameter(
    "sort_quasi", Integer(0), "Number of quasi-identifiers by which records are sorted; the first ones are used.", 1
)
B_PARAMETER = Parameter(
    "sort_sensitive",
    Integer(0),
    "Number of sensitive columns by which records are then sorted; the first ones are used.",
    1,
)


def rows_by_first_columns(space: EncodedTable, a: int, b: int) -> Ints:
    """Return all rows sorted by the first `a` quasi-identifiers, then by the first `b` sensitive columns.

    Ties are in canonical order.
    """
    tuple_of = space.tuple_of
    keys: Sequence[Ints] = [
        *(space.codes[tuple_of, j].astype(np.int64) for j in range(min(a, len(space.attributes)))),
        *(s.codes.astype(np.int64) for s in space.sensitive[:b]),
    ]
    return np.lexsort(tuple(reversed(keys))) if keys else np.arange(space.rows)
