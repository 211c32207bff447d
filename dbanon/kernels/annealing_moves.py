"""Groups of records with the least squared distances to their means: what a change of a few groups gains, and changes.

Around the mean of all records, the squares within groups and |sum of a group|^2 / size over all groups make a constant
together. So a group gains |sum|^2 / size, and the greatest gain is looked for.

`records`: points (records, axes), group and place by record, near (records, some): neighbours of each. `groups`:
member (groups, room), size, sums (groups, axes), gain; those of size 0 are free. `limits`: least and most records of a
group. `judged` is (item by record, asked, apart, counts, extra, items), for `dbanon.kernels.model_check`; items is
scratch.
"""

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.model_check import holds
from dbanon.kernels.random_orders import below

MOST = 3
"""Groups that exchange records."""


@part
def fraction(state):
    """Return a random number above 0, at most 1."""
    return (below(np.int64(2**31), state) + 1) / 2.0**31


@part
def fit(g, records, groups):
    """Sum and gain of a group from its records."""
    points = records[0]
    member, size, sums, gain = groups
    total = 0.0
    for a in range(points.shape[1]):
        own = 0.0
        for i in range(size[g]):
            own += points[member[g, i], a]
        sums[g, a] = own
        total += own * own
    gain[g] = total / size[g] if size[g] > 0 else 0.0


@part
def gain_with(g, out, into, records, groups):
    """Return the gain of a group that one record leaves (-1: none) and one joins."""
    points = records[0]
    _, size, sums, _ = groups
    total, n = 0.0, size[g] - (out >= 0) + (into >= 0)
    for a in range(points.shape[1]):
        own = sums[g, a]
        if out >= 0:
            own -= points[out, a]
        if into >= 0:
            own += points[into, a]
        total += own * own
    return total / n


@part
def leave(r, records, groups):
    """Take a record out of its group."""
    _, group, place, _ = records
    member, size = groups[0], groups[1]
    g = group[r]
    size[g] -= 1
    last = member[g, size[g]]
    member[g, place[r]] = last
    place[last] = place[r]


@part
def join(r, g, records, groups):
    """Put a record into a group."""
    _, group, place, _ = records
    member, size = groups[0], groups[1]
    group[r], place[r] = g, size[g]
    member[g, size[g]] = r
    size[g] += 1


@part
def meets_model(g, groups, judged):
    """Return whether a group meets the models."""
    item, asked, apart, counts, extra, items = judged
    if asked is None and apart is None:
        return True
    member, size = groups[0], groups[1]
    for i in range(size[g]):
        items[i] = item[member[g, i]]
    return holds(items, np.int64(0), size[g], asked, apart, counts, extra)


@part
def draw_cycle(cycle, records, groups, limits, state):
    """Draws a cycle: a random record goes to the group of a neighbour, a record of that one further on, and so on;
    cycle[i] is a group and the record that leaves it, for the next one; the last one gives none (-1), so that one group
    shrinks and one grows, or gives to the first. Gives the number of groups, 0 where there is none."""
    _, group, _, near = records
    member, size = groups[0], groups[1]
    least, most = limits
    r = below(np.int64(len(group)), state)
    first = group[r]
    if first < 0:
        return 0
    cycle[0, 0], cycle[0, 1] = first, r
    shrinks = size[first] > least
    for i in range(1, MOST):
        g = group[near[r, below(np.int64(near.shape[1]), state)]]
        for j in range(i):
            if cycle[j, 0] == g:
                return 0
        if g < 0:
            return 0
        cycle[i, 0] = g
        if shrinks and size[g] < most and below(np.int64(2), state) == 0:
            cycle[i, 1] = -1
            return i + 1
        r = member[g, below(size[g], state)]
        cycle[i, 1] = r
        if below(np.int64(2), state) == 0:
            return i + 1
    return MOST


@part
def turn(cycle, length, step, records, groups):
    """Make the exchange of a cycle (step 1), or take it back (step 0): sizes and members alone."""
    for i in range(length):
        if cycle[i, 1] >= 0:
            leave(cycle[i, 1], records, groups)
    for i in range(length):
        if cycle[i, 1] >= 0:
            join(cycle[i, 1], cycle[(i + step) % length, 0], records, groups)


@part
def exchange(heat, cycle, records, groups, limits, judged, state):
    """Try one cycle: it stays where it gains, or by chance where it loses little beside `heat`. Gives the gain."""
    length = draw_cycle(cycle, records, groups, limits, state)
    if length == 0:
        return 0.0
    gain, more = groups[3], 0.0
    for i in range(length):
        before = cycle[(i + length - 1) % length, 1]
        more += gain_with(cycle[i, 0], cycle[i, 1], before, records, groups) - gain[cycle[i, 0]]
    if more <= 0 and (heat <= 0 or more <= heat * np.log(fraction(state))):
        return 0.0
    turn(cycle, length, np.int64(1), records, groups)
    held = True
    for i in range(length):
        held = held and meets_model(cycle[i, 0], groups, judged)
    if not held:
        turn(cycle, length, np.int64(0), records, groups)
        return 0.0
    for i in range(length):
        fit(cycle[i, 0], records, groups)
    return more
