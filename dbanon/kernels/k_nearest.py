"""The nearest of many: those of the least distances, ties to the first, in a heap whose first is the farthest."""

import numpy as np

from dbanon.kernels.heap import pop, push
from dbanon.kernels.jit import part
from dbanon.kernels.loss import begin, lost
from dbanon.kernels.min_loss_assignment import MANY, NEVER, ask


@part
def distances(item, measure, question):
    """Begins a question for the distances to an item, what two lose together and 0 where they are equal: the item's
    span, and tables of attributes of few values. `codes_of`: where the codes of an attribute begin."""
    begin(item, measure, question.span)
    for a in range(len(measure.terms)):
        if measure.terms[a, 1] <= MANY:
            ask(a, question.codes_of, question.span, measure, question.table)
            question.table[question.codes_of[a] + measure.codes[item, a]] = 0


@part
def keep(item, away, size, items, far):
    """Put an item at a distance into a heap of as many as `items` can hold; return how many it has.

    Items ascend from call to call.
    """
    if size == len(items):
        if away >= far[0]:
            return size
        pop(far, items, size)
        size -= 1
    push(far, items, size, away, item)
    return size + 1


@part
def look(other, alive, number, left, tuples, measure, question, items, far):
    """Puts those of `alive` that have records left and are nearest to the one that was asked about into a heap; gives
    how many are alive, which are then the first ones, and how many are in the heap."""
    size, kept, most = np.int64(0), np.int64(0), np.int64(NEVER)
    for i in range(number):
        item = alive[i]
        if left[item] == 0:
            continue
        alive[kept] = item
        kept += 1
        t, total = tuples[item], np.int64(0)
        for a in range(len(measure.terms)):
            code, own = np.int64(measure.codes[t, a]), np.int64(measure.codes[other, a])
            if measure.terms[a, 1] <= MANY:
                total += question.table[question.codes_of[a] + code]
            elif code != own and measure.terms[a, 0] == 0 and code < measure.terms[a, 1] and own < measure.terms[a, 1]:
                total += (
                    measure.data[measure.terms[a, 5] + max(code, own)]
                    - measure.data[measure.terms[a, 4] + min(code, own)]
                )
            elif code != own:
                total += lost(a, min(code, question.span[a, 0]), max(code, question.span[a, 1]), measure)
            if total >= most:
                break
        if total < most:
            size = keep(item, total, size, items, far)
            if size == len(items):
                most = far[0]
    return kept, size


@part
def ascending(size, items, far):
    """Sort a heap, the nearest first; it is none any more."""
    for last in range(size - 1, 0, -1):
        item, away = items[0], far[0]
        pop(far, items, last + 1)
        items[last], far[last] = item, away


@part
def bring(row, to, rows, place):
    """Change places with the record at `to`; `place` is where each record is in `rows`."""
    place[rows[to]], rows[place[row]] = place[row], rows[to]
    place[row], rows[to] = to, row
