"""SWAF: the record that leaves the window is published as the deepest region that enough others stand in."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.streams.class_loss import covers
from dbanon.kernels.streams.counting import count_record, has_new_person, has_new_value, lacking
from dbanon.kernels.streams.region_tree import ABOVE, CAME, KIND, LEAF, SIZE, append, depart, enter, specialize
from dbanon.kernels.streams.sliding_window import LAST, SUPPRESSED, WAITING, arrive, waiting


class SwafOptions(NamedTuple):
    """Options of SWAF (see swaf_steps)."""

    ends: bool
    delta: int


@kernel
def swaf_steps(state, most, options, requirement, records, classes, attributes, regions, scratch):
    """Let records arrive until all have, or about `most` records were looked at; return how many were.

    A record that is due leaves with the class of the deepest region that it stands in and whose class covers it, or
    that has enough records for a new one.

    state: records that have arrived, oldest that may wait, classes, -, regions.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, records.class_ids)
        over = state[0] == len(records.arrived_at)
        steps += 1
        if x == state[0] or not ((over and options.ends) or state[LAST] - records.arrived_at[x] + 1 >= options.delta):
            if over:
                break
            t = arrive(state, records, attributes)
            v = enter(t, records, attributes, regions)
            if (
                regions.shape[v, KIND] == LEAF
                and regions.shape[v, CAME] >= requirement.k
                and regions.shape[v, SIZE] >= 2 * requirement.k
            ):
                steps += specialize(v, state, requirement, records, attributes, regions, scratch)
            continue
        now, v = state[LAST], regions.region_ids[x]
        while v >= 0 and records.class_ids[x] == WAITING:
            c = regions.class_ids[v]
            if c >= 0 and covers(records.values[x], classes.lows[c], classes.highs[c]):
                records.class_ids[x], records.published_at[x] = c, now
                depart(x, regions.shape, regions.region_ids)
            elif records.people[x] >= 0 and regions.shape[v, SIZE] >= requirement.k:
                steps += state[0] - x
                n = _oldest(v, x, state[0], requirement, records, regions, scratch.batch)
                if n > 0:
                    c = state[2]
                    state[2] += 1
                    regions.class_ids[v], classes.made_at[c] = c, now
                    _publish(
                        v,
                        n,
                        x,
                        state[0],
                        records,
                        regions,
                        scratch.batch,
                        classes.lows[c],
                        classes.highs[c],
                        attributes,
                    )
                    for j in range(n):
                        records.class_ids[scratch.batch[j]], records.published_at[scratch.batch[j]] = c, now
                        depart(scratch.batch[j], regions.shape, regions.region_ids)
            v = regions.shape[v, ABOVE]
        if records.class_ids[x] == WAITING:
            records.class_ids[x], records.published_at[x] = SUPPRESSED, now
            depart(x, regions.shape, regions.region_ids)
    return steps


@kernel
def take_up(state, regions):
    """Put the records that wait already where they stood."""
    for t in range(state[0]):
        v = regions.region_ids[t]
        if regions.shape[v, KIND] == LEAF:
            append(t, v, regions)
        while v >= 0:
            regions.shape[v, SIZE] += 1
            v = regions.shape[v, ABOVE]


@part
def _oldest(v, x, end, requirement, records, regions, batch):
    """Puts into `batch` the oldest record of each of k persons that wait in a region, and the oldest of others with
    sensitive values that are needed; gives how many, or -1 where there are too few."""
    requirement.clock[0] += 1
    own, n = np.zeros(len(requirement.min_values), np.int64), np.int64(0)
    for t in range(x, end):
        if (
            records.class_ids[t] != WAITING
            or not has_new_person(t, requirement, records)
            or not _is_in(regions.region_ids[t], v, regions.shape)
        ):
            continue
        wanted = n < requirement.k
        for s in range(len(requirement.min_values)):
            wanted = wanted or (own[s] < requirement.min_values[s] and has_new_value(t, s, requirement, records))
        if not wanted:
            continue
        batch[n] = t
        n += count_record(t, requirement, records, own)
        if lacking(n, requirement, own) == -1:
            return n
    return np.int64(-1)


@part
def _is_in(u, v, shape):
    """Return whether a region is another one or below it."""
    while u > v:  # each has a greater number than that above it
        u = shape[u, ABOVE]
    return u == v


@part
def _publish(v, n, x, end, records, regions, batch, to_low, to_high, attributes):
    """What a class publishes: its region, which ends where its records do on a side that is open, those that go on
    waiting in it among them; NULL is published as NULL, and among values as all."""
    for a in range(len(to_low)):
        nulls, least, most = np.int64(0), np.inf, -np.inf
        for j in range(n):
            value = records.values[batch[j], a]
            if value != value:
                nulls += 1
            else:
                least, most = min(least, value), max(most, value)
        if nulls == n:
            to_low[a], to_high[a] = np.inf, -np.inf
        elif nulls > 0:
            to_low[a], to_high[a] = -np.inf, np.inf
        elif attributes.node_starts[a] < attributes.node_starts[a + 1]:
            node = attributes.nodes[attributes.node_starts[a] + np.int64(regions.lows[v, a]), 2]
            to_low[a], to_high[a] = float(node), float(attributes.nodes[attributes.node_starts[a] + node, 1])
        else:
            to_low[a] = min(least, np.inf if regions.lows[v, a] == -np.inf else regions.lows[v, a])
            to_high[a] = max(most, -np.inf if regions.highs[v, a] == np.inf else regions.highs[v, a])
    for t in range(x, end):
        if records.class_ids[t] != WAITING or not _is_in(regions.region_ids[t], v, regions.shape):
            continue
        for a in range(len(to_low)):
            value = records.values[t, a]
            if attributes.node_starts[a] == attributes.node_starts[a + 1] and to_low[a] <= to_high[a]:
                if value < to_low[a] and regions.lows[v, a] == -np.inf:
                    to_low[a] = value
                elif value > to_high[a] and regions.highs[v, a] == np.inf:
                    to_high[a] = value
