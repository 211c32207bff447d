"""Proposals for made-up column sets that resemble public files: most columns are recognized, and no identifier."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbanon.sqltext.quote import identifier

FLAG, SCALE, AGE, COUNT = "i % 2", "1 + i % 5", "18 + i * 7 % 60", "i * 3 % 9"
CODE, KEY, TEXT = "['a', 'b', 'c'][1 + i % 3]", "10000 + i", "['Yes', 'No'][1 + i % 2]"
AMOUNT, NAME = "100 + i % 40 * 25", "['Ada', 'Ben'][1 + i % 2] || ' N' || i"
QUASI, SENSITIVE, IDENTIFIER, WITHHELD = "quasi", "sensitive", "identifier", "withheld"

COLUMN_SETS: dict[str, dict[str, tuple[str, str]]] = {
    "employees": {
        "EmployeeNumber": (KEY, IDENTIFIER), "Attrition": (TEXT, SENSITIVE), "BusinessTravel": (CODE, QUASI),
        "DistanceFromHome": (COUNT, QUASI), "JobSatisfaction": (SCALE, SENSITIVE), "HourlyRate": (AGE, SENSITIVE),
        "EnvironmentSatisfaction": (SCALE, SENSITIVE), "OverTime": (TEXT, QUASI),
    },
    "credit": {
        "Age": (AGE, QUASI), "Marital": (CODE, QUASI), "Income": (AMOUNT, SENSITIVE), "Price": (AMOUNT, SENSITIVE),
        "Amount": (AMOUNT, SENSITIVE), "Debt": (AMOUNT, SENSITIVE), "Home": (CODE, QUASI),
    },
    "ship": {
        "PassengerId": (KEY, IDENTIFIER), "Survived": (FLAG, SENSITIVE), "Pclass": ("1 + i % 3", QUASI),
        "Name": (NAME, IDENTIFIER), "SibSp": (COUNT, QUASI), "Parch": (COUNT, QUASI), "Fare": (AMOUNT, SENSITIVE),
        "Embarked": (CODE, QUASI),
    },
    "wages": {
        "year": ("1974 + i % 40", QUASI), "realrinc": (AMOUNT, SENSITIVE), "educ_degree": (CODE, QUASI),
        "childs": ("i % 4", QUASI), "prestige": (AGE, QUASI),
    },
    "births": {
        "fage": (AGE, QUASI), "mage": (AGE, QUASI), "mature": (CODE, QUASI), "premie": (CODE, QUASI),
        "gained": (COUNT, QUASI), "habit": (TEXT, SENSITIVE), "marital": (CODE, QUASI), "weight": (AGE, QUASI),
    },
    "trial": {
        "pidnum": (KEY, IDENTIFIER), "treat": (FLAG, SENSITIVE), "arms": (COUNT, SENSITIVE), "drugs": (FLAG, SENSITIVE),
        "race": (FLAG, QUASI), "gender": (FLAG, QUASI), "wtkg": (AGE, QUASI),
    },
    "churn": {
        "customerID": (KEY, IDENTIFIER), "Churn": (TEXT, SENSITIVE), "tenure": (COUNT, QUASI),
        "MonthlyCharges": ("i % 7", SENSITIVE), "SeniorCitizen": (FLAG, QUASI),
    },
    "contacts": {
        "has_email": (FLAG, WITHHELD), "phone_verified": ("i % 2 = 0", WITHHELD),
        "email": ("'a' || i || '@b.org'", IDENTIFIER),
    },
    "shop": {"order_id": (KEY, IDENTIFIER), "unit_price": (AMOUNT, SENSITIVE), "product": (CODE, QUASI)},
    "Praxis": {"Preis": (AMOUNT, SENSITIVE), "Abteilung": (CODE, QUASI), "Geschlecht": (CODE, QUASI)},
    "clinique": {"montant": (AMOUNT, SENSITIVE), "sexe": (CODE, QUASI), "produit": (CODE, QUASI)},
    "tienda": {"precio": (AMOUNT, SENSITIVE), "edad": (AGE, QUASI), "nombre": (NAME, IDENTIFIER)},
    "loja": {"preco": (AMOUNT, SENSITIVE), "idade": (AGE, QUASI), "cidade": (CODE, QUASI)},
    "negozio": {"prezzo": (AMOUNT, SENSITIVE), "sesso": (CODE, QUASI), "cognome": (NAME, IDENTIFIER)},
    "winkel": {"prijs": (AMOUNT, SENSITIVE), "leeftijd": (AGE, QUASI), "merk": (CODE, QUASI)},
    "sklep": {"cena": (AMOUNT, SENSITIVE), "wiek": (AGE, QUASI), "PESEL": (KEY, IDENTIFIER)},
    "hospital": {"diagnosis": (CODE, SENSITIVE), "ward": (CODE, QUASI), "glucose": (AGE, SENSITIVE)},
    "loans": {"loan_amount": (AMOUNT, SENSITIVE), "interest_rate": (AGE, SENSITIVE), "purpose": (CODE, WITHHELD)},
    "survey": {"overall_satisfaction": (SCALE, SENSITIVE), "rating": (SCALE, SENSITIVE), "age": (AGE, QUASI)},
    "school": {"student_id": (KEY, IDENTIFIER), "grade": (SCALE, SENSITIVE), "travel_time": (COUNT, QUASI)},
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMN_SETS)
def test_columns_of_public_files_get_expected_roles(con: Any, name: str) -> None:
    columns = COLUMN_SETS[name]
    shuffled = (  # columns with one expression have other content each
        f"(SELECT {sql} AS {identifier(column)} FROM (SELECT i FROM range(600) AS r (i) ORDER BY hash(i, {place})))"
        for place, (column, (sql, _)) in enumerate(columns.items())
    )
    con.execute(f"CREATE TABLE t AS FROM {' POSITIONAL JOIN '.join(shuffled)}")
    rows = con.execute("SELECT column_name, proposed_role, problems FROM profile('t')").fetchall()
    assert {column: role for column, role, _ in rows} == {column: role for column, (_, role) in columns.items()}
    assert [(column, problems) for column, _, problems in rows if problems] == [], "the columns are clean"


def test_only_real_codes_of_adult_reported(con: Any, data_folder: Path) -> None:
    path = data_folder / "adult.csv"
    problems = con.execute(f"SELECT column_name, problems FROM profile('{path}') WHERE len(problems) > 0").fetchall()
    assert problems == [("capital_gain", ["codes for missing values: '99999' in records: 148"])]
