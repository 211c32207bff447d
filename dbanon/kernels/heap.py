"""A bounded heap of the least sums, with the worst on top: the greatest sum, ties by the last tuple."""

from dbanon.kernels.jit import kernel_part


@kernel_part
def push(sums, tuples, size, sum_, tuple_):
    """Put a tuple with its sum into a heap of `size` entries, in place; the caller counts the new size.

    Args:
        sums: The sums in the heap, the greatest first; updated in place.
        tuples: The tuples of these sums; updated in place.
        size: Number of entries of the heap.
        sum_: Sum of the new tuple.
        tuple_: The new tuple.
    """
    i = size
    while i > 0:
        up = (i - 1) // 2
        if sums[up] > sum_ or (sums[up] == sum_ and tuples[up] > tuple_):
            break
        sums[i], tuples[i] = sums[up], tuples[up]
        i = up
    sums[i], tuples[i] = sum_, tuple_


@kernel_part
def pop(sums, tuples, size):
    """Remove the top (the greatest sum, ties: the last tuple) of a heap of `size` entries; return nothing.

    Args:
        sums: The sums in the heap, the greatest first; updated in place.
        tuples: The tuples of these sums; updated in place.
        size: Number of entries before.
    """
    sum_, tuple_ = sums[size - 1], tuples[size - 1]
    i = 0
    while True:
        down = 2 * i + 1
        if down >= size - 1:
            break
        other = down + 1
        if other < size - 1 and (
            sums[other] > sums[down] or (sums[other] == sums[down] and tuples[other] > tuples[down])
        ):
            down = other
        if sum_ > sums[down] or (sum_ == sums[down] and tuple_ > tuples[down]):
            break
        sums[i], tuples[i] = sums[down], tuples[down]
        i = down
    sums[i], tuples[i] = sum_, tuple_


@kernel_part
def push_and_trim(sums, tuples, size, n_held, sum_, tuple_, n_remaining, wanted):
    """Push a tuple, then pop the top while the other tuples have `wanted` records; return heap size and record count.

    Args:
        sums: The sums in the heap, changed in place.
        tuples: The tuples in the heap, changed in place.
        size: Number of tuples in the heap.
        n_held: Records of the tuples in the heap.
        sum_: Sum of the new tuple.
        tuple_: The new tuple.
        n_remaining: Remaining records by tuple.
        wanted: Number of records that are searched for.
    """
    push(sums, tuples, size, sum_, tuple_)
    size += 1
    n_held += n_remaining[tuple_]
    while size > 1 and n_held - n_remaining[tuples[0]] >= wanted:
        n_held -= n_remaining[tuples[0]]
        pop(sums, tuples, size)
        size -= 1
    return size, n_held


@kernel_part
def push_bounded(sums, tuples, size, capacity, sum_, tuple_):
    """Push a tuple into a heap of at most `capacity` entries, of which the top is dropped; return the new heap size.

    Args:
        sums: The sums in the heap, changed in place.
        tuples: The tuples in the heap, changed in place.
        size: Number of tuples in the heap.
        capacity: Greatest number of tuples.
        sum_: Sum of the new tuple.
        tuple_: The new tuple.
    """
    if size == capacity:
        if sum_ > sums[0] or (sum_ == sums[0] and tuple_ > tuples[0]):
            return size
        pop(sums, tuples, size)
        size -= 1
    push(sums, tuples, size, sum_, tuple_)
    return size + 1


@kernel_part
def sort_heap(sums, tuples, size):
    """Sort the first `size` entries, in place, from a heap into ascending order of sum, then of tuple.

    Args:
        sums: The sums in the heap.
        tuples: The tuples of these sums.
        size: Number of entries.
    """
    for last in range(size - 1, 0, -1):
        sum_, tuple_ = sums[0], tuples[0]
        pop(sums, tuples, last + 1)
        sums[last], tuples[last] = sum_, tuple_


@kernel_part
def take_members(seed, heap_tuples, size, surplus, n_remaining, members, n_rows):
    """Append a record of tuple `seed` and the records of the tuples in a heap to `members`, as one cluster.

    The records of the heap no longer remain. Returns the number of rows of `members` used then.

    Args:
        seed: The tuple of the cluster's first record.
        heap_tuples: Tuples of the entries.
        size: Number of entries.
        surplus: Records of the first tuple of the heap that do not belong to the cluster.
        n_remaining: Remaining records by tuple; updated in place.
        members: Output: rows (tuple, number of records); a row of -1 ends a cluster.
        n_rows: Number of rows of `members` that are used already.
    """
    members[n_rows, 0], members[n_rows, 1] = seed, 1
    for i in range(size):
        t = heap_tuples[i]
        count = n_remaining[t] - (surplus if i == 0 else 0)
        members[n_rows + 1 + i, 0], members[n_rows + 1 + i, 1] = t, count
        n_remaining[t] -= count
    members[n_rows + 1 + size, 0] = -1
    return n_rows + size + 2
