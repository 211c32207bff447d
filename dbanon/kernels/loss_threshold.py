"""Clusters that grow by the record that is the best of loss and diversity, until the loss exceeds a threshold.

An item is the records of one tuple with the same sensitive values, its kind; items are sorted by kind, then by tuple.
What records lose on arrival changes only when the cluster widens, and diversity is the same for all items of a kind: so
each kind has one candidate, which is looked for anew when the cluster widens or the candidate has no more records.
"""

import math

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.k_nearest import bring
from dbanon.kernels.loss import begin, widen
from dbanon.kernels.min_loss_assignment import ask_few, lost_with

PARTS = 10**9
"""Diversity is counted in whole parts of its greatest, so that no machine's logarithm decides, and sums are exact."""


@part
def _missing(counts, value, size, logs, most):
    """What the diversity of a cluster of so many records lacks, in PARTS, once one of this value joined."""
    parts = min(size, most)
    if parts < 2:
        return np.int64(PARTS)
    now = counts[value]
    entropy = math.log(size) - (logs[0] - _each(now) + _each(now + 1)) / size
    return np.int64(PARTS) - np.int64(math.floor(min(max(entropy / math.log(parts), 0.0), 1.0) * PARTS + 0.5))


@part
def _each(number):
    return number * math.log(number) if number > 1 else 0.0


@part
def _candidate(kind, begins, left, sums, least, candidates):
    """Look for the next candidate of a kind whose last one has no more records; return how many items were looked at.

    `least`: no item loses less, and what comes before one that loses no more loses more.
    """
    start, best = begins[kind], candidates[kind]
    if sums[best] == least:
        for item in range(best + 1, begins[kind + 1]):
            if left[item] > 0 and sums[item] == least:
                candidates[kind] = item
                return item - best
    found = np.int64(-1)
    for item in range(start, begins[kind + 1]):
        if left[item] > 0 and (found < 0 or sums[item] < sums[found]):
            found = np.int64(item)
    candidates[kind] = found
    return begins[kind + 1] - start


@kernel
def threshold_steps(state, most, options, items, measure, codes_of, growth, labels):
    """Make clusters until all records are in one, or about `most` items were looked at; return how many were.

    state: next of the records in `order`, clusters that were begun, records in the last one (0: it is complete), what a
    record loses in it.
    """
    threshold, weight, whole = options
    span, counts, logs, sums, candidates = growth
    levels, columns = len(measure.terms), len(items.values)
    table, before, steps = np.empty(codes_of[levels], np.int64), np.empty((levels, 2), np.int64), np.int64(0)
    while steps < most and (state[2] > 0 or state[0] < len(items.order)):
        if state[2] == 0:
            row = items.order[state[0]]
            state[0] += 1
            if labels[row] >= 0:
                continue
            item = items.item_of[row]
            bring(row, items.ends[item] - items.left[item], items.rows, items.place)
            state[1] += 1
            counts[:] = 0
            logs[:] = 0
            state[3] = begin(items.tuples[item], measure, span)
            looks = True
        else:
            item, best = np.int64(-1), 0.0
            for kind in range(len(candidates)):
                found = candidates[kind]
                if found < 0:
                    continue
                missing = np.int64(0)
                for s in range(columns):
                    missing += _missing(counts[s], items.values[s, kind], state[2] + 1, logs[s], items.number_of[s])
                score = (1.0 - weight) * sums[found] + weight * whole * (missing / (PARTS * columns))
                if item >= 0 and (score > best or (score == best and sums[found] > sums[item])):
                    continue
                if item < 0 or score < best or sums[found] < sums[item] or items.first[found] < items.first[item]:
                    item, best = found, score
            steps += len(candidates)
            if item < 0 or sums[item] > threshold:
                state[2] = 0
                continue
            looks = sums[item] > state[3]
            if looks:
                state[3] = widen(state[3], items.tuples[item], measure, span)
        labels[items.rows[items.ends[item] - items.left[item]]] = state[1] - 1
        items.left[item] -= 1
        state[2] += 1
        for s in range(columns):
            value = items.values[s, items.kinds[item]]
            logs[s, 0] += _each(counts[s, value] + 1) - _each(counts[s, value])
            counts[s, value] += 1
        if looks:
            before[:] = -1
            ask_few(span, before, codes_of, measure, table)
            candidates[:] = -1
            for i in range(len(items.left)):
                if items.left[i] == 0:
                    continue
                total = lost_with(items.tuples[i], measure, span, codes_of, table)
                sums[i] = total
                best_of = candidates[items.kinds[i]]
                if best_of < 0 or total < sums[best_of]:
                    candidates[items.kinds[i]] = i
            steps += len(items.left)
        elif items.left[item] == 0:
            steps += _candidate(items.kinds[item], items.begins, items.left, sums, state[3], candidates)
    return steps
