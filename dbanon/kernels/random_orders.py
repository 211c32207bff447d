"""Random lines: orders of tuples in which neighbours are similar.

`lines` is (ranks, rank_at): several orders of each hierarchy's codes, and where those of an attribute begin. `state` is
the state of the random numbers (xorshift64*, Vigna 2016).
"""

import numpy as np

from dbanon.kernels.arrays import KIND, N_VALUES, NUMBER
from dbanon.kernels.jit import kernel_part


@kernel_part
def random_below(n, state):
    """Return a random integer from 0 to n - 1, and advance `state` (xorshift64*, Vigna 2016).

    Args:
        n: A positive number.
        state: (1,) uint64 state of the random numbers, which is advanced.
    """
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.int64(((x * np.uint64(2685821657736338717)) >> np.uint64(33)) % np.uint64(n))


@kernel_part
def draw_random_line(line, terms, lines, state):
    """Draw a random line, an order of tuples, into `line`: attributes by priority, and for each an order of its codes.

    line[:, 0] are the attributes, the first matters most; line[:, 1] which order of codes each has; line[:, 2] by how
    many bits it is coarsened.

    Args:
        line: Output: (attributes, 3).
        terms: `LossArrays.terms`.
        lines: Several orders of each hierarchy's codes, and where those of an attribute begin.
        state: The state of the random numbers, which is advanced.
    """
    d = len(line)
    for i in range(d):
        line[i, 0] = i
    for i in range(d - 1, 0, -1):
        j = random_below(i + 1, state)
        line[i, 0], line[j, 0] = line[j, 0], line[i, 0]
    for i in range(d):
        line[i, 1] = random_below(len(lines[0]), state)
        bits = 0
        while (terms[line[i, 0], N_VALUES] >> bits) > 2:
            bits += 1
        line[i, 2] = random_below(bits + 1, state) if i < d - 1 and random_below(np.int64(2), state) == 0 else 0


@kernel_part
def line_position(line, tuple_id, codes, terms, lines):
    """Return the position of a tuple on a line, a number by which tuples are sorted (see `draw_random_line`).

    Attributes that do not fit in 62 bits are ignored.

    Args:
        line: (attributes, 3): attribute, which order of its codes is used, and by how many bits codes are coarsened.
        tuple_id: Number of the tuple.
        codes: (tuples, attributes) codes.
        terms: `LossArrays.terms`.
        lines: Several orders of each hierarchy's codes, and where those of an attribute begin.
    """
    place, capacity = np.int64(0), np.int64(2**62)
    for i in range(len(line)):
        a, order, bits = line[i, 0], line[i, 1], line[i, 2]
        code, count = np.int64(codes[tuple_id, a]), terms[a, N_VALUES]
        if code < count:
            if terms[a, KIND] != NUMBER:
                code = np.int64(lines[0][order, lines[1][a] + code])
            elif order % 2 == 1:
                code = count - 1 - code
        size = (count >> bits) + 1
        capacity //= size
        if capacity == 0:
            break
        place = place * size + (code >> bits)
    return place
