"""Puri-Haritha: groups of sensitive values of different kinds, with other sets of values than the last groups.

The sensitive codes of the records are kinds here: each value belongs to one; -1 for NULL, which belongs to none.
"""

from typing import NamedTuple

import numpy as np

from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.streams.arrays import LAST_ARRIVAL, N_ADDED, N_CLASSES, N_OPEN, N_RECENT, SUPPRESSED
from dbanon.kernels.streams.class_loss import class_loss, loss_with_record
from dbanon.kernels.streams.open_clusters import (
    add_recent,
    add_record,
    is_before,
    is_enough,
    publish_cluster,
    remove_record,
)
from dbanon.kernels.streams.sliding_window import (
    add_class,
    add_next_record,
    choose_class,
    find_group,
    forget_classes,
    is_due,
    oldest_pending,
)


class PuriOptions(NamedTuple):
    """Options of Puri-Haritha (see `puri_steps`).

    Attributes:
        ends: The stream ends after the records of this call, so all are published.
        delta: A record is published once this many records have arrived since.
        beta: Maximum number of open groups, unless a record fits none.
        life: Number of arrivals after which a class is not reused any more.
    """

    ends: bool
    delta: int
    beta: int
    life: int


@kernel
def puri_steps(state, max_steps, options, requirement, records, classes, attributes, clusters, value_sets):
    """Add records until all are added, or about `max_steps` records were examined; return how many were.

    Sensitive values belong to kinds (categories). A record joins an open group, see `_assign_record`. A group is
    published once it suffices for a class and none of the last published groups had the same set of sensitive values.
    A due record is published with its group if that suffices, else as in `fads_steps`. All arrays are updated in place.

    Args:
        state: int64 counters of the stream (see `arrays`).
        max_steps: Number of examined records after which to return.
        options: `PuriOptions`.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        classes: `ClassArrays`.
        attributes: `AttributeArrays`.
        clusters: `OpenClusterArrays`, the open groups.
        value_sets: `ValueSets`.
    """
    steps, search = np.int64(0), value_sets.search
    while steps < max_steps:
        x = oldest_pending(state, records.class_ids)
        if x == state[N_ADDED] or not is_due(x, options.delta, state, options.ends, records):
            if state[N_ADDED] == len(records.arrived_at):
                break
            t = add_next_record(state, records, attributes)
            steps += 1 + t - x
            c = _assign_record(t, state, options.beta, requirement, records, attributes, clusters)
            if clusters.sizes[c] < requirement.k or not is_enough(
                c, requirement, clusters.heads, clusters.next_record, records
            ):
                continue
            value_set = _value_set_hash(c, clusters, value_sets, requirement.clock)
            if _is_recent(value_set, state, value_sets.sets):
                continue
        else:
            steps += state[N_ADDED] - x
            c, arrival = clusters.cluster_ids[x], state[LAST_ARRIVAL]
            forget_classes(state, arrival - options.life, classes)
            if not is_enough(c, requirement, clusters.heads, clusters.next_record, records):
                number = find_group(x, x, state[N_ADDED], requirement, records, attributes, search)
                stored_class, number = choose_class(
                    x, number, search.group_records, state, records, classes, attributes
                )
                remove_record(x, c, state, clusters, records, attributes)
                if number < 0:
                    records.class_ids[x], records.published_at[x] = (
                        (stored_class if stored_class >= 0 else SUPPRESSED),
                        arrival,
                    )
                    continue
                for j in range(number):
                    t = search.group_records[j]
                    remove_record(t, clusters.cluster_ids[t], state, clusters, records, attributes)
                c = add_record(x, np.int64(-1), state, clusters, records, attributes)
                for j in range(number):
                    add_record(search.group_records[j], c, state, clusters, records, attributes)
            value_set = _value_set_hash(c, clusters, value_sets, requirement.clock)
        new = state[N_CLASSES]
        forget_classes(state, state[LAST_ARRIVAL] - options.life, classes)
        publish_cluster(c, new, state[LAST_ARRIVAL], state, records, classes, clusters)
        add_class(new, state[LAST_ARRIVAL], True, state, classes)
        if len(value_sets.sets) > 0:
            add_recent(value_set, state, value_sets.sets)
    return steps


