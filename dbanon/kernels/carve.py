"""Carving a class that meets the model out of a set of records such that the rest meets it too."""

from __future__ import annotations

import numpy as np

from dbanon.kernels.groups import holds
from dbanon.kernels.jit import part
from dbanon.kernels.loss import begin, widen
from dbanon.kernels.models import may_join
from dbanon.kernels.path import NEVER
from dbanon.kernels.room import zeros


@part
def carve(records, m, goal, other, codes, terms, data, asked, apart, counts, extra, span):
    """Takes the first `goal` of records[:m] that can make a class together to the front, the others behind them in
    their order; gives the loss of both, or NEVER where either misses the model. `other` is scratch."""
    columns = 0
    if asked is not None:
        columns = len(asked[1])
    distinct = zeros(columns)
    counts[:] = 0
    taken, left = np.int64(0), np.int64(0)
    for i in range(m):
        item = records[i]
        joins = taken < goal
        if asked is not None:
            values, rules = asked[1], asked[2]
            joins = joins and may_join(item, values, counts, taken, goal, rules, distinct, extra)
            if joins:
                at = rules[0]
                for s in range(columns):
                    v = at[s] + values[s, item]
                    if counts[v] == 0 and v < at[s + 1] - 1:
                        distinct[s] += 1
                    counts[v] += 1
        if joins:
            records[taken] = item
            taken += 1
        else:
            other[left] = item
            left += 1
    for i in range(left):
        records[taken + i] = other[i]
    if taken < goal:
        return NEVER
    front = np.int64(0)
    for first, end in ((front, taken), (taken, m)):
        if not holds(records, first, end, asked, apart, counts, extra):
            return NEVER
    return run_loss(records, front, taken, codes, terms, data, span) + run_loss(
        records, taken, m, codes, terms, data, span
    )


@part
def run_loss(records, first, end, codes, terms, data, span):
    """Summed loss of the records of a class."""
    loss = begin(records[first], codes, span, terms, data)
    for i in range(first + 1, end):
        if records[i] != records[i - 1]:
            loss = widen(loss, records[i], codes, span, terms, data)
    return loss * (end - first)
