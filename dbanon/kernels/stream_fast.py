"""FAST: as FADS, in rounds, whose groups are looked for ahead, several at a time."""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.stream_window import WAITING, arrive, group, is_due, publish, waiting

UNKNOWN = np.int64(-2)
"""Stands for the number of a group that has to be looked for."""


@kernel
def fast_steps(
    state, most, ends, k, delta, ahead, life, need, arrived, values, people, sensitive, out, step, kept, born, lows,
    highs, first, nodes, share, seen, weights, table, found, far, batch, groups, numbers,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` records were looked at, or groups are to be looked for; gives
    how many were looked at. When the oldest is due a round is held, in which all leave, oldest first, that would be due
    before `ahead` more have come.

    state: records that have arrived, oldest that may wait, classes, kept classes, end of the round, records in `batch`,
    how many of these have left, whether `guess` is to be called for them. batch (records of a batch,): records of the
    round; `groups` (records of a batch, size of `found`) and `numbers` (records of a batch,) are their groups. Where
    there is no room in it none is looked for ahead. The rest as in fads_steps.
    """
    steps = np.int64(0)
    state[7] = 0
    while steps < most:
        x = waiting(state, out)
        if x >= state[4]:
            if x == state[0] or not is_due(x, delta, state, ends, arrived):
                if state[0] == len(arrived):
                    break
                arrive(state, arrived, values, first, seen)
                steps += 1
                continue
            end = x
            while end < state[0] and is_due(end, delta - ahead, state, ends, arrived):
                end += 1
            state[4], state[5], state[6] = end, 0, 0
        number = UNKNOWN
        if len(batch) > 0:
            while state[6] < state[5] and batch[state[6]] < x:
                state[6] += 1
            if state[6] == state[5]:
                _fill(x, state, out, batch)
                break
            number = _guessed(state[6], need, out, groups, numbers, found)
        steps += state[0] - x
        if number == UNKNOWN:
            number = group(
                x, x, state[0], k, need, values, people, sensitive, out, first, nodes, share, seen, weights, table,
                found, far,
            )  # fmt: skip
        publish(
            x, number, state, life, values, out, step, kept, born, lows, highs, first, nodes, share, seen, weights,
            found,
        )  # fmt: skip
    return steps


@kernel
def guess(
    worker, workers, state, k, need, values, people, sensitive, out, first, nodes, share, seen, weights, table, far,
    batch, groups, numbers,
):  # fmt: skip
    """Looks for the groups of every so many records of a batch, as though those before them had left alone."""
    for i in range(worker, state[5], workers):
        x = batch[i]
        numbers[i] = group(
            x, x, state[0], k, need, values, people, sensitive, out, first, nodes, share, seen, weights, table,
            groups[i], far,
        )  # fmt: skip


@part
def _fill(x, state, out, batch):
    """Puts the oldest records of the round that wait into a batch, for which groups are to be looked for."""
    size = np.int64(0)
    while x < state[4] and size < len(batch):
        if out[x] == WAITING:
            batch[size] = x
            size += 1
        x += 1
    state[5], state[6], state[7] = size, 0, 1


@part
def _guessed(i, need, out, groups, numbers, found):
    """The group that was looked for, in `found`, and its size, where all of it still waits: then it is what would be
    found now. UNKNOWN where some have left; and where there was none for want of sensitive values, as there may be one
    once nearer records of the same persons have left."""
    number = numbers[i]
    if number < 0:
        return number if len(need) == 0 else UNKNOWN
    for j in range(number):
        if out[groups[i, j]] != WAITING:
            return UNKNOWN
    for j in range(number):
        found[j] = groups[i, j]
    return number
