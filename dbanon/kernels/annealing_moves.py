"""Annealing moves on clusters with the least squared distances to their means.

Around the mean of all records, the squares within groups and |sum of a group|^2 / size over all groups add up to a
constant. So a group's gain is |sum|^2 / size, and the total gain is maximized.
"""

import numpy as np

from dbanon.kernels.jit import kernel_part
from dbanon.kernels.model_check import is_valid_group
from dbanon.kernels.random_orders import random_below

MAX_CYCLE_GROUPS = 3
"""The largest number of groups that exchange records in one cycle."""


@kernel_part
def random_fraction(state):
    """Return a random number above 0, at most 1, and advance the random state."""
    return (random_below(np.int64(2**31), state) + 1) / 2.0**31


@kernel_part
def update_group(g, records, groups):
    """Recompute the sum and the gain of group `g` from its records, in place.

    The gain is the squared length of the sum of its points, divided by its size; 0 without records.

    Args:
        g: Number of the group.
        records: `GroupedRecords`.
        groups: `RecordGroups`; sum and gain of `g` are set.
    """
    total = 0.0
    for a in range(records.points.shape[1]):
        axis_sum = 0.0
        for i in range(groups.sizes[g]):
            axis_sum += records.points[groups.members[g, i], a]
        groups.sums[g, a] = axis_sum
        total += axis_sum * axis_sum
    groups.gains[g] = total / groups.sizes[g] if groups.sizes[g] > 0 else 0.0


@kernel_part
def gain_with(g, leaving, joining, records, groups):
    """Return the gain that group `g` would have after record `leaving` leaves and record `joining` joins.

    The gain of a group is the squared length of the sum of its points, divided by its size. Nothing is changed.

    Args:
        g: Number of the group.
        leaving: The record that leaves, or -1.
        joining: The record that joins, or -1.
        records: `GroupedRecords`.
        groups: `RecordGroups`.
    """
    total, n = 0.0, groups.sizes[g] - (leaving >= 0) + (joining >= 0)
    for a in range(records.points.shape[1]):
        axis_sum = groups.sums[g, a]
        if leaving >= 0:
            axis_sum -= records.points[leaving, a]
        if joining >= 0:
            axis_sum += records.points[joining, a]
        total += axis_sum * axis_sum
    return total / n


@kernel_part
def remove_record(r, records, groups):
    """Remove record `r` from its group's member list; the group's sums and gain, and group[r], are not updated.

    Args:
        r: Number of the record.
        records: `GroupedRecords`; the place of the record that fills the gap is set.
        groups: `RecordGroups`; members and sizes are updated in place.
    """
    g = records.group[r]
    groups.sizes[g] -= 1
    last = groups.members[g, groups.sizes[g]]
    groups.members[g, records.place[r]] = last
    records.place[last] = records.place[r]


@kernel_part
def add_record(r, g, records, groups):
    """Append record `r` to group `g`'s member list and set its group; sums and gain of the group are not updated.

    Args:
        r: Number of the record.
        g: Number of the group.
        records: `GroupedRecords`; group and place of `r` are set.
        groups: `RecordGroups`; members and sizes are updated in place.
    """
    records.group[r], records.place[r] = g, groups.sizes[g]
    groups.members[g, groups.sizes[g]] = r
    groups.sizes[g] += 1


@kernel_part
def meets_model(record_numbers, begin, end, model_arrays):
    """Return whether the records record_numbers[begin:end] meet k and the privacy models; True if both models are None.

    In that case only the number of records counts, which is not checked here.

    Args:
        record_numbers: Numbers of records.
        begin, end: The group has the records record_numbers[begin:end].
        model_arrays: `GroupModels`.
    """
    model_row_of, record_model, person_model, counts, extra, model_rows = model_arrays
    if record_model is None and person_model is None:
        return True
    for i in range(begin, end):
        model_rows[i - begin] = model_row_of[record_numbers[i]]
    return is_valid_group(model_rows, np.int64(0), np.int64(end - begin), record_model, person_model, counts, extra)


