"""FAST: FADS in rounds, whose groups are computed ahead, several at a time."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.arrays import N_ADDED, PENDING, NearestScratch
from dbanon.kernels.streams.sliding_window import (
    add_next_record,
    find_group,
    is_due,
    oldest_pending,
    publish_due_record,
)

# Positions in `state` of the counters of FAST.
(
    ROUND_END,  # the end of the round (exclusive)
    BATCH_SIZE,  # number of records in the batch
    BATCH_PLACE,  # number of records at the beginning of the batch that are published
    NEEDS_GROUPS,  # 1 if `precompute_groups` must be called for the batch, else 0
) = 4, 5, 6, 7

UNKNOWN_GROUP = np.int64(-2)
"""Size of a group that has to be searched for."""


class FastOptions(NamedTuple):
    """Options of FAST (see `fast_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since.
        ahead: Records that would be due before this many more arrivals are published in the same round.
        life: Number of arrivals after which a class is not reused any more.
    """

    ends: bool
    delta: int
    ahead: int
    life: int


@kernel
def fast_steps(state, max_steps, options, requirement, records, classes, attributes, search, batches):
    """Add records until all are added, about `max_steps` were examined, or groups have to be computed.

    When the oldest record is due, a round begins that publishes, oldest first, all records that would be due before
    `options.ahead` more arrive, each as in `fads_steps`. All arrays are updated in place. Returns the number of
    examined records. If state[NEEDS_GROUPS] is 1 then, call `precompute_groups` for the batch, then this function
    again. With an empty `batches.batch`, no group is computed ahead.

    Args:
        state: int64 counters of the stream (see `arrays`).
        max_steps: Number of examined records after which to return.
        options: `FastOptions`.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        search: `NearestScratch`.
        batches: `BatchArrays`.
    """
    steps = np.int64(0)
    state[NEEDS_GROUPS] = 0
    while steps < max_steps:
        x = oldest_pending(state, records.class_ids)
        if x >= state[ROUND_END]:
            if x == state[N_ADDED] or not is_due(x, options.delta, state, options.ends, records):
                if state[N_ADDED] == len(records.arrived_at):
                    break
                add_next_record(state, records, attributes)
                steps += 1
                continue
            end = x
            while end < state[N_ADDED] and is_due(end, options.delta - options.ahead, state, options.ends, records):
                end += 1
            state[ROUND_END], state[BATCH_SIZE], state[BATCH_PLACE] = end, 0, 0
        number = UNKNOWN_GROUP
        if len(batches.batch) > 0:
            while state[BATCH_PLACE] < state[BATCH_SIZE] and batches.batch[state[BATCH_PLACE]] < x:
                state[BATCH_PLACE] += 1
            if state[BATCH_PLACE] == state[BATCH_SIZE]:
                _fill_batch(x, state, records, batches.batch)
                break
            number = _precomputed_group(state[BATCH_PLACE], requirement, records, batches, search.group_records)
        steps += state[N_ADDED] - x
        if number == UNKNOWN_GROUP:
            number = find_group(x, x, state[N_ADDED], requirement, records, attributes, search)
        publish_due_record(x, number, state, options.life, records, classes, attributes, search.group_records)
    return steps


@kernel
def precompute_groups(worker, workers, state, requirement, records, attributes, table, far, batches):
    """Compute the group of nearest records of every `workers`-th record of a batch, from number `worker` on.

    The groups are written to `batches`. Each is computed as if no other record of the batch were published before it.

    Args:
        worker: Number of this thread, from 0.
        workers: Number of threads.
        state: Counters, of which N_ADDED and BATCH_SIZE are read.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        table, far: Scratch of this thread.
        batches: `BatchArrays`; updated in place.
    """
    for i in range(worker, state[BATCH_SIZE], workers):
        x = batches.batch[i]
        search = NearestScratch(table, batches.groups[i], far)
        batches.numbers[i] = find_group(x, x, state[N_ADDED], requirement, records, attributes, search)


@kernel_part
def _fill_batch(x, state, records, batch):
    """Put the oldest pending records of the round, from `x` on, into a batch, and request their groups in `state`.

    Args:
        x: The first record.
        state: Counters, of which BATCH_SIZE, BATCH_PLACE and NEEDS_GROUPS are set.
        records: `RecordArrays`.
        batch: Output: record numbers.
    """
    size = np.int64(0)
    while x < state[ROUND_END] and size < len(batch):
        if records.class_ids[x] == PENDING:
            batch[size] = x
            size += 1
        x += 1
    state[BATCH_SIZE], state[BATCH_PLACE], state[NEEDS_GROUPS] = size, 0, 1


@kernel_part
def _precomputed_group(i, requirement, records, batches, group_records):
    """Return the size of the batch's i-th record's precomputed group, with its members in `group_records`.

    The result is -1 if there is no group, and UNKNOWN_GROUP if it has to be searched for again: some members are
    published by now, or no group was found and sensitive values are needed.

    Args:
        i: Place of the record in the batch.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        batches: `BatchArrays`.
        group_records: Output: record numbers of the group without the record itself, if there is one.
    """
    number = batches.numbers[i]
    if number < 0:
        return number if len(requirement.min_values) == 0 else UNKNOWN_GROUP
    for j in range(number):
        if records.class_ids[batches.groups[i, j]] != PENDING:
            return UNKNOWN_GROUP
        group_records[j] = batches.groups[i, j]
    return number
