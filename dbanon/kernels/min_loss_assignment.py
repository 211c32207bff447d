"""Assignment of records to the cluster whose total loss grows least, and growth of clusters by such records.

All clusters, or all records, are examined; the computation of a cost stops once it reaches the best one so far. `spans`
(clusters, attributes, 4): see `dbanon.kernels.loss`; `sizes` and `losses` (clusters,): records, and loss per record.
The total loss of a cluster is their product.
"""

import numpy as np

from dbanon.kernels.arrays import (
    FULL_LOSS,
    HEIGHT,
    HIGH,
    KIND,
    LOSS,
    LOW,
    N_ADDITIONS,
    N_REMAINING,
    N_VALUES,
    NEXT_SEED,
    NODE,
    NODE_ENTRIES,
    NUMBER,
    SECOND_ARRAY,
    SUMMED_GROWTH,
    TREE,
)
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.loss import attribute_loss, begin_class, node_with_codes, widen_class

INFINITE_LOSS = 2**62


@kernel_part
def loss_growth(loss, size, tuple_id, measure, span, limit):
    """Return the growth of a cluster's total loss if a tuple joins, or INFINITE_LOSS once it is `limit` or more.

    Args:
        loss: Loss per record of the cluster.
        size: Its records.
        tuple_id: The tuple.
        measure: `LossArrays`.
        span: (attributes, 4) the cluster: least and greatest code, loss per record, and node of a hierarchy; not
            changed.
        limit: The bound.
    """
    max_total = limit + size * loss
    new_loss = loss
    for a in range(len(span)):
        code = np.int64(measure.codes[tuple_id, a])
        if span[a, LOW] <= code <= span[a, HIGH]:
            continue
        old_loss = span[a, LOSS]
        if measure.terms[a, KIND] != NUMBER and old_loss == measure.terms[a, FULL_LOSS]:
            continue  # of a hierarchy all is lost
        if (
            measure.terms[a, KIND] == TREE
            and code < measure.terms[a, N_VALUES]
            and span[a, HIGH] < measure.terms[a, N_VALUES]
        ):
            node = node_with_codes(a, span[a, NODE], code, code, measure)
            new_loss += measure.packed[measure.terms[a, SECOND_ARRAY] + NODE_ENTRIES * node + HEIGHT] - old_loss
        else:
            new_loss += attribute_loss(a, min(code, span[a, LOW]), max(code, span[a, HIGH]), measure) - old_loss
        if (size + 1) * new_loss >= max_total:
            return INFINITE_LOSS
    if (size + 1) * new_loss >= max_total:
        return INFINITE_LOSS
    return (size + 1) * new_loss - size * loss


@kernel
def assign_tuples(first_tuple, max_steps, tuple_ids, cap, measure, spans, sizes, losses, labels):
    """Assign each tuple, from `first_tuple` on, to the cluster whose total loss grows least (ties: the first).

    Only clusters of fewer than `cap` records are considered, and the chosen cluster is widened at once. Returns the
    next place in `tuple_ids` and the number of examined clusters: when all tuples are assigned, no cluster has fewer
    than `cap` records, or `max_steps` clusters were examined.

    Args:
        first_tuple: The first place in `tuple_ids`.
        max_steps: Number of examined clusters after which to return.
        tuple_ids: Number of the tuple of each record.
        cap: Number of records from which on a cluster accepts no more.
        measure: `LossArrays`.
        spans: (clusters, attributes, 4) the clusters: least and greatest code, loss per record, and node of a
            hierarchy; updated in place.
        sizes: (clusters,) number of records; updated in place.
        losses: (clusters,) loss per record; updated in place.
        labels: Output: cluster of each place in `tuple_ids`.
    """
    open_, n_open = np.empty(len(sizes), np.int64), 0
    for c in range(len(sizes)):
        if sizes[c] < cap:
            open_[n_open] = c
            n_open += 1
    steps, i, best = np.int64(0), first_tuple, 0
    while i < len(tuple_ids) and n_open > 0 and steps < max_steps:
        # What the cluster of the item before costs, which is often like it, is a bound to begin with.
        tuple_id, c = tuple_ids[i], open_[min(best, n_open - 1)]
        lowest = loss_growth(losses[c], sizes[c], tuple_id, measure, spans[c], np.int64(INFINITE_LOSS)) + 1
        for o in range(n_open):
            c = open_[o]
            growth = loss_growth(losses[c], sizes[c], tuple_id, measure, spans[c], lowest)
            if growth < lowest:
                lowest, best = growth, o
        c = open_[best]
        losses[c] = widen_class(losses[c], tuple_id, measure, spans[c])
        sizes[c] += 1
        labels[i] = c
        steps += n_open
        i += 1
        if sizes[c] >= cap:
            for o in range(best, n_open - 1):
                open_[o] = open_[o + 1]
            n_open -= 1
    return i, steps


