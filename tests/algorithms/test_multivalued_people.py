"""Clusters of people with several sensitive values each, compared with the definition."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dbanon import errors
from dbanon.algorithms import LinkedDiversity, LinkedValues, diversify_clusters, max_level_blocks
from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, NumericAttribute, encode_table

Rows = list[list[int | None]]
"""The values of each person in the order of the rows, None for NULL."""


def linked_diversity(min_values: int, *columns: Rows) -> LinkedDiversity:
    """Return the linked diversity of the columns, each in a table of its own."""
    stored_linked_values = []
    for table, rows in enumerate(columns):
        known_values = [[(position, v) for position, v in enumerate(own_row, 1) if v is not None] for own_row in rows]
        count = np.array([len(own_row) for own_row in known_values], np.int64)
        flat = np.array([pair for own_row in known_values for pair in own_row], np.int64).reshape(-1, 2)
        stored_linked_values.append(
            LinkedValues(f"column {table}", table, np.cumsum(count) - count, count, flat[:, 0], flat[:, 1])
        )
    sizes = np.array([[len(rows[i]) for rows in columns] for i in range(len(columns[0]))], np.int64)
    return LinkedDiversity(min_values, tuple(stored_linked_values), sizes)


def meets_definition(min_values: int, people: list[int], *columns: Rows) -> bool:
    """Return whether each column with published rows has at least l values, each of at most 1/l of the people."""
    for rows in columns:
        size = min(len(rows[p]) for p in people)
        stored_rows = [{v for v in rows[p][:size] if v is not None} for p in people]
        values = set().union(*stored_rows)
        if size and (
            len(values) < min_values
            or any(sum(v in own_part for own_part in stored_rows) * min_values > len(people) for v in values)
        ):
            return False
    return len(people) >= min_values


def random_rows(rng: random.Random, people: int, values: int) -> Rows:
    return [[rng.choice([None, *range(values)]) for _ in range(rng.randrange(4))] for _ in range(people)]


def line(people: int) -> EncodedTable:
    """Return people at positions 0, 1, 2, ..."""
    return encode_table([NumericAttribute(np.arange(people, dtype=float), True)], [np.arange(people, dtype=np.int32)],
                 np.zeros(people, np.uint64), None)[0]  # fmt: skip


@pytest.mark.parametrize("seed", range(20))
def test_linked_diversity_equals_definition(seed: int) -> None:
    rng = random.Random(seed)
    columns = [random_rows(rng, 40, 6), random_rows(rng, 40, 9)]
    for _ in range(200):
        people, minimum = rng.sample(range(40), rng.randint(1, 12)), rng.randint(2, 4)
        result = linked_diversity(minimum, *columns).is_met_by(np.array(people, np.int64))
        assert result == meets_definition(minimum, people, *columns)


@pytest.mark.parametrize("seed", range(20))
def test_clusters_merged_until_model_holds(seed: int) -> None:
    rng = random.Random(seed)
    columns, minimum = [random_rows(rng, 60, 7), random_rows(rng, 60, 12)], rng.randint(2, 3)
    labels = np.repeat(np.arange(12), 5)
    space = line(60)
    merged = diversify_clusters(
        "kacpc", space, max_level_blocks(space), labels, linked_diversity(minimum, *columns), lambda: None
    )
    clusters = [np.flatnonzero(merged == c).tolist() for c in range(merged.max() + 1)]
    assert sorted(p for people in clusters for p in people) == list(range(60))
    assert all(meets_definition(minimum, people, *columns) for people in clusters)
    assert all(len({int(merged[p]) for p in np.flatnonzero(labels == c)}) == 1 for c in range(12))


def test_valid_clusters_remain_unchanged() -> None:
    rows: Rows = [[0], [1], [0], [1]]
    space = line(4)
    labels = np.array([0, 0, 1, 1])
    assert diversify_clusters(
        "f", space, max_level_blocks(space), labels, linked_diversity(2, rows), lambda: None
    ).tolist() == [
        0,
        0,
        1,
        1,
    ]


def test_cluster_without_rows_is_merged_last() -> None:
    """The people at 0 and 1 miss l; those at 2 and 3, who are nearer, have no rows."""
    rows: Rows = [[0], [0], [], [], [1], [1]]
    space = line(6)
    merged = diversify_clusters(
        "f", space, max_level_blocks(space), np.array([0, 0, 1, 1, 2, 2]), linked_diversity(2, rows), lambda: None
    )
    assert merged.tolist() == [0, 0, 1, 1, 0, 0]


def test_model_missed_by_all_people_raises() -> None:
    space = line(4)
    with pytest.raises(
        errors.ModelNotMetError, match="do not meet l = 3 on column 0; the most that they allow is l = 2"
    ):
        diversify_clusters(
            "f",
            space,
            max_level_blocks(space),
            np.array([0, 0, 1, 1]),
            linked_diversity(3, [[0], [1], [0], [1]]),
            lambda: None,
        )


def test_max_level_blocks_are_not_merged() -> None:
    tree = CategoricalAttribute(
        np.array([-1, 0, 0, 1, 1, 2, 2], np.int32), np.array([3, 4, 5, 6], np.int32), max_level=1
    )
    codes = np.array([0, 0, 1, 1, 2, 2, 3, 3], np.int32)
    space, _ = encode_table([tree], [codes], np.zeros(8, np.uint64), None)
    labels = np.array([0, 0, 1, 1, 2, 2, 3, 3])
    rows: Rows = [[0], [0], [1], [1], [2], [3], [2], [3]]
    merged = diversify_clusters("f", space, max_level_blocks(space), labels, linked_diversity(2, rows), lambda: None)
    assert merged.tolist() == [0, 0, 0, 0, 1, 1, 2, 2]
    rows[2] = rows[3] = [0]
    with pytest.raises(errors.ModelNotMetError, match="no l above 1"):
        diversify_clusters("f", space, max_level_blocks(space), labels, linked_diversity(2, rows), lambda: None)
