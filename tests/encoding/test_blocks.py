"""max_level separates records whose values would have to climb higher; min_level lifts every value."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from oracle import reference
from oracle.reference import Category, Node, Number, Value
from support import by_row
from support.tables import MANY, Encoded, Table, encode_records, groups_of, tables

import dbanon
from dbanon import algorithms, errors
from dbanon.encoding import encoded_table
from dbanon.privacy_models.constraint import Constraint

NAMES = [algorithm.name for algorithm in algorithms.algorithms()]

UNREAD = [name for name in NAMES if algorithms.find(name).family != "diversity"]
"""Algorithms that do not need sensitive values; the random tables here have none."""

STAFF = [
    (30, "Federal-gov"),
    (30, "Local-gov"),
    (30, "State-gov"),
    (30, "Private"),
    (30, "Private"),
    (30, "Self-emp-inc"),
    (30, "Self-emp-not-inc"),
]


def run(name: str, table: encoded_table.EncodedTable, k: int, names: tuple[str, ...] = ("workclass",)) -> list[int]:
    algorithm = algorithms.find(name)
    options = {p.name: p.default for p in algorithm.own_parameters}
    return by_row.run_labels(algorithm, table, Constraint(k), options, algorithms.MessageNames(names)).tolist()


# Through cluster.run


def two_branches(
    columns: list[int], level: int, persons: list[int] | None = None, ties: list[int] | None = None
) -> encoded_table.EncodedTable:
    """Return the tree 0 * > 1 A > (2, 3), 4 B > (5, 6) with values 2, 3, 5, 6 of codes 0 to 3, NULL 4."""
    tree = encoded_table.CategoricalAttribute(
        np.array([-1, 0, 1, 1, 0, 4, 4], np.int32), np.array([2, 3, 5, 6], np.int32), 1.0, level
    )
    people = None if persons is None else np.array(persons, np.int64)
    tie = np.array(ties or range(len(columns)), np.uint64)
    code_table, _ = encoded_table.encode_table([tree], [np.array(columns, np.int32)], tie, people)
    return code_table


@pytest.mark.parametrize("name", NAMES)
def test_max_level_separates_values_of_different_ancestors(name: str) -> None:
    labels = run(name, two_branches([0, 1, 2, 3, 3], 1), 2)
    assert groups_of(labels) == [[0, 1], [2, 3, 4]]
    assert run(name, two_branches([0, 1, 2, 3], 2), 4) == [0] * 4, "at level 2 all are under the root"


@pytest.mark.parametrize("name", NAMES)
def test_max_level_0_publishes_values_unchanged(name: str) -> None:
    labels = run(name, two_branches([0, 0, 1, 1, 2, 2, 3, 3, 3], 0), 2)
    assert groups_of(labels) == [[0, 1], [2, 3], [4, 5], [6, 7, 8]]


@pytest.mark.parametrize("name", NAMES)
def test_null_separate_from_values_at_every_level(name: str) -> None:
    assert groups_of(run(name, two_branches([0, 2, 4, 4], 99), 2)) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("name", NAMES)
def test_block_missing_model_raises_with_record_count(name: str) -> None:
    expected = (
        f"{name}: max_level of workclass separates 3 records into groups that cannot meet k = 3. "
        "Hint: raise max_level, weaken the model, or set suppress to at least the share of these records."
    )
    with pytest.raises(errors.MaxLevelBlockTooSmallError) as error_info:
        run(name, two_branches([0, 1, 2, 3, 3, 4], 1), 3)
    assert str(error_info.value) == expected, "0 and 1, and the NULL"


@pytest.mark.parametrize("name", NAMES)
def test_max_level_block_requires_k_persons(name: str) -> None:
    assert groups_of(run(name, two_branches([0, 1, 2, 3], 1, persons=[0, 1, 0, 2]), 2)) == [[0, 1], [2, 3]]
    for person in (0, -1):
        with pytest.raises(errors.MaxLevelBlockTooSmallError, match="separates 2 records"):
            run(name, two_branches([0, 1, 2, 3], 1, persons=[0, person, 1, 2]), 2)


def test_max_level_error_names_only_limited_attributes() -> None:
    code_table = encode_records(Table([[1, "a", "x"], [2, "b", "y"]], [Number(), flat("a", "b"), flat("x", "y")]))
    limited = replace(
        code_table.space,
        attributes=(*code_table.space.attributes[:2], replace(code_table.space.attributes[2], max_level=0)),
    )
    with pytest.raises(errors.MaxLevelBlockTooSmallError, match="max_level of zip separates 2 records"):
        run("kacpc", limited, 2, ("age", "sex", "zip"))


def flat(*values: Value) -> Category:
    return Category(reference.flat(values))


def with_max_levels(code_table: Encoded, levels: list[int | None]) -> encoded_table.EncodedTable:
    """Return the table with a max_level for the categories among the attributes."""
    attributes = tuple(
        replace(a, max_level=level) if isinstance(a, encoded_table.CategoricalAttribute) else a
        for a, level in zip(code_table.space.attributes, levels, strict=True)
    )
    return replace(code_table.space, attributes=attributes)


def ceiling(attribute: Category, value: Value, level: int) -> Node | None:
    """Return the highest node that a value may be published as; None for NULL."""
    if value is None:
        return None
    leaf = attribute.tree.leaf(str(value))
    return leaf[: max(1, len(leaf) - level)]


@MANY
@given(st.data(), st.sampled_from(UNREAD))
def test_no_value_is_published_above_max_level(data: st.DataObject, name: str) -> None:
    table = data.draw(tables())
    code_table = encode_records(table)
    levels = [data.draw(st.sampled_from([None, 0, 1, 2, 3])) for _ in table.attributes]
    kept_values = [
        (j, attribute, level)
        for j, (attribute, level) in enumerate(zip(table.attributes, levels, strict=True))
        if level is not None and isinstance(attribute, Category)
    ]
    keys = [
        tuple(ceiling(attribute, record[j], level) for j, attribute, level in kept_values)
        for record in code_table.records
    ]
    people = code_table.persons if code_table.persons is not None else list(range(len(keys)))
    small = [
        key
        for key in set(keys)
        if len({p for p, own_part in zip(people, keys, strict=True) if own_part == key} - {None}) < table.k
    ]
    names = tuple(f"q{j}" for j in range(len(levels)))
    if small:
        records = sum(count for key, count in Counter(keys).items() if key in small)
        columns = ", ".join(f"q{j}" for j, _, _ in kept_values)
        with pytest.raises(
            errors.MaxLevelBlockTooSmallError, match=f"max_level of {columns} separates {records} records? "
        ):
            run(name, with_max_levels(code_table, levels), table.k, names)
        return
    labels = run(name, with_max_levels(code_table, levels), table.k, names)
    assert set(labels) == set(range(max(labels) + 1))
    for group in groups_of(labels):
        assert len({people[r] for r in group} - {None}) >= table.k
        assert len({keys[r] for r in group}) == 1


# Through SQL


@pytest.fixture
def staff(con: Any) -> Any:
    """Create staff(age, workclass) of seven rows, with its policy."""
    con.execute("CREATE TABLE staff (age INTEGER, workclass VARCHAR)")
    con.executemany("INSERT INTO staff VALUES (?, ?)", STAFF)
    dbanon.declare(con, "staff", age="quasi", workclass=("quasi", "adult_workclass"))
    return con


def classes(con: Any, call: str) -> list[tuple[str, int]]:
    return con.execute(f"SELECT workclass, size FROM {call} ORDER BY ALL").fetchall()


@pytest.mark.not_everyday
def test_no_record_is_published_above_max_level_in_sql(staff: Any) -> None:
    separate_rows = [("Gov", 3), ("Private", 2), ("Self-emp", 2)]
    for name in NAMES:
        if algorithms.find(name).defaults or "sensitive" in algorithms.find(name).reads:
            continue  # of sensitive values; staff has none
        actual_classes = classes(staff, f"{name}_classes('staff', k=2, max_level := {{'workclass': 1}})")
        if algorithms.find(name).family == "full_domain":  # one level for all records, and Private is one step below *
            actual_classes = sorted(("Private" if value == "*" else value, size) for value, size in actual_classes)
        assert actual_classes == separate_rows, name
    assert classes(staff, "kacpc_classes('staff', k=7, max_level := {'workclass': 2})") == [("*", 7)]


def test_max_level_can_be_declared(staff: Any) -> None:
    limited = {"role": "quasi", "hierarchy": "adult_workclass", "max_level": 1}
    dbanon.declare(staff, "staff", workclass=limited)
    assert classes(staff, "kacpc_classes('staff', k=2)") == [("Gov", 3), ("Private", 2), ("Self-emp", 2)]
    with pytest.raises(Exception, match="separates 4 records into groups that cannot meet k = 3"):
        classes(staff, "kacpc_classes('staff', k=3)")


@pytest.mark.parametrize("function", ["kacpc", "kacpc_classes", "kacpc_metrics", "mondrian"])
def test_small_block_refused_in_sql(staff: Any, function: str) -> None:
    expected = (
        ": max_level of workclass separates 5 records into groups that cannot meet k = 2. "
        "Hint: raise max_level, weaken the model, or set suppress to at least the share of these records."
    )
    with pytest.raises(Exception, match=expected):
        staff.execute(f"FROM {function}('staff', k=2, max_level := {{'workclass': 0}})").fetchall()


def test_values_are_published_at_least_min_level_steps_up(staff: Any) -> None:
    """One step above Private is *, one step above the others Gov and Self-emp."""
    lifted = "mondrian_classes('staff', k=2, min_level := {'workclass': "
    assert classes(staff, "mondrian_classes('staff', k=2)") == [("Gov", 3), ("Private", 2), ("Self-emp", 2)]
    assert classes(staff, lifted + "1})") == [("*", 2), ("Gov", 3), ("Self-emp", 2)]
    assert classes(staff, lifted + "2})") == [("*", 7)]
    assert classes(staff, lifted + "9})") == [("*", 7)]


def test_min_level_raises_equal_values(staff: Any) -> None:
    staff.execute("DELETE FROM staff WHERE workclass <> 'Private'")
    assert classes(staff, "kacpc_classes('staff', k=2)") == [("Private", 2)]
    assert classes(staff, "kacpc_classes('staff', k=2, min_level := {'workclass': 1})") == [("*", 2)]


def test_max_level_counts_from_leaf_despite_min_level(staff: Any) -> None:
    """One step up is Gov (3), Self-emp (2) and, for Private, * (2): k = 3 would need two steps."""
    both = "min_level := {'workclass': 1}, max_level := {'workclass': 1}"
    assert classes(staff, f"kacpc_classes('staff', k=2, {both})") == [("*", 2), ("Gov", 3), ("Self-emp", 2)]
    with pytest.raises(Exception, match="separates 4 records into groups that cannot meet k = 3"):
        classes(staff, f"kacpc_classes('staff', k=3, {both})")


def test_max_level_below_min_level_is_refused(staff: Any) -> None:
    both = "min_level := {'workclass': 2}, max_level := {'workclass': 1}"
    with pytest.raises(Exception, match=r"min_level does not fit staff\.workclass: 2 is above max_level 1"):
        classes(staff, f"kacpc_classes('staff', k=2, {both})")


@pytest.mark.parametrize("level", ["min_level", "max_level"])
def test_levels_of_numbers_refused(staff: Any, level: str) -> None:
    with pytest.raises(
        Exception, match=f"{level} does not fit staff.age: it is a number or a date without a hierarchy"
    ):
        classes(staff, f"kacpc_classes('staff', k=2, {level} := {{'age': 1}})")
