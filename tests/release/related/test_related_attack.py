"""Who knows all quasi-identifiers of a person, in all tables, narrows the person to no fewer than k."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from oracle.related import candidates, look_alikes
from support.related import KEY, KINDS, clinic, published

ALGORITHMS = ("kacpc", "mondrian", "kmember", "best", "oka", "mdav", "kaca", "systematic")
CASES = [(algorithm, seed) for algorithm in ALGORITHMS for seed in range(4)]


@pytest.mark.parametrize(("algorithm", "seed"), CASES)
def test_nobody_is_alone_by_a_row_and_all_rows_about_the_person(con: Any, algorithm: str, seed: int) -> None:
    k = 2 + seed
    made = clinic(con, seed, 14 + 9 * seed)
    all_tables = "children := ['visits', 'labs'], max_children := 4"
    of_rows = f"{algorithm}(TABLE, k := {k}, entity := 'patients', {all_tables}, {KEY})"
    of_people = f"{algorithm}(TABLE, k := {k}, {all_tables}, {KEY})"
    people = {p: rows[0] for p, rows in published(con, "patients", "id, age, zip", of_people).items()}
    tables = [
        published(con, "visits", "patient_id, day, code", of_rows),
        published(con, "labs", "patient_id, value", of_rows),
    ]
    assert len(people) == len(made.people)
    assert all(set(table) <= set(people) for table in tables)
    assert max(len(rows) for table in tables for rows in table.values()) <= 4
    assert min(look_alikes(people, tables).values()) >= k
    for key, own in made.people.items():
        assert len(candidates((own, (made.visits[key], made.labs[key])), people, tables, KINDS)) >= k


def test_the_attack_finds_who_is_alone() -> None:
    people = {1: ("[20, 30]",), 2: ("[20, 30]",), 3: ("*",)}
    rows = [{1: [("2020-01",)], 2: [("2020-01",), ("2020-02",)]}]
    assert sorted(look_alikes(people, rows).values()) == [1, 1, 1]
    kinds = (("number",), ("date",))
    one, two = date(2020, 1, 31), date(2020, 2, 1)
    assert candidates(((25,), [[(one,)]]), people, rows, kinds) == {1, 3}
    assert candidates(((25,), [[(one,), (two,)]]), people, rows, kinds) == {1, 2, 3}
    assert candidates(((25,), [[(two,)]]), people, rows, kinds) == {3}
    assert candidates(((31,), [[(one,), (one,)]]), people, rows, kinds) == {3}
