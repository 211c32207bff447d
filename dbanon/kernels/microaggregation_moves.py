"""Microaggregation moves: dissolve a few neighbouring groups, order their records and cut them again optimally.

In ascending order of one number the cut is exact (Hansen and Mukherjee 2003); along a line through two records, or a
path from neighbour to neighbour (Domingo-Ferrer et al. 2006), it is a move of a search.
"""

import numpy as np

from dbanon.kernels.annealing_moves import add_record, meets_model, random_fraction, try_exchange, update_group
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.random_orders import random_below
from dbanon.kernels.sorting import sort_entries

MAX_PATH_RECORDS = 200
"""Maximum number of records that are ordered as a path, which takes quadratic time."""

SEEDED_EIGHTHS = 2
"""If a model constrains more than the number of records: of 8 sets, so many begin with a group around a record."""

TRIES_PER_GROUP = 6
"""Number of neighbours that are drawn per group of a set."""


@kernel_part
def draw_groups(group_set, max_groups, records, groups, state):
    """Draw the group of a random record and groups close to it into `group_set`; return their number.

    The others are the groups of random neighbours of random records of the groups drawn so far. At most `max_groups`
    different groups are drawn, none if the first record has no group.

    Args:
        group_set: Output: numbers of groups.
        max_groups: Greatest number of groups.
        records: `GroupedRecords`.
        groups: `RecordGroups`.
        state: The state of the random numbers, which is advanced.
    """
    _, group, _, neighbours = records
    r = random_below(np.int64(len(group)), state)
    if group[r] < 0:
        return 0
    group_set[0], n_found = group[r], 1
    for _ in range(TRIES_PER_GROUP * (max_groups - 1)):
        if n_found == max_groups:
            break
        g = group_set[random_below(np.int64(n_found), state)]
        r = groups.members[g, random_below(groups.sizes[g], state)]
        g = group[neighbours[r, random_below(np.int64(neighbours.shape[1]), state)]]
        is_new = g >= 0
        for i in range(n_found):
            is_new = is_new and group_set[i] != g
        if is_new:
            group_set[n_found] = g
            n_found += 1
    return n_found


@kernel_part
def order_along_line(pool, m, points, line_places, spare, line, state):
    """Sort pool[:m], in place, along the line through two random records of it, or a random distortion of the line.

    Args:
        pool: Numbers of records; the first m are permuted in place.
        m: Number of records.
        points: (records, axes) coordinates.
        line_places, spare, line: Scratch.
        state: The state of the random numbers, which is advanced.
    """
    p, q = pool[random_below(np.int64(m), state)], pool[random_below(np.int64(m), state)]
    turned = random_below(np.int64(2), state) == 0
    for a in range(points.shape[1]):
        line[a] = points[q, a] - points[p, a]
        if turned:
            line[a] *= 2 * random_fraction(state) - 0.5
    for i in range(m):
        spare[i] = 0
        line_places[i] = 0.0
        for a in range(points.shape[1]):
            line_places[i] += points[pool[i], a] * line[a]
    sort_entries(line_places, pool, spare, m)


@kernel_part
def order_along_path(pool, m, points, state):
    """Order pool[:m], in place, as a path that goes from each record to the nearest remaining one.

    It starts with a random record or with the one farthest from that.

    Args:
        pool: Numbers of records; the first m are permuted in place.
        m: Number of records.
        points: (records, axes) coordinates.
        state: The state of the random numbers, which is advanced.
    """
    start, sign = pool[random_below(np.int64(m), state)], 2.0 * random_below(np.int64(2), state) - 1.0
    for i in range(m):
        best, lowest = i, np.inf
        for j in range(i, m):
            square = 0.0
            for a in range(points.shape[1]):
                gap = points[pool[j], a] - points[start, a]
                square += gap * gap
            if sign * square < lowest:
                best, lowest = j, sign * square
        pool[i], pool[best] = pool[best], pool[i]
        start, sign = pool[i], 1.0


@kernel_part
def order_around_seed(pool, m, points, min_size, model_arrays, line_places, spare, line, state):
    """Order pool[:m], in place: a random seed, nearest records that make a valid group, the rest along a line.

    The first part has `min_size` records: the seed and its nearest ones, of which the last is replaced by farther ones
    until the group meets k and the privacy models. If it never does, the nearest ones stay.

    Args:
        pool: Numbers of records; the first m are permuted in place.
        m: Number of records.
        points: (records, axes) coordinates.
        min_size: Number of records of the first part.
        model_arrays: `GroupModels`.
        line_places, spare, line: Scratch.
        state: The state of the random numbers, which is advanced.
    """
    seed = pool[random_below(np.int64(m), state)]
    for i in range(m):
        spare[i] = 0
        line_places[i] = 0.0
        for a in range(points.shape[1]):
            line_places[i] += (points[pool[i], a] - points[seed, a]) * (points[pool[i], a] - points[seed, a])
    sort_entries(line_places, pool, spare, m)
    for t in range(min_size - 1, m):
        pool[min_size - 1], pool[t] = pool[t], pool[min_size - 1]
        if meets_model(pool, np.int64(0), min_size, model_arrays):
            break
        pool[min_size - 1], pool[t] = pool[t], pool[min_size - 1]
    order_along_line(pool[min_size:], m - min_size, points, line_places, spare, line, state)


