"""The best classes along a line: records in a fixed order are cut where the whole loss is least.

For one number in ascending order this is the exact univariate microaggregation of Hansen and Mukherjee (2003); for
tuples in an order it is its multivariate form (Domingo-Ferrer et al. 2006), here with the loss of
generalization.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.groups import holds
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.loss import begin, join, widen
from dbanon.kernels.models import meets
from dbanon.kernels.room import integers, small_integers, table

NEVER = 2**63 - 1
"""No cut is possible. All losses together are below 2^62, and as much again where each record costs the penalty."""


PLACES = 64
"""Least number of places among which the end of a run is chosen."""

MANY = 8
"""From so many records on a run is joined of two that are kept; fewer are as soon looked at one by one."""


@part
def spans(least, d):
    """Room for the classes that `cut` keeps."""
    return table((min(least, 2 * PLACES) + 2) * d, np.int64(4))


@part
def keep_runs(items, i, least, step, edge, done, codes, span, kept, terms, data):
    """Keeps classes that end or begin at an edge, of which those of any `least` records with the edge among them are
    joined, as far as they end at i or a multiple of `step` later. kept has d rows for each: items[edge:done], then
    those up to the edge that begin at edge + 1 - least and at every step-th item after it. Gives the edge, and `done`,
    for a run that ends before i."""
    d = codes.shape[1]
    if i - edge > least:
        edge = done = i - 1
        low = i - least
        for j in range(edge - 1, low - 1, -1):
            if j == edge - 1:
                begin(items[j], codes, span, terms, data)
            elif items[j] != items[j + 1]:
                widen(np.int64(0), items[j], codes, span, terms, data)
            if (j - low) % step == 0:
                at = ((j - low) // step + 1) * d
                for a in range(d):
                    for c in range(4):
                        kept[at + a, c] = span[a, c]
    while done < i:
        if done == edge:
            begin(items[done], codes, kept[:d], terms, data)
        elif items[done] != items[done - 1]:
            widen(np.int64(0), items[done], codes, kept[:d], terms, data)
        done += 1
    return edge, done


@part
def run_to(items, first, i, codes, span, terms, data):
    """Makes the class of items[first:i]; gives its loss."""
    loss = begin(items[i - 1], codes, span, terms, data)
    for j in range(i - 2, first - 1, -1):
        if items[j] != items[j + 1]:
            loss = widen(loss, items[j], codes, span, terms, data)
    return loss


@part
def cut(items, m, least, most, penalty, codes, terms, data, asked, apart, counts, extra, span, total, back):
    """Cuts items[:m] (one a record) into runs of `least` to `most` records that meet the model with the least loss.

    total[i] is the least loss of the first i records, back[i] where the last of their runs begins. A run that misses
    the model costs `penalty` a record more; below 0 it is not allowed, and then the answer may be NEVER. From a least
    of 2 * PLACES on, runs end only at every (least // PLACES)-th record. `span` is room (see `spans`). O(m * min(most,
    PLACES * most / least) * attributes) time.
    """
    step = max(least // PLACES, 1)
    for i in range(min(least, m + 1)):
        total[i] = NEVER
    total[0] = 0
    loss, d, edge, done = np.int64(0), codes.shape[1], np.int64(-least), np.int64(0)
    kept, span = span[codes.shape[1] :], span[: codes.shape[1]]
    # Up to 2 * least - 1 records make one run.
    for i in range(min(2 * least, m + 1) - 1):
        if i == 0:
            loss = begin(items[0], codes, span, terms, data)
        elif items[i] != items[i - 1]:
            loss = widen(loss, items[i], codes, span, terms, data)
        if i + 1 >= least:
            value = loss * (i + 1)
            if not holds(items, np.int64(0), i + 1, asked, apart, counts, extra):
                value = np.int64(NEVER) if penalty < 0 else value + penalty * (i + 1)
            total[i + 1], back[i + 1] = value, 0
    for i in range(2 * least, m + 1):
        total[i] = NEVER
        if i < m and (i > m - least or i % step > 0):
            continue  # too few would be left, or no place to cut
        best, where, hope, last = np.int64(NEVER), -1, i - least, max(i - most, 0)
        if least >= MANY and i % step == 0 and (i + step <= m - least or i - edge <= least):
            edge, done = keep_runs(items, i, least, step, edge, done, codes, span, kept, terms, data)
            row = 0 if hope == edge else ((hope - edge + least - 1) // step + 1) * d
            loss = join(kept[row : row + d], kept[:d], span, terms, data)
        else:  # or no other is made of what it would keep
            loss = run_to(items, hope, i, codes, span, terms, data)
        if asked is not None:
            counts[:] = 0
            for j in range(hope + 1, i):
                for s in range(len(asked[1])):
                    counts[asked[2][0][s] + asked[1][s, items[j]]] += 1
        for j in range(hope, last - 1, -1):
            if j < i - least and items[j] != items[j + 1]:
                loss = widen(loss, items[j], codes, span, terms, data)
            # The loss only grows: where no run that is not looked at yet would lose less than the best, none will.
            hope = min(hope, j)
            while hope >= last and (total[hope] >= NEVER or total[hope] + loss * (i - hope) >= best):
                hope -= 1
            if hope < last:
                break
            if asked is not None:
                at, values = asked[2][0], asked[1]
                for s in range(len(values)):
                    counts[at[s] + values[s, items[j]]] += 1
            if total[j] >= NEVER:
                continue
            value = total[j] + loss * (i - j)
            if value < best:
                held = True
                if asked is not None:
                    held = meets(counts, i - j, asked[2], extra)
                if apart is not None:
                    held = holds(items, j, i, asked, apart, counts, extra)
                if not held:
                    value = np.int64(NEVER) if penalty < 0 else value + penalty * (i - j)
            if value < best:
                best, where = value, j
        total[i], back[i] = best, where
    return total[m]


@kernel
def cut_all(items, least, most, penalty, codes, terms, data, asked, apart, counts, extra, labels):
    """Labels of all records by their place on the line; gives the number of classes and the loss."""
    m = len(items)
    total, back = integers(m + 1), small_integers(m + 1)
    span = spans(least, codes.shape[1])
    loss = cut(items, m, least, most, penalty, codes, terms, data, asked, apart, counts, extra, span, total, back)
    end, made = m, 0
    while end > 0:
        labels[back[end] : end] = made
        end = back[end]
        made += 1
    return made, loss
