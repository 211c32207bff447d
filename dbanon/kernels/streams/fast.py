"""FAST: as FADS, in rounds, whose groups are looked for ahead, several at a time."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.streams.sliding_window import WAITING, arrive, group, is_due, publish, waiting

UNKNOWN = np.int64(-2)
"""Stands for the number of a group that has to be looked for."""


class FastOptions(NamedTuple):
    """Options of FAST (see fast_steps)."""

    ends: bool
    delta: int
    ahead: int
    life: int


@kernel
def fast_steps(state, most, options, requirement, records, classes, attributes, search, batches):
    """Lets records arrive until all have, or about `most` records were looked at, or groups are to be looked for; gives
    how many were looked at. When the oldest is due a round is held, in which all leave, oldest first, that would be due
    before `ahead` more have come.

    state: records that have arrived, oldest that may wait, classes, kept classes, end of the round, records in `batch`,
    how many of these have left, whether `guess` is to be called for them. Where there is
    no room in it none is looked for ahead.
    """
    steps = np.int64(0)
    state[7] = 0
    while steps < most:
        x = waiting(state, records.class_ids)
        if x >= state[4]:
            if x == state[0] or not is_due(x, options.delta, state, options.ends, records):
                if state[0] == len(records.arrived_at):
                    break
                arrive(state, records, attributes)
                steps += 1
                continue
            end = x
            while end < state[0] and is_due(end, options.delta - options.ahead, state, options.ends, records):
                end += 1
            state[4], state[5], state[6] = end, 0, 0
        number = UNKNOWN
        if len(batches.batch) > 0:
            while state[6] < state[5] and batches.batch[state[6]] < x:
                state[6] += 1
            if state[6] == state[5]:
                _fill(x, state, records, batches.batch)
                break
            number = _guessed(state[6], requirement, records, batches, search.found)
        steps += state[0] - x
        if number == UNKNOWN:
            number = group(
                x, x, state[0], requirement, records, attributes, search.node_distances, search.found, search.distances
            )
        publish(x, number, state, options.life, records, classes, attributes, search.found)
    return steps


@kernel
def guess(worker, workers, state, requirement, records, attributes, table, far, batches):
    """Look for the groups of every so many records of a batch, as though those before them had left alone."""
    for i in range(worker, state[5], workers):
        x = batches.batch[i]
        batches.numbers[i] = group(x, x, state[0], requirement, records, attributes, table, batches.groups[i], far)


@part
def _fill(x, state, records, batch):
    """Put the oldest records of the round that wait into a batch, for which groups are to be looked for."""
    size = np.int64(0)
    while x < state[4] and size < len(batch):
        if records.class_ids[x] == WAITING:
            batch[size] = x
            size += 1
        x += 1
    state[5], state[6], state[7] = size, 0, 1


@part
def _guessed(i, requirement, records, batches, found):
    """The group that was looked for, in `found`, and its size, where all of it still waits: then it is what would be
    found now. UNKNOWN where some have left; and where there was none for want of sensitive values, as there may be one
    once nearer records of the same persons have left."""
    number = batches.numbers[i]
    if number < 0:
        return number if len(requirement.min_values) == 0 else UNKNOWN
    for j in range(number):
        if records.class_ids[batches.groups[i, j]] != WAITING:
            return UNKNOWN
    for j in range(number):
        found[j] = batches.groups[i, j]
    return number
