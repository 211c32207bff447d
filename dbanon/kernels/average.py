"""MDAV: clusters around the record farthest from the average record, and around the one farthest from that.

A term of the distance is given by `terms`: kind (0 category, 1 number) and unit by attribute, in the index's order;
where its values begin; for numbers the place of each value, scaled so that a difference of 1 costs a unit squared.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel
from dbanon.kernels.search import search, take_nearest


@kernel
def ask_place(j, place, code, offsets, terms, flat):
    """Fills the part of a question about one attribute: distance to a place, or to a code; NULL is as far as a unit."""
    kind, unit, value_at, place_of = terms[0], terms[1], terms[2], terms[3]
    begin, values = offsets[j], value_at[j + 1] - value_at[j]
    for i in range(values + 1):
        flat[begin + i] = 0 if i == code else unit[j]
    if kind[j] == 1 and code < values:
        for i in range(values):
            off = place_of[value_at[j] + i] - place
            flat[begin + i] = np.int64(np.rint(off * off * unit[j]))


@kernel
def ask_record(t, few, terms, flat):
    """The distance to a tuple."""
    codes, offsets, value_at, place_of = few[0], few[1], terms[2], terms[3]
    for j in range(codes.shape[1]):
        code = codes[t, j]
        place = place_of[value_at[j] + code] if code < value_at[j + 1] - value_at[j] else 0.0
        ask_place(j, place, code, offsets, terms, flat)


@kernel
def ask_average(few, terms, flat):
    """The distance to the average of what is left: the mean of a number, the most frequent value of a category."""
    offsets, present = few[1], few[2]
    kind, value_at, place_of = terms[0], terms[2], terms[3]
    for j in range(len(offsets)):
        begin, values = offsets[j], value_at[j + 1] - value_at[j]
        if kind[j] == 1:
            total, count = 0.0, np.int64(0)
            for i in range(values):
                total += present[begin + i] * place_of[value_at[j] + i]
                count += present[begin + i]
            if count > 0:
                ask_place(j, total / count, -1, offsets, terms, flat)
            else:
                ask_place(j, 0.0, values, offsets, terms, flat)
            continue
        most = 0
        for i in range(values + 1):
            if present[begin + i] > present[begin + most]:
                most = i
        ask_place(j, 0.0, most, offsets, terms, flat)


@kernel
def mdav_steps(tree, few, axis, terms, flat, ask, k, steps, members):
    """Makes up to `steps` clusters of k records while at least 2k are left, two a round while at least 3k are.

    members: see `gather_steps`. Gives rows used.
    """
    left = tree[2]
    one, number = np.empty(2, np.int64), np.ones(2, np.int64)
    found, taken = np.empty(k + 1, np.int64), np.empty(k + 1, np.int64)
    used, made = 0, 0
    while made < steps and left[0] >= 2 * k:
        pair = 2 if left[0] >= 3 * k else 1
        ask_average(few, terms, flat)
        for _ in range(pair):
            search(tree, few, axis, flat, ask, np.int64(-1), np.int64(1), one, number)
            seed = one[0]
            ask_record(seed, few, terms, flat)
            used = take_nearest(tree, few, axis, flat, ask, seed, np.int64(k - 1), found, taken, members, used)
            made += 1
    return used
