"""An attacker with all quasi-identifiers of a person in all tables narrows the person to at least k."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from oracle.related import best_guess, candidates, people_by_published_rows
from support.related import KEY, KINDS, clinic, rows_by_pseudonym

ALGORITHMS = ("kacpc", "mondrian", "kmember", "best", "oka", "mdav", "kaca", "systematic")
CASES = [(algorithm, seed) for algorithm in ALGORITHMS for seed in range(4)]


@pytest.mark.parametrize(("algorithm", "seed"), CASES)
def test_no_person_isolated_by_row_and_related_rows(con: Any, algorithm: str, seed: int) -> None:
    k = 2 + seed
    actual_clinic = clinic(con, seed, 14 + 9 * seed)
    all_tables = "children := ['visits', 'labs'], max_children := 4"
    of_rows = f"{algorithm}(TABLE, k := {k}, entity := 'patients', {all_tables}, {KEY})"
    of_people = f"{algorithm}(TABLE, k := {k}, {all_tables}, {KEY})"
    people = {p: rows[0] for p, rows in rows_by_pseudonym(con, "patients", "id, age, zip", of_people).items()}
    tables = [
        rows_by_pseudonym(con, "visits", "patient_id, day, code", of_rows),
        rows_by_pseudonym(con, "labs", "patient_id, value", of_rows),
    ]
    assert len(people) == len(actual_clinic.people)
    assert all(set(table) <= set(people) for table in tables)
    assert max(len(rows) for table in tables for rows in table.values()) <= 4
    assert min(people_by_published_rows(people, tables).values()) >= k
    for key, own_part in actual_clinic.people.items():
        assert (
            len(candidates((own_part, (actual_clinic.visits[key], actual_clinic.labs[key])), people, tables, KINDS))
            >= k
        )


def test_attack_candidates_of_three_people_by_hand() -> None:
    people = {1: ("[20, 30]",), 2: ("[20, 30]",), 3: ("*",)}
    rows = [{1: [("2020-01",)], 2: [("2020-01",), ("2020-02",)]}]
    assert sorted(people_by_published_rows(people, rows).values()) == [1, 1, 1]
    kinds = (("number",), ("date",))
    one, two = date(2020, 1, 31), date(2020, 2, 1)
    assert candidates(((25,), [[(one,)]]), people, rows, kinds) == {1, 3}
    assert candidates(((25,), [[(one,), (two,)]]), people, rows, kinds) == {1, 2, 3}
    assert candidates(((25,), [[(two,)]]), people, rows, kinds) == {3}
    assert candidates(((31,), [[(one,), (one,)]]), people, rows, kinds) == {3}


@pytest.mark.parametrize(
    ("algorithm", "seed"), [(a, s) for a in ("kacpc", "mondrian", "best", "mdav") for s in range(6)]
)
def test_no_sensitive_value_too_frequent_among_candidates(con: Any, algorithm: str, seed: int) -> None:
    minimum = 2 + seed % 2
    actual_clinic = clinic(con, seed, 20 + 9 * seed)
    con.execute("UPDATE patients SET blood = ['A', 'B', 'AB', '0'][1 + (rowid % 4)::INTEGER]")
    con.execute("UPDATE visits SET disease = ['Flu', 'HIV', 'TB', 'Cold', NULL][1 + (hash(rowid) % 5)::INTEGER]")
    call = f"{algorithm}(TABLE, k := 3, l := {minimum}, max_children := {1 + seed}, {KEY}, PARAMETER)"
    of_rows = call.replace("PARAMETER", "entity := 'patients'")
    of_people = call.replace("PARAMETER", "children := 'visits'")
    people = {p: rows[0] for p, rows in rows_by_pseudonym(con, "patients", "id, age, zip", of_people).items()}
    visits = rows_by_pseudonym(con, "visits", "patient_id, day, code, disease", of_rows)
    blood = rows_by_pseudonym(con, "patients", "id, blood", of_people)
    known_rows = {p: [row[:2] for row in rows] for p, rows in visits.items()}
    assert min(people_by_published_rows(people, [known_rows]).values()) >= 3
    for key, own_part in actual_clinic.people.items():
        actual_candidates = candidates((own_part, [actual_clinic.visits[key]]), people, [known_rows], KINDS)
        actual_values = filter(
            None, (best_guess(actual_candidates, visits, 2), best_guess(actual_candidates, blood, 0))
        )
        assert all(share <= 1 / minimum and values >= minimum for share, values in actual_values)


def test_best_guess_counts_people_not_rows() -> None:
    rows = {1: [("Flu",), ("Flu",), ("HIV",)], 2: [(None,), ("Flu",), ("TB",)], 4: [("Flu",)]}
    assert best_guess({1, 2, 3}, rows, 0) == (2 / 3, 3)
    assert best_guess({3}, rows, 0) is None
    assert best_guess({2, 5}, {2: [(None,)]}, 0) == (0.0, 0)
