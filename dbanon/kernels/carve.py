"""Carving a class that meets the model out of a set of records such that the rest meets it too."""

from __future__ import annotations

import numpy as np

from dbanon.kernels.groups import holds
from dbanon.kernels.jit import kernel
from dbanon.kernels.loss import begin, widen
from dbanon.kernels.models import may_join
from dbanon.kernels.path import NEVER


@kernel
def carve(records, m, goal, other, codes, terms, data, asked, counts, extra, low, high):
    """Takes the first `goal` of records[:m] that can make a class together to the front, the others behind them in
    their order; gives the loss of both, or NEVER where either misses the model. `other` is scratch."""
    mode, values, rules = asked[0], asked[2], asked[3]
    at = rules[0]
    distinct = np.zeros(len(values), np.int64)
    counts[:] = 0
    taken, left = 0, 0
    for i in range(m):
        item = records[i]
        joins = taken < goal
        if joins and mode == 1:
            joins = may_join(item, values, counts, taken, goal, rules, distinct, extra)
        if joins:
            for s in range(len(values)):
                v = at[s] + values[s, item]
                if counts[v] == 0 and v < at[s + 1] - 1:
                    distinct[s] += 1
                counts[v] += 1
            records[taken] = item
            taken += 1
        else:
            other[left] = item
            left += 1
    records[taken:m] = other[:left]
    if taken < goal:
        return NEVER
    if not holds(records, 0, taken, asked, counts, extra) or not holds(records, taken, m, asked, counts, extra):
        return NEVER
    return run_loss(records, 0, taken, codes, terms, data, low, high) + run_loss(
        records, taken, m, codes, terms, data, low, high
    )


@kernel
def run_loss(records, first, end, codes, terms, data, low, high):
    """Summed loss of the records of a class."""
    loss = begin(records[first], codes, low, high, terms, data)
    for i in range(first + 1, end):
        if records[i] != records[i - 1]:
            loss = widen(loss, records[i], codes, low, high, terms, data)
    return loss * (end - first)
