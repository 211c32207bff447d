"""Find rows that a reader cannot distinguish by the pattern of the pseudonyms they share.

A reader sees of each row a label (its class, or its published values), its number of records, and in each column a
pseudonym or none. Rows that share a pseudonym, directly or through other rows, form a component. Two rows (or two
pseudonyms) of different components are indistinguishable if renaming pseudonyms turns one component into the other and
the one row into the other.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

MAX_COMPARED_ROWS = 500
"""Maximum size of a component that is compared with others. Rows of a larger one count as unique."""


@dataclass(frozen=True)
class LinkedRow:
    """Some records with equal published values, as a reader sees them.

    Attributes:
        label: A text of the class of the records, or of their published values.
        size: The number of records.
        links: A pseudonym or None for each column of pseudonyms.
    """

    label: str
    size: int
    links: tuple[str | None, ...]


def pattern_numbers(rows: Sequence[LinkedRow]) -> list[list[int]]:
    """Return for each row a list of numbers: of the row itself, of each of its pseudonyms, and last of its component.

    A component is a set of rows that share pseudonyms, directly or through other rows. Two rows, pseudonyms or
    components have the same number only if a reader who does not know whose pseudonyms these are cannot distinguish
    them: their components are equal up to renamed pseudonyms, and their positions in these are equal. The converse does
    not hold: interchangeable parts of one component have two numbers, and so may parts of highly symmetric components.
    In components of more than MAX_COMPARED_ROWS rows, every part has a number of its own. Each row must have a
    pseudonym, and no two rows may be equal.

    O(n log n) for rows in small components; a component of m rows with equal colors takes O(m^2).
    """
    part_numbers: list[list[int]] = [[] for _ in rows]
    numbers: dict[Hashable, int] = {}
    color_ids: dict[Hashable, int] = {}
    for component_index, component in enumerate(_components(rows)):
        if len(component) > MAX_COMPARED_ROWS:
            for i in component:
                shared = dict.fromkeys(link for link in rows[i].links if link is not None)
                parts_of_large: list[Hashable] = [
                    ("large row", i),
                    *(("large link", n) for n in shared),
                    ("large", component_index),
                ]
                part_numbers[i] = [numbers.setdefault(part, len(numbers)) for part in parts_of_large]
            continue
        order = _canonical_order([rows[i] for i in component], color_ids)
        pseudonym_numbers: dict[str, int] = {}
        normalized_rows = []
        for row_index in order:
            row = rows[component[row_index]]
            normalized_rows.append(
                (
                    row.label,
                    row.size,
                    tuple(
                        None if n is None else pseudonym_numbers.setdefault(n, len(pseudonym_numbers))
                        for n in row.links
                    ),
                )
            )
        component_number = numbers.setdefault(("component", tuple(normalized_rows)), len(numbers))
        for position, row_index in enumerate(order):
            nodes = dict.fromkeys(n for n in normalized_rows[position][2] if n is not None)
            parts: list[Hashable] = [
                ("row", component_number, position),
                *(("link", component_number, n) for n in nodes),
            ]
            part_numbers[component[row_index]] = [
                *(numbers.setdefault(part, len(numbers)) for part in parts),
                component_number,
            ]
    return part_numbers


def _components(rows: Sequence[LinkedRow]) -> list[list[int]]:
    """Return the row numbers of each connected component: rows that share pseudonyms, directly or through other rows.

    Components are in the order of their first rows. Computed by union-find.
    """
    first_row: dict[str, int] = {}
    parent = list(range(len(rows)))

    def find_root(i: int) -> int:
        """Return the representative row of row `i`'s component, and shorten the path to it."""
        while parent[i] != i:
            parent[i] = parent[parent[i]]
            i = parent[i]
        return i

    for i, row in enumerate(rows):
        for link in row.links:
            if link is not None:
                root_a, root_b = find_root(first_row.setdefault(link, i)), find_root(i)
                parent[max(root_a, root_b)] = min(root_a, root_b)
    components: dict[int, list[int]] = {}
    for i in range(len(rows)):
        components.setdefault(find_root(i), []).append(i)
    return list(components.values())


def _canonical_order(rows: Sequence[LinkedRow], color_ids: dict[Hashable, int]) -> list[int]:
    """Return the indexes of a component's rows in an order that rarely depends on the pseudonyms themselves.

    Color refinement: rows and pseudonyms are colored by the colors of their neighbors until no color splits any more.
    If rows still have equal colors, one of them gets a new color, and refinement continues. The choice of that row can
    make equal components look different, but never different components look equal.

    Args:
        rows: The rows of the component.
        color_ids: The number of every color so far, over all components; new colors are added to it.
    """
    row_colors = [
        color_ids.setdefault(("start", r.label, r.size, *_missing_and_equal_links(r)), len(color_ids)) for r in rows
    ]
    row_colors = _refine_colors(rows, row_colors, color_ids)
    while len(color_counts := Counter(row_colors)) < len(rows):
        shared_color = min(c for c, n in color_counts.items() if n > 1)
        row_colors[row_colors.index(shared_color)] = color_ids.setdefault(("apart", shared_color), len(color_ids))
        row_colors = _refine_colors(rows, row_colors, color_ids)
    return sorted(range(len(rows)), key=row_colors.__getitem__)


def _missing_and_equal_links(row: LinkedRow) -> tuple[int | None, ...]:
    """Return for each pseudonym of a row the index of the first equal one in the row, or None if it is None."""
    return tuple(None if link is None else row.links.index(link) for link in row.links)


def _refine_colors(rows: Sequence[LinkedRow], row_colors: list[int], color_ids: dict[Hashable, int]) -> list[int]:
    """Return the stable colors of the rows: refined until the colors of neighbors split no color any more.

    Rows are neighbors of their pseudonyms.

    Args:
        rows: The rows.
        row_colors: The color of each row before.
        color_ids: The numbers of all colors; new ones are added to it.
    """
    while True:
        neighbors: dict[str, list[tuple[int, int]]] = {}
        for row, color in zip(rows, row_colors, strict=True):
            for column, link in enumerate(row.links):
                if link is not None:
                    neighbors.setdefault(link, []).append((column, color))
        pseudonym_colors = {
            n: color_ids.setdefault(("node", *sorted(neighbor_colors)), len(color_ids))
            for n, neighbor_colors in neighbors.items()
        }
        new_colors = [
            color_ids.setdefault(
                ("row", c, *(None if n is None else pseudonym_colors[n] for n in row.links)), len(color_ids)
            )
            for row, c in zip(rows, row_colors, strict=True)
        ]
        if len(set(new_colors)) == len(set(row_colors)):
            return new_colors
        row_colors = new_colors
