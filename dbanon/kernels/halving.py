"""Ranges of tuples, for halving them along the axis on which they lie farthest apart."""

from dbanon.kernels.jit import kernel_part


@kernel_part
def extent(order, begin, end, matrix, axis):
    """Return the least and the greatest value on an axis of the tuples order[begin:end]; `matrix` is (tuples, axes).

    Args:
        order: Numbers of tuples.
        begin, end: The range is order[begin:end].
        matrix: (tuples, axes) codes or coordinates.
        axis: Number of the axis.
    """
    low = high = matrix[order[begin], axis]
    for i in range(begin + 1, end):
        low, high = min(low, matrix[order[i], axis]), max(high, matrix[order[i], axis])
    return low, high


@kernel_part
def partition_at(order, begin, end, middle, matrix, axis):
    """Permute order[begin:end] so that no tuple before `middle` has a greater value on the axis than one after it.

    This is a quickselect; the two parts are not sorted.

    Args:
        order: Numbers of tuples; updated in place.
        begin, end: The range is order[begin:end].
        middle: The place in `order` where the second part begins.
        matrix: (tuples, axes) codes or coordinates.
        axis: Number of the axis.
    """
    low, high = begin, end - 1
    while low < high:
        # The median of three, so that ranges that are in order already are halved.
        a, b, c = matrix[order[low], axis], matrix[order[(low + high) // 2], axis], matrix[order[high], axis]
        if a > b:
            a, b = b, a
        pivot = a if c < a else b if c > b else c
        i, j = low, high
        while i <= j:
            while matrix[order[i], axis] < pivot:
                i += 1
            while matrix[order[j], axis] > pivot:
                j -= 1
            if i <= j:
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return
