"""The loop that families of algorithms share, and the modules in which algorithms are defined."""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Callable

import numpy as np
import pytest
from support import by_row

from dbanon import algorithms, errors
from dbanon.algorithms.base import grow_clusters
from dbanon.algorithms.base.assignments import AssignmentLog
from dbanon.algorithms.base.grow_clusters import grow_groups
from dbanon.algorithms.nearest_neighbour.nearest_groups import next_rows
from dbanon.encoding.distance import NumericDistances
from dbanon.encoding.encoded_table import EncodedTable, Ints, NumericAttribute
from dbanon.encoding.tuple_index import TupleIndex


def numbers(*counts: int) -> EncodedTable:
    """Return `counts[i]` records of the number i."""
    codes = np.arange(len(counts), dtype=np.int32)[:, None]
    attribute = NumericAttribute(np.arange(float(len(counts))), True)
    return EncodedTable((attribute,), codes, np.array(counts, np.int64), None, sum(counts))


class ConsecutiveGrowthRules:
    """Groups of `size` records in canonical order; at most `limit` groups are made; remaining records get label 9."""

    def __init__(self, space: EncodedTable, size: int, limit: int = 99) -> None:
        self.rows, self.size, self.limit = space.rows, size, limit
        self.taken, self.asked_for, self.left_over = 0, [], np.zeros(0, np.int64)
        self.labels = np.full(space.rows, -1, np.int64)
        self.n_queries = 1

    @property
    def n_remaining(self) -> int:
        return self.rows - self.taken

    @property
    def steps(self) -> int:
        return self.taken

    def can_form_group(self) -> bool:
        return self.rows - self.taken >= self.size

    def form_groups(self, first: int, max_groups: int) -> int:
        self.asked_for.append((first, max_groups))
        formed = 0
        while formed < max_groups and self.can_form_group() and first + formed < self.limit:
            self.labels[self.taken : self.taken + self.size] = first + formed
            self.taken += self.size
            formed += 1
        return formed

    def assign_leftovers(self, groups: int, check: Callable[[], None]) -> None:
        self.left_over = np.flatnonzero(self.labels < 0)
        self.labels[self.left_over] = 9

    def assignment(self) -> Ints:
        return self.labels


def test_groups_grow_until_remainder_is_placed() -> None:
    rules = ConsecutiveGrowthRules(numbers(5, 6), 2)
    assert by_row.labels(grow_groups(numbers(5, 6), rules, lambda: None)).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 9]
    assert rules.left_over.tolist() == [10]
    assert rules.asked_for[0] == (0, grow_clusters.MIN_BATCH), "few at first, to look for interrupts soon"
    assert [first for first, _ in rules.asked_for] == [0, 4], "numbers go on where the groups before ended"


def test_growth_ends_if_rules_form_no_group() -> None:
    assert by_row.labels(
        grow_groups(numbers(7), ConsecutiveGrowthRules(numbers(7), 2, limit=2), lambda: None)
    ).tolist() == [
        0,
        0,
        1,
        1,
        9,
        9,
        9,
    ]


@pytest.mark.parametrize(
    "rules", [ConsecutiveGrowthRules(numbers(3), 4), ConsecutiveGrowthRules(numbers(3), 2, limit=0)]
)
def test_records_without_group_form_one_group(rules: ConsecutiveGrowthRules) -> None:
    assert by_row.labels(grow_groups(numbers(3), rules, lambda: None)).tolist() == [0, 0, 0]


def test_nothing_placed_without_remaining_records() -> None:
    rules = ConsecutiveGrowthRules(numbers(4), 2)
    assert by_row.labels(grow_groups(numbers(4), rules, lambda: None)).tolist() == [0, 0, 1, 1]
    assert len(rules.left_over) == 0


def test_growth_can_be_interrupted_between_groups() -> None:
    calls = []

    def check() -> None:
        calls.append(1)
        if len(calls) == 2:
            raise errors.StatementInterruptedError("kacpc")

    rules = ConsecutiveGrowthRules(numbers(30), 2)
    with pytest.raises(errors.StatementInterruptedError):
        grow_groups(numbers(30), rules, check)
    assert rules.taken == 2 * grow_clusters.MIN_BATCH


def test_equal_records_assigned_in_canonical_order() -> None:
    """Tuples of 4 and 3 records, at rows 0 and 4. First {0, 0, 1} and {0}, then {1, 0, 1}."""
    space = numbers(4, 3)
    index = TupleIndex(space, [NumericDistances(np.array([0, 1]), 0)])
    assigned_assignment_log = AssignmentLog()
    end = [-1, 0]
    index.remove_records([0, 1], [3, 1])
    assert assigned_assignment_log.add_groups(np.array([[0, 2], [1, 1], end, [0, 1], end]), 0) == 2
    assert next_rows(index, [1, 0], [2, 1]).tolist() == [5, 6, 3]
    index.remove_records([0, 1], [1, 2])
    assert assigned_assignment_log.add_groups(np.array([[1, 1], [0, 1], [1, 1], end]), 2) == 1
    result = assigned_assignment_log.to_labels()
    assert result.labels().tolist() == [0, 0, 1, 2, 0, 2, 2]
    assert result.tuples.tolist() == [0, 0, 0, 1, 1], "neighbours of one group are one run"


def test_every_module_of_algorithm_family_is_imported() -> None:
    families = {algorithm.run.__module__.rpartition(".")[0] for algorithm in algorithms.algorithms()}
    for family in families:
        assert family.rpartition(".")[0] == "dbanon.algorithms"
        for module in pkgutil.iter_modules(sys.modules[family].__path__):
            assert f"{family}.{module.name}" in sys.modules
