"""The rows of related tables, and their metrics, derived by hand from six patients with two visits each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import dbanon

KEY = "key := {'patient_id': 'id'}"
PATIENTS = [(60, 20, "Flu"), (50, 21, "Flu"), (40, 22, "Flu"), (30, 60, "HIV"), (20, 61, "HIV"), (10, 62, "HIV")]
FIRST, SECOND = {"Flu": "1970-01", "HIV": "1980-02"}, {"Flu": "1970-06", "HIV": "1980-09"}


@pytest.fixture
def visits_con() -> Iterator[Any]:
    """Create two visits of each patient: all of one disease have them in the same two months."""
    with duckdb.connect() as con:
        dbanon.attach(con)
        con.execute("CREATE TABLE patients (id INTEGER, age INTEGER)")
        con.execute("CREATE TABLE visits (patient_id INTEGER, day DATE, disease VARCHAR)")
        con.executemany("INSERT INTO patients VALUES (?, ?)", [row[:2] for row in PATIENTS])
        of_months = [(months, patient) for months in (SECOND, FIRST) for patient in PATIENTS]
        visits = [(key, f"{months[disease]}-{key // 10:02}", disease) for months, (key, _, disease) in of_months]
        con.executemany("INSERT INTO visits VALUES (?, ?, ?)", [list(visit) for visit in visits])
        dbanon.declare(con, "patients", id="identifier", age="quasi")
        dbanon.declare(con, "visits", patient_id="identifier", day="quasi", disease="sensitive")
        yield con


def test_related_rows_and_metrics_of_six_patients_by_hand(visits_con: Any) -> None:
    people = visits_con.execute(f"FROM kacpc('patients', k := 3, children := 'visits', {KEY})").fetchall()
    assert people == [(n, "[20, 22]" if n < 4 else "[60, 62]", 1 if n < 4 else 2) for n in range(1, 7)]
    visits = visits_con.execute(f"FROM kacpc('visits', k := 3, entity := 'patients', {KEY})").fetchall()
    diseases = ["Flu" if n < 4 else "HIV" for n in range(1, 7)]
    rows = [(n, first[d], d, 1 if n < 4 else 2) for n, d in enumerate(diseases, 1) for first in (FIRST, SECOND)]
    assert sorted(visits) == sorted(rows)
    call = f"FROM kacpc_metrics('visits', k := 3, entity := 'patients', {KEY})"
    figures = dict(visits_con.execute(f"SELECT metric, value FROM ({call})").fetchall())
    value_counts = {"persons": 6, "classes": 2, "k": 3, "risk_average": 1 / 3, "rows:visits": 12}
    assert {name: round(figures[name], 9) for name in value_counts} == {n: round(v, 9) for n, v in value_counts.items()}
    assert figures["l_diversity:visits.disease"] == 1


def test_related_classes_with_single_disease_merged_for_l(visits_con: Any) -> None:
    visits = visits_con.execute(f"FROM kacpc('visits', k := 3, l := 2, entity := 'patients', {KEY})").fetchall()
    assert len(visits) == 12 and {row[-1] for row in visits} == {1}
