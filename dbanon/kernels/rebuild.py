"""Local search: a few neighbouring classes are dissolved and cut anew along another line; what loses less stays.

Classes are entries side by side, (item, count) with equal items of a class together; class c has the entries
starts[c]:starts[c + 1]. `lines` is (ranks, rank_at): orders of each attribute's codes among which a line chooses.
`state` is the state of the random numbers (xorshift64*, Vigna 2016).
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.carve import carve
from dbanon.kernels.jit import kernel
from dbanon.kernels.loss import begin, lost, widen
from dbanon.kernels.path import NEVER, cut

CARVED = 20
"""Of 100 small sets, so many are carved where a model judges more than the number of records."""


@kernel
def below(n, state):
    """A random number from 0 to n - 1."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.int64(((x * np.uint64(2685821657736338717)) >> np.uint64(33)) % np.uint64(n))


@kernel
def draw_line(line, terms, lines, state):
    """A random line: line[:, 0] are the attributes, the first matters most; line[:, 1] which order of codes each has;
    line[:, 2] by how many bits it is coarsened."""
    d = len(line)
    for i in range(d):
        line[i, 0] = i
    for i in range(d - 1, 0, -1):
        j = below(i + 1, state)
        line[i, 0], line[j, 0] = line[j, 0], line[i, 0]
    for i in range(d):
        line[i, 1] = below(len(lines[0]), state)
        bits = 0
        while (terms[line[i, 0], 1] >> bits) > 2:
            bits += 1
        line[i, 2] = below(bits + 1, state) if i < d - 1 and below(2, state) == 0 else 0


@kernel
def place_on(line, item, codes, terms, lines):
    """Where an item is on a line. Attributes for which there is no room in 62 bits are left out."""
    ranks, rank_at = lines
    place, room = np.int64(0), np.int64(2**62)
    for i in range(len(line)):
        a, order, bits = line[i, 0], line[i, 1], line[i, 2]
        code, count = np.int64(codes[item, a]), terms[a, 1]
        if code < count:
            if terms[a, 0] > 0:
                code = np.int64(ranks[order, rank_at[a] + code])
            elif order % 2 == 1:
                code = count - 1 - code
        size = (count >> bits) + 1
        room //= size
        if room == 0:
            break
        place = place * size + (code >> bits)
    return place


@kernel
def far(item, center, codes, terms, data):
    """The loss of a class of two items."""
    total = np.int64(0)
    for a in range(codes.shape[1]):
        x, y = codes[item, a], codes[center, a]
        total += lost(a, min(x, y), max(x, y), terms, data)
    return total


