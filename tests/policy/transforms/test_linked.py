"""Rows linked by a pseudonym are judged by person: by the classes of all of them, and by all of their values."""

from __future__ import annotations

from typing import Any

import pytest
from support.pseudonyms import assert_refused

import dbanon

VISITS = "SELECT * FROM mondrian('visits', k=10)"


@pytest.fixture
def visits(empty_con: Any) -> Any:
    """Create two visits of each of 200 persons, both at one age."""
    empty_con.execute("""CREATE OR REPLACE TABLE visits AS SELECT i AS patient, j AS visit, 20 + i % 4 AS age,
        ['Flu', 'HIV', 'Cold'][1 + (i // 4 + j) % 3] AS disease, 'w' || i % 2 AS ward
        FROM range(200) AS r (i), range(2) AS s (j)""")
    empty_con.execute("DELETE FROM dbanon.policy")
    dbanon.declare(empty_con, "visits", patient="pseudonym", age="quasi", disease="sensitive")
    return empty_con


def test_linked_class_ids_shared_by_k_persons_published(visits: Any) -> None:
    assert len(visits.sql(VISITS).fetchall()) == 400
    relation = visits.sql(f"SELECT patient, list(class_id ORDER BY class_id) AS seen FROM ({VISITS}) GROUP BY patient")
    assert min(n for (n,) in relation.aggregate("count(*)", "seen").fetchall()) >= 10


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE visits SET age = 23 WHERE patient = 0 AND visit = 1",
        "INSERT INTO visits SELECT 0, 3, 20, 'Flu', 'w0'",
        "DELETE FROM visits WHERE patient = 0 AND visit = 1",
    ],
)
def test_person_isolated_by_linked_rows_stops_release(visits: Any, change: str) -> None:
    visits.execute(change)
    for kind in ("", "_classes", "_metrics"):
        assert_refused(
            visits, f"FROM mondrian{kind}('visits', k=10)", "1 person of visits is singled out by their linked rows"
        )
    assert visits.sql("FROM mondrian('visits', k=10, withhold=['patient'])").fetchall()


def test_records_without_pseudonym_are_unlinked(visits: Any) -> None:
    visits.execute("INSERT INTO visits SELECT NULL, 1, 20, 'Flu', 'w0' FROM range(9)")
    assert_refused(visits, VISITS, "9 persons of visits are singled out by their linked rows")
    visits.execute("INSERT INTO visits SELECT NULL, 1, 20, 'Flu', 'w0'")
    assert len(visits.sql(VISITS).fetchall()) == 410


@pytest.mark.all_cases
@pytest.mark.parametrize(
    "call", ["mondrian('patients', k=10)", "kacpc('patients', k=10, l=2)", "best('patients', k=10)"]
)
@pytest.mark.parametrize("several", [False, True])
def test_null_pseudonym_among_unlinked_rows_is_published(con: Any, call: str, several: bool) -> None:
    """A NULL links nothing, and neither does the pseudonym of a person with one row."""
    if several:
        con.execute("ALTER TABLE patients ADD COLUMN stay INTEGER")
        con.execute("UPDATE patients SET stay = patient + 5000")
        dbanon.declare(con, "patients", patient={"role": "pseudonym", "settings": {"person": "true"}}, stay="pseudonym")
    for nulls in (1, 2, 9):
        con.execute(f"UPDATE patients SET patient = NULL WHERE patient < {1000 + 7 * nulls} AND patient % 7 = 6")
        if several:
            con.execute("UPDATE patients SET stay = NULL WHERE patient IS NULL")
        rows = con.sql(f"SELECT * FROM {call}").fetchall()
        assert len(rows) == 300
        assert sum(row[0] is None for row in rows) == nulls
        assert con.sql(f"SELECT * FROM {call.replace('(', '_classes(', 1)}").fetchall()


def test_null_pseudonyms_are_not_linked(visits: Any) -> None:
    """Two rows without a pseudonym are not one person with two rows; all others have one row."""
    visits.execute("INSERT INTO visits SELECT NULL, j, 20, 'Flu', 'w0' FROM range(2) AS r (j)")
    assert_refused(visits, VISITS, "2 persons of visits are singled out by their linked rows")
    visits.execute("DELETE FROM visits WHERE visit = 1 AND patient < 36 AND patient % 4 = 0")
    assert_refused(visits, VISITS, "11 persons of visits are singled out by their linked rows")
    visits.execute("DELETE FROM visits WHERE visit = 1 AND patient = 36")
    assert len(visits.sql(VISITS).fetchall()) == 392
    visits.execute("UPDATE visits SET patient = NULL WHERE patient = 40 AND visit = 1")
    assert len(visits.sql(VISITS).fetchall()) == 392
    visits.execute("UPDATE visits SET patient = NULL WHERE patient = 42 AND visit = 1")
    assert_refused(visits, VISITS, "2 persons of visits are singled out by their linked rows")


