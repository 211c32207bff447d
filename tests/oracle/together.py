"""Rows that readers cannot distinguish among rows that share pseudonyms, by every overlay of two components.

Nothing is shared with the package. A row is a label, its number of records, and a pseudonym or None in each column.
Slow: for components of a few rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations

Row = tuple[str, int, tuple[str | None, ...]]


def components(rows: Sequence[Row]) -> list[list[Row]]:
    """Return the components: rows that share pseudonyms, directly or through other rows."""
    values: list[list[Row]] = []
    for row in rows:
        touched = [c for c in values if any(set(row[2]) & set(other[2]) - {None} for other in c)]
        values = [c for c in values if c not in touched] + [[row, *(r for c in touched for r in c)]]
    return values


def pseudonym_overlays(one: Sequence[Row], other: Sequence[Row]) -> Iterator[dict[Row, Row]]:
    """Yield every renaming of the pseudonyms of `one` such that its rows are those of `other`, as pairs of rows."""
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
    """Return for each row all rows that a reader can only distinguish from it by the pseudonyms themselves."""
    parts = components(rows)
    values_by_row: dict[Row, set[Row]] = {row: set() for row in rows}
    for one in parts:
        for other in parts:
            for pairs in pseudonym_overlays(one, other):
                for a, b in pairs.items():
                    values_by_row[a].add(b)
    return values_by_row
