"""Sorting in place (Shell 1959): short to compile, and enough for what a class holds."""

from dbanon.kernels.jit import kernel_part


@kernel_part
def sort_values(values, n):
    """Sort values[:n] in place, ascending."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            value = values[i]
            j = i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3


@kernel_part
def sort_entries(places, tuple_ids, counts, n):
    """Sort n entries in place by `places`, then by `tuple_ids`; `counts` are moved with them.

    Args:
        places: The first sort key; updated in place.
        tuple_ids: The second sort key; updated in place.
        counts: Numbers that are moved with the keys.
        n: Number of entries.
    """
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            place, tuple_id, count = places[i], tuple_ids[i], counts[i]
            j = i
            while j >= gap and (
                places[j - gap] > place or (places[j - gap] == place and tuple_ids[j - gap] > tuple_id)
            ):
                places[j], tuple_ids[j], counts[j] = places[j - gap], tuple_ids[j - gap], counts[j - gap]
                j -= gap
            places[j], tuple_ids[j], counts[j] = place, tuple_id, count
        gap //= 3
