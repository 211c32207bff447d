"""Related tables: people that a reader who knows all quasi-identifiers of a person cannot exclude.

Only published rows and the reader's knowledge are used. Texts are read by rules of this module alone.
"""

from __future__ import annotations

import calendar
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta

Row = tuple[object, ...]
Kind = str | Mapping[str, Sequence[str]]
"""The kind of a column: 'number', 'date', or for categories the labels above each value."""


def people_by_published_rows(
    people: Mapping[int, Row], tables: Sequence[Mapping[int, Sequence[Row]]]
) -> Counter[object]:
    """Return the number of people with equal published rows in all tables, by these rows."""
    return Counter(
        (visited, *(_sorted(table.get(person, ())) for table in tables)) for person, visited in people.items()
    )


def candidates(
    known_rows: tuple[Row, Sequence[Sequence[Row]]],
    people: Mapping[int, Row],
    tables: Sequence[Mapping[int, Sequence[Row]]],
    kinds: Sequence[Sequence[Kind]],
) -> set[int]:
    """Return the pseudonyms that can be the person of a known row and all known rows of the other tables.

    The published cells cover the known ones, each published row a known row of its own.
    """
    own_part, rows = known_rows
    return {
        person
        for person, visited in people.items()
        if _covers_row(visited, own_part, kinds[0])
        and all(_fits(table.get(person, ()), rows[i], kinds[i + 1]) for i, table in enumerate(tables))
    }


def _sorted(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(sorted(rows, key=repr))


def _fits(published_rows: Sequence[Row], known_rows: Sequence[Row], kinds: Sequence[Kind]) -> bool:
    """Return whether the published rows can be matched to different known rows, by augmenting paths."""
    used: dict[int, int] = {}

    def place(position: int, visited: set[int]) -> bool:
        for i, row in enumerate(known_rows):
            if i not in visited and _covers_row(published_rows[position], row, kinds):
                visited.add(i)
                if i not in used or place(used[i], visited):
                    used[i] = position
                    return True
        return False

    return all(place(number, set()) for number in range(len(published_rows)))


def _covers_row(published_row: Row, known_row: Row, kinds: Sequence[Kind]) -> bool:
    return all(covers(p, v, kind) for p, v, kind in zip(published_row, known_row, kinds, strict=True))


def covers(published_value: object, value: object, kind: Kind) -> bool:
    """Return whether a published text covers a value."""
    if published_value == "*":
        return True
    if published_value is None or value is None:
        return published_value is None and value is None
    text = str(published_value)
    if not isinstance(kind, str):
        return text == value or text in kind[str(value)]
    low, high = text[1:-1].split(", ") if text.startswith("[") else (text, text)
    if kind == "number":
        return float(low) <= float(str(value)) <= float(high)
    assert isinstance(value, date)
    return _days(low)[0] <= value <= _days(high)[1]


def _days(text: str) -> tuple[date, date]:
    """Return the first and the last day of a day, a month or a year."""
    parts = [int(part) for part in text.split("-")]
    if len(parts) == 3:
        return date(*parts), date(*parts)
    if len(parts) == 2:
        year, month = parts
        return date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1])
    return date(parts[0], 1, 1), date(parts[0] + 1, 1, 1) - timedelta(days=1)


def best_guess(candidates: set[int], table: Mapping[int, Sequence[Row]], column: int) -> tuple[float, int] | None:
    """Return the largest share of candidates with the same sensitive value, and the number of values among them.

    None if nothing is published about any of them.
    """
    rows = {person: table.get(person, ()) for person in candidates}
    if not any(rows.values()):
        return None
    holders: Counter[object] = Counter()
    for own_value in rows.values():
        holders.update({row[column] for row in own_value if row[column] is not None})
    return max(holders.values(), default=0) / len(candidates), len(holders)
