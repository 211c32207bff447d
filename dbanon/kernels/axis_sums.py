"""Numbers with many values: sums of distances along an axis, and their least or greatest on a box."""

import numpy as np

from dbanon.kernels.allocate import table
from dbanon.kernels.jit import kernel, part

CHUNK = 9
"""Prefix sums are kept within chunks of 2^9 values, and over chunks: adding touches few entries, reading two."""


@part
def prefix_add(fine, coarse, start, chunk_start, length, code, amount):
    """Add an amount at a value of an axis to prefix sums."""
    end = min(((code >> CHUNK) + 1) << CHUNK, length)
    for i in range(start + code, start + end):
        fine[i] += amount
    for i in range(chunk_start + (code >> CHUNK) + 1, chunk_start + (length >> CHUNK) + 1):
        coarse[i] += amount


@part
def add_to_axis(axis, ask, a, code, times):
    """Add a value of an axis to a question of sums, so many times."""
    place = axis[0][axis[1][a] + code]
    prefix_add(ask[3], ask[5], axis[1][a], axis[4][a], axis[2][a], code, times)
    prefix_add(ask[4], ask[6], axis[1][a], axis[4][a], axis[2][a], code, place * times)


@kernel
def add_place(axis, ask, a, code, times):
    """add_to_axis, for Python."""
    add_to_axis(axis, ask, a, code, times)


@part
def axis_value(a, code, axis, ask, state):
    """Return the function of an axis at a value that is not NULL."""
    places, starts = axis[0], axis[1]
    place = places[starts[a] + code]
    low, high, missing, counts, totals, count_chunks, total_chunks = ask
    if len(counts) == 0:
        if missing[2 * a] > 0:
            return axis[3][a]
        return max(low[a] - place, place - high[a], np.int64(0))
    chunk = axis[4][a] + (code >> CHUNK)
    count = counts[starts[a] + code] + count_chunks[chunk]
    total = totals[starts[a] + code] + total_chunks[chunk]
    return place * (2 * count - missing[2 * a + 1]) - 2 * total + state[a, 4]


@part
def axis_state(axis, ask):
    """For every axis: the places between which its function is least, that value, the value at NULL, a constant."""
    places, starts, lengths, nulls, chunks = axis
    low, high, missing, counts, totals, count_chunks, total_chunks = ask
    state = table(len(lengths), np.int64(5))
    for a in range(len(lengths)):
        for i in range(5):
            state[a, i] = 0
        if len(counts) == 0:
            gone = missing[2 * a] > 0
            state[a, 0], state[a, 1] = low[a], high[a]
            state[a, 2] = nulls[a] if gone else 0
            state[a, 3] = 0 if gone else nulls[a]
            continue
        number, last = missing[2 * a + 1], lengths[a] - 1
        state[a, 3] = number * nulls[a]
        whole = totals[starts[a] + last] + total_chunks[chunks[a] + (last >> CHUNK)]
        state[a, 4] = whole + missing[2 * a] * nulls[a]
        # The median: the first value with half of the counts at or before it.
        below, above = np.int64(0), last
        while below < above:
            middle = (below + above) >> 1
            if 2 * (counts[starts[a] + middle] + count_chunks[chunks[a] + (middle >> CHUNK)]) < number:
                below = middle + 1
            else:
                above = middle
        state[a, 0] = state[a, 1] = places[starts[a] + below]
        state[a, 2] = axis_value(a, below, axis, ask, state)
    return state


@part
def axes_bound(node, boxes, axis, ask, state, sign):
    """What all axes add at least for a record in a box; exact for a single tuple."""
    places, starts, lengths = axis[0], axis[1], axis[2]
    bound = np.int64(0)
    for a in range(len(lengths)):
        first, to = np.int64(boxes[node, 2 * a]), np.int64(boxes[node, 2 * a + 1])
        null = state[a, 3]
        if first == lengths[a]:
            bound += sign * null
            continue
        last = min(to, lengths[a] - 1)
        if sign > 0:
            if places[starts[a] + last] < state[a, 0]:
                here = axis_value(a, last, axis, ask, state)
            elif first == last or places[starts[a] + first] > state[a, 1]:
                here = axis_value(a, first, axis, ask, state)
            else:
                here = state[a, 2]
            bound += min(here, null) if to == lengths[a] else here
        else:
            here = max(axis_value(a, first, axis, ask, state), axis_value(a, last, axis, ask, state))
            bound -= max(here, null) if to == lengths[a] else here
    return bound
