"""Rows that share pseudonyms of several columns: rows count as equal only if some overlay makes them equal."""

from __future__ import annotations

import random

import pytest
from oracle import together as oracle

from dbanon.gate import linked_patterns


def random_components(r: random.Random, n_components: int = 7, columns: int = 2) -> list[oracle.Row]:
    """Return components of a few rows, many of which are similar to others."""
    rows: list[oracle.Row] = []
    shapes = [
        [
            (
                r.choice("ab"),
                r.choice([1, 1, 2]),
                tuple(r.choice([None, *range(3)]) if c else r.randrange(2) for c in range(columns)),
            )
            for _ in range(r.randrange(1, 5))
        ]
        for _ in range(3)
    ]
    for copy in range(n_components):
        for label, size, links in r.choice(shapes):
            rows.append((label, size, tuple(None if n is None else f"{copy}-{c}-{n}" for c, n in enumerate(links))))
    unique = {(label, links): (label, size, links) for label, size, links in rows}
    values = list(unique.values())
    r.shuffle(values)
    return values


def pattern_numbers(rows: list[oracle.Row]) -> list[list[int]]:
    return linked_patterns.pattern_numbers([linked_patterns.LinkedRow(*row) for row in rows])


@pytest.mark.parametrize("seed", range(200))
def test_rows_of_equal_number_match_in_every_overlay(seed: int) -> None:
    r = random.Random(seed)
    rows = random_components(r, columns=r.choice([1, 2, 3]))
    actual_numbers, expected = pattern_numbers(rows), oracle.equal_rows(rows)
    same = 0
    for i, row in enumerate(rows):
        for j, other in enumerate(rows):
            if actual_numbers[i][0] == actual_numbers[j][0]:
                assert other in expected[row]
                same += 1
            assert (actual_numbers[i][-1] == actual_numbers[j][-1]) <= any(other in expected[a] for a in rows)
        # Only positions that could be exchanged within a component are lost.
        component = next(c for c in oracle.components(rows) if row in c)
        assert len({actual_numbers[rows.index(a)][-1] for a in component}) == 1
        laid = {rows.index(b) for a in component for b in expected[a]}
        assert {actual_numbers[j][-1] for j in laid} == {actual_numbers[i][-1]}
    assert same > len(rows)


def test_renamed_and_shuffled_components_are_equal() -> None:
    r = random.Random(3)
    rows = random_components(r, 12, 3)
    renamed = [(label, size, tuple(p and p[::-1] + "x" for p in links)) for label, size, links in rows]
    both = rows + renamed
    r.shuffle(both)
    mapping = dict(zip(both, pattern_numbers(both), strict=True))
    for row, other in zip(rows, renamed, strict=True):
        assert mapping[row][-1] == mapping[other][-1]


def test_components_distinguished_beyond_row_classes() -> None:
    """Two persons of a household: one twice in a and one in b, or one in a and b and one in a. Classes are equal."""
    one = [("a", 1, ("h1", "p1", "v1")), ("a", 1, ("h1", "p1", "v2")), ("b", 1, ("h1", "p2", "v3"))]
    other = [("a", 1, ("h2", "p3", "v4")), ("b", 1, ("h2", "p3", "v5")), ("a", 1, ("h2", "p4", "v6"))]
    actual_numbers = pattern_numbers([*one, *other])
    assert actual_numbers[0][-1] != actual_numbers[3][-1]
    assert not {n for parts in actual_numbers[:3] for n in parts} & {n for parts in actual_numbers[3:] for n in parts}


def test_components_distinguished_by_the_column_whose_pseudonym_they_share() -> None:
    """Two rows of one patient in two households, and two rows of two patients in one household."""
    rows: list[oracle.Row] = [("a", 1, ("p", "x")), ("a", 1, ("p", "y")), ("a", 1, ("q", "z")), ("a", 1, ("r", "z"))]
    numbers = pattern_numbers(rows)
    assert not {n for row in numbers[:2] for n in row} & {n for row in numbers[2:] for n in row}


def test_oversized_components_compared_as_distinct(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [("a", 1, (f"p{i}", f"v{i}-{j}")) for i in range(2) for j in range(6)]
    full_numbers = pattern_numbers(rows)
    assert len({parts[-1] for parts in full_numbers}) == 1
    monkeypatch.setattr(linked_patterns, "MAX_COMPARED_ROWS", 5)
    assert len({n for parts in pattern_numbers(rows) for n in parts}) == 12 + 2 + 12 + 2


def test_component_of_120_similar_rows_is_ordered() -> None:
    rows = [("a", 1, (f"p{i}", f"v{i}-{j}")) for i in range(2) for j in range(120)]
    actual_numbers = pattern_numbers(rows)
    assert {parts[-1] for parts in actual_numbers[:120]} == {parts[-1] for parts in actual_numbers[120:]}
    assert len({parts[0] for parts in actual_numbers}) == 120
