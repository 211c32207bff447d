"""The three commands with made-up files whose columns are named as those of well-known public files."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from dbanon.cli import main

N_RECORDS = 600

KEY, AGE, SCALE, FLAG = "10000 + i", "18 + i * 7 % 50", "1 + i * 11 % 5", "i * 5 % 2"
YEARS, AMOUNT, CODE, YES = (
    "i * 3 % 12",
    "100 * (1 + i * 13 % 8)",
    "['a', 'b', 'c'][1 + i * 7 % 3]",
    "['No', 'Yes'][1 + i % 2]",
)
NAME = "['Ada', 'Ben', 'Cleo'][1 + i % 3] || ' Q' || i"

FILES: dict[str, dict[str, str]] = {
    "attrition": dict.fromkeys(
        ("Age", "TotalWorkingYears", "DistanceFromHome"), AGE
    ) | dict.fromkeys(
        ("BusinessTravel", "Department", "Education", "EducationField", "Gender", "JobRole", "MaritalStatus"), CODE
    ) | dict.fromkeys(("Attrition", "OverTime"), YES) | dict.fromkeys(
        ("EnvironmentSatisfaction", "JobInvolvement", "JobSatisfaction", "PerformanceRating", "JobLevel",
         "RelationshipSatisfaction", "StockOptionLevel", "WorkLifeBalance"), SCALE,
    ) | dict.fromkeys(("DailyRate", "HourlyRate", "MonthlyIncome", "MonthlyRate"), AMOUNT) | dict.fromkeys(
        ("NumCompaniesWorked", "PercentSalaryHike", "TrainingTimesLastYear", "YearsAtCompany", "YearsInCurrentRole",
         "YearsSinceLastPromotion", "YearsWithCurrManager"), YEARS,
    ),
    "credit_data": dict.fromkeys(("Status", "Home", "Marital", "Records", "Job"), CODE) | dict.fromkeys(
        ("Seniority", "Time"), YEARS
    ) | {"Age": AGE} | dict.fromkeys(("Expenses", "Income", "Assets", "Debt", "Amount", "Price"), AMOUNT),
    "Titanic": {
        "PassengerId": KEY, "Name": NAME, "PClass": "['1st', '2nd', '*'][1 + i * 7 % 3]", "Age": AGE, "Sex": CODE,
        "Survived": FLAG, "SexCode": FLAG,
    },
    "gss_wages": {"year": "1974 + i % 40", "realrinc": AMOUNT, "age": AGE, "occ10": AMOUNT, "occrecode": CODE,
                  "prestg10": AGE, "childs": YEARS, "wrkstat": CODE, "gender": CODE, "educcat": CODE,
                  "maritalcat": CODE},
    "indo_rct": {"id": KEY, "site": CODE, "age": AGE, "risk": SCALE, "gender": CODE, "outcome": YES}
    | dict.fromkeys(("recpanc", "psphinc", "asa", "prophystent", "pdstent", "train", "rx", "bleed"), YES)
    | dict.fromkeys(("status", "type"), CODE),
    "births14": {"fage": AGE, "mage": AGE, "mature": CODE, "weeks": YEARS, "premie": CODE, "visits": YEARS,
                 "gained": YEARS, "weight": SCALE, "lowbirthweight": CODE, "sex": CODE, "habit": YES,
                 "marital": CODE, "whitemom": CODE},
    "ACTG175": {"pidnum": KEY, "age": AGE, "wtkg": AGE} | dict.fromkeys(
        ("hemo", "homo", "drugs", "race", "gender", "symptom", "treat", "offtrt", "strat", "cens"), FLAG
    ) | {"karnof": SCALE, "cd40": AMOUNT, "cd420": AMOUNT, "cd80": AMOUNT, "days": YEARS, "arms": SCALE},
}  # fmt: skip

IDENTIFIERS = {"PassengerId", "Name", "id", "pidnum"}


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(main, list(arguments))
    assert result.exit_code == 0, result.output
    return result


def next_words(result: Result) -> list[str]:
    """Return the words of the command that a command printed as the next one, without `dbanon`."""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("Next: ")]
    return shlex.split(line.removeprefix("Next: "))[1:]


@pytest.mark.parametrize("name", FILES)
def test_columns_of_public_files_are_published_in_three_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    columns = FILES[name]
    different = {  # no two columns have the same content: each has the value of another record in one record
        column: sql if column in IDENTIFIERS else re.sub(r"\bi\b", f"if(i = {place}, i + 1, i)", sql)
        for place, (column, sql) in enumerate(columns.items())
    }
    selected = ", ".join(f'{sql} AS "{column}"' for column, sql in different.items())
    duckdb.sql(f"COPY (SELECT {selected} FROM range({N_RECORDS}) AS r (i)) TO '{name}.csv'")
    loaded = run("init", f"{name}.csv", "--yes")
    with duckdb.connect(f"{name}.duckdb", read_only=True) as con:
        roles = dict(con.execute("SELECT column_name, role FROM dbanon.policy").fetchall())
    assert "neither its name nor its values" not in loaded.output
    assert len(roles) >= 0.75 * len(columns), columns.keys() - roles.keys()
    assert "insensitive" not in roles.values()
    published = run(*next_words(run(*next_words(loaded))))
    with (tmp_path / f"{name}_safe.csv").open() as lines:
        header = set(next(csv.reader(lines)))
    assert published.exit_code == 0
    assert not header & IDENTIFIERS
    assert header - {"class_id"} <= columns.keys()