@kernel
def sort_entries(places, items, counts, n):
    """Sorts entries by place, then item (Shell 1959)."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            place, item, count = places[i], items[i], counts[i]
            j = i
            while j >= gap and (places[j - gap] > place or (places[j - gap] == place and items[j - gap] > item)):
                places[j], items[j], counts[j] = places[j - gap], items[j - gap], counts[j - gap]
                j -= gap
            places[j], items[j], counts[j] = place, item, count
        gap //= 3


@kernel
def class_loss(items, first, end, codes, terms, data, low, high):
    """What a record loses in a class of entries."""
    loss = begin(items[first], codes, low, high, terms, data)
    for i in range(first + 1, end):
        loss = widen(loss, items[i], codes, low, high, terms, data)
    return loss


@kernel
def sweep(
    items, counts, starts, sizes, classes, blocks, width, near, first_set, moves, least, most, largest,
    codes, terms, data, asked, lines, state, new_items, new_counts, new_starts, new_sizes,
):  # fmt: skip
    """Classes in the order of a random line are taken `width` at a time; each set that loses anything is dissolved and
    cut along a line of its own: one around a record of it in `near` of 100 cases, else a random one. It stays rebuilt
    where that does not lose more.

    At most `moves` sets are rebuilt, beginning at the class in place `first_set`; sets of more than `largest` records
    are left, and no set is of two `blocks` (by item; empty: all is one). Writes the new entries; gives the number of
    classes, the loss saved and the moves made.
    """
    d = codes.shape[1]
    line = np.empty((d, 3), np.int64)
    low, high = np.empty(d, np.int64), np.empty(d, np.int64)
    draw_line(line, terms, lines, state)
    where = np.empty(classes, np.int64)
    for c in range(classes):
        entry = starts[c] + below(starts[c + 1] - starts[c], state)
        where[c] = place_on(line, items[entry], codes, terms, lines)
    order = np.argsort(where, kind="mergesort")
    if len(blocks) > 0:
        block = np.empty(classes, np.int64)
        for i in range(classes):
            block[i] = blocks[items[starts[order[i]]]]
        order = order[np.argsort(block, kind="mergesort")]
    pool_items, pool_counts = np.empty(largest, np.int32), np.empty(largest, np.int32)
    other = np.empty(largest, np.int32)
    places, records = np.empty(largest, np.int64), np.empty(largest, np.int32)
    total, back = np.empty(largest + 1, np.int64), np.empty(largest + 1, np.int64)
    cuts = np.empty(largest // least + 2, np.int64)
    values = asked[3][0]
    tally, extra = np.zeros(values[len(values) - 1], np.int64), np.zeros(2 * max(asked[3][5][-1], 1), np.float64)
    made, entries, saved, done = 0, 0, np.int64(0), 0
    new_starts[0] = 0
    i = 0
    while i < classes:
        some = min(width, classes - i)
        if i < first_set:
            some = min(some, first_set - i)
        if len(blocks) > 0:
            block_of = blocks[items[starts[order[i]]]]
            while blocks[items[starts[order[i + some - 1]]]] != block_of:
                some -= 1
        m, n, before = 0, 0, np.int64(0)
        for q in range(i, i + some):
            m += sizes[order[q]]
        tried = False
        if i >= first_set and done < moves and m <= largest and m >= 2 * least:
            for q in range(i, i + some):
                c = order[q]
                before += class_loss(items, starts[c], starts[c + 1], codes, terms, data, low, high) * sizes[c]
                for e in range(starts[c], starts[c + 1]):
                    pool_items[n], pool_counts[n] = items[e], counts[e]
                    n += 1
            tried = bool(before > 0)
        after = NEVER
        if tried:
            done += 1
            carved = asked[0] > 0 and (m > 8 * least or below(100, state) < CARVED)
            if carved or below(100, state) < near:
                center = pool_items[below(n, state)]
                for e in range(n):
                    places[e] = far(pool_items[e], center, codes, terms, data)
            else:
                draw_line(line, terms, lines, state)
                for e in range(n):
                    places[e] = place_on(line, pool_items[e], codes, terms, lines)
            sort_entries(places, pool_items, pool_counts, n)
            r = 0
            for e in range(n):
                for _ in range(pool_counts[e]):
                    records[r] = pool_items[e]
                    r += 1
            if carved:
                goal = least + below(max((m >> (1 + below(4, state))) - least, 1), state)
                after = carve(records, m, goal, other, codes, terms, data, asked, tally, extra, low, high)
                back[m], back[goal] = goal, 0
            else:
                after = cut(
                    records, m, least, most, -1, codes, terms, data, asked, tally, extra, low, high, total, back
                )
        if tried and after <= before:
            saved += before - after
            runs, end = 0, m
            while end > 0:
                cuts[runs] = end
                runs += 1
                end = back[end]
            first = 0
            for run in range(runs - 1, -1, -1):
                begin_entry = entries
                for r in range(first, cuts[run]):
                    if entries > begin_entry and new_items[entries - 1] == records[r]:
                        new_counts[entries - 1] += 1
                    else:
                        new_items[entries], new_counts[entries] = records[r], 1
                        entries += 1
                new_sizes[made] = cuts[run] - first
                made += 1
                new_starts[made] = entries
                first = cuts[run]
        else:
            for q in range(i, i + some):
                c = order[q]
                for e in range(starts[c], starts[c + 1]):
                    new_items[entries], new_counts[entries] = items[e], counts[e]
                    entries += 1
                new_sizes[made] = sizes[c]
                made += 1
                new_starts[made] = entries
        i += some
    return made, saved, done


@kernel
def class_losses(items, starts, sizes, classes, codes, terms, data):
    """Summed loss of the records of each class."""
    losses = np.empty(classes, np.int64)
    low, high = np.empty(codes.shape[1], np.int64), np.empty(codes.shape[1], np.int64)
    for c in range(classes):
        losses[c] = class_loss(items, starts[c], starts[c + 1], codes, terms, data, low, high) * sizes[c]
    return losses
