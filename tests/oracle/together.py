"""What readers see of rows that share pseudonyms, by trying every way to lay one component over another.

Nothing is shared with the package. A row is a label, how many records it is, and a pseudonym or None in each column.
Slow: for components of a few rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

Row = tuple[str, int, tuple[str | None, ...]]


def components(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows that share pseudonyms, directly or by way of others."""
    values: list[list[Row]] = []
    for row in rows:
        touched = [c for c in values if any(set(row[2]) & set(other[2]) - {None} for other in c)]
        values = [c for c in values if c not in touched] + [[row, *(r for c in touched for r in c)]]
    return values


def laid_over(one: Sequence[Row], other: Sequence[Row]) -> Iterator[dict[Row, Row]]:
    """Every way to give the pseudonyms of `one` other names such that its rows are those of `insensitive`."""
    if sorted(r[:2] for r in one) != sorted(r[:2] for r in other):
        return
    for order in permutations(other):
        names: dict[str, str] = {}
        pairs = list(zip(one, order, strict=True))
        if (
            all(a[:2] == b[:2] for a, b in pairs)
            and all(
                (p is None) == (q is None) and (p is None or q is None or names.setdefault(p, q) == q)
                for a, b in pairs
                for p, q in zip(a[2], b[2], strict=True)
            )
            and len(set(names.values())) == len(names)
        ):
            yield dict(pairs)


def equal_rows(rows: Sequence[Row]) -> dict[Row, set[Row]]:
    """Of each row all rows that a reader cannot tell from it but by the pseudonyms themselves."""
    parts = components(rows)
    values_by_row: dict[Row, set[Row]] = {row: set() for row in rows}
    for one in parts:
        for other in parts:
            for pairs in laid_over(one, other):
                for a, b in pairs.items():
                    values_by_row[a].add(b)
    return values_by_row
