"""Sorting in place (Shell 1959): short to compile, and enough for what a class holds."""

from dbanon.kernels.jit import part


@part
def sort_values(values, n):
    """Sort values[:n], ascending."""
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


@part
def sort_entries(places, items, counts, n):
    """Sort entries by place, then item."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            place, item, count = places[i], items[i], counts[i]
            j = i
            while j >= gap and (places[j - gap] > place or (places[j - gap] == place and items[j - gap] > item)):
                places[j], items[j], counts[j] = places[j - gap], items[j - gap], counts[j - gap]
                j -= gap
            places[j], items[j], counts[j] = place, item, count
        gap //= 3
