"""Groups of sensitive values of different kinds, whose sets of values are not those of the last groups.

Sensitive values of the records are kinds here: codes of what values are of, -1 for NULL, which is of none.
"""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.streams.class_loss import least_class, loss, loss_with, widen
from dbanon.kernels.streams.open_clusters import is_before, is_enough, let_go, open_cluster, put, send
from dbanon.kernels.streams.sliding_window import (
    LAST,
    SUPPRESSED,
    arrive,
    forget,
    group,
    is_due,
    keep_class,
    span,
    waiting,
)


class PuriOptions(NamedTuple):
    """Options of Puri-Haritha (see puri_steps)."""

    ends: bool
    delta: int
    beta: int
    life: int


@kernel
def puri_steps(state, most, options, requirement, records, classes, attributes, clusters, value_sets):
    """Let records arrive until all have, or about `most` records were looked at; return how many were.

    A record joins the open group that loses least with it, of those that have fewer than two of its kinds, or a new
    one, if it widens that and fewer than `beta` are open. A group leaves once it is enough for a class and has another
    set of values than the last ones; what is due leaves as in fads_steps.

    state: records that have arrived, oldest that may wait, classes, kept classes, groups opened so far, open ones, and
    of `sets` how many are known and the next place.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, records.class_ids)
        if x == state[0] or not is_due(x, options.delta, state, options.ends, records):
            if state[0] == len(records.arrived_at):
                break
            t = arrive(state, records, attributes)
            steps += 1 + t - x
            c = _join(t, state, options.beta, records, attributes, clusters)
            if clusters.sizes[c] < requirement.k or not is_enough(
                c, requirement, clusters.heads, clusters.next_record, records
            ):
                continue
            own = _set_of(c, clusters, value_sets, requirement.clock)
            if _is_recent(own, state, value_sets.sets):
                continue
        else:
            steps += state[0] - x
            c, now = clusters.cluster_ids[x], state[LAST]
            forget(state, now - options.life, classes)
            if not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
                known, lost = least_class(records.values[x], classes, state[3], attributes)
                number = group(
                    x,
                    x,
                    state[0],
                    requirement,
                    records,
                    attributes,
                    value_sets.node_distances,
                    value_sets.found,
                    value_sets.distances,
                )
                if number >= 0:
                    new = state[2]
                    span(x, number, value_sets.found, records, classes.lows[new], classes.highs[new], attributes)
                    if known >= 0 and lost < loss(classes.lows[new], classes.highs[new], attributes):
                        number = np.int64(-1)
                let_go(x, c, state, clusters, records, attributes)
                if number < 0:
                    records.class_ids[x], records.published_at[x] = (known if known >= 0 else SUPPRESSED), now
                    continue
                for j in range(number):
                    t = value_sets.found[j]
                    let_go(t, clusters.cluster_ids[t], state, clusters, records, attributes)
                c = open_cluster(x, state, clusters, records, attributes)
                put(x, c, clusters)
                for j in range(number):
                    widen(records.values[value_sets.found[j]], clusters.lows[c], clusters.highs[c], attributes)
                    put(value_sets.found[j], c, clusters)
            own = _set_of(c, clusters, value_sets, requirement.clock)
        new = state[2]
        forget(state, state[LAST] - options.life, classes)
        send(c, new, state[LAST], state, records, classes, clusters)
        keep_class(new, state[LAST], state, classes)
        if len(value_sets.sets) > 0:
            value_sets.sets[state[7]] = own
            state[6], state[7] = min(state[6] + 1, len(value_sets.sets)), (state[7] + 1) % len(value_sets.sets)
    return steps


@part
def _join(t, state, beta, records, attributes, clusters):
    """The open group of a new record: of those that have fewer than two of its kinds the one that loses least with it
    (ties: the smallest, then the one that was opened first); a new one where it widens that and fewer than `beta` are
    open, or where there is none."""
    chosen, least = np.int64(-1), np.inf
    for c in range(len(clusters.is_open)):
        if not clusters.is_open[c]:
            continue
        more = loss_with(records.values[t], clusters.lows[c], clusters.highs[c], attributes)
        is_better = more < least or (more == least and chosen >= 0 and is_before(c, chosen, clusters))
        if is_better and _takes(c, t, records, clusters):
            chosen, least = np.int64(c), more
    if chosen < 0 or (state[5] < beta and least > loss(clusters.lows[chosen], clusters.highs[chosen], attributes)):
        chosen = open_cluster(t, state, clusters, records, attributes)
    else:
        widen(records.values[t], clusters.lows[chosen], clusters.highs[chosen], attributes)
    put(t, chosen, clusters)
    return chosen


@part
def _takes(c, t, records, clusters):
    """Return whether a group has fewer than two records of each kind of a record."""
    for s in range(records.sensitive.shape[1]):
        number, i = np.int64(0), clusters.heads[c]
        while i >= 0 and records.sensitive[t, s] >= 0:
            number += records.sensitive[i, s] == records.sensitive[t, s]
            i = clusters.next_record[i]
        if number > 1:
            return False
    return True


@part
def _set_of(c, clusters, value_sets, clock):
    """Return a hash of the sets of values that a group has, in whatever order."""
    clock[0] += 1
    total, i = np.uint64(0), clusters.heads[c]
    while i >= 0:
        for s in range(value_sets.sensitive.shape[1]):
            code = value_sets.sensitive[i, s]
            if code >= 0 and value_sets.value_marks[s, code] != clock[0]:
                value_sets.value_marks[s, code] = clock[0]
                total += _mixed(np.uint64(code) + np.uint64(s + 1) * np.uint64(0x9E3779B97F4A7C15))
        i = clusters.next_record[i]
    return total


@part
def _mixed(z):
    """Return the finalizer of SplitMix64."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@part
def _is_recent(own, state, sets):
    """Return whether one of the last groups had the same values; groups without values have none."""
    if own == np.uint64(0):
        return False
    for i in range(state[6]):
        if sets[i] == own:
            return True
    return False