@kernel_part
def _assign_record(t, state, beta, requirement, records, attributes, clusters):
    """Assign the new record `t` to an open group, in place; return the group.

    Only groups with few records of each kind of sensitive value that the record has are considered (see
    `_accepts_record`). Of these, it is the one with the least loss once the record joins (ties: the smallest, then the
    one opened first). A new group is opened if there is none, or if the record increases the loss of that group and
    fewer than `beta` are open.

    Args:
        t: The new record.
        state: Counters, of which NEXT_ID and N_OPEN are updated.
        beta: Number of open groups from which on a record opens a new group only if it fits none.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
        attributes: `AttributeArrays`.
        clusters: `OpenClusterArrays`, the open groups; updated in place.
    """
    target, lowest = np.int64(-1), np.inf
    for c in range(len(clusters.is_open)):
        if not clusters.is_open[c]:
            continue
        new_loss = loss_with_record(records.values[t], clusters.lows[c], clusters.highs[c], attributes)
        is_better = new_loss < lowest or (new_loss == lowest and target >= 0 and is_before(c, target, clusters))
        if is_better and _accepts_record(c, t, requirement, records, clusters):
            target, lowest = np.int64(c), new_loss
    if (
        target >= 0
        and state[N_OPEN] < beta
        and lowest > class_loss(clusters.lows[target], clusters.highs[target], attributes)
    ):
        target = np.int64(-1)
    return add_record(t, target, state, clusters, records, attributes)


@kernel_part
def _accepts_record(c, t, requirement, records, clusters):
    """Return whether group `c` has few records of each kind (of sensitive values) that record `t` has.

    Few are fewer than two or, if a group of l kinds could not have k records then, than k / l, rounded up.

    Args:
        c: Slot of the group.
        t: Number of the record.
        requirement: `RequirementArrays`.
        records: `RecordArrays`, whose sensitive codes are kinds of values.
        clusters: `OpenClusterArrays`, the open groups.
    """
    for s in range(records.sensitive.shape[1]):
        number, i = np.int64(0), clusters.heads[c]
        while i >= 0 and records.sensitive[t, s] >= 0:
            number += records.sensitive[i, s] == records.sensitive[t, s]
            i = clusters.next_record[i]
        n_kinds = max(requirement.min_values[s], 1)
        if number >= max(2, (requirement.k + n_kinds - 1) // n_kinds):
            return False
    return True


@kernel_part
def _value_set_hash(c, clusters, value_sets, clock):
    """Return a hash of the set of sensitive values of group `c`, independent of their order; 0 if it has none.

    Args:
        c: Slot of the group.
        clusters: `OpenClusterArrays`, the open groups.
        value_sets: `ValueSets`; value_marks are updated in place.
        clock: (1,) int64: number of the current count, which is increased.
    """
    clock[0] += 1
    total, i = np.uint64(0), clusters.heads[c]
    while i >= 0:
        for s in range(value_sets.sensitive.shape[1]):
            code = value_sets.sensitive[i, s]
            if code >= 0 and value_sets.value_marks[s, code] != clock[0]:
                value_sets.value_marks[s, code] = clock[0]
                total += _mix_bits(np.uint64(code) + np.uint64(s + 1) * np.uint64(0x9E3779B97F4A7C15))
        i = clusters.next_record[i]
    return total


@kernel_part
def _mix_bits(z):
    """Return a 64-bit hash of z (the finalizer of SplitMix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel_part
def _is_recent(value_set, state, sets):
    """Return whether one of the last published groups had the set of values with this hash; False for no values.

    Args:
        value_set: The hash, see `_value_set_hash`.
        state: Counters, of which N_RECENT is read.
        sets: uint64 hashes.
    """
    if value_set == np.uint64(0):
        return False
    for i in range(state[N_RECENT]):
        if sets[i] == value_set:
            return True
    return False