@kernel_part
def cut_sequence(pool, m, points, limits, model_arrays, sums, total, run_starts):
    """Cut pool[:m], in this order, into groups with the greatest gain; return it, -inf if no cut meets the models.

    The gain of a group is the squared length of the sum of its points, divided by its size. total[i] becomes the
    greatest gain of the first i records, run_starts[i] the place where the last of their groups begins.

    Args:
        pool: Numbers of records, in the order in which they are cut.
        m: Number of records.
        points: (records, axes) coordinates.
        limits: Least and greatest size of a group.
        model_arrays: `GroupModels`.
        sums: (axes,) scratch.
        total: Output: (m + 1,) gain of the first records.
        run_starts: Output: (m + 1,) where the last group of the first records begins.
    """
    min_size, max_size = limits
    total[0] = 0.0
    for i in range(1, m + 1):
        highest, best_start = -np.inf, -1
        if i >= min_size and (i == m or i <= m - min_size):
            sums[:] = 0.0
            for j in range(i - 1, max(i - max_size, 0) - 1, -1):
                gain = 0.0
                for a in range(points.shape[1]):
                    sums[a] += points[pool[j], a]
                    gain += sums[a] * sums[a]
                value = total[j] + gain / (i - j)
                if i - j >= min_size and value > highest and meets_model(pool, j, i, model_arrays):
                    highest, best_start = value, j
        total[i], run_starts[i] = highest, best_start
    return total[m]


@kernel_part
def recut_groups(heat, max_groups, records, groups, free, limits, model_arrays, scratch, state):
    """Dissolve a few groups and cut their records again, in place; return the gain, 0 if the groups are unchanged.

    The gain is the decrease in the sum of squared distances to the groups' means. The new groups are kept if they gain,
    or by chance if their loss is small relative to `heat`.

    Args:
        heat: Scale of the losses that are accepted by chance; 0 accepts none.
        max_groups: Greatest number of groups to dissolve.
        records: `GroupedRecords`; updated in place.
        groups: `RecordGroups`; updated in place.
        free: The number of unused groups, followed by their numbers; updated in place.
        limits: Least and greatest size of a group.
        model_arrays: `GroupModels`.
        scratch: `CutScratch`.
        state: The state of the random numbers, which is advanced.
    """
    group_set, pool, line_places, spare, sums, total, back = scratch
    n_found = draw_groups(group_set, max_groups, records, groups, state)
    m, old_gain = 0, 0.0
    for i in range(n_found):
        g = group_set[i]
        old_gain += groups.gains[g]
        for j in range(groups.sizes[g]):
            pool[m] = groups.members[g, j]
            m += 1
    if m < 2 * limits[0]:
        return 0.0
    kind = random_below(np.int64(8), state)
    if (model_arrays.record_model is not None or model_arrays.person_model is not None) and kind < SEEDED_EIGHTHS:
        order_around_seed(pool, m, records.points, limits[0], model_arrays, line_places, spare, sums, state)
    elif m > MAX_PATH_RECORDS or kind % 2 == 0:
        order_along_line(pool, m, records.points, line_places, spare, sums, state)
    else:
        order_along_path(pool, m, records.points, state)
    increase = cut_sequence(pool, m, records.points, limits, model_arrays, sums, total, back) - old_gain
    if increase == -np.inf or (increase <= 1e-9 and (heat <= 0 or increase <= heat * np.log(random_fraction(state)))):
        return 0.0
    for i in range(n_found):
        groups.sizes[group_set[i]] = 0
        free[0] += 1
        free[free[0]] = group_set[i]
    end = m
    while end > 0:
        g = free[free[0]]
        free[0] -= 1
        for i in range(back[end], end):
            add_record(pool[i], g, records, groups)
        update_group(g, records, groups)
        end = back[end]
    return increase


@kernel
def reduce_squares(options, records, groups, free, limits, model_arrays, scratch, state):
    """Improve the groups by simulated annealing, in place; return the decrease in the sum of squared distances.

    A move is some exchanges of records between groups, and then one recut: a few neighbouring groups are dissolved and
    their records divided into groups again. Moves that increase the sum may be accepted, so the result may be negative.

    Args:
        options: `MoveOptions`.
        records: `GroupedRecords`; updated in place.
        groups: `RecordGroups`; updated in place.
        free: The number of unused groups, followed by their numbers; updated in place.
        limits: Least and greatest size of a group.
        model_arrays: `GroupModels`.
        scratch: `CutScratch`.
        state: The state of the random numbers, which is advanced.
    """
    n_moves, n_exchanges, max_groups, heat = options
    cycle = np.empty((3, 2), np.int64)
    total_gain = 0.0
    for _ in range(n_moves):
        for _ in range(n_exchanges):
            total_gain += try_exchange(heat, cycle, records, groups, limits, model_arrays, state)
        total_gain += recut_groups(
            heat, 2 + random_below(max_groups - 1, state), records, groups, free, limits, model_arrays, scratch, state
        )
    return total_gain
