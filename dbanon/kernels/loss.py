"""The loss of a class on one attribute, from its least and greatest code.

`terms` (attributes, 8) says of each attribute: kind; number of values, which is the code of NULL; all that can be lost;
what NULL alone loses; and where in `data` its arrays begin. Kind 0 is a number: places of its published lower ends and
upper ends by code. Kind 1 has a loss for every pair of codes, NULL among them. Kind 2 is a hierarchy that is climbed:
node by code; parent, depth and height by node.
"""

from __future__ import annotations

from dbanon.kernels.jit import part


@part
def lost(a, low, high, terms, data):
    """What a record loses on attribute `a` in a class of the codes low to high."""
    if terms[a, 0] == 1:
        return data[terms[a, 4] + low * (terms[a, 1] + 1) + high]
    if high == terms[a, 1]:
        return terms[a, 3] if low == high else terms[a, 2]
    if terms[a, 0] == 0:
        return data[terms[a, 5] + high] - data[terms[a, 4] + low]
    x, y = data[terms[a, 4] + low], data[terms[a, 4] + high]
    while x != y:
        if data[terms[a, 6] + x] >= data[terms[a, 6] + y]:
            x = data[terms[a, 5] + x]
        else:
            y = data[terms[a, 5] + y]
    return data[terms[a, 7] + x]


@part
def begin(item, codes, low, high, terms, data):
    """Makes low and high the codes of one item; gives its loss."""
    total = 0
    for a in range(len(low)):
        low[a] = high[a] = codes[item, a]
        total += lost(a, low[a], high[a], terms, data)
    return total


@part
def widen(loss, item, codes, low, high, terms, data):
    """Lets an item in between low and high; gives the loss, which was `loss` before."""
    for a in range(len(low)):
        code = codes[item, a]
        if code < low[a]:
            loss -= lost(a, low[a], high[a], terms, data)
            low[a] = code
            loss += lost(a, low[a], high[a], terms, data)
        elif code > high[a]:
            loss -= lost(a, low[a], high[a], terms, data)
            high[a] = code
            loss += lost(a, low[a], high[a], terms, data)
    return loss