@kernel_part
def fill_code_losses(a, codes_of, span, measure, table):
    """Fill the table of attribute `a`: for each code, the loss per record on `a` of the cluster once it has the code.

    Args:
        a: Number of the attribute.
        codes_of: (attributes + 1,) where the codes of each attribute begin in `table`.
        span: (attributes, 4) the cluster: least and greatest code, loss per record, and node of a hierarchy.
        measure: `LossArrays`.
        table: The tables of all attributes, one after another; that of `a` is set.
    """
    for code in range(measure.terms[a, N_VALUES] + 1):
        if span[a, LOW] <= code <= span[a, HIGH]:
            table[codes_of[a] + code] = span[a, LOSS]
        else:
            low, high = min(np.int64(code), span[a, LOW]), max(np.int64(code), span[a, HIGH])
            table[codes_of[a] + code] = attribute_loss(a, low, high, measure)


MAX_TABLE_VALUES = 1024
"""Losses on attributes with more values are computed per tuple: filling a table would take longer."""


@kernel_part
def update_code_losses(span, old_span, codes_of, measure, table):
    """Refill the tables of the attributes on which `span` differs from `old_span`, and copy `span` to `old_span`.

    The table of an attribute has, for each code, the cluster's loss per record on the attribute once it has the code
    (not the increase). Attributes with more than MAX_TABLE_VALUES values have no table.

    Args:
        span: (attributes, 4) the cluster: least and greatest code, loss per record, and node of a hierarchy.
        old_span: (attributes, 2) least and greatest codes for which the tables were filled last, -1 at first; updated
            in place.
        codes_of: (attributes + 1,) where the codes of each attribute begin in `table`.
        measure: `LossArrays`.
        table: Output: the tables of all attributes, one after another.
    """
    for a in range(len(span)):
        if span[a, LOW] != old_span[a, LOW] or span[a, HIGH] != old_span[a, HIGH]:
            old_span[a, LOW], old_span[a, HIGH] = span[a, LOW], span[a, HIGH]
            if measure.terms[a, N_VALUES] <= MAX_TABLE_VALUES:
                fill_code_losses(a, codes_of, span, measure, table)


@kernel_part
def loss_with_tuple(tuple_id, measure, span, codes_of, table):
    """Return the loss per record of a cluster if a tuple joins, by the tables of losses; nothing is changed.

    Args:
        tuple_id: Number of the tuple.
        measure: `LossArrays`.
        span: (attributes, 4) the cluster: least and greatest code, loss per record, and node of a hierarchy.
        codes_of: (attributes + 1,) where the codes of each attribute begin in `table`.
        table: The tables of all attributes, one after another.
    """
    total = np.int64(0)
    for a in range(len(span)):
        code = np.int64(measure.codes[tuple_id, a])
        if measure.terms[a, N_VALUES] <= MAX_TABLE_VALUES:
            total += table[codes_of[a] + code]
        elif span[a, LOW] <= code <= span[a, HIGH]:
            total += span[a, LOSS]
        else:
            total += attribute_loss(a, min(code, span[a, LOW]), max(code, span[a, HIGH]), measure)
    return total


@kernel_part
def nonempty_tuples(n_remaining):
    """Return an array that begins with the tuples (or pools) with remaining records, ascending, and their number.

    The array has space for all tuples; the rest of it is uninitialized.
    """
    alive, n_alive = np.empty(len(n_remaining), np.int64), np.int64(0)
    for tuple_id in range(len(n_remaining)):
        if n_remaining[tuple_id] > 0:
            alive[n_alive] = tuple_id
            n_alive += 1
    return alive, n_alive


