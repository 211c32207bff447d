"""Groups with the least squares: a few neighbours are dissolved, and their records in a line are cut where least.

In ascending order of one number this is exact (Hansen and Mukherjee 2003); along a line through two records, or a path
from neighbour to neighbour (Domingo-Ferrer et al. 2006), it is a move of a search. Arrays are those of
`dbanon.kernels.annealing_moves`; `free` has the number of free groups, and then these.
"""

import numpy as np

from dbanon.kernels.annealing_moves import exchange, fit, fraction, join
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.model_check import holds
from dbanon.kernels.random_orders import below
from dbanon.kernels.sorting import sort_entries

PATHS = 200
"""Most records that are put in a path, which takes the square of their number."""

SEEDED = 2
"""Where a model judges more than the number of records: of 8 sets, so many begin with a group around a record."""

TRIES = 6
"""Neighbours that are drawn for each group that is looked for."""


@part
def draw_set(chosen, some, records, groups, state):
    """Draws the group of a random record, and groups of neighbours of records in it and then in those; gives their
    number, at most `some`."""
    _, group, _, near = records
    member, size = groups[0], groups[1]
    r = below(np.int64(len(group)), state)
    if group[r] < 0:
        return 0
    chosen[0], found = group[r], 1
    for _ in range(TRIES * (some - 1)):
        if found == some:
            break
        g = chosen[below(np.int64(found), state)]
        r = member[g, below(size[g], state)]
        g = group[near[r, below(np.int64(near.shape[1]), state)]]
        fresh = g >= 0
        for i in range(found):
            fresh = fresh and chosen[i] != g
        if fresh:
            chosen[found] = g
            found += 1
    return found


@part
def along_line(pool, m, points, where, spare, line, state):
    """Sort pool[:m] along a line: the one through two of its records, or one that is turned from it at random."""
    p, q = pool[below(np.int64(m), state)], pool[below(np.int64(m), state)]
    turned = below(np.int64(2), state) == 0
    for a in range(points.shape[1]):
        line[a] = points[q, a] - points[p, a]
        if turned:
            line[a] *= 2 * fraction(state) - 0.5
    for i in range(m):
        spare[i] = 0
        where[i] = 0.0
        for a in range(points.shape[1]):
            where[i] += points[pool[i], a] * line[a]
    sort_entries(where, pool, spare, m)


@part
def along_path(pool, m, points, state):
    """Order pool[:m]: from a random record or the one that is farthest from it, ever to the nearest that is left."""
    start, sign = pool[below(np.int64(m), state)], 2.0 * below(np.int64(2), state) - 1.0
    for i in range(m):
        best, least = i, np.inf
        for j in range(i, m):
            square = 0.0
            for a in range(points.shape[1]):
                gap = points[pool[j], a] - points[start, a]
                square += gap * gap
            if sign * square < least:
                best, least = j, sign * square
        pool[i], pool[best] = pool[best], pool[i]
        start, sign = pool[i], 1.0


@part
def with_seed(pool, m, points, least, judged, where, spare, line, state):
    """Orders pool[:m]: a random record, the nearest others and, as the last of the least number, the nearest with which
    they meet the model; then the others along a line."""
    item, asked, apart, counts, extra, items = judged
    seed = pool[below(np.int64(m), state)]
    for i in range(m):
        spare[i] = 0
        where[i] = 0.0
        for a in range(points.shape[1]):
            where[i] += (points[pool[i], a] - points[seed, a]) * (points[pool[i], a] - points[seed, a])
    sort_entries(where, pool, spare, m)
    for t in range(least - 1, m):
        pool[least - 1], pool[t] = pool[t], pool[least - 1]
        for i in range(least):
            items[i] = item[pool[i]]
        if holds(items, np.int64(0), least, asked, apart, counts, extra):
            break
        pool[least - 1], pool[t] = pool[t], pool[least - 1]
    along_line(pool[least:], m - least, points, where, spare, line, state)


@part
def cut_line(pool, m, points, limits, judged, sums, total, back):
    """Cuts pool[:m] into groups with the greatest gain: total[i] is that of the first i records, back[i] where the last
    of their groups begins. -inf where there is no cut that meets the model."""
    item, asked, apart, counts, extra, items = judged
    least, most = limits
    total[0] = 0.0
    for i in range(1, m + 1):
        best, where = -np.inf, -1
        if i >= least and (i == m or i <= m - least):
            sums[:] = 0.0
            for j in range(i - 1, max(i - most, 0) - 1, -1):
                gain = 0.0
                for a in range(points.shape[1]):
                    sums[a] += points[pool[j], a]
                    gain += sums[a] * sums[a]
                value = total[j] + gain / (i - j)
                if i - j < least or value <= best:
                    continue
                held = True
                if asked is not None or apart is not None:
                    for t in range(j, i):
                        items[t - j] = item[pool[t]]
                    held = holds(items, np.int64(0), i - j, asked, apart, counts, extra)
                if held:
                    best, where = value, j
        total[i], back[i] = best, where
    return total[m]


@part
def recut(heat, some, records, groups, free, limits, judged, room, state):
    """Dissolve and cuts a few groups; they stay so where that gains, or by chance where it loses little beside `heat`.

    Gives the gain.
    """
    points = records[0]
    member, size, _, gain = groups
    chosen, pool, where, spare, sums, total, back = room
    found = draw_set(chosen, some, records, groups, state)
    m, before = 0, 0.0
    for i in range(found):
        g = chosen[i]
        before += gain[g]
        for j in range(size[g]):
            pool[m] = member[g, j]
            m += 1
    if m < 2 * limits[0]:
        return 0.0
    way = below(np.int64(8), state)
    if (judged[1] is not None or judged[2] is not None) and way < SEEDED:
        with_seed(pool, m, points, limits[0], judged, where, spare, sums, state)
    elif m > PATHS or way % 2 == 0:
        along_line(pool, m, points, where, spare, sums, state)
    else:
        along_path(pool, m, points, state)
    more = cut_line(pool, m, points, limits, judged, sums, total, back) - before
    if more == -np.inf or (more <= 1e-9 and (heat <= 0 or more <= heat * np.log(fraction(state)))):
        return 0.0
    for i in range(found):
        size[chosen[i]] = 0
        free[0] += 1
        free[free[0]] = chosen[i]
    end = m
    while end > 0:
        g = free[free[0]]
        free[0] -= 1
        for i in range(back[end], end):
            join(pool[i], g, records, groups)
        fit(g, records, groups)
        end = back[end]
    return more


@kernel
def lower_squares(options, records, groups, free, limits, judged, room, state):
    """Make moves, each a few exchanges and a cut of some groups (see `MoveOptions`). Gives the gain."""
    moves, each, widest, heat = options
    cycle = np.empty((3, 2), np.int64)
    more = 0.0
    for _ in range(moves):
        for _ in range(each):
            more += exchange(heat, cycle, records, groups, limits, judged, state)
        more += recut(heat, 2 + below(widest - 1, state), records, groups, free, limits, judged, room, state)
    return more
