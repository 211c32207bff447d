"""The least of many sums, in a heap with the worst on top: the greatest sum, then the last tuple."""

from dbanon.kernels.jit import part


@part
def push(sums, whose, size, total, place):
    """Put a tuple with its sum into a heap of `size`."""
    i = size
    while i > 0:
        up = (i - 1) // 2
        if sums[up] > total or (sums[up] == total and whose[up] > place):
            break
        sums[i], whose[i] = sums[up], whose[up]
        i = up
    sums[i], whose[i] = total, place


@part
def pop(sums, whose, size):
    """Remove the top of a heap of `size`."""
    total, place = sums[size - 1], whose[size - 1]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= size - 1:
            break
        other = down + 1
        if other < size - 1 and (
            sums[other] > sums[down] or (sums[other] == sums[down] and whose[other] > whose[down])
        ):
            down = other
        if total > sums[down] or (total == sums[down] and place > whose[down]):
            break
        sums[i], whose[i] = sums[down], whose[down]
        i = down
    sums[i], whose[i] = total, place


@part
def hold(sums, whose, size, held, total, place, left, wanted):
    """Puts a tuple into a heap of tuples with `held` records together, and removes the top while the others have
    `wanted`; gives the size, and how many records are held."""
    push(sums, whose, size, total, place)
    size += 1
    held += left[place]
    while size > 1 and held - left[whose[0]] >= wanted:
        held -= left[whose[0]]
        pop(sums, whose, size)
        size -= 1
    return size, held
