"""All partitions of a few records: the lower bound of every search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def partitions(records: Sequence[int], k: int) -> Iterator[list[list[int]]]:
    """Yield all partitions into groups of at least k."""
    if not records:
        yield []
        return
    first, *rest = records
    for mask in range(2 ** len(rest)):
        group = [first, *(r for i, r in enumerate(rest) if mask >> i & 1)]
        if len(group) >= k:
            others = [r for i, r in enumerate(rest) if not mask >> i & 1]
            yield from ([group, *extra_partition] for extra_partition in partitions(others, k))
