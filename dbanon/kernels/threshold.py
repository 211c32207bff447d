"""Clusters that grow by the record that is the best of loss and diversity, until the loss exceeds a threshold.

An item is the records of one tuple with the same sensitive values, its kind; items are sorted by kind, then by tuple.
What records lose on arrival changes only when the cluster widens, and diversity is the same for all items of a kind: so
each kind has one candidate, which is looked for anew when the cluster widens or the candidate has no more records.
"""

from __future__ import annotations

import math

import numpy as np

from dbanon.kernels.fill import ask_few, lost_with
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.loss import begin, widen
from dbanon.kernels.nearest import bring

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
    """Looks for the next candidate of a kind whose last one has no more records; gives how many items were looked at.
    `least`: no item loses less, and what comes before one that loses no more loses more."""
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
def threshold_steps(
    state, most, threshold, weight, whole, order, item_of, ends, first, rows, place, tuples, kinds, values, begins,
    left, number_of, codes, terms, data, codes_of, span, counts, logs, sums, candidates, labels,
):  # fmt: skip
    """Makes clusters until all records are in one, or about `most` items were looked at; gives how many were.

    state: next of the records in `order`, clusters that were begun, records in the last one (0: it is complete), what a
    record loses in it. weight: of diversity against loss, 0 to 1; whole: all that a record can lose. By item: where
    its records end in `rows`, of which the last ones are left (`place` is where each record is), its first record, its
    tuple, its kind, and how many are left. values (columns, kinds); number_of: different values by column. counts
    (columns, values) and logs (columns, 1), the sum of c log c, are those of the last cluster; sums (items,) and
    candidates (kinds,) what `_candidate` has found for it.
    """
    levels, columns = len(terms), len(values)
    table, before, steps = np.empty(codes_of[levels], np.int64), np.empty((levels, 2), np.int64), np.int64(0)
    while steps < most and (state[2] > 0 or state[0] < len(order)):
        if state[2] == 0:
            row = order[state[0]]
            state[0] += 1
            if labels[row] >= 0:
                continue
            item = item_of[row]
            bring(row, ends[item] - left[item], rows, place)
            state[1] += 1
            counts[:] = 0
            logs[:] = 0
            state[3] = begin(tuples[item], codes, span, terms, data)
            looks = True
        else:
            item, best = np.int64(-1), 0.0
            for kind in range(len(candidates)):
                found = candidates[kind]
                if found < 0:
                    continue
                missing = np.int64(0)
                for s in range(columns):
                    missing += _missing(counts[s], values[s, kind], state[2] + 1, logs[s], number_of[s])
                score = (1.0 - weight) * sums[found] + weight * whole * (missing / (PARTS * columns))
                if item >= 0 and (score > best or (score == best and sums[found] > sums[item])):
                    continue
                if item < 0 or score < best or sums[found] < sums[item] or first[found] < first[item]:
                    item, best = found, score
            steps += len(candidates)
            if item < 0 or sums[item] > threshold:
                state[2] = 0
                continue
            looks = sums[item] > state[3]
            if looks:
                state[3] = widen(state[3], tuples[item], codes, span, terms, data)
        labels[rows[ends[item] - left[item]]] = state[1] - 1
        left[item] -= 1
        state[2] += 1
        for s in range(columns):
            value = values[s, kinds[item]]
            logs[s, 0] += _each(counts[s, value] + 1) - _each(counts[s, value])
            counts[s, value] += 1
        if looks:
            before[:] = -1
            ask_few(span, before, codes_of, terms, data, table)
            candidates[:] = -1
            for i in range(len(left)):
                if left[i] == 0:
                    continue
                total = lost_with(tuples[i], codes, span, codes_of, terms, data, table)
                sums[i] = total
                best_of = candidates[kinds[i]]
                if best_of < 0 or total < sums[best_of]:
                    candidates[kinds[i]] = i
            steps += len(left)
        elif left[item] == 0:
            steps += _candidate(kinds[item], begins, left, sums, state[3], candidates)
    return steps
