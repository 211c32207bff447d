"""Genetic clustering: two clusters are pooled and grown again from their two most distant records."""

import numpy as np

from dbanon.kernels.arrays import FIRST_RANK, GENERATION, N_DRAWS_USED, N_WITHOUT_GAIN, SECOND_RANK
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.loss import begin_class, pair_loss, widen_class
from dbanon.kernels.min_loss_assignment import INFINITE_LOSS, loss_growth


@kernel
def update_losses(tuple_of, measure, clusters):
    """Recompute the loss per record of each cluster, in place; the order of the clusters is not changed.

    Args:
        tuple_of: (records,) number of the tuple of each record.
        measure: `LossArrays`.
        clusters: `CrossedClusters`; the losses are set.
    """
    head, following, _, losses, _ = clusters
    span = np.empty((measure.codes.shape[1], 4), np.int64)
    for c in range(len(head)):
        losses[c] = begin_class(tuple_of[head[c]], measure, span)
        row = following[head[c]]
        while row >= 0:
            losses[c] = widen_class(losses[c], tuple_of[row], measure, span)
            row = following[row]


@kernel_part
def cheapest_tuple(tuples, n_remaining, loss, size, measure, span):
    """Return the place of the tuple that adds the least loss to a class (ties: the first).

    Only tuples with remaining records count; the place is -1 without any.

    Args:
        tuples: Numbers of tuples.
        n_remaining: Remaining records of each of `tuples`.
        loss, size: Loss per record of the class, and its records.
        measure: `LossArrays`.
        span: (attributes, 4) the class (see `loss`).
    """
    best, lowest = -1, np.int64(INFINITE_LOSS)
    for i in range(len(tuples)):
        if n_remaining[i] > 0:
            growth = loss_growth(loss, size, tuples[i], measure, span, lowest)
            if growth < lowest:
                best, lowest = i, growth
    return best


@kernel_part
def cross_classes(tuples, n_remaining, k, measure, first_counts):
    """Divide pooled records into two new classes of at least k records; return their sizes and losses per record.

    The classes begin with the two most distant tuples and take turns in adding the cheapest record; the remaining
    records join, in order, the class whose total loss grows less.

    Args:
        tuples: The distinct tuples of the pool.
        n_remaining: Records of each, which become 0.
        k: Fewest records of a class.
        measure: `LossArrays`.
        first_counts: Output: records of each tuple in the first class.
    """
    spans = np.empty((2, measure.codes.shape[1], 4), np.int64)
    losses, sizes = np.zeros(2, np.int64), np.ones(2, np.int64)
    seeds_, farthest = np.zeros(2, np.int64), np.int64(-1)
    for i in range(len(tuples)):
        for j in range(i + 1, len(tuples)):
            pair_distance = pair_loss(tuples[i], tuples[j], measure, False)
            if pair_distance > farthest:
                farthest, seeds_[0], seeds_[1] = pair_distance, i, j
    for side in range(2):
        losses[side] = begin_class(tuples[seeds_[side]], measure, spans[side])
        n_remaining[seeds_[side]] -= 1
    first_counts[seeds_[0]] += 1
    while sizes[1] < k:
        for side in range(2):
            i = cheapest_tuple(tuples, n_remaining, losses[side], sizes[side], measure, spans[side])
            n_remaining[i] -= 1
            first_counts[i] += 1 - side
            losses[side] = widen_class(losses[side], tuples[i], measure, spans[side])
            sizes[side] += 1
    for i in range(len(tuples)):
        while n_remaining[i] > 0:
            growth = loss_growth(losses[0], sizes[0], tuples[i], measure, spans[0], np.int64(INFINITE_LOSS))
            side = 1 if loss_growth(losses[1], sizes[1], tuples[i], measure, spans[1], growth) < growth else 0
            n_remaining[i] -= 1
            first_counts[i] += 1 - side
            losses[side] = widen_class(losses[side], tuples[i], measure, spans[side])
            sizes[side] += 1
    return sizes, losses


