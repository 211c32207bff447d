"""FAST: FADS in rounds, whose groups are computed ahead, several at a time."""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.sliding_window import (
    PENDING,
    add_next_record,
    find_group,
    is_due,
    oldest_pending,
    publish_due_record,
)

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
    examined records. If state[7] is 1 then, call `precompute_groups` for the batch, then this function again. With an
    empty `batches.batch`, no group is computed ahead.

    Args:
        state: int64 counters: records added, oldest pending record, classes, stored classes, end of the round, records
            in `batch`, how many of these are published, and whether to call `precompute_groups` for them; [8] last
            arrival.
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
    state[7] = 0
    while steps < max_steps:
        x = oldest_pending(state, records.class_ids)
        if x >= state[4]:
            if x == state[0] or not is_due(x, options.delta, state, options.ends, records):
                if state[0] == len(records.arrived_at):
                    break
                add_next_record(state, records, attributes)
                steps += 1
                continue
            end = x
            while end < state[0] and is_due(end, options.delta - options.ahead, state, options.ends, records):
                end += 1
            state[4], state[5], state[6] = end, 0, 0
        number = UNKNOWN_GROUP
        if len(batches.batch) > 0:
            while state[6] < state[5] and batches.batch[state[6]] < x:
                state[6] += 1
            if state[6] == state[5]:
                _fill_batch(x, state, records, batches.batch)
                break
            number = _precomputed_group(state[6], requirement, records, batches, search.group_records)
        steps += state[0] - x
        if number == UNKNOWN_GROUP:
            number = find_group(
                x,
                x,
                state[0],
                requirement,
                records,
                attributes,
                search.node_distances,
                search.group_records,
                search.distances,
            )
        publish_due_record(x, number, state, options.life, records, classes, attributes, search.group_records)
    return steps


@kernel
def precompute_groups(worker, workers, state, requirement, records, attributes, table, far, batches):
    """Compute the group of nearest records of every `workers`-th record of a batch, from number `worker` on.

    The groups are written to `batches`. Each is computed as if no other record of the batch were published before it.

    Args:
        worker: Number of this thread, from 0.
        workers: Number of threads.
        state: int64 counters: [0] records added, [5] records in the batch.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        table, far: Scratch of this thread.
        batches: `BatchArrays`; updated in place.
    """
    for i in range(worker, state[5], workers):
        x = batches.batch[i]
        batches.numbers[i] = find_group(x, x, state[0], requirement, records, attributes, table, batches.groups[i], far)


@kernel_part
def _fill_batch(x, state, records, batch):
    """Put the oldest pending records of the round, from `x` on, into a batch, and request their groups in `state`.

    Args:
        x: The first record.
        state: int64 counters: [4] end of the round, [5] records in the batch, [6] 0, [7] 1; the last three are set.
        records: `RecordArrays`.
        batch: Output: record numbers.
    """
    size = np.int64(0)
    while x < state[4] and size < len(batch):
        if records.class_ids[x] == PENDING:
            batch[size] = x
            size += 1
        x += 1
    state[5], state[6], state[7] = size, 0, 1


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
        group_records: Output: record numbers of the group without the record itself.
    """
    number = batches.numbers[i]
    if number < 0:
        return number if len(requirement.min_values) == 0 else UNKNOWN_GROUP
    for j in range(number):
        if records.class_ids[batches.groups[i, j]] != PENDING:
            return UNKNOWN_GROUP
    for j in range(number):
        group_records[j] = batches.groups[i, j]
    return number
