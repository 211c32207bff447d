"""CASTLE and B-CASTLE: open clusters that grow by the record that widens them least, and leave when one of their
records is due."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.streams.balance import balance, grow
from dbanon.kernels.streams.class_loss import loss, loss_with, widen
from dbanon.kernels.streams.open_clusters import (
    can_be_enough,
    close_cluster,
    count,
    is_before,
    is_enough,
    let_go,
    loss_of_both,
    merge,
    open_cluster,
    put,
)
from dbanon.kernels.streams.sliding_window import LAST, SUPPRESSED, arrive, keep_class, waiting
from dbanon.kernels.streams.split_cluster import PIECE, listed, split
from dbanon.kernels.streams.stored_classes import is_beyond, least_kept


class CastleOptions(NamedTuple):
    """Options of CASTLE (see castle_steps)."""

    ends: bool
    delta: int
    beta: int
    alpha: int
    balances: bool


@kernel
def castle_steps(state, most, options, requirement, records, classes, attributes, losses, clusters, scratch):
    """Let records arrive until all have, or about `most` clusters and records were looked at; return how many were.

    state: records that have arrived, oldest that may wait, classes, kept classes, clusters opened so far, open ones,
    losses in `recent`, next place in it. `beta`: most open clusters, beyond which none is opened; `alpha`: a cluster of
    so many records takes no other. Where it `balances`, it is B-CASTLE: records are moved to other clusters, and what
    leaves is not split.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, records.class_ids)
        late = (options.ends and state[0] == len(records.arrived_at)) or (
            x < state[0] and state[LAST] - records.arrived_at[x] >= options.delta
        )
        if x == state[0] or not late:
            if state[0] == len(records.arrived_at):
                break
            losses.ranges[-1] += is_beyond(records.values[state[0]], attributes)
            t = arrive(state, records, attributes)
            steps += 1 + state[5]
            c = _select(
                t, state, options.beta, options.alpha, records, losses.recent, attributes, clusters, scratch.growths
            )
            if options.balances:
                steps += state[5] + clusters.sizes[c]
                balance(c, state, options.alpha, records, attributes, clusters, scratch)
            continue
        now = state[LAST]
        c = clusters.cluster_ids[x]
        steps += state[5] + clusters.sizes[c]
        if not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
            steps += state[3]
            known = least_kept(records.values[x], classes, state[3], losses, attributes)
            if known >= 0 or _is_outlier(c, state, clusters) or not can_be_enough(requirement, clusters, records):
                records.class_ids[x], records.published_at[x] = (known if known >= 0 else SUPPRESSED), now
                let_go(x, c, state, clusters, records, attributes)
                continue
            while not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
                other = _nearest_cluster(c, requirement, options.balances, clusters, attributes)
                steps += state[5]
                merge(other, c, state, clusters, attributes)
        steps += _output(
            c, not options.balances, state, requirement, records, classes, losses.recent, attributes, clusters, scratch
        )
        close_cluster(c, state, clusters)
    return steps


@part
def mean_of(state, recent):
    """Return the mean loss of the last classes; 0 before the first."""
    number = min(state[6], len(recent))
    total = 0.0
    for i in range(number):
        total += recent[i]
    return total / number if number > 0 else 0.0


@part
def remember(lost, state, recent):
    """A class has left that loses so much."""
    recent[state[7]] = lost
    state[7] = (state[7] + 1) % len(recent)
    state[6] = min(state[6] + 1, len(recent))


@part
def _select(t, state, beta, alpha, records, recent, attributes, clusters, grown):
    """Puts a new record into a cluster and gives it: of those that it widens least, the smallest that stays good (ties:
    the one that was opened first); else a new one; else, where there are `beta`, the smallest. Clusters of `alpha`
    records are left out of all this."""
    limit = mean_of(state, recent)
    least = grow(records.values[t], np.int64(-1), alpha, state, clusters, grown, attributes)
    chosen, good, left, free = np.int64(-1), False, state[5], np.int64(0)
    for c in range(len(clusters.is_open)):
        if left == 0:
            break
        left -= clusters.is_open[c]
        free += clusters.is_open[c] and clusters.sizes[c] < alpha
        if clusters.is_open[c] and grown[c] == least and least < np.inf:
            own = loss_with(records.values[t], clusters.lows[c], clusters.highs[c], attributes) <= limit
            if chosen < 0 or (own and not good):
                chosen, good = np.int64(c), own
            elif own == good and is_before(c, chosen, clusters):
                chosen = np.int64(c)
    if chosen < 0 or (not good and free < beta):
        chosen = open_cluster(t, state, clusters, records, attributes)
    else:
        widen(records.values[t], clusters.lows[chosen], clusters.highs[chosen], attributes)
    put(t, chosen, clusters)
    return chosen


@part
def _is_outlier(c, state, clusters):
    """Return whether more than half of the open clusters are larger."""
    larger = np.int64(0)
    for other in range(len(clusters.is_open)):
        larger += clusters.is_open[other] and clusters.sizes[other] > clusters.sizes[c]
    return 2 * larger > state[5]


@part
def _nearest_cluster(c, requirement, balances, clusters, attributes):
    """The open cluster that widens a cluster least (ties: the one that was opened first); where it `balances`, also as
    near to k records together as can be."""
    own = loss(clusters.lows[c], clusters.highs[c], attributes)
    best, least = np.int64(-1), np.inf
    for other in range(len(clusters.is_open)):
        if clusters.is_open[other] and other != c:
            more = loss_of_both(c, other, clusters, attributes) - own
            if balances:
                more += abs(clusters.sizes[c] + clusters.sizes[other] - requirement.k) / requirement.k
            if more < least or (more == least and clusters.ids[other] < clusters.ids[best]):
                best, least = np.int64(other), more
    return best


@part
def _output(c, splits, state, requirement, records, classes, recent, attributes, clusters, scratch):
    """A cluster leaves, where it `splits` as several classes if it has twice as many persons as a class needs; gives
    how many records were looked at. A class is kept to be published again where it loses less than the last ones on
    average."""
    size = listed(c, clusters.heads, clusters.next_record, scratch.rows)
    base, pieces, now, enough = state[2], np.int64(0), state[LAST], 2 * requirement.k
    requirement.clock[0] += 1
    if splits and count(c, enough, clusters.heads, clusters.next_record, records, requirement) >= enough:
        pieces = split(size, base, requirement, records, classes, attributes, scratch)
    looked = size * (pieces + 1)
    if pieces == 0:
        pieces += 1
        for a in range(len(attributes.weights)):
            classes.lows[base, a], classes.highs[base, a] = clusters.lows[c, a], clusters.highs[c, a]
        for j in range(size):
            scratch.rows[PIECE, scratch.rows[0, j]] = 0
    for j in range(size):
        t = scratch.rows[0, j]
        records.class_ids[t], records.published_at[t] = base + scratch.rows[PIECE, t], now
    for _ in range(pieces):
        new, begun = state[2], state[6] > 0
        own = loss(classes.lows[new], classes.highs[new], attributes)
        remember(own, state, recent)
        if not begun or own < mean_of(state, recent):
            keep_class(new, now, state, classes)
        else:
            state[2] += 1
    return looked
