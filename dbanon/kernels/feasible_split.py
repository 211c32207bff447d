"""Carving a class that meets the model out of a set of records such that the rest meets it too."""

import numpy as np

from dbanon.kernels.allocate import zeros
from dbanon.kernels.jit import part
from dbanon.kernels.loss import begin, widen
from dbanon.kernels.model_check import holds
from dbanon.kernels.model_gathering import may_join
from dbanon.kernels.optimal_cut import NEVER


@part
def carve(records, m, goal, other, measure, asked, apart, scratch, span):
    """Takes the first `goal` of records[:m] that can make a class together to the front, the others behind them in
    their order; gives the loss of both, or NEVER where either misses the model. `other` is scratch."""
    columns = 0
    if asked is not None:
        columns = len(asked[1])
    distinct = zeros(columns)
    scratch.counts[:] = 0
    taken, left = np.int64(0), np.int64(0)
    for i in range(m):
        item = records[i]
        joins = taken < goal
        if asked is not None:
            values, rules = asked[1], asked[2]
            joins = joins and may_join(item, values, scratch.counts, taken, goal, rules, distinct, scratch.extra)
            if joins:
                at = rules[0]
                for s in range(columns):
                    v = at[s] + values[s, item]
                    if scratch.counts[v] == 0 and v < at[s + 1] - 1:
                        distinct[s] += 1
                    scratch.counts[v] += 1
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
        if not holds(records, first, end, asked, apart, scratch.counts, scratch.extra):
            return NEVER
    loss = class_loss(records, front, taken, measure, span) * taken
    return loss + class_loss(records, taken, m, measure, span) * (m - taken)


@part
def class_loss(items, first, end, measure, span):
    """What a record loses in a class of the items items[first:end], of which equal ones are together."""
    loss = begin(items[first], measure, span)
    for i in range(first + 1, end):
        if items[i] != items[i - 1]:
            loss = widen(loss, items[i], measure, span)
    return loss
