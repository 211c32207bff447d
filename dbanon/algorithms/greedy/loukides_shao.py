"""Loukides and Shao: clusters that grow by loss and diversity together, until the loss exceeds a threshold."""

from dataclasses import replace

import numpy as np

from dbanon.algorithms.base import leftovers, progress
from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.kernel_inputs import build_kernel_inputs
from dbanon.algorithms.base.random_seeds import random_order
from dbanon.algorithms.base.registry import (
    LARGE,
    MAX_SUPPRESSED,
    MODE,
    SEED,
    Assignment,
    Check,
    Options,
    Suppression,
    register,
)
from dbanon.algorithms.base.sensitive_groups import SensitiveGroups, sensitive_codes
from dbanon.encoding.encoded_table import EncodedTable, Ints, SensitiveColumn
from dbanon.kernels.arrays import FULL_LOSS, LAST_SIZE, LossArrays, ThresholdGrowth, ThresholdOptions, ThresholdPools
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Float
from dbanon.table_functions.parameters import Parameter

ITEM_COST = 0.5
"""Cost of examining an item, in steps of dbanon.algorithms.base.progress."""


def loukides_shao(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with the greedy k-anonymization of Loukides and Shao, by loss and diversity up to a loss threshold.

    Reconstructed from the review of clustering methods. Each cluster begins at a random record (deterministic: the
    first) and takes the record with which (1 - w) * loss + w * (1 - diversity) is least, where w is `diversity_weight`.
    Loss is what a record of the cluster would lose, over all that can be lost. Diversity is the entropy of the
    sensitive values over the greatest possible one, averaged over sensitive columns. A cluster is complete, whatever
    its size, when that record would bring the loss of a record above `threshold`. Ties go to the smaller loss, then to
    the first record.

    Clusters of fewer than k records are suppressed, the first ones formed, as far as `suppress` allows. The records of
    other small clusters join, in canonical order, the cluster whose whole loss grows least. If no cluster has k
    records, all records are a single cluster: the threshold is too low for the table. O(n^2) time at worst, O(n)
    memory.

    Which records are together depends on sensitive values, which no model checks: an attacker who knows the method can
    learn from it more than from other algorithms.
    """
    if space.rows < constraint.min_records:
        return RunLengthLabels.single_cluster(space)
    kernel_inputs, tuple_of = build_kernel_inputs(space, Constraint(1), "edges"), space.tuple_of
    if not space.sensitive:  # as if all records had one value
        space = replace(space, sensitive=(SensitiveColumn(np.zeros(space.rows, np.int32), np.array([space.rows, 0])),))
    labels = _ThresholdGrowth(space, kernel_inputs.loss_arrays, options).labels(check)
    sizes = np.bincount(labels)
    is_small = sizes < constraint.min_records
    if is_small.all():
        return RunLengthLabels.single_cluster(space)
    is_suppressed = is_small & (np.cumsum(sizes * is_small) <= int(str(options.get(MAX_SUPPRESSED, 0))))
    numbers = np.where(is_small, -1, np.cumsum(~is_small) - 1)
    is_published = ~is_suppressed[labels]
    labels = numbers[labels]
    published_labels = labels[is_published]
    leftovers.assign_leftovers(kernel_inputs, tuple_of[is_published], published_labels, check)
    labels[is_published] = published_labels
    return labels


class _ThresholdGrowth:
    """The growth of clusters up to a loss threshold, in compiled code."""

    def __init__(self, space: EncodedTable, loss_arrays: LossArrays, options: Options) -> None:
        """Group the records by sensitive values, and prepare the kernel's arrays; no cluster is formed yet.

        Args:
            space: The encoded table, with at least one sensitive column.
            loss_arrays: The arrays of the loss.
            options: The options of the algorithm.
        """
        groups = SensitiveGroups.from_codes(space, sensitive_codes(space))
        pools = groups.pools
        self.rows, self.n_remaining = space.rows, pools.n_remaining
        total_loss = float(loss_arrays.terms[:, FULL_LOSS].sum())
        weight, threshold = float(str(options["diversity_weight"])), float(str(options["threshold"])) * total_loss
        number_of = np.array([(s.value_counts > 0).sum() for s in space.sensitive])
        codes_of = np.cumsum([0, *(a.values + 1 for a in space.attributes)])
        values = max(s.values for s in space.sensitive) + 1
        self.state, self.cluster_of = np.zeros(4, np.int64), np.full(space.rows, -1, np.int64)
        threshold_pools = ThresholdPools(
            pools,
            random_order(space, options),
            groups.first_records,
            np.argsort(groups.rows),
            groups.values,
            groups.group_starts,
            number_of,
        )
        growth = ThresholdGrowth(
            np.zeros((len(space.attributes), 4), np.int64),
            np.zeros((len(space.sensitive), values), np.int64),
            np.zeros((len(space.sensitive), 1)),
            np.zeros(len(self.n_remaining), np.int64),
            np.full(groups.values.shape[1], -1, np.int64),
        )
        self.kernel_inputs = (
            ThresholdOptions(threshold, weight, total_loss),
            threshold_pools,
            loss_arrays,
            codes_of,
            growth,
            self.cluster_of,
        )

    def labels(self, check: Check) -> Ints:
        """Form all clusters and return the cluster of every record; clusters may have any size."""
        from dbanon.kernels.loss_threshold import threshold_steps

        progress_check, clock, steps, is_estimated = (
            progress.as_progress_check(check),
            progress.thread_seconds(),
            0,
            False,
        )
        while self.n_remaining.any() or self.state[LAST_SIZE] > 0:
            check()
            steps += int(threshold_steps(self.state, progress.STEPS_PER_CALL, *self.kernel_inputs))
            fraction = 1 - int(self.n_remaining.sum()) / self.rows
            if not is_estimated:
                is_estimated = True
                seconds = progress.thread_seconds() - clock
                progress_check.extrapolate(fraction, steps * ITEM_COST, seconds, progress.DENSE_COST_FACTOR)
            progress_check.advance(fraction)
        return self.cluster_of


register(
    loukides_shao,
    title="Loukides and Shao: greedy clusters by loss and diversity",
    summary=(
        "Grows clusters greedily by the record with the best combination of low loss and high diversity, until the "
        "loss exceeds a threshold, whatever their size. Small clusters are suppressed or dissolved."
    ),
    source="Loukides and Shao 2007, as the review of clustering methods describes it",
    evidence="description",
    own_parameters=(
        Parameter(
            "threshold", Float(0, 1), "Share of a record's greatest possible loss at which a cluster is complete.", 0.3
        ),
        Parameter("diversity_weight", Float(0, 1), "Weight of diversity; the weight of the loss is 1 minus this.", 0.5),
        SEED,
        MODE,
        LARGE,
    ),
    reads=("sensitive",),
    abilities=(Suppression("those in clusters that stay smaller than k"),),
)