def test_null_pseudonym_row_counts_as_person_for_rare_values(con: Any) -> None:
    dbanon.declare(con, "patients", sex="insensitive")
    con.execute("UPDATE patients SET patient = NULL WHERE patient = 1000")
    assert len(con.sql("SELECT * FROM mondrian('patients', k=10)").fetchall()) == 300
    con.execute("INSERT INTO patients SELECT * REPLACE ('M' AS sex) FROM patients WHERE sex = 'F'")
    assert_refused(con, "SELECT * FROM mondrian('patients', k=10)", "the linked rows of 1 person of patients")


def test_l_diversity_checked_over_linked_rows(visits: Any) -> None:
    """Only twenty persons have three visits; their trail distinguishes them from others of their class."""
    assert visits.sql("FROM mondrian('visits', k=10, l=2)").fetchall()
    visits.execute(
        "INSERT INTO visits SELECT patient, 3, age, disease, ward FROM visits "
        "WHERE age = 20 AND visit = 0 AND patient < 80"
    )
    assert visits.sql(VISITS).fetchall()
    visits.execute("UPDATE visits SET disease = 'HIV' WHERE age = 20 AND patient < 80")
    assert_refused(
        visits, "FROM mondrian('visits', k=10, l=2)", "do not meet l of disease for the linked rows of their persons"
    )
    assert visits.sql("FROM mondrian('visits', k=10, l=2, withhold=['patient'])").fetchall()


def test_alpha_bounded_over_all_rows_of_person(visits: Any) -> None:
    """The first hundred have HIV at one of their visits, half of them in each class; in total, half of 200 have it."""
    visits.execute("""UPDATE visits SET age = CASE WHEN visit = 0 THEN 20 WHEN patient < 100 THEN 21 ELSE 22 END,
        disease = CASE WHEN patient < 100 AND patient % 2 = visit THEN 'HIV'
                       WHEN patient % 2 = 0 THEN 'Flu' ELSE 'Cold' END""")
    assert visits.sql("FROM mondrian('visits', k=50, alpha=0.5, withhold=['patient'])").fetchall()
    assert_refused(
        visits, "FROM mondrian('visits', k=50, alpha=0.5)", "1 group of persons .* does not meet alpha of disease"
    )
    assert visits.sql("FROM mondrian('visits', k=50)").fetchall()


def test_rare_value_combination_of_linked_rows_refused(visits: Any) -> None:
    dbanon.declare(visits, "visits", ward="insensitive")
    assert visits.sql(VISITS).fetchall()
    visits.execute("UPDATE visits SET ward = 'w1' WHERE patient = 0 AND visit = 1")
    assert_refused(visits, VISITS, "the linked rows of 1 person of visits have combined values")
    assert visits.sql("FROM mondrian('visits', k=10, withhold=['patient'])").fetchall()
    assert visits.sql("FROM mondrian('visits', k=10, allow_rare=['ward'])").fetchall()


def test_colliding_pseudonyms_refused_with_minimal_length(con: Any) -> None:
    con.execute("CREATE OR REPLACE TABLE many AS SELECT i AS patient, 1 AS age FROM range(2000) AS r (i)")
    dbanon.declare(
        con,
        "many",
        patient={"role": "pseudonym", "settings": {"format": "digits", "length": 4, "scope": "s"}},
        age="quasi",
    )
    with pytest.raises(Exception, match=r"values of many.patient would have a pseudonym that another") as caught:
        con.sql("FROM mondrian('many', k=10)").fetchall()
    minimum = int(str(caught.value).split("The shortest length without a collision is ")[1].split()[0])
    for length in (minimum - 1, minimum):
        con.execute(
            f"UPDATE dbanon.policy SET settings = {{'format': 'digits', 'length': {length}, 'scope': 's'}} "
            "WHERE role = 'pseudonym'"
        )
        if length < minimum:
            assert_refused(con, "FROM mondrian('many', k=10)", "would have a pseudonym that another")
    assert con.sql("SELECT count(DISTINCT patient) FROM mondrian('many', k=10)").fetchall() == [(2000,)]


def test_pseudonym_is_neither_quasi_nor_unique_value(con: Any) -> None:
    mapping = dict(con.sql("SELECT metric, value FROM mondrian_metrics('patients', k=10)").fetchall())
    assert (
        mapping["unique_by_unchanged_columns"] == 0 and mapping["k_full_record"] > 1 and mapping["linked_records"] == 0
    )


def test_linked_metrics_count_persons_without_key(visits: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DBANON_KEY")
    assert visits.sql("SELECT achieved FROM anonymity('visits') WHERE model = 'k_anonymity'").fetchall() == [(50,)]
    assert visits.sql("FROM compare('visits', k=[10], algorithms=['mondrian'])").fetchall()
    assert visits.sql("SELECT column_name FROM policy_review('visits')").fetchall()
