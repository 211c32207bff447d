"""Rows that share pseudonyms of several columns: which of them a reader cannot tell apart by how they hang together.

A reader sees for each row a label (its class, or what it publishes), how many records it is, and a pseudonym or none
in each column. Rows that share any pseudonym belong together, and so do those that share one with these: a component.
Of two rows in different components the reader knows no difference if one component is the other with other pseudonyms,
row for row; the same goes for two pseudonyms.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

MOST_ROWS = 500
"""Rows of a component that are compared with others; those of a greater one count as unlike all others."""


@dataclass(frozen=True)
class Row:
    """What a reader sees of some records: a label, how many they are, and their pseudonym in each column, if any."""

    label: str
    size: int
    links: tuple[str | None, ...]


def alike(rows: Sequence[Row]) -> list[list[int]]:
    """Of each row the numbers of what it is a part of: itself, each of its pseudonyms, and the component.

    Two parts have one number only if a reader who does not know whose pseudonyms these are cannot tell them apart:
    their components are the same but for the pseudonyms, and they have the same place in these. The converse does not
    hold: parts that could change places within one component have two numbers, and parts of components that look alike
    from everywhere may have. Each row has a pseudonym, and no two are the same.

    O(n log n) for rows in small components; one of m rows that look alike takes O(m^2).
    """
    found: list[list[int]] = [[] for _ in rows]
    numbers: dict[Hashable, int] = {}
    colours: dict[Hashable, int] = {}
    for place, component in enumerate(_components(rows)):
        if len(component) > MOST_ROWS:
            for i in component:
                shared = dict.fromkeys(link for link in rows[i].links if link is not None)
                large: list[Hashable] = [("large row", i), *(("large link", n) for n in shared), ("large", place)]
                found[i] = [numbers.setdefault(part, len(numbers)) for part in large]
            continue
        ordered = _ordered([rows[i] for i in component], colours)
        named: dict[str, int] = {}
        written = []
        for at in ordered:
            row = rows[component[at]]
            written.append(
                (row.label, row.size, tuple(None if n is None else named.setdefault(n, len(named)) for n in row.links))
            )
        whole = numbers.setdefault(("component", tuple(written)), len(numbers))
        for line, at in enumerate(ordered):
            nodes = dict.fromkeys(n for n in written[line][2] if n is not None)
            parts: list[Hashable] = [("row", whole, line), *(("link", whole, n) for n in nodes)]
            found[component[at]] = [*(numbers.setdefault(part, len(numbers)) for part in parts), whole]
    return found


def _components(rows: Sequence[Row]) -> list[list[int]]:
    """Return the rows of each component, in the order of their first rows."""
    first: dict[str, int] = {}
    above = list(range(len(rows)))

    def top(i: int) -> int:
        while above[i] != i:
            above[i] = above[above[i]]
            i = above[i]
        return i

    for i, row in enumerate(rows):
        for link in row.links:
            if link is not None:
                one, other = top(first.setdefault(link, i)), top(i)
                above[max(one, other)] = min(one, other)
    found: dict[int, list[int]] = {}
    for i in range(len(rows)):
        found.setdefault(top(i), []).append(i)
    return list(found.values())


def _ordered(rows: Sequence[Row], colours: dict[Hashable, int]) -> list[int]:
    """Return the rows of a component in an order that hardly ever depends on the pseudonyms themselves.

    Rows and pseudonyms are coloured by what they are next to, again and again, until no colour splits any more; of rows
    that look alike then one is set apart, and so on. `colours` numbers colours alike in all components. That an order
    depends on the choice of that one makes components look different that are not, and never the other way round.
    """
    seen = [colours.setdefault(("start", r.label, r.size, *_shape(r)), len(colours)) for r in rows]
    seen = _refined(rows, seen, colours)
    while len(many := Counter(seen)) < len(rows):
        shared = min(c for c, n in many.items() if n > 1)
        seen[seen.index(shared)] = colours.setdefault(("apart", shared), len(colours))
        seen = _refined(rows, seen, colours)
    return sorted(range(len(rows)), key=seen.__getitem__)


def _shape(row: Row) -> tuple[int | None, ...]:
    """Which links of a row are missing, and which are the same."""
    return tuple(None if link is None else row.links.index(link) for link in row.links)


def _refined(rows: Sequence[Row], seen: list[int], colours: dict[Hashable, int]) -> list[int]:
    """Return colours of the rows that no colour of what they share a pseudonym with tells further apart."""
    while True:
        around: dict[str, list[tuple[int, int]]] = {}
        for row, colour in zip(rows, seen, strict=True):
            for column, link in enumerate(row.links):
                if link is not None:
                    around.setdefault(link, []).append((column, colour))
        nodes = {n: colours.setdefault(("node", *sorted(of)), len(colours)) for n, of in around.items()}
        after = [
            colours.setdefault(("row", c, *(None if n is None else nodes[n] for n in row.links)), len(colours))
            for row, c in zip(rows, seen, strict=True)
        ]
        if len(set(after)) == len(set(seen)):
            return after
        seen = after