@kernel
def adaptive_steps(seeds, state, max_clusters, k, measure, n_remaining, codes_of, members):
    """Form up to `max_clusters` clusters of at least k records: a seed and the records that add the least loss.

    After k records, further ones join as long as the cluster's total loss grows by no more than the average growth per
    addition so far.

    Args:
        seeds: Tuple of each seed; a seed without remaining records forms no cluster.
        state: float64 counters (see `NEXT_SEED` and `N_ADDITIONS`); updated in place.
        max_clusters: Number of clusters after which to return.
        k: Fewest records of a cluster.
        measure: `LossArrays`.
        n_remaining: Remaining records by tuple.
        codes_of: (attributes + 1,) where the codes of each attribute begin in a table of losses.
        members: Output: rows (tuple, number of records); a row of -1 ends a cluster.

    Returns:
        Rows used in `members`, and number of examined tuples.
    """
    levels = len(measure.terms)
    span, old_span = np.empty((levels, 4), np.int64), np.empty((levels, 2), np.int64)
    table = np.empty(codes_of[levels], np.int64)
    n_rows, n_clusters, steps = 0, 0, np.int64(0)
    alive, n_alive = nonempty_tuples(n_remaining)
    while state[NEXT_SEED] < len(seeds) and state[N_REMAINING] >= k and n_clusters < max_clusters:
        seed = seeds[int(state[NEXT_SEED])]
        state[NEXT_SEED] += 1
        if n_remaining[seed] == 0:
            continue
        n_remaining[seed] -= 1
        state[N_REMAINING] -= 1
        loss, size = begin_class(seed, measure, span), np.int64(1)
        old_span[:] = -1
        members[n_rows, 0], members[n_rows, 1] = seed, 1
        n_rows += 1
        while state[N_REMAINING] > 0:
            for a in range(levels):
                if span[a, LOW] != old_span[a, LOW] or span[a, HIGH] != old_span[a, HIGH]:
                    old_span[a, LOW], old_span[a, HIGH] = span[a, LOW], span[a, HIGH]
                    fill_code_losses(a, codes_of, span, measure, table)
            lowest, best, n_kept = np.int64(INFINITE_LOSS), np.int64(-1), np.int64(0)
            for o in range(n_alive):
                t = alive[o]
                if n_remaining[t] == 0:
                    continue
                alive[n_kept] = t
                n_kept += 1
                total = np.int64(0)
                for a in range(levels):
                    total += table[codes_of[a] + measure.codes[t, a]]
                if total < lowest:
                    lowest, best = total, t
            n_alive = n_kept
            steps += n_alive
            growth = (size + 1) * lowest - size * loss
            if size >= k and growth * state[N_ADDITIONS] > state[SUMMED_GROWTH]:
                break
            n_remaining[best] -= 1
            state[N_REMAINING] -= 1
            state[N_ADDITIONS] += 1
            state[SUMMED_GROWTH] += growth
            loss = widen_class(loss, best, measure, span)
            size += 1
            members[n_rows, 0], members[n_rows, 1] = best, 1
            n_rows += 1
        members[n_rows, 0] = -1
        n_rows += 1
        n_clusters += 1
    return n_rows, steps


@kernel
def add_labelled_tuples(tuple_ids, labels, measure, spans, sizes, losses):
    """Add each tuple to the cluster of its label (-1: none), in place; an empty cluster begins with its first tuple.

    Args:
        tuple_ids: Number of the tuple of each record.
        labels: Cluster of each place in `tuple_ids`, -1 for none.
        measure: `LossArrays`.
        spans: (clusters, attributes, 4) the clusters: least and greatest code, loss per record, and node of a
            hierarchy; updated in place.
        sizes: (clusters,) number of records; updated in place.
        losses: (clusters,) loss per record; updated in place.
    """
    for i in range(len(tuple_ids)):
        c = labels[i]
        if c < 0:
            continue
        if sizes[c] == 0:
            losses[c] = begin_class(tuple_ids[i], measure, spans[c])
        else:
            losses[c] = widen_class(losses[c], tuple_ids[i], measure, spans[c])
        sizes[c] += 1
