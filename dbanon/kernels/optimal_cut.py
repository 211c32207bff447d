"""The best classes along a line: records in a fixed order are cut where the whole loss is least.

For one number in ascending order this is the exact univariate microaggregation of Hansen and Mukherjee (2003); for
tuples in an order it is its multivariate form (Domingo-Ferrer et al. 2006), here with the loss of
generalization.
"""

import numpy as np

from dbanon.kernels.allocate import integers, small_integers, table
from dbanon.kernels.arrays import PathArrays
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.loss import begin, join, widen
from dbanon.kernels.model_check import add_to_group, begin_group, group_holds, held_from

NEVER = 2**63 - 1
"""No cut is possible. All losses together are below 2^62, and as much again where each record costs the penalty."""


PLACES = 64
"""Least number of places among which the end of a run is chosen."""

MANY = 8
"""From so many records on a run is joined of two that are kept; fewer are as soon looked at one by one."""


@part
def spans(least, d):
    """Return room for classes: the one that `cut` looks at, and those that it keeps (see `keep_runs`)."""
    return table(d, np.int64(4)), table(d, np.int64(4)), table(min(least, 2 * PLACES) * d, np.int64(4))


@part
def keep_runs(items, i, least, step, edge, done, measure, room):
    """Keeps classes that end or begin at an edge, of which the runs of `least` records across it are joined that end at
    i or a multiple of `step` later: `ahead` is items[edge:done], and in kept have d rows each what ends at the edge
    and begins at edge + 1 - least or at every step-th item after it. Gives the edge, and `done`, for a run to i."""
    span, ahead, kept = room.span, room.ahead, room.kept
    if i - edge >= least:
        edge, low = i - 1, i - least
        for j in range(edge - 1, low - 1, -1):
            if j == edge - 1:
                begin(items[j], measure, span)
            elif items[j] != items[j + 1]:
                widen(np.int64(0), items[j], measure, span)
            if (j - low) % step == 0:
                at = (j - low) // step * len(span)
                for a in range(len(span)):
                    for c in range(4):
                        kept[at + a, c] = span[a, c]
        begin(items[edge], measure, ahead)
        done = i
    while done < i:
        if items[done] != items[done - 1]:
            widen(np.int64(0), items[done], measure, ahead)
        done += 1
    return edge, done


@part
def cut(items, m, least, most, penalty, measure, asked, apart, scratch, room):
    """Cuts items[:m] (one a record) into runs of `least` to `most` records that meet the model with the least loss.

    total[i] is the least loss of the first i records, back[i] where the last of their runs begins. A run that misses
    the model costs `penalty` a record more; below 0 it is not allowed, and then the answer may be NEVER. From a least
    of 2 * PLACES on, runs end only at every (least // PLACES)-th record. `room`: see `spans`. O(m * min(most,
    PLACES * most / least) * attributes) time.
    """
    span, ahead, kept, total, back = room
    step = max(least // PLACES, 1)
    for i in range(min(least, m + 1)):
        total[i] = NEVER
    total[0] = 0
    loss, edge, done = np.int64(0), np.int64(-least), np.int64(0)
    # Up to 2 * least - 1 records make one run.
    begin_group(asked, apart, scratch.counts)
    for i in range(min(2 * least, m + 1) - 1):
        if i == 0:
            loss = begin(items[0], measure, span)
        elif items[i] != items[i - 1]:
            loss = widen(loss, items[i], measure, span)
        add_to_group(items, i, i + 1, asked, apart, scratch.counts)
        if i + 1 >= least:
            value = loss * (i + 1)
            if not group_holds(items, np.int64(0), i + 1, asked, apart, scratch.counts, scratch.extra):
                value = np.int64(NEVER) if penalty < 0 else value + penalty * (i + 1)
            total[i + 1], back[i + 1] = value, 0
    for i in range(2 * least, m + 1):
        total[i] = NEVER
        if i < m and (i > m - least or i % step > 0):
            continue  # too few would be left, or no place to cut
        best, where, hope, last = np.int64(NEVER), -1, i - least, max(i - most, 0)
        if least >= MANY and i % step == 0 and (i + step <= m - least or i - edge < least):
            edge, done = keep_runs(items, i, least, step, edge, done, measure, room)
            loss = join(kept, (hope - edge + least - 1) // step * len(span), ahead, span, measure)
        else:  # or no other is made of what it would keep
            loss = begin(items[i - 1], measure, span)
            for j in range(i - 2, hope - 1, -1):
                if items[j] != items[j + 1]:
                    loss = widen(loss, items[j], measure, span)
        begin_group(asked, apart, scratch.counts)
        counted, reach = i, i  # the group has items[counted:i]; none that begins after `reach` has enough persons
        for j in range(hope, last - 1, -1):
            if j < i - least and items[j] != items[j + 1]:
                loss = widen(loss, items[j], measure, span)
            # The loss only grows: where no run that is not looked at yet would lose less than the best, none will.
            hope = min(hope, j)
            while hope >= last and (total[hope] >= NEVER or total[hope] + loss * (i - hope) >= best):
                hope -= 1
            if hope < last:
                break
            if total[j] >= NEVER:
                continue
            value = total[j] + loss * (i - j)
            if value < best:
                held = False
                if j <= reach:
                    held, reach = held_from(items, j, counted, i, asked, apart, scratch.counts, scratch.extra)
                    counted = j
                if not held:
                    value = np.int64(NEVER) if penalty < 0 else value + penalty * (i - j)
            if value < best:
                best, where = value, j
        total[i], back[i] = best, where
    return total[m]


@kernel
def cut_all(items, least, most, penalty, measure, asked, apart, scratch, labels):
    """Return labels of all records by their place on the line; gives the number of classes and the loss."""
    m = len(items)
    total, back = integers(m + 1), small_integers(m + 1)
    span, ahead, kept = spans(least, measure.codes.shape[1])
    room = PathArrays(span, ahead, kept, total, back)
    loss = cut(items, m, least, most, penalty, measure, asked, apart, scratch, room)
    end, made = m, 0
    while end > 0:
        labels[back[end] : end] = made
        end = back[end]
        made += 1
    return made, loss
