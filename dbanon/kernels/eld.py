"""Growing clusters by the record that costs least, until they are large and diverse enough: `dbanon.kernels.greedy`
with another end."""

import numpy as np

from dbanon.kernels.greedy import ask_next, begin_state, inside, join
from dbanon.kernels.index_tree import add_counts
from dbanon.kernels.jit import kernel, part
from dbanon.kernels.tree_search import put_members


@part
def _fewer(counts, least):
    """Return whether fewer different values than asked for have records, in any column.

    The last code of a column is NULL.
    """
    for s in range(len(least)):
        different = 0
        for value in range(counts.shape[1]):
            if counts[s, value] > 0:
                different += 1
        if different < least[s]:
            return True
    return False


@kernel
def eld_steps(index, terms, flat, ask, k, records, reference, first, steps, members):
    """Makes up to `steps` clusters: the record farthest from `reference`, which it becomes (the `first`: the reference
    itself), and those that cost least, until there are k and, in every sensitive column, its different values.

    records: `DiverseRecords`; members: see `gather_steps`; clusters end where they might not fit. Gives rows used, the
    last seed, and whether to come again.
    """
    tree, few, axis, axis_codes = index
    least, codes, starts, counts, left_of = records
    left, leaf_left, levels, tuples = tree[2], tree[3], len(few[1]), len(starts)
    state, changed = np.empty((max(levels, 1), 2), np.int64), np.empty(max(levels, 1), np.int64)
    one, number = np.empty(2, np.int64), np.ones(2, np.int64)
    found, taken = np.empty(tuples, np.int64), np.empty(tuples, np.int64)
    place = np.full(tuples, -1, np.int64)
    held_of = np.zeros(left_of.shape, np.int64)
    used, made = 0, 0
    while made < steps and used + tuples + 1 <= len(members):
        if left[0] < k or _fewer(left_of, least):
            return used, reference, False
        if not first:
            begin_state(reference, few, axis, axis_codes, terms, state, ask)
            changed[:] = 1
            reference = ask_next(np.int64(-1), index, terms, flat, ask, state, changed, one, number)
        seed, first = reference, False
        begin_state(seed, few, axis, axis_codes, terms, state, ask)
        changed[:] = 1
        held_of[:] = 0
        held, size, most = np.int64(0), 0, np.int64(1)
        now = seed
        complete = False
        while True:
            count = np.int64(0)
            while count < most and not complete:
                row = starts[now] + counts[now] - leaf_left[now] + count
                for s in range(len(codes)):
                    if codes[s, row] >= 0:
                        held_of[s, codes[s, row]] += 1
                        left_of[s, codes[s, row]] -= 1
                count += 1
                complete = held + count >= k and not _fewer(held_of, least)
            one[0], number[0] = now, -count
            add_counts(tree, few, one[:1], number[:1])
            held += count
            if place[now] < 0:
                place[now], found[size], taken[size] = size, now, 0
                size += 1
            taken[place[now]] += count
            if complete:  # at the latest with all that is left, which is large and diverse enough
                break
            join(now, few, axis, axis_codes, terms, state, ask, changed)
            now = ask_next(np.int64(1), index, terms, flat, ask, state, changed, one, number)
            most = leaf_left[now] if inside(now, few, axis, axis_codes, terms, state, ask) else np.int64(1)
        for i in range(size):
            place[found[i]] = -1
        used = put_members(found, taken, size, members, used)
        made += 1
    return used, reference, True
