"""Real people with several records: 101,766 hospital stays of 71,518 patients with diabetes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import dbanon

QUASI = ("race", "gender", "age", "time_in_hospital")
K = 10


@pytest.fixture
def stays(con: Any, data_folder: Path) -> Any:
    """Provide the connection with the table `stays`; patient_nbr identifies patients and has the role identifier."""
    file = data_folder / "diabetes130.parquet"
    if not file.exists():
        pytest.skip("the stays of patients with diabetes (diabetes130.parquet) are not beside this checkout")
    con.execute(f"""
        CREATE TABLE stays AS
        SELECT encounter_id, patient_nbr, nullif(race, '?') AS race, gender, age, time_in_hospital::INTEGER AS
            time_in_hospital, readmitted
        FROM '{file}'
    """)
    con.execute("CREATE TABLE decades AS SELECT DISTINCT age FROM stays")
    ages = [row[0] for row in con.execute("SELECT age FROM decades").fetchall()]
    halves = {age: "young" if int(age[1:-1].split("-")[0]) < 50 else "old" for age in ages}
    dbanon.load_hierarchy(con, "decade", [[age, half, "*"] for age, half in sorted(halves.items())])
    quasi: dict[str, Any] = dict.fromkeys(QUASI, "quasi") | {"age": ("quasi", "decade")}
    dbanon.declare(con, "stays", encounter_id="insensitive", patient_nbr="identifier", readmitted="sensitive", **quasi)
    return con


def class_counts(connection: Any, algorithm: str, arguments: str) -> list[tuple[int, int, int, int]]:
    """Return four numbers of every class, by a join of the release with the source.

    Records, distinct patients, distinct sensitive values, and source rows with other sensitive values. The number of
    the stay is published for the join.
    """
    rows: list[tuple[int, int, int, int]] = connection.execute(f"""
        SELECT
            count(*), count(DISTINCT s.patient_nbr), count(DISTINCT r.readmitted),
            count(*) FILTER (WHERE r.readmitted IS DISTINCT FROM s.readmitted)
        FROM {algorithm}('stays', k := {K}, insensitive := ['encounter_id'], allow_rare := ['encounter_id'],
        {arguments}) AS r
        JOIN stays AS s USING (encounter_id)
        GROUP BY {", ".join(f"r.{q}" for q in QUASI)}
    """).fetchall()
    return rows


@pytest.mark.parametrize("algorithm", ["kacpc", "mondrian"])
def test_every_class_has_k_patients_and_l_values(stays: Any, algorithm: str) -> None:
    actual_classes = class_counts(stays, algorithm, "l := 2, person := 'patient_nbr'")
    assert sum(records for records, *_ in actual_classes) == 101_766
    assert len(actual_classes) > 100
    assert min(patients for _, patients, *_ in actual_classes) >= K
    assert min(values for *_, values, _ in actual_classes) >= 2
    assert sum(untrue for *_, untrue in actual_classes) == 0


@pytest.mark.not_everyday
def test_few_patients_stays_form_class_and_are_reported(stays: Any) -> None:
    actual_classes = class_counts(stays, "kacpc", "l := 2")
    assert min(records for records, *_ in actual_classes) >= K
    assert min(patients for _, patients, *_ in actual_classes) < K
    of_patients = "FROM policy_problems() WHERE column_name = 'patient_nbr'"
    (row,) = stays.execute(of_patients).fetchall()
    assert row[2:4] == ("stays", "patient_nbr")
    assert "16773 values of this identifier occur in more than one row" in row[4]
    stays.execute(row[5])
    assert stays.execute(of_patients).fetchall() == []
    assert min(patients for _, patients, *_ in class_counts(stays, "kacpc", "l := 2")) >= K
