"""Whether a group of records meets the whole privacy model, whatever it counts.

What a model asks comes in two forms, `asked` and `apart`, of which one is None at least; what is None is not
compiled, and where both are, only the number of records counts.

`asked` is (k, values, rules): k records and the models of `rules` (see `dbanon.kernels.models`) over `values` (columns,
items). `apart` is (k, rules, pairs, people): distinct persons count, or a column is judged within equal values of the
others. Then an item is a record, `pairs` is (id (columns, items), part and value by id) with an id for each combination
of part, value and person, and `people` (id (columns + 1, items), part by id) one for each of part and person; -1 where
the person is unknown. The last row of `people` has the whole group as the part.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.models import meets, meets_column
from dbanon.kernels.room import integers
from dbanon.kernels.sorting import sort_values


@part
def holds(items, first, end, asked, apart, counts, extra):
    """Whether the records items[first:end] are a group that meets the model; counts and extra are scratch. Where the
    number of records is all that counts, it is for the caller to count them."""
    if asked is not None:
        k, values, rules = asked
        if end - first < k:
            return False
        at = rules[0]
        counts[:] = 0
        for i in range(first, end):
            for s in range(len(values)):
                counts[at[s] + values[s, items[i]]] += 1
        return meets(counts, end - first, rules, extra)
    if apart is not None:
        return _holds_apart(items, first, end, apart, counts, extra)
    return True


@part
def _holds_apart(items, first, end, apart, counts, extra):
    k, rules, pairs, people = apart
    columns = len(pairs[0])
    ids = integers(end - first)
    if _distinct(items, first, end, people[0][columns], ids) < k:
        return False
    persons = integers(end - first)
    at = rules[0]
    for s in range(columns):
        known = _distinct(items, first, end, pairs[0][s], ids)
        bodies = _distinct(items, first, end, people[0][s], persons)
        i, body = 0, 0
        while i < known:
            part = pairs[1][ids[i]]
            counts[:] = 0
            total = 0
            while i < known and pairs[1][ids[i]] == part:
                counts[at[s] + pairs[2][ids[i]]] += 1
                total += 1
                i += 1
            size = 0
            while body < bodies and people[1][persons[body]] == part:
                size += 1
                body += 1
            if not meets_column(s, counts, size, total, rules, extra):
                return False
    return True


@part
def _distinct(items, first, end, of, ids):
    """Distinct ids of some items but -1, ascending, in `ids`; gives their number."""
    n = np.int64(0)
    for i in range(first, end):
        if of[items[i]] >= 0:
            ids[n] = of[items[i]]
            n += 1
    sort_values(ids, n)
    kept = 0
    for i in range(n):
        if i == 0 or ids[i] != ids[i - 1]:
            ids[kept] = ids[i]
            kept += 1
    return kept