@kernel_part
def draw_rank(draw, n_ranks):
    """Return the rank, below `n_ranks`, that a random number `draw` in [0, 1) selects.

    The first rank has the weight n_ranks, the last the weight 1.

    Args:
        draw: A random number in [0, 1).
        n_ranks: Number of ranks.
    """
    target = np.int64(draw * (n_ranks * (n_ranks + 1) // 2))
    low, high = np.int64(0), np.int64(n_ranks - 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle * n_ranks - middle * (middle - 1) // 2 <= target:
            low = middle
        else:
            high = middle - 1
    return low


@kernel_part
def move_in_order(c, loss, losses, order):
    """Set the loss of cluster `c`, and move it to its place in `order` (descending loss, ties: the first), in place.

    Args:
        c: Number of the cluster.
        loss: Its new loss per record.
        losses: (clusters,) loss per record; updated in place.
        order: The clusters by descending loss; updated in place.
    """
    place = 0
    while order[place] != c:
        place += 1
    losses[c] = loss
    while place > 0 and (
        losses[order[place - 1]] < loss or (losses[order[place - 1]] == loss and order[place - 1] > c)
    ):
        order[place] = order[place - 1]
        place -= 1
    last = len(order) - 1
    while place < last and (
        losses[order[place + 1]] > loss or (losses[order[place + 1]] == loss and order[place + 1] < c)
    ):
        order[place] = order[place + 1]
        place += 1
    order[place] = c


@kernel
def evolve(state, max_steps, generations, patience, draws, k, tuple_of, measure, clusters):
    """Cross pairs of clusters, in place, if that reduces their loss, until generations or patience are exhausted.

    To cross is to pool two clusters and to grow two new ones from their most distant records (see `cross_classes`).
    Without draws, pairs follow the order of the loss: 1 and 2, 1 and 3, 2 and 3, 1 and 4, ..., starting again after
    each gain; with draws, clusters of great loss are more likely. Returns None, early after `max_steps` steps or when
    the draws (two per generation) are used up.

    Args:
        state: Counters, see `GENERATION`; updated in place.
        max_steps: Number of steps after which to return.
        generations: Number of generations after which to end.
        patience: Number of generations without a gain after which to end.
        draws: Random numbers in [0, 1), or empty.
        k: Fewest records of a cluster.
        tuple_of: Tuple of each record.
        measure: `LossArrays`.
        clusters: `CrossedClusters`; updated in place.
    """
    head, following, sizes, losses, order = clusters
    n_steps = np.int64(0)
    while state[GENERATION] < generations and state[N_WITHOUT_GAIN] < patience and n_steps < max_steps:
        if len(draws):
            if state[N_DRAWS_USED] == len(draws):
                break
            first_rank = draw_rank(draws[state[N_DRAWS_USED]], len(order))
            second_rank = draw_rank(draws[state[N_DRAWS_USED] + 1], len(order) - 1)
            second_rank += 1 if second_rank >= first_rank else 0
            state[N_DRAWS_USED] += 2
        else:
            first_rank, second_rank = state[FIRST_RANK], state[SECOND_RANK]
        a, b = min(order[first_rank], order[second_rank]), max(order[first_rank], order[second_rank])
        rows = np.empty(sizes[a] + sizes[b], np.int64)
        number = 0
        for c in (a, b):
            row = head[c]
            while row >= 0:
                rows[number] = row
                number += 1
                row = following[row]
        rows.sort()
        tuples, counts, distinct = np.empty(number, np.int64), np.zeros(number, np.int64), 0
        for row in rows:
            if distinct == 0 or tuples[distinct - 1] != tuple_of[row]:
                tuples[distinct] = tuple_of[row]
                distinct += 1
            counts[distinct - 1] += 1
        state[GENERATION] += 1
        state[N_WITHOUT_GAIN] += 1
        state[FIRST_RANK] += 1
        if state[FIRST_RANK] == state[SECOND_RANK]:
            state[FIRST_RANK], state[SECOND_RANK] = 0, state[SECOND_RANK] + 1
        if state[SECOND_RANK] == len(order):
            state[FIRST_RANK], state[SECOND_RANK] = 0, 1
        n_steps += number
        if distinct == 1:
            continue
        n_steps += distinct * distinct // 2 + number * distinct
        first_counts = np.zeros(distinct, np.int64)
        new_sizes, new_losses = cross_classes(tuples[:distinct], counts[:distinct].copy(), k, measure, first_counts)
        if new_sizes[0] * new_losses[0] + new_sizes[1] * new_losses[1] >= sizes[a] * losses[a] + sizes[b] * losses[b]:
            continue
        state[N_WITHOUT_GAIN], state[FIRST_RANK], state[SECOND_RANK] = 0, 0, 1
        head[a] = head[b] = -1
        row_end = number
        for i in range(distinct - 1, -1, -1):
            for place in range(counts[i] - 1, -1, -1):
                row_end -= 1
                c = a if place < first_counts[i] else b
                following[rows[row_end]] = head[c]
                head[c] = rows[row_end]
        for c, side in ((a, 0), (b, 1)):
            sizes[c] = new_sizes[side]
            move_in_order(c, new_losses[side], losses, order)
