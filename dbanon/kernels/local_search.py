"""Local search: a few neighbouring classes are dissolved and cut anew along another line; what loses less stays.

Classes are entries side by side, (item, count) with equal items of a class together; class c has the entries
starts[c]:starts[c + 1].
"""

import numpy as np

from dbanon.kernels.allocate import integers, small_integers, table
from dbanon.kernels.arrays import PathArrays
from dbanon.kernels.feasible_split import carve, class_loss
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.optimal_cut import NEVER, cut, spans
from dbanon.kernels.random_orders import below, draw_line, far, place_on
from dbanon.kernels.sorting import sort_entries

CARVED = 20
"""Of 100 small sets, so many are carved where a model judges more than the number of records."""


@part
def take_set(order, some, items, counts, starts, pool_items, pool_counts):
    """Copy the entries of some classes; return their number."""
    n = 0
    for c in order[:some]:
        for e in range(starts[c], starts[c + 1]):
            pool_items[n], pool_counts[n] = items[e], counts[e]
            n += 1
    return n


@part
def spread(pool_items, pool_counts, n, records):
    """Write an item for each record of some entries."""
    r = 0
    for e in range(n):
        for _ in range(pool_counts[e]):
            records[r] = pool_items[e]
            r += 1


@part
def keep_set(order, some, entries, made, new):
    """Append some classes as they are; return the number of classes."""
    entry = new.starts[made]
    for c in order[:some]:
        for e in range(entries.starts[c], entries.starts[c + 1]):
            new.items[entry], new.counts[entry] = entries.items[e], entries.counts[e]
            entry += 1
        new.sizes[made] = entries.sizes[c]
        made += 1
        new.starts[made] = entry
    return made


@part
def put_runs(records, m, back, cuts, made, new):
    """Append the runs that records[:m] were cut into; return the number of classes."""
    runs, end = 0, m
    while end > 0:
        cuts[runs] = end
        runs += 1
        end = back[end]
    first = 0
    for run in range(runs - 1, -1, -1):
        entries = begin_entry = new.starts[made]
        for r in range(first, cuts[run]):
            if entries > begin_entry and new.items[entries - 1] == records[r]:
                new.counts[entries - 1] += 1
            else:
                new.items[entries], new.counts[entries] = records[r], 1
                entries += 1
        new.sizes[made] = cuts[run] - first
        made += 1
        new.starts[made] = entries
        first = cuts[run]
    return made


@part
def line_up(items, starts, classes, blocks, line, codes, terms, lines, state):
    """Return the classes in the order of a random line, each at the place of one of its items; block after block."""
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
def sweep(entries, options, blocks, measure, asked, apart, scratch, lines, state, new):
    """Classes in the order of a random line are taken `width` at a time; each set that loses anything is dissolved and
    cut along a line of its own: one around a record of it in `near` of 100 cases, else a random one. It stays rebuilt
    where that does not lose more. Where a model judges more than the number of records, large sets and some others are
    carved in two instead.

    At most `moves` sets are rebuilt, beginning at the class in place `first_set`; sets of more than `largest` records
    are left, and no set is of two `blocks` (by item; empty: all is one). Writes the new entries; gives the number of
    classes, the loss saved and the moves made.
    """
    items, counts, starts, sizes = entries
    classes, width, near, first_set, moves, least, most, largest = options
    d = measure.codes.shape[1]
    line = table(d, np.int64(3))
    span, ahead, kept = spans(least, d)
    order = line_up(items, starts, classes, blocks, line, measure.codes, measure.terms, lines, state)
    pool_items, pool_counts, places = (
        small_integers(largest),
        small_integers(largest),
        integers(largest),
    )
    records, other = small_integers(largest), small_integers(largest)
    total, back = integers(largest + 1), small_integers(largest + 1)
    room = PathArrays(span, ahead, kept, total, back)
    cuts = integers(largest // least + 2)
    judges = asked is not None or apart is not None
    made, saved, done = np.int64(0), np.int64(0), 0
    new.starts[0] = 0
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
                before += class_loss(items, starts[c], starts[c + 1], measure, span) * sizes[c]
        if before > 0:
            done += 1
            n = take_set(order[i:], some, items, counts, starts, pool_items, pool_counts)
            carved = judges and (m > 8 * least or below(np.int64(100), state) < CARVED)
            if carved or below(np.int64(100), state) < near:
                center = pool_items[below(n, state)]
                for e in range(n):
                    places[e] = far(pool_items[e], center, measure)
            else:
                draw_line(line, measure.terms, lines, state)
                for e in range(n):
                    places[e] = place_on(line, pool_items[e], measure.codes, measure.terms, lines)
            sort_entries(places, pool_items, pool_counts, n)
            spread(pool_items, pool_counts, n, records)
            if carved and (asked is not None or apart is not None):
                goal = least + below(max((m >> (1 + below(np.int64(4), state))) - least, 1), state)
                after = carve(records, m, goal, other, measure, asked, apart, scratch, span)
                back[m], back[goal] = goal, 0
            else:
                after = cut(records, m, least, most, np.int64(-1), measure, asked, apart, scratch, room)
        if before > 0 and after <= before:
            saved += before - after
            made = put_runs(records, m, back, cuts, made, new)
        else:
            made = keep_set(order[i:], some, entries, made, new)
        i += some
    return made, saved, done


@kernel
def class_losses(items, starts, sizes, classes, measure):
    """Return summed loss of the records of each class."""
    losses = integers(classes)
    span = table(measure.codes.shape[1], np.int64(4))
    for c in range(classes):
        losses[c] = class_loss(items, starts[c], starts[c + 1], measure, span) * sizes[c]
    return losses
