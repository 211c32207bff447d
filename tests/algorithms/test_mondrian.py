"""Mondrian on tables cut by hand, compared with the plain recursion of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from oracle import reference
from oracle.reference import Attribute, Category, Number, Value
from support import by_row
from support.tables import (
    EIGHTHS,
    MANY,
    SOME,
    Table,
    create_table,
    encode_records,
    groups_of,
    large,
    published_classes,
    tables,
)

from dbanon import algorithms
from dbanon.encoding import encoded_table
from dbanon.privacy_models.constraint import Constraint

WORKCLASS = Category(
    reference.Tree(
        [
            ["Private", "*"],
            ["Self-emp-not-inc", "Self-emp", "*"],
            ["Self-emp-inc", "Self-emp", "*"],
            ["Federal-gov", "Gov", "*"],
            ["Local-gov", "Gov", "*"],
            ["State-gov", "Gov", "*"],
            ["Without-pay", "*"],
        ]
    )
)


def classes(
    records: Sequence[Sequence[Value]],
    attributes: Sequence[Attribute],
    k: int = 2,
    persons: Sequence[str | None] | None = None,
) -> list[list[int]]:
    """Return the classes as sorted lists of record numbers."""
    code_table = encode_records(Table(records, attributes, k, persons))
    labels = by_row.run_labels(algorithms.find("mondrian"), code_table.space, Constraint(k), {})
    return groups_of([int(label) for _, label in sorted(zip(code_table.order, labels, strict=True))])


def column(*values: Value) -> list[list[Value]]:
    """Return a table of one attribute."""
    return [[value] for value in values]


# Compared with the reference


@MANY
@given(tables(EIGHTHS))
def test_mondrian_equals_recursion_of_random_tables(table: Table) -> None:
    """Multiples of 1/8: differences of other floats are rounded, and the two sides round differently."""
    code_table = encode_records(table)
    labels = by_row.run_labels(algorithms.find("mondrian"), code_table.space, Constraint(table.k), {})
    expected = reference.mondrian(code_table.records, table.attributes, table.k, code_table.persons)
    assert groups_of(labels.tolist()) == expected
    assert sorted(set(labels.tolist())) == list(range(len(expected))), "clusters are numbered from 0"


@given(tables())
@SOME
def test_mr_mondrian_equals_mondrian(table: Table) -> None:
    code_table = encode_records(table).space
    k = max(table.k, 2)
    persons = (
        code_table.rows if code_table.persons is None else len(np.unique(code_table.persons[code_table.persons >= 0]))
    )
    if persons >= k:
        labels = [
            by_row.run_labels(algorithms.find(name), code_table, Constraint(k), {})
            for name in ("mondrian", "mr_mondrian")
        ]
        assert groups_of(labels[0].tolist()) == groups_of(labels[1].tolist())


@MANY
@given(tables(EIGHTHS))
def test_relaxed_mondrian_equals_recursion_of_random_tables(table: Table) -> None:
    code_table = encode_records(table)
    labels = by_row.run_labels(algorithms.find("mondrian"), code_table.space, Constraint(table.k), {"strict": False})
    assert groups_of(labels.tolist()) == reference.mondrian(
        code_table.records, table.attributes, table.k, code_table.persons, strict=False
    )


@pytest.mark.parametrize("seed", range(16))
def test_relaxed_mondrian_equals_recursion_of_large_tables(seed: int) -> None:
    table = large(seed)
    code_table = encode_records(table)
    labels = by_row.run_labels(algorithms.find("mondrian"), code_table.space, Constraint(table.k), {"strict": False})
    assert groups_of(labels.tolist()) == reference.mondrian(
        code_table.records, table.attributes, table.k, code_table.persons, strict=False
    )


@pytest.mark.parametrize("seed", range(16))
def test_mondrian_equals_recursion_of_large_tables(seed: int) -> None:
    table = large(seed)
    code_table = encode_records(table)
    labels = by_row.run_labels(algorithms.find("mondrian"), code_table.space, Constraint(table.k), {})
    expected = reference.mondrian(code_table.records, table.attributes, table.k, code_table.persons)
    assert groups_of(labels.tolist()) == expected


@pytest.mark.parametrize("seed", range(100, 108))
def test_sql_classes_and_precision_equal_plain_recursion(con: Any, seed: int) -> None:
    table = replace(large(seed), persons=None)
    code_table = encode_records(table)
    parts = reference.mondrian(code_table.records, table.attributes, table.k)
    call = create_table(con, table)
    columns = ", ".join(f"q{j}" for j in range(len(table.attributes)))
    rows = con.execute(f"SELECT size, {columns} FROM mondrian_classes({call})").fetchall()
    assert {tuple(values): size for size, *values in rows} == published_classes(table, code_table.records, parts)
    query = f"SELECT value FROM mondrian_metrics({call}) WHERE metric = 'precision'"
    precision = reference.eloss_precision(code_table.records, table.attributes, parts, parts)
    assert con.execute(query).fetchall()[0][0] == pytest.approx(precision, abs=1e-9)


# By hand


def test_mondrian_cuts_numbers_at_lower_median() -> None:
    assert classes(column(1, 2, 3, 4), [Number()]) == [[0, 1], [2, 3]]
    assert classes(column(1, 2, 3, 4, 5, 6), [Number()]) == [[0, 1, 2], [3, 4, 5]], "1 to 3 cannot be cut again"
    assert classes(column(1, 1, 2, 3, 3), [Number()]) == [[0, 1, 2], [3, 4]]
    assert classes(column(1, 2, 2, 2, 2, 3), [Number()]) == [[0, 1, 2, 3, 4, 5]], "equal numbers stay together"


def test_mondrian_cuts_widest_cuttable_attribute() -> None:
    """Both widths are 1: age is first, at its lower median 24.

    Then workclass is wider (1 compared with 0.1 and 0.25), but leaves one record alone, and so does age.
    """
    records: list[list[Value]] = [
        [20, "Private"],
        [22, "Private"],
        [24, "Local-gov"],
        [50, "Local-gov"],
        [55, "State-gov"],
        [60, "Self-emp-inc"],
    ]
    assert classes(records, [Number(), WORKCLASS]) == [[0, 1, 2], [3, 4, 5]]
    assert classes([row[::-1] for row in records], [WORKCLASS, Number()]) == [[0, 1, 2], [3, 4, 5]]


def test_ties_prefer_earlier_attribute_or_larger_weight() -> None:
    records: list[list[Value]] = [[1, "Private"], [2, "Local-gov"], [3, "Private"], [4, "Local-gov"]]
    assert classes(records, [Number(), WORKCLASS]) == [[0, 1], [2, 3]]
    assert classes([row[::-1] for row in records], [WORKCLASS, Number()]) == [[0, 2], [1, 3]]
    assert classes(records, [Number(), Category(WORKCLASS.tree, 2.0)]) == [[0, 2], [1, 3]]


def test_category_cut_into_all_children_of_common_ancestor() -> None:
    labels: list[Value] = ["Private", "Local-gov", "State-gov", "Private", "Local-gov", "State-gov"]
    assert classes(column(*labels, "Without-pay", "Without-pay"), [WORKCLASS]) == [[0, 3], [1, 4], [2, 5], [6, 7]]
    assert classes(column(*labels, "Without-pay"), [WORKCLASS]) == [[0, 1, 2, 3, 4, 5, 6]]


def test_value_at_common_ancestor_forms_own_side() -> None:
    """* > Gov > Local, State; values Gov, Local, State with two records each."""
    tree = encoded_table.CategoricalAttribute(np.array([-1, 0, 1, 1], np.int32), np.array([1, 2, 3], np.int32))
    codes = np.array([0, 0, 1, 1, 2, 2], np.int32)
    code_table, _ = encoded_table.encode_table([tree], [codes], np.zeros(6, np.uint64), None)
    assert by_row.run_labels(algorithms.find("mondrian"), code_table, Constraint(2), {}).tolist() == [0, 0, 1, 1, 2, 2]


def test_nulls_are_cut_from_values_first() -> None:
    assert classes(column(None, 1, None, 2), [Number()]) == [[0, 2], [1, 3]]
    assert classes(column(None, 1, 2, 3, 4), [Number()]) == [[0, 1, 2, 3, 4]], "one NULL alone is no class"


def test_mondrian_side_requires_k_persons() -> None:
    assert classes(column(1, 2, 3, 4), [Number()], persons=["A", "B", "A", "B"]) == [[0, 1], [2, 3]]
    assert classes(column(1, 2, 3, 4), [Number()], persons=["A", "A", "B", "B"]) == [[0, 1, 2, 3]]
    assert classes(column(1, 2, 3, 4), [Number()], persons=["A", "B", "A", None]) == [[0, 1, 2, 3]]


def test_numbers_cut_next_to_missing_code() -> None:
    """-2^63 is 2^63 steps away: as DOUBLE the others are at the same distance from it, but they are not equal."""
    missing = -(2**63)
    expected = [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert classes(column(missing, missing, 1, 2, 3, 4, 5, 6), [Number()]) == expected


def relaxed_classes(
    values: Sequence[Value], k: int = 2, persons: Sequence[str | None] | None = None
) -> list[list[int]]:
    """Return the classes of one number in the relaxed mode."""
    code_table = encode_records(Table(column(*values), [Number()], k, persons))
    labels = by_row.run_labels(algorithms.find("mondrian"), code_table.space, Constraint(k), {"strict": False})
    return groups_of([int(label) for _, label in sorted(zip(code_table.order, labels, strict=True))])


def test_relaxed_cut_left_side_is_half_rounded_up() -> None:
    assert relaxed_classes([1, 2, 2, 2, 2, 3]) == [[0, 1, 2], [3, 4, 5]], "strict cannot cut this at all"
    assert relaxed_classes([1, 2, 2, 2, 3]) == [[0, 1, 2], [3, 4]]
    assert relaxed_classes([1, 1, 1, 1, 1, 9]) == [[0, 1, 2], [3, 4, 5]], "1, 1, 1 alone has nothing left to cut"
    assert relaxed_classes([7, 7, 7, 7]) == [[0, 1, 2, 3]], "equal records are not cut: nothing would be gained"
    assert relaxed_classes([None, 1, 2, 3, 4]) == [[0, 1, 2, 3, 4]], "NULLs are cut from values first"


def test_cut_moves_from_half_to_nearest_valid_position() -> None:
    """Half of 1 2 2 2 2 2 2 3 is four records.

    Persons A, A, A, A | B, C, B, D: the left has one person, as with three; of five, A and B, and on the right C, B, D.
    """
    persons = ["A", "A", "A", "A", "B", "C", "B", "D"]
    assert relaxed_classes([1, 2, 2, 2, 2, 2, 2, 3], persons=persons) == [[0, 1, 2, 3, 4], [5, 6, 7]]


def test_relaxed_classes_of_distinct_numbers_are_below_2k() -> None:
    """LeFevre et al. 2006: with one record per point no class has 2k or more."""
    code_table = encode_records(Table([[i * 7 % 97, i * 5 % 89] for i in range(97)], [Number(), Number()], 3))
    labels = by_row.run_labels(algorithms.find("mondrian"), code_table.space, Constraint(3), {"strict": False})
    assert set(np.bincount(labels).tolist()) <= {3, 4, 5}


def test_relaxed_classes_meet_every_model_in_sql(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT (i * 3 % 7)::INTEGER AS age, (i * 5 % 4)::INTEGER AS ward, "
        "['F', 'M'][1 + i % 2] AS sex, ['Flu', 'HIV', 'Cold'][1 + i * i % 3] AS disease, i // 2 AS person "
        "FROM range(120) AS r (i)"
    )
    call = "('t', k=4, qi=['age', 'ward', 'sex'], sensitive=['disease'], person := 'person', l := 2, strict := false)"
    rows = con.execute(f"SELECT min(persons), sum(size), count(*) FROM mondrian_classes{call}").fetchall()
    assert rows[0][0] >= 4
    assert rows[0][1] == 120
    mapping = dict(con.execute(f"SELECT metric, value FROM mondrian_metrics{call}").fetchall())
    assert mapping["l_diversity:disease"] >= 2
    strict = dict(con.execute(f"SELECT metric, value FROM mondrian_metrics{call.replace('false', 'true')}").fetchall())
    assert mapping["clusters"] >= strict["clusters"]


def test_mondrian_classes_of_published_fixture_in_sql(six: Any) -> None:
    """Both widths are 1: age is cut at 29. Then Gov's width is 3/7, but neither side can be cut into pairs."""
    query = "SELECT size, age, workclass FROM mondrian_classes('six', k=2)"
    assert six.execute(query).fetchall() == [(3, "[25, 29]", "Gov"), (3, "[40, 55]", "*")]
    precision = "SELECT value FROM mondrian_metrics('six', k=2) WHERE metric = 'precision'"
    assert six.execute(precision).fetchall()[0][0] == pytest.approx(0.466667, abs=5e-7)