@kernel_part
def draw_cycle(cycle, records, groups, limits, state):
    """Draw a random cycle of moves of records between groups; return its number of groups, 0 if none was found.

    A random record moves to the group of one of its neighbours, a random record of that group moves on in the same way,
    and so on. The last record moves to the first group, or the last group gives none: then it grows by one record and
    the first group shrinks. No group occurs twice. The groups are not changed.

    Args:
        cycle: Output: each row is a group and the record that leaves it for the next one, -1 for none.
        records: `GroupedRecords`.
        groups: `RecordGroups`.
        limits: Least and greatest size of a group.
        state: The state of the random numbers, which is advanced.
    """
    _, group, _, neighbours = records
    r = random_below(np.int64(len(group)), state)
    first = group[r]
    if first < 0:
        return 0
    cycle[0, 0], cycle[0, 1] = first, r
    shrinks = groups.sizes[first] > limits[0]
    for i in range(1, MAX_CYCLE_GROUPS):
        g = group[neighbours[r, random_below(np.int64(neighbours.shape[1]), state)]]
        for j in range(i):
            if cycle[j, 0] == g:
                return 0
        if g < 0:
            return 0
        cycle[i, 0] = g
        if shrinks and groups.sizes[g] < limits[1] and random_below(np.int64(2), state) == 0:
            cycle[i, 1] = -1
            return i + 1
        r = groups.members[g, random_below(groups.sizes[g], state)]
        cycle[i, 1] = r
        if random_below(np.int64(2), state) == 0:
            return i + 1
    return MAX_CYCLE_GROUPS


@kernel_part
def apply_cycle(cycle, length, step, records, groups):
    """Move the records of a cycle to the next groups (`step` 1), or move them back (`step` 0).

    `cycle[:length]` is as in `draw_cycle`. Sizes and members of the groups are updated, sums and gains are not.

    Args:
        cycle: Each row is a group and the record that leaves it for the next one, -1 for none.
        length: Number of rows that are used.
        step: 1 or 0.
        records: `GroupedRecords`; updated in place.
        groups: `RecordGroups`; updated in place.
    """
    for i in range(length):
        if cycle[i, 1] >= 0:
            remove_record(cycle[i, 1], records, groups)
    for i in range(length):
        if cycle[i, 1] >= 0:
            add_record(cycle[i, 1], cycle[(i + step) % length, 0], records, groups)


@kernel_part
def try_exchange(heat, cycle, records, groups, limits, model_arrays, state):
    """Draw one cycle of moves between groups and apply it if it is accepted; return the gain, 0 if nothing changed.

    The gain is the decrease in the sum of squared distances to the groups' means. A cycle is accepted if it gains, or
    by chance if its loss is small relative to `heat`, provided that all its groups then meet the privacy models.

    Args:
        heat: Scale of the losses that are accepted by chance; 0 accepts none.
        cycle: Scratch (MAX_CYCLE_GROUPS, 2).
        records: `GroupedRecords`; updated in place.
        groups: `RecordGroups`; updated in place.
        limits: Least and greatest size of a group.
        model_arrays: `GroupModels`.
        state: The state of the random numbers, which is advanced.
    """
    length = draw_cycle(cycle, records, groups, limits, state)
    if length == 0:
        return 0.0
    gain, increase = groups.gains, 0.0
    for i in range(length):
        incoming = cycle[(i + length - 1) % length, 1]
        increase += gain_with(cycle[i, 0], cycle[i, 1], incoming, records, groups) - gain[cycle[i, 0]]
    if increase <= 0 and (heat <= 0 or increase <= heat * np.log(random_fraction(state))):
        return 0.0
    apply_cycle(cycle, length, np.int64(1), records, groups)
    is_valid = True
    for i in range(length):
        g = cycle[i, 0]
        is_valid = is_valid and meets_model(groups.members[g], np.int64(0), groups.sizes[g], model_arrays)
    if not is_valid:
        apply_cycle(cycle, length, np.int64(0), records, groups)
        return 0.0
    for i in range(length):
        update_group(cycle[i, 0], records, groups)
    return increase
