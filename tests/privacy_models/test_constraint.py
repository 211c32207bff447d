"""k-anonymity as a test: k records, or k distinct persons."""

from __future__ import annotations

from collections.abc import Sequence

import hypothesis.strategies as st
import numpy as np
from hypothesis import given
from support.tables import MANY

from dbanon.encoding.encoded_table import EncodedTable, NumericAttribute
from dbanon.privacy_models.constraint import Constraint

A, B, C, UNKNOWN = 0, 1, 2, -1


def space_of(counts: Sequence[int], persons: Sequence[int] | None = None) -> EncodedTable:
    """Return tuples of one number with these counts; the person of every row."""
    codes = np.arange(len(counts), dtype=np.int32).reshape(-1, 1)
    people = None if persons is None else np.array(persons, np.int64)
    number = NumericAttribute(np.arange(len(counts), dtype=np.float64), True)
    return EncodedTable((number,), codes, np.array(counts, np.int64), people, sum(counts))


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def test_constraint_met_by_k_records() -> None:
    space = space_of([2, 1, 3])
    model = Constraint(3)
    assert model.min_records == 3
    assert [model.is_met_by_tuples(space, ints(*t)) for t in [(0,), (0, 1), (2,), (1, 2)]] == [False, True, True, True]


def test_constraint_with_persons_met_by_k_persons() -> None:
    """Tuple 0: A, A; tuple 1: B; tuple 2: A, C, unknown."""
    space = space_of([2, 1, 3], [A, A, B, A, C, UNKNOWN])
    model = Constraint(2)
    assert model.min_records == 2
    assert [model.is_met_by_tuples(space, ints(*t)) for t in [(0,), (1,), (0, 1), (2,)]] == [False, False, True, True]
    assert Constraint(3).is_met_by_tuples(space, ints(0, 1, 2))
    assert not Constraint(3).is_met_by_tuples(space, ints(0, 2)), "A and C; the unknown person never counts"
    assert not Constraint(4).is_met_by_tuples(space, ints(0, 1, 2))


def test_unknown_persons_never_meet_constraint() -> None:
    space = space_of([3], [UNKNOWN] * 3)
    assert not Constraint(1).is_met_by_tuples(space, ints(0))
    assert Constraint(1).n_records_needed(space, ints(0, 1, 2)) is None
    assert not Constraint(1).remaining(space).can_form_class()


def test_n_records_needed_counts_records() -> None:
    space = space_of([2, 1, 3])
    assert Constraint(3).n_records_needed(space, ints(5, 0, 2, 1)) == 3
    assert Constraint(4).n_records_needed(space, ints(5, 0, 2, 1)) == 4
    assert Constraint(5).n_records_needed(space, ints(5, 0, 2, 1)) is None


def test_n_records_needed_counts_persons_in_joining_order() -> None:
    space = space_of([2, 1, 3], [A, A, B, A, C, UNKNOWN])
    assert Constraint(2).n_records_needed(space, ints(0, 1, 3, 2, 4)) == 4, "A, A, A, B"
    assert Constraint(2).n_records_needed(space, ints(5, 0, 1, 4)) == 4, "unknown, A, A, C"
    assert Constraint(1).n_records_needed(space, ints(5, 0)) == 2
    assert Constraint(3).n_records_needed(space, ints(0, 1, 3, 4, 5)) is None


def test_remainder_sufficient_until_below_k() -> None:
    remaining = Constraint(3).remaining(space_of([2, 1, 3]))
    remaining.remove(ints(0, 4, 5))
    assert remaining.can_form_class()
    remaining.remove(ints(1))
    assert not remaining.can_form_class()


def test_person_remains_while_row_remains() -> None:
    remaining = Constraint(2).remaining(space_of([2, 1, 3], [A, A, B, A, C, UNKNOWN]))
    remaining.remove(ints(2, 0))
    assert remaining.can_form_class(), "A and C"
    remaining.remove(ints(1, 5))
    assert remaining.can_form_class(), "one row of A is left"
    remaining.remove(ints(3))
    assert not remaining.can_form_class(), "C alone"


def n_distinct_persons(persons: Sequence[int]) -> int:
    return len(set(persons) - {UNKNOWN})


@MANY
@given(st.data())
def test_constraint_equals_counting_distinct_persons(data: st.DataObject) -> None:
    persons = data.draw(st.lists(st.integers(-1, 5), min_size=1, max_size=20))
    known_values = data.draw(st.booleans())
    k = data.draw(st.integers(1, 7))
    space = space_of([1] * len(persons), persons if known_values else None)
    counted_persons = persons if known_values else list(range(len(persons)))
    model = Constraint(k)
    rows = data.draw(st.permutations(range(len(persons))))
    rows = rows[: data.draw(st.integers(1, len(rows)))]
    prefixes = [n for n in range(1, len(rows) + 1) if n_distinct_persons([counted_persons[r] for r in rows[:n]]) >= k]
    assert model.n_records_needed(space, ints(*rows)) == (prefixes[0] if prefixes else None)
    assert model.is_met_by_tuples(space, ints(*rows)) == bool(prefixes)
    remaining_counter = model.remaining(space)
    remaining = dict(enumerate(counted_persons))
    assert remaining_counter.can_form_class() == (n_distinct_persons(list(remaining.values())) >= k)
    while rows:
        cut_result = data.draw(st.integers(1, len(rows)))
        remaining_counter.remove(ints(*rows[:cut_result]))
        for row in rows[:cut_result]:
            del remaining[row]
        rows = rows[cut_result:]
        assert remaining_counter.can_form_class() == (n_distinct_persons(list(remaining.values())) >= k)
