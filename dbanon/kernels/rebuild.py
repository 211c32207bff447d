"""Local search: a few neighbouring classes are dissolved and cut anew along another line; what loses less stays.

Classes are entries side by side, (item, count) with equal items of a class together; class c has the entries
starts[c]:starts[c + 1].
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.carve import carve
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.lines import below, draw_line, far, place_on
from dbanon.kernels.loss import begin, widen
from dbanon.kernels.path import NEVER, cut, spans
from dbanon.kernels.room import integers, small_integers, table
from dbanon.kernels.sorting import sort_entries

CARVED = 20
"""Of 100 small sets, so many are carved where a model judges more than the number of records."""


@part
def class_loss(items, first, end, codes, terms, data, span):
    """What a record loses in a class of entries."""
    loss = begin(items[first], codes, span, terms, data)
    for i in range(first + 1, end):
        loss = widen(loss, items[i], codes, span, terms, data)
    return loss


@part
def take_set(order, some, items, counts, starts, pool_items, pool_counts):
    """Copies the entries of some classes; gives their number."""
    n = 0
    for c in order[:some]:
        for e in range(starts[c], starts[c + 1]):
            pool_items[n], pool_counts[n] = items[e], counts[e]
            n += 1
    return n


@part
def spread(pool_items, pool_counts, n, records):
    """Writes an item for each record of some entries."""
    r = 0
    for e in range(n):
        for _ in range(pool_counts[e]):
            records[r] = pool_items[e]
            r += 1


@part
def keep_set(order, some, items, counts, starts, sizes, made, new_items, new_counts, new_starts, new_sizes):
    """Appends some classes as they are; gives the number of classes."""
    entries = new_starts[made]
    for c in order[:some]:
        for e in range(starts[c], starts[c + 1]):
            new_items[entries], new_counts[entries] = items[e], counts[e]
            entries += 1
        new_sizes[made] = sizes[c]
        made += 1
        new_starts[made] = entries
    return made


@part
def put_runs(records, m, back, cuts, made, new_items, new_counts, new_starts, new_sizes):
    """Appends the runs that records[:m] were cut into; gives the number of classes."""
    runs, end = 0, m
    while end > 0:
        cuts[runs] = end
        runs += 1
        end = back[end]
    first = 0
    for run in range(runs - 1, -1, -1):
        entries = begin_entry = new_starts[made]
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
    return made


@part
def line_up(items, starts, classes, blocks, line, codes, terms, lines, state):
    """The classes in the order of a random line, each at the place of one of its items; block after block."""
    draw_line(line, terms, lines, state)
    where = integers(classes)
    for c in range(classes):
        entry = starts[c] + below(starts[c + 1] - starts[c], state)
        where[c] = place_on(line, items[entry], codes, terms, lines)
    order, scratch = small_integers(classes), small_integers(classes)
    for i in range(classes):
        order[i], scratch[i] = i, 0
    sort_entries(where, order, scratch, classes)
    if len(blocks) > 0:
        for i in range(classes):
            where[i], scratch[i] = blocks[items[starts[order[i]]]], order[i]
            order[i] = i
        sort_entries(where, order, scratch, classes)
        return scratch
    return order


@kernel
def sweep(
    items, counts, starts, sizes, classes, blocks, width, near, first_set, moves, least, most, largest,
    codes, terms, data, asked, apart, tally, extra, lines, state, new_items, new_counts, new_starts, new_sizes,
):  # fmt: skip
    """Classes in the order of a random line are taken `width` at a time; each set that loses anything is dissolved and
    cut along a line of its own: one around a record of it in `near` of 100 cases, else a random one. It stays rebuilt
    where that does not lose more. Where a model judges more than the number of records, large sets and some others are
    carved in two instead.

    At most `moves` sets are rebuilt, beginning at the class in place `first_set`; sets of more than `largest` records
    are left, and no set is of two `blocks` (by item; empty: all is one). Writes the new entries; gives the number of
    classes, the loss saved and the moves made.
    """
    d = codes.shape[1]
    line = table(d, np.int64(3))
    room = spans(least, d)
    span = room[0]
    order = line_up(items, starts, classes, blocks, line, codes, terms, lines, state)
    pool_items, pool_counts, places = small_integers(largest), small_integers(largest), integers(largest)
    records, other = small_integers(largest), small_integers(largest)
    total, back = integers(largest + 1), small_integers(largest + 1)
    cuts = integers(largest // least + 2)
    judges = asked is not None or apart is not None
    made, saved, done = np.int64(0), np.int64(0), 0
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
        m, before, after = np.int64(0), np.int64(0), np.int64(NEVER)
        for c in order[i : i + some]:
            m += sizes[c]
        if i >= first_set and done < moves and 2 * least <= m <= largest:
            for c in order[i : i + some]:
                before += class_loss(items, starts[c], starts[c + 1], codes, terms, data, span) * sizes[c]
        if before > 0:
            done += 1
            n = take_set(order[i:], some, items, counts, starts, pool_items, pool_counts)
            carved = judges and (m > 8 * least or below(np.int64(100), state) < CARVED)
            if carved or below(np.int64(100), state) < near:
                center = pool_items[below(n, state)]
                for e in range(n):
                    places[e] = far(pool_items[e], center, codes, terms, data)
            else:
                draw_line(line, terms, lines, state)
                for e in range(n):
                    places[e] = place_on(line, pool_items[e], codes, terms, lines)
            sort_entries(places, pool_items, pool_counts, n)
            spread(pool_items, pool_counts, n, records)
            if carved and (asked is not None or apart is not None):
                goal = least + below(max((m >> (1 + below(np.int64(4), state))) - least, 1), state)
                after = carve(records, m, goal, other, codes, terms, data, asked, apart, tally, extra, span)
                back[m], back[goal] = goal, 0
            else:
                after = cut(
                    records,
                    m,
                    least,
                    most,
                    np.int64(-1),
                    codes,
                    terms,
                    data,
                    asked,
                    apart,
                    tally,
                    extra,
                    room,
                    total,
                    back,
                )
        if before > 0 and after <= before:
            saved += before - after
            made = put_runs(records, m, back, cuts, made, new_items, new_counts, new_starts, new_sizes)
        else:
            made = keep_set(
                order[i:], some, items, counts, starts, sizes, made, new_items, new_counts, new_starts, new_sizes
            )
        i += some
    return made, saved, done


@kernel
def class_losses(items, starts, sizes, classes, codes, terms, data):
    """Summed loss of the records of each class."""
    losses = integers(classes)
    span = table(codes.shape[1], np.int64(4))
    for c in range(classes):
        losses[c] = class_loss(items, starts[c], starts[c + 1], codes, terms, data, span) * sizes[c]
    return losses
