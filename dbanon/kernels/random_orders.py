"""Random lines: orders of items in which neighbours are alike.

`lines` is (ranks, rank_at): several orders of each hierarchy's codes, and where an attribute's begin. `state` is the
state of the random numbers (xorshift64*, Vigna 2016).
"""

import numpy as np

from dbanon.kernels.jit import part
from dbanon.kernels.loss import lost


@part
def below(n, state):
    """Return a random number from 0 to n - 1."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.int64(((x * np.uint64(2685821657736338717)) >> np.uint64(33)) % np.uint64(n))


@part
def draw_line(line, terms, lines, state):
    """A random line: line[:, 0] are the attributes, the first matters most; line[:, 1] which order of codes each has;
    line[:, 2] by how many bits it is coarsened."""
    d = len(line)
    for i in range(d):
        line[i, 0] = i
    for i in range(d - 1, 0, -1):
        j = below(i + 1, state)
        line[i, 0], line[j, 0] = line[j, 0], line[i, 0]
    for i in range(d):
        line[i, 1] = below(len(lines[0]), state)
        bits = 0
        while (terms[line[i, 0], 1] >> bits) > 2:
            bits += 1
        line[i, 2] = below(bits + 1, state) if i < d - 1 and below(np.int64(2), state) == 0 else 0


@part
def place_on(line, item, codes, terms, lines):
    """Where an item is on a line. Attributes for which there is no room in 62 bits are left out."""
    ranks, rank_at = lines
    place, room = np.int64(0), np.int64(2**62)
    for i in range(len(line)):
        a, order, bits = line[i, 0], line[i, 1], line[i, 2]
        code, count = np.int64(codes[item, a]), terms[a, 1]
        if code < count:
            if terms[a, 0] > 0:
                code = np.int64(ranks[order, rank_at[a] + code])
            elif order % 2 == 1:
                code = count - 1 - code
        size = (count >> bits) + 1
        room //= size
        if room == 0:
            break
        place = place * size + (code >> bits)
    return place


@part
def far(item, center, measure):
    """Return the loss of a class of two items."""
    total = np.int64(0)
    for a in range(measure.codes.shape[1]):
        x, y = np.int64(measure.codes[item, a]), np.int64(measure.codes[center, a])
        total += lost(a, min(x, y), max(x, y), measure)
    return total
