"""Whether a group of records meets the whole privacy model, whatever it counts.

What a model asks comes in two forms, `asked` and `apart`, of which one is None at least; what is None is not
compiled, and where both are, only the number of records counts.

`asked` is (k, values, rules): k records and the models of `rules` (see `dbanon.kernels.model_gathering`) over `values`
(columns, items). `apart` is (k, rules, pairs, people, seen): distinct persons count, or a column is judged within equal
values of the others. Then an item is a record, `pairs` is (id (columns, items), part and value by id) with an id for
each combination of part, value and person, and `people` (id (columns + 1, items), part by id) one for each of part and
person; -1 where the person is unknown. The last row of `people` has the whole group as the part. `seen` is scratch for
counting a group that grows (see `add_to_group`).
"""

import numpy as np

from dbanon.kernels.allocate import integers
from dbanon.kernels.jit import part
from dbanon.kernels.model_gathering import meets, meets_column
from dbanon.kernels.sorting import sort_values


@part
def holds(items, first, end, asked, apart, counts, extra):
    """Return whether the records items[first:end] are a group that meets the model; counts and extra are scratch.

    Where the number of records is all that counts, it is for the caller to count them.
    """
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
    k, rules, pairs, people, _ = apart
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
    """Return distinct ids of some items but -1, ascending, in `ids`; gives their number."""
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


# --- a group that grows ----------------------------------------------------------------------------------

STAMP, PERSONS, FAILED, CHANGED, FIRST = 0, 1, 2, 3, 4
"""Places in the first array of `seen`, `marks`: the number of the group; its persons; its parts that miss the model;
its parts that changed since they were judged; from FIRST on, the group in which each id of `people`, and then each id
of `pairs`, was last counted."""

LAST_GROUP, SIZE, TOTAL, HAS_FAILED, IS_CHANGED, QUEUE = 0, 1, 2, 3, 4, 5
"""Columns of the third array, `parts`, with a row for each part of each column: the group it was last counted in, its
persons and their values there, and whether it misses the model; QUEUE has the changed parts of all rows."""


@part
def begin_group(asked, apart, counts):
    """Start counting a group without records. O(values)."""
    if asked is not None:
        counts[:] = 0
    if apart is not None:
        marks = apart[4][0]
        marks[STAMP] += 1
        marks[PERSONS], marks[FAILED], marks[CHANGED] = 0, 0, 0


@part
def add_to_group(items, first, end, asked, apart, counts):
    """Count the records items[first:end]. O(records * columns); a part's first record O(values) more."""
    if asked is not None:
        values, at = asked[1], asked[2][0]
        for i in range(first, end):
            for s in range(len(values)):
                counts[at[s] + values[s, items[i]]] += 1
    if apart is not None:
        marks, bodies = apart[4][0], apart[3][0]
        stamp, columns, n_persons = marks[STAMP], len(bodies) - 1, marks[PERSONS]
        for i in range(first, end):
            person = bodies[columns, items[i]]
            if person >= 0 and marks[FIRST + person] != stamp:
                marks[FIRST + person] = stamp
                n_persons += 1
        marks[PERSONS] = n_persons
        if len(apart[4][1]) > 0:
            for s in range(columns):
                _add_to_parts(s, items, first, end, apart[1][0][s], apart[2], apart[3], apart[4])


@part
def _add_to_parts(s, items, first, end, at, pairs, people, seen):
    """Count records in the parts of a column that they are in, but for a value that a person has there already."""
    marks, tallies, parts, first_part = seen
    pair_of, value_of, body_of, part_of = pairs[0], pairs[2], people[0], people[1]
    stamp, n_changed, row_of_first, pair_marks = marks[STAMP], marks[CHANGED], first_part[s], FIRST + len(part_of)
    for i in range(first, end):
        pair = pair_of[s, items[i]]
        if pair < 0 or marks[pair_marks + pair] == stamp:
            continue
        marks[pair_marks + pair] = stamp
        body = body_of[s, items[i]]
        row = row_of_first + part_of[body]
        if parts[row, LAST_GROUP] != stamp:
            parts[row, LAST_GROUP] = stamp
            parts[row, SIZE], parts[row, TOTAL], parts[row, HAS_FAILED], parts[row, IS_CHANGED] = 0, 0, 0, 0
            tallies[row, :] = 0
        if marks[FIRST + body] != stamp:
            marks[FIRST + body] = stamp
            parts[row, SIZE] += 1
        parts[row, TOTAL] += 1
        tallies[row, at + value_of[pair]] += 1
        if parts[row, IS_CHANGED] == 0:
            parts[row, IS_CHANGED] = 1
            parts[n_changed, QUEUE] = row
            n_changed += 1
    marks[CHANGED] = n_changed


@part
def group_holds(items, first, end, asked, apart, counts, extra):
    """Return whether the counted group, which has the records items[first:end], meets the model, as `holds` says.

    O(values) for each part that changed since it was asked last.
    """
    if asked is not None:
        return end - first >= asked[0] and meets(counts, end - first, asked[2], extra)
    if apart is not None:
        marks, tallies, parts, first_part = apart[4]
        columns = len(apart[2][0])
        if marks[PERSONS] < apart[0]:
            return False
        if columns > 0 and len(tallies) == 0:  # there is no room for a row for each part
            return _holds_apart(items, first, end, apart, counts, extra)
        for i in range(marks[CHANGED]):
            row, s = parts[i, QUEUE], 0
            while row >= first_part[s + 1]:
                s += 1
            has_failed = 0 if meets_column(s, tallies[row], parts[row, SIZE], parts[row, TOTAL], apart[1], extra) else 1
            marks[FAILED] += has_failed - parts[row, HAS_FAILED]
            parts[row, HAS_FAILED], parts[row, IS_CHANGED] = has_failed, 0
        marks[CHANGED] = 0
        return marks[FAILED] == 0
    return True


@part
def held_from(items, first, counted, end, asked, apart, counts, extra):
    """Count items[first:counted], after which the group has items[first:end]; gives whether that holds, and the last
    place before `first` from which a group to `end` can hold: a record adds one person at most."""
    add_to_group(items, first, counted, asked, apart, counts)
    reach = first
    if apart is not None:
        reach = first - max(apart[0] - apart[4][0][PERSONS], 0)
    return group_holds(items, first, end, asked, apart, counts, extra), reach
