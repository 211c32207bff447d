"""UBDSA: open clusters that leave as soon as they are enough for a class and lose no more than a target."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.streams.class_loss import least_class, loss, loss_with, widen
from dbanon.kernels.streams.open_clusters import (
    can_be_enough,
    is_before,
    is_enough,
    let_go,
    loss_of_both,
    merge,
    open_cluster,
    put,
    send,
)
from dbanon.kernels.streams.sliding_window import LAST, SUPPRESSED, arrive, is_due, keep_latest, waiting


class UbdsaOptions(NamedTuple):
    """Options of UBDSA (see ubdsa_steps)."""

    ends: bool
    delta: int
    beta: int
    theta: float
    store: int


@kernel
def ubdsa_steps(state, most, options, requirement, records, classes, attributes, clusters):
    """Let records arrive until all have, or about `most` clusters and records were looked at; return how many were.

    A record leaves at once with a class of the store that loses no more than `theta`, or joins an open cluster, of
    which at most `beta` are open unless it can join none; the store are the last `store` classes.

    state: records that have arrived, oldest that may wait, classes, kept classes, clusters opened so far, open ones.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, records.class_ids)
        if x == state[0] or not is_due(x, options.delta, state, options.ends, records):
            if state[0] == len(records.arrived_at):
                break
            t = arrive(state, records, attributes)
            steps += 1 + state[3] + state[5]
            known, lost = least_class(records.values[t], classes, state[3], attributes)
            if known >= 0 and lost <= options.theta:
                records.class_ids[t], records.published_at[t] = known, state[LAST]
                continue
            c = _join(t, state, options.beta, options.theta, records, attributes, clusters)
            if (
                clusters.sizes[c] < requirement.k
                or loss(clusters.lows[c], clusters.highs[c], attributes) > options.theta
            ):
                continue
            steps += clusters.sizes[c]
            if not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
                continue
        else:
            c = clusters.cluster_ids[x]
            steps += clusters.sizes[c]
            if not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
                steps += state[3] + state[0] - x
                known, lost = least_class(records.values[x], classes, state[3], attributes)
                if known >= 0 or not can_be_enough(requirement, clusters, records):
                    records.class_ids[x], records.published_at[x] = (known if known >= 0 else SUPPRESSED), state[LAST]
                    let_go(x, c, state, clusters, records, attributes)
                    continue
            while not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
                steps += state[5] + clusters.sizes[c]
                other = _cheapest(c, clusters, attributes)
                merge(other, c, state, clusters, attributes)
        new = state[2]
        send(c, new, state[LAST], state, records, classes, clusters)
        keep_latest(new, state[LAST], options.store, state, classes)
    return steps


@part
def _join(t, state, beta, theta, records, attributes, clusters):
    """The cluster of a new record: the one whose records lose least more in all (ties: the smallest, then the one that
    was opened first), unless they would lose more than theta and another may be opened."""
    chosen, least, lost = np.int64(-1), np.inf, np.inf
    for c in range(len(clusters.is_open)):
        if clusters.is_open[c]:
            with_ = loss_with(records.values[t], clusters.lows[c], clusters.highs[c], attributes)
            more = (clusters.sizes[c] + 1) * with_ - clusters.sizes[c] * loss(
                clusters.lows[c], clusters.highs[c], attributes
            )
            if more < least or (more == least and is_before(c, chosen, clusters)):
                chosen, least, lost = np.int64(c), more, with_
    if chosen < 0 or (lost > theta and state[5] < beta):
        chosen = open_cluster(t, state, clusters, records, attributes)
    else:
        widen(records.values[t], clusters.lows[chosen], clusters.highs[chosen], attributes)
    put(t, chosen, clusters)
    return chosen


@part
def _cheapest(c, clusters, attributes):
    """The open cluster with which the records of both lose least more in all than alone (ties: the smallest, then the
    one that was opened first)."""
    own = clusters.sizes[c] * loss(clusters.lows[c], clusters.highs[c], attributes)
    best, least = np.int64(-1), np.inf
    for other in range(len(clusters.is_open)):
        if clusters.is_open[other] and other != c:
            both = loss_of_both(c, other, clusters, attributes)
            alone = clusters.sizes[other] * loss(clusters.lows[other], clusters.highs[other], attributes)
            more = (clusters.sizes[c] + clusters.sizes[other]) * both - own - alone
            if more < least or (more == least and is_before(other, best, clusters)):
                best, least = np.int64(other), more
    return best
