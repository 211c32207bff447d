"""Records that join, one after another, the cluster whose whole loss grows least; and clusters that look for such
records. All clusters, or all records, are looked at; what costs as much as the best already is looked at no further.

`spans` (clusters, attributes, 4): see `dbanon.kernels.loss`; `sizes` and `losses` (clusters,): records, and what each
of them loses. The whole loss of a cluster is the one times the other.
"""

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.loss import begin, lost, widen

NEVER = 2**62


@part
def grown(loss, size, item, measure, span, most):
    """By how much the whole loss of a cluster grows with an item; NEVER once that is `most` or more."""
    least = most + size * loss
    now = loss
    for a in range(len(span)):
        code = np.int64(measure.codes[item, a])
        if span[a, 0] <= code <= span[a, 1]:
            continue
        before = span[a, 2]
        if measure.terms[a, 0] > 0 and before == measure.terms[a, 2]:
            continue  # of a hierarchy all is lost
        if measure.terms[a, 0] == 2 and code < measure.terms[a, 1] and span[a, 1] < measure.terms[a, 1]:
            nodes, node = measure.terms[a, 5], span[a, 3]
            while code < measure.data[nodes + 4 * node + 1] or code >= measure.data[nodes + 4 * node + 2]:
                node = measure.data[nodes + 4 * node]
            now += measure.data[nodes + 4 * node + 3] - before
        else:
            now += lost(a, min(code, span[a, 0]), max(code, span[a, 1]), measure) - before
        if (size + 1) * now >= least:
            return NEVER
    if (size + 1) * now >= least:
        return NEVER
    return (size + 1) * now - size * loss


@kernel
def fill_steps(first, most, items, cap, measure, spans, sizes, losses, labels):
    """Each item, from `first` on, joins the cluster of fewer than `cap` records whose whole loss grows least (ties: the
    first), until none has fewer or `most` clusters were looked at; gives the next item, and how many were."""
    open_, number = np.empty(len(sizes), np.int64), 0
    for c in range(len(sizes)):
        if sizes[c] < cap:
            open_[number] = c
            number += 1
    steps, i, chosen = np.int64(0), first, 0
    while i < len(items) and number > 0 and steps < most:
        # What the cluster of the item before costs, which is often like it, is a bound to begin with.
        item, c = items[i], open_[min(chosen, number - 1)]
        best = grown(losses[c], sizes[c], item, measure, spans[c], np.int64(NEVER)) + 1
        for o in range(number):
            c = open_[o]
            growth = grown(losses[c], sizes[c], item, measure, spans[c], best)
            if growth < best:
                best, chosen = growth, o
        c = open_[chosen]
        losses[c] = widen(losses[c], item, measure, spans[c])
        sizes[c] += 1
        labels[i] = c
        steps += number
        i += 1
        if sizes[c] >= cap:
            for o in range(chosen, number - 1):
                open_[o] = open_[o + 1]
            number -= 1
    return i, steps


@part
def ask(a, codes_of, span, measure, table):
    """Fill what each code loses on an attribute with a cluster; `codes_of`: where the attribute's begin in `table`."""
    values = measure.terms[a, 1]
    for code in range(values + 1):
        if span[a, 0] <= code <= span[a, 1]:
            table[codes_of[a] + code] = span[a, 2]
        else:
            low, high = min(np.int64(code), span[a, 0]), max(np.int64(code), span[a, 1])
            table[codes_of[a] + code] = lost(a, low, high, measure)


MANY = 1024
"""What is lost on attributes of more values is computed for each item: a table for all of these would take longer."""


@part
def ask_few(span, before, codes_of, measure, table):
    """Fill the tables of attributes of few values on which a cluster is wider than it was `before` (attributes, 2)."""
    for a in range(len(span)):
        if span[a, 0] != before[a, 0] or span[a, 1] != before[a, 1]:
            before[a, 0], before[a, 1] = span[a, 0], span[a, 1]
            if measure.terms[a, 1] <= MANY:
                ask(a, codes_of, span, measure, table)


@part
def lost_with(item, measure, span, codes_of, table):
    """What a record loses in a cluster with an item, by such tables."""
    total = np.int64(0)
    for a in range(len(span)):
        code = np.int64(measure.codes[item, a])
        if measure.terms[a, 1] <= MANY:
            total += table[codes_of[a] + code]
        elif span[a, 0] <= code <= span[a, 1]:
            total += span[a, 2]
        else:
            total += lost(a, min(code, span[a, 0]), max(code, span[a, 1]), measure)
    return total


@part
def remaining(left):
    """Return the items that have records left, and how many they are; there is room for all."""
    alive, number = np.empty(len(left), np.int64), np.int64(0)
    for item in range(len(left)):
        if left[item] > 0:
            alive[number] = item
            number += 1
    return alive, number


@kernel
def adaptive_steps(seeds, state, most, k, measure, left, codes_of, members):
    """Makes up to `most` clusters, a seed (a tuple) and the records with which the whole loss grows least: k records,
    and as many more as let it grow by no more than records did on average so far.

    state: next seed, records left, additions so far, by how much they let losses grow together (a float, as it only
    says when to end). A seed that is taken makes none. `codes_of`: see `ask`. members: tuple and count of each, every
    cluster ending with a row of -1. Gives rows used, and how many tuples were looked at.
    """
    levels = len(measure.terms)
    span, before = np.empty((levels, 4), np.int64), np.empty((levels, 2), np.int64)
    table = np.empty(codes_of[levels], np.int64)
    used, made, steps = 0, 0, np.int64(0)
    alive, number = remaining(left)
    while state[0] < len(seeds) and state[1] >= k and made < most:
        seed = seeds[int(state[0])]
        state[0] += 1
        if left[seed] == 0:
            continue
        left[seed] -= 1
        state[1] -= 1
        loss, size = begin(seed, measure, span), np.int64(1)
        before[:] = -1
        members[used, 0], members[used, 1] = seed, 1
        used += 1
        while state[1] > 0:
            for a in range(levels):
                if span[a, 0] != before[a, 0] or span[a, 1] != before[a, 1]:
                    before[a, 0], before[a, 1] = span[a, 0], span[a, 1]
                    ask(a, codes_of, span, measure, table)
            best, chosen, kept = np.int64(NEVER), np.int64(-1), np.int64(0)
            for o in range(number):
                t = alive[o]
                if left[t] == 0:
                    continue
                alive[kept] = t
                kept += 1
                total = np.int64(0)
                for a in range(levels):
                    total += table[codes_of[a] + measure.codes[t, a]]
                if total < best:
                    best, chosen = total, t
            number = kept
            steps += number
            growth = (size + 1) * best - size * loss
            if size >= k and growth * state[2] > state[3]:
                break
            left[chosen] -= 1
            state[1] -= 1
            state[2] += 1
            state[3] += growth
            loss = widen(loss, chosen, measure, span)
            size += 1
            members[used, 0], members[used, 1] = chosen, 1
            used += 1
        members[used, 0] = -1
        used += 1
        made += 1
    return used, steps


@kernel
def take(items, labels, measure, spans, sizes, losses):
    """Each cluster takes the items that have its label, -1 for none; one of no records begins with the first."""
    for i in range(len(items)):
        c = labels[i]
        if c < 0:
            continue
        if sizes[c] == 0:
            losses[c] = begin(items[i], measure, spans[c])
        else:
            losses[c] = widen(losses[c], items[i], measure, spans[c])
        sizes[c] += 1
