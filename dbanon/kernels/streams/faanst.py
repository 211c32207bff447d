"""FAANST: the records that wait are clustered in rounds, whenever there are enough of them."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.streams.class_loss import distance, least_class, loss
from dbanon.kernels.streams.counting import count_record, has_new_person, has_new_value, lacking, suffices
from dbanon.kernels.streams.kmeans import means, members
from dbanon.kernels.streams.open_clusters import is_enough
from dbanon.kernels.streams.sliding_window import LAST, SUPPRESSED, WAITING, arrive, keep_class, leave, span, waiting


class FaanstOptions(NamedTuple):
    """Options of FAANST (see faanst_steps)."""

    ends: bool
    delta: int
    mode: int
    mu: int
    threshold: float
    is_by_member: bool


@kernel
def faanst_steps(state, most, options, requirement, records, classes, attributes, rounds):
    """Let records arrive until all have, or about `most` records and clusters were looked at; return how many were.

    `mode`: 0 base, 1 passive, 2 proactive; `is_by_member`: k-member instead of k-means.

    state: records that have arrived, oldest that may wait, classes, kept classes, arrival at which the last round was
    held, arrivals between it and the one before, records that wait.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, records.class_ids)
        over = state[0] == len(records.arrived_at)
        steps += 1
        if x == state[0]:
            if over:
                break
            _arrive(state, records, attributes)
            continue
        now, last = state[LAST], False
        is_full = state[6] >= options.mu and now - state[4] >= max(requirement.k, options.mu // 4)
        if is_full or (over and options.ends and now > state[4] and now - records.arrived_at[x] + 1 < options.delta):
            state[4], state[5] = now, now - state[4]
            steps += _round(
                x, state, requirement, options.threshold, options.is_by_member, records, classes, attributes, rounds
            )
            if options.mode < 2 or not is_full:
                continue
            limit = options.delta - state[5]
        elif now - records.arrived_at[x] + 1 >= options.delta:
            limit = options.delta
        elif not over:
            _arrive(state, records, attributes)
            continue
        elif options.ends:
            limit, last = np.int64(0), True
        else:
            break
        hopeless = options.mode == 0 or not suffices(x, state[0], records.class_ids, WAITING, requirement, records)
        for t in range(x, state[0]):
            if now - records.arrived_at[t] + 1 < limit:
                break
            if records.class_ids[t] != WAITING:
                continue
            due = last or now - records.arrived_at[t] + 1 >= options.delta
            steps += state[3] + state[0] - x
            hopeless = _force(
                t, due, hopeless, state, requirement, options.threshold, records, classes, attributes, rounds
            )
    return steps


@part
def _arrive(state, records, attributes):
    """The next record."""
    arrive(state, records, attributes)
    state[6] += 1


@part
def _round(x, state, requirement, threshold, by_member, records, classes, attributes, rounds):
    """Publishes what accepted classes cover, and clusters of the rest that are enough for a class; gives how many
    records and clusters were looked at."""
    now, size, looked = state[LAST], np.int64(0), np.int64(0)
    for t in range(x, state[0]):
        if records.class_ids[t] != WAITING:
            continue
        looked += state[3]
        c, _ = least_class(records.values[t], classes, state[3], attributes)
        if c >= 0:
            records.class_ids[t], records.published_at[t] = c, now
            state[6] -= 1
        else:
            rounds.rows[size], rounds.cluster_ids[t] = t, -1
            size += 1
    number = size // requirement.k
    if number < 1 or not suffices(x, state[0], records.class_ids, WAITING, requirement, records):
        return looked + size
    if by_member:
        members(size, number, requirement, rounds, records, attributes)
    else:
        means(size, number, rounds, records, attributes)
    for c in range(number):
        if rounds.heads[c] >= 0 and is_enough(c, requirement, rounds.heads, rounds.next_record, records):
            n, t = np.int64(0), rounds.heads[c]
            while t >= 0:
                rounds.batch[n] = t
                n, t = n + 1, rounds.next_record[t]
            _publish(n, state, threshold, records, classes, attributes, rounds.batch)
    return looked + size * number


@part
def _publish(n, state, threshold, records, classes, attributes, batch):
    """The first records of `batch` leave as a class, which is accepted where it loses less than the threshold."""
    new, now = state[2], state[LAST]
    span(batch[0], n - 1, batch[1:], records, classes.lows[new], classes.highs[new], attributes)
    leave(batch[0], n - 1, batch[1:], new, now, records)
    state[6] -= n
    if loss(classes.lows[new], classes.highs[new], attributes) < threshold:
        keep_class(new, now, state, classes)
    else:
        classes.made_at[new] = now
        state[2] += 1


@part
def _force(t, due, hopeless, state, requirement, threshold, records, classes, attributes, rounds):
    """Return a record leaves: with an accepted class, or with the clusters that are nearest.

    One that is due and can do neither is suppressed. `hopeless`: all that wait are not enough for a class; gives
    whether that is so now.
    """
    c, _ = least_class(records.values[t], classes, state[3], attributes)
    if c < 0 and not hopeless and records.people[t] >= 0:
        n = _gather(t, state[1], state[0], requirement, records, attributes, rounds)
        if n > 0:
            _publish(n, state, threshold, records, classes, attributes, rounds.batch)
            return False
        hopeless = True
    if c >= 0 or due:
        records.class_ids[t], records.published_at[t] = (c if c >= 0 else SUPPRESSED), state[LAST]
        state[6] -= 1
    return hopeless


@part
def _gather(t, x, end, requirement, records, attributes, rounds):
    """Puts into `batch` the cluster of a record and those of the records nearest to it of other persons, then of other
    sensitive values, until they are enough for a class; gives how many records these are, or -1. A record that came
    after the last round is a cluster of its own."""
    requirement.clock[0] += 1
    own = np.zeros(len(requirement.min_values), np.int64)
    persons, n, chosen = np.int64(0), np.int64(0), np.int64(t)
    for i in range(x, end):
        if records.class_ids[i] == WAITING:
            rounds.distances[i] = distance(records.values[t], records.values[i], attributes)
    while chosen >= 0:
        for i in range(x, end):
            if records.class_ids[i] != WAITING or (
                i != chosen and (rounds.cluster_ids[chosen] < 0 or rounds.cluster_ids[i] != rounds.cluster_ids[chosen])
            ):
                continue
            rounds.picked[i], rounds.batch[n] = requirement.clock[0], i
            n += 1
            persons += count_record(i, requirement, records, own)
        column = lacking(persons, requirement, own)
        if column == -1:
            return n
        chosen = np.int64(-1)
        for i in range(x, end):
            if records.class_ids[i] != WAITING or records.people[i] < 0 or rounds.picked[i] == requirement.clock[0]:
                continue
            if column < 0:
                is_wanted = has_new_person(i, requirement, records)
            else:
                is_wanted = has_new_value(i, column, requirement, records)
            if is_wanted and (chosen < 0 or rounds.distances[i] < rounds.distances[chosen]):
                chosen = np.int64(i)
    return np.int64(-1)
