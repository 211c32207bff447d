"""Agglomerative clustering: starting with single records, the smallest cluster merges with the one that costs least."""

import numpy as np

from dbanon.kernels.arrays import HIGH, LOSS, LOW
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.loss import attribute_loss
from dbanon.kernels.min_loss_assignment import INFINITE_LOSS


@kernel_part
def _merge_growth(i, j, spans, sizes, losses, measure, limit):
    """Return the growth of total loss if clusters `i` and `j` merge, or INFINITE_LOSS as soon as it exceeds `limit`.

    Args:
        i, j: Two clusters.
        spans: (clusters, attributes, 3) least code, greatest code, and loss per record on the attribute.
        sizes: Records of each cluster.
        losses: Loss per record of each cluster.
        measure: `LossArrays`.
        limit: A bound above which the exact growth does not matter.
    """
    size, current_loss = sizes[i] + sizes[j], sizes[i] * losses[i] + sizes[j] * losses[j]
    record_loss = max(losses[i], losses[j])  # attributes on which they differ add to this
    if size * record_loss - current_loss > limit:
        return np.int64(INFINITE_LOSS)
    record_loss = np.int64(0)
    for a in range(len(measure.terms)):
        low, high = min(spans[i, a, LOW], spans[j, a, LOW]), max(spans[i, a, HIGH], spans[j, a, HIGH])
        if low == spans[i, a, LOW] and high == spans[i, a, HIGH]:
            record_loss += spans[i, a, LOSS]
        elif low == spans[j, a, LOW] and high == spans[j, a, HIGH]:
            record_loss += spans[j, a, LOSS]
        else:
            record_loss += attribute_loss(a, low, high, measure)
        if size * record_loss - current_loss > limit:
            return np.int64(INFINITE_LOSS)
    return size * record_loss - current_loss


@kernel_part
def _equal_value_share(j, marks, size, head, following, values, sizes):
    """Return the share of record pairs, one of each of two clusters, with equal sensitive values (mean over columns).

    Args:
        j: One cluster.
        marks: (columns, values) int64: records of the other cluster by sensitive value.
        size: Number of records of the other cluster.
        head: First record of each cluster.
        following: Next record of the same cluster, -1 at the end.
        values: (columns, records) codes of sensitive values.
        sizes: Number of records of each cluster.
    """
    total, member = 0, head[j]
    while member >= 0:
        for s in range(len(values)):
            total += marks[s, values[s, member]]
        member = following[member]
    return total / (size * sizes[j] * len(values))


@kernel_part
def _add_marks(i, amount, marks, head, following, values):
    """Add `amount` to the counts in `marks` (columns, values) of the sensitive values of cluster `i`'s records.

    Args:
        i: The cluster.
        amount: 1 to add its records, -1 to subtract them.
        marks: (columns, values) int64: records of one cluster by sensitive value; updated in place.
        head: First record of each cluster.
        following: Next record of the same cluster, -1 at the end.
        values: (columns, records) codes of sensitive values.
    """
    member = head[i]
    while member >= 0:
        for s in range(len(values)):
            marks[s, values[s, member]] += amount
        member = following[member]


@kernel
def merge_clusters(state, max_steps, k, penalty, tuple_of, values, measure, clusters):
    """Merge clusters, in place, until each has k records, one is left, or about `max_steps` clusters were examined.

    The first call (state[0] is 0) makes every record a cluster. The smallest cluster (ties: that of the first record)
    merges with the one for which the growth of total loss plus `penalty` times the share of pairs with equal sensitive
    values is least; the union takes the place of the cluster whose first record comes first.

    Args:
        state: Number of clusters in `alive`; 0 before the first call.
        max_steps: Number of examined clusters after which to return.
        k: Fewest records of a cluster.
        penalty: Weight of the share of equal sensitive values.
        tuple_of: Tuple of each record.
        values: (columns, records) sensitive codes.
        measure: `LossArrays`.
        clusters: `MergedClusters`.

    Returns:
        Number of examined clusters, and whether merging is complete.
    """
    alive, spans, sizes, losses, head, tail, following, marks = clusters
    steps = np.int64(0)
    if state[0] == 0:
        for i in range(len(tuple_of)):
            alive[i], sizes[i], head[i], tail[i], following[i] = (
                i,
                1,
                i,
                i,
                -1,
            )
            losses[i] = 0
            for a in range(len(measure.terms)):
                code = np.int64(measure.codes[tuple_of[i], a])
                spans[i, a, LOW], spans[i, a, HIGH], spans[i, a, LOSS] = (
                    code,
                    code,
                    attribute_loss(a, code, code, measure),
                )
                losses[i] += spans[i, a, LOSS]
        state[0] = len(tuple_of)
    while steps < max_steps:
        n_clusters = state[0]
        smallest = 0
        for place in range(1, n_clusters):
            if sizes[alive[place]] < sizes[alive[smallest]]:
                smallest = place
        i = alive[smallest]
        if sizes[i] >= k or n_clusters == 1:
            return steps, True
        _add_marks(i, np.int64(1), marks, head, following, values)
        partner, best = 0, np.inf
        for place in range(n_clusters):
            if place == smallest:
                continue
            j = alive[place]
            growth = _merge_growth(i, j, spans, sizes, losses, measure, best)
            if growth == INFINITE_LOSS or growth > best:
                continue
            cost = growth + penalty * _equal_value_share(j, marks, sizes[i], head, following, values, sizes)
            if cost < best:
                partner, best = place, cost
        _add_marks(i, np.int64(-1), marks, head, following, values)
        keep, removed = min(smallest, partner), max(smallest, partner)
        i, j = alive[keep], alive[removed]
        losses[i] = 0
        for a in range(len(measure.terms)):
            low, high = (
                min(spans[i, a, LOW], spans[j, a, LOW]),
                max(spans[i, a, HIGH], spans[j, a, HIGH]),
            )
            spans[i, a, LOW], spans[i, a, HIGH], spans[i, a, LOSS] = (
                low,
                high,
                attribute_loss(a, low, high, measure),
            )
            losses[i] += spans[i, a, LOSS]
        sizes[i] += sizes[j]
        following[tail[i]], tail[i] = head[j], tail[j]
        for place in range(removed, n_clusters - 1):
            alive[place] = alive[place + 1]
        state[0] -= 1
        steps += n_clusters
    return steps, False
