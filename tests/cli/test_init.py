"""dbanon init: an accepted policy is written completely or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import dbanon
from dbanon.cli import main

PROPOSED = [
    ("patient_nbr", "person", None),
    ("name", "identifier", None),
    ("age", "quasi", None),
    ("sex", "quasi", "sex"),
    ("disease", "sensitive", None),
    ("ward", "quasi", None),
]


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """Create a database with a table that has a column of every role, and no policy."""
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE patients AS SELECT i // 2 AS patient_nbr, 'n' || i AS name, i % 40 + 20 AS age, "
            "['F', 'M'][i % 2 + 1] AS sex, ['flu', 'cold'][i % 2 + 1] AS disease, ['A', 'B'][i % 2 + 1] AS ward "
            "FROM range(200) AS r (i)"
        )
    return path


def run(*arguments: object, answers: str = "") -> Result:
    return CliRunner().invoke(main, ["init", *map(str, arguments)], input=answers)


def policy_rows(path: Path) -> list[tuple[Any, ...]]:
    """Return the policy, in the order of the table's columns."""
    with dbanon.connect(path) as con:
        rows = con.execute("SELECT column_name, role, hierarchy FROM dbanon.policy").fetchall()
    order = [name for name, _, _ in PROPOSED]
    return sorted(rows, key=lambda row: order.index(row[0]))


@pytest.mark.not_everyday
def test_yes_accepts_every_proposal_and_policy_works(clinic: Path) -> None:
    result = run(clinic, "patients", "--yes")
    assert result.exit_code == 0, result.output
    assert "sex          quasi       hierarchy sex" in result.output
    assert policy_rows(clinic) == PROPOSED
    with dbanon.connect(clinic) as con:
        assert con.execute("SELECT min(size) >= 5 FROM kacpc_classes('patients', k=5)").fetchall() == [(True,)]


def test_init_enter_accepts_and_answers_change_proposals(clinic: Path) -> None:
    # person, name: skip, age: enter, sex: no hierarchy, disease: an unknown role, then other; ward: a second person
    answers = ["", "skip", "", "", "", "", "-", "what", "insensitive", "person", "quasi", "", "y"]
    result = run(clinic, "patients", answers="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    assert "patient_nbr has the role person already" in result.output
    assert "withheld, without a role: 1 column" in result.output
    assert policy_rows(clinic) == [
        ("patient_nbr", "person", None),
        ("age", "quasi", None),
        ("sex", "quasi", None),
        ("disease", "insensitive", None),
        ("ward", "quasi", None),
    ]


@pytest.mark.not_everyday
def test_unknown_hierarchy_asked_again(clinic: Path) -> None:
    result = run(clinic, "patients", answers="\n\n\n\n\n\nadult_sexx\nadult_sex\n\n\n\ny\n")
    assert result.exit_code == 0, result.output
    assert "there is no hierarchy 'adult_sexx'. Did you mean 'adult_sex'?" in result.output
    assert ("sex", "quasi", "adult_sex") in policy_rows(clinic)


@pytest.mark.not_everyday
@pytest.mark.parametrize("answers", ["", "\n\n", "\n\n\n\n\n\n\n\n\nn\n"])
def test_init_writes_nothing_before_last_yes(clinic: Path, answers: str) -> None:
    assert run(clinic, "patients", answers=answers).exit_code == 1
    assert policy_rows(clinic) == []


@pytest.mark.not_everyday
def test_init_skipping_all_columns_writes_nothing(clinic: Path) -> None:
    result = run(clinic, "patients", answers="skip\n" * 6)
    assert (result.exit_code, policy_rows(clinic)) == (0, [])
    assert "Nothing to write" in result.output


@pytest.mark.not_everyday
def test_existing_policy_replaced_only_with_force(clinic: Path) -> None:
    with dbanon.connect(clinic) as con:
        dbanon.declare(con, "patients", name="insensitive", disease="quasi")
        con.execute("CREATE TABLE ward AS SELECT 1 AS age")
        dbanon.declare(con, "ward", age="quasi")
    result = run(clinic, "patients", "--yes")
    assert result.exit_code == 1
    assert "has a policy already (2 columns). Hint: --replace" in result.output
    assert run(clinic, "patients", "--yes", "--replace").exit_code == 0
    with dbanon.connect(clinic) as con:
        rows = con.execute("SELECT table_name, count(*) FROM dbanon.policy GROUP BY ALL ORDER BY ALL").fetchall()
        assert rows == [("patients", 6), ("ward", 1)]
        assert con.execute("SELECT role FROM dbanon.policy WHERE column_name = 'name'").fetchall() == [("identifier",)]


def test_replacing_lists_settings_that_are_lost(clinic: Path) -> None:
    with dbanon.connect(clinic) as con:
        settings = {"role": "quasi", "top": "50", "bottom": "25", "rounding": "5", "weight": 2}
        dbanon.declare(con, "patients", AGE=settings, name="insensitive", sex={"role": "quasi", "hierarchy": "sex"})
    output = run(clinic, "patients", "--yes", "--replace").output
    assert (
        "  replaces the policy of 3 columns\n  Its settings that are not kept (set them again if you need them):\n"
        "    age: top 50, bottom 25, rounding 5, weight 2.0\n    name: role insensitive\n"
    ) in output
    assert "not kept" not in run(clinic, "patients", "--yes", "--replace").output


def test_init_reports_unwritable_database(clinic: Path) -> None:
    with dbanon.connect(clinic, read_only=True):
        result = run(clinic, "patients", "--yes")
    assert result.exit_code == 1
    assert "cannot be opened for writing" in result.output
    assert policy_rows(clinic) == []


@pytest.mark.parametrize(
    ("table", "says"), [("patient", "Did you mean 'patients'?"), ("(SELECT 1)", "is not the name")]
)
def test_init_reports_missing_table(clinic: Path, table: str, says: str) -> None:
    result = run(clinic, table, "--yes")
    assert result.exit_code == 1
    assert says in result.output
    assert "Traceback" not in result.output


def test_init_does_not_create_missing_database(tmp_path: Path) -> None:
    assert run(tmp_path / "no.duckdb", "patients").exit_code == 2
    assert not (tmp_path / "no.duckdb").exists()
    (tmp_path / "text.duckdb").write_text("no database")
    result = run(tmp_path / "text.duckdb", "patients")
    assert "is neither a DuckDB database nor a file of rows" in result.output


@pytest.mark.not_everyday
def test_init_accepts_hostile_names(tmp_path: Path) -> None:
    path = tmp_path / "odd.duckdb"
    with dbanon.connect(path) as con:
        con.execute(
            """CREATE TABLE "x'); DROP TABLE t; --" AS """
            """SELECT i % 3 AS "🦆 zip '; --", i % 9 AS age FROM range(90) AS r (i)"""
        )
    result = run(path, '"x\'); DROP TABLE t; --"', "--yes")
    assert result.exit_code == 0, result.output
    with dbanon.connect(path) as con:
        rows = con.execute("SELECT table_name, column_name FROM dbanon.policy ORDER BY ALL").fetchall()
    assert rows == [("x'); DROP TABLE t; --", "age"), ("x'); DROP TABLE t; --", "🦆 zip '; --")]


MESSY = (
    "i // 2 AS patient_id, CASE WHEN i % 20 = 0 THEN 999 WHEN i = 777 THEN 103 ELSE 18 + i * 7 % 73 END AS age, "
    "DATE '1930-01-01' + (i * 31 % 25000)::INTEGER AS birth_date, lpad((i * 37 % 480 + 2100)::VARCHAR, 5, '0') AS zip, "
    "['F', 'M', 'NA'][i % 3 + 1] AS sex, ['flu', 'cold', '?'][i % 3 + 1] AS disease, "
    "40 + i % 60 || ',5' AS weight, 'x' AS thing"
)


@pytest.fixture
def messy_database(tmp_path: Path) -> Path:
    """Create a table with codes for missing values, zip codes, dates, a unique number, and a decimal comma."""
    path = tmp_path / "messy.duckdb"
    with dbanon.connect(path) as con:
        con.execute(f"CREATE TABLE visits AS SELECT {MESSY} FROM range(2000) AS r (i)")
    return path


def settings(path: Path) -> dict[str, tuple[Any, ...]]:
    with dbanon.connect(path) as con:
        rows = con.execute(
            "SELECT column_name, role, hierarchy, top, rounding, missing_codes FROM dbanon.policy"
        ).fetchall()
    return {name: tuple(rest) for name, *rest in rows}


TAKEN = {
    "patient_id": ("person", None, None, None, None),
    "age": ("quasi", None, "90", None, ["999"]),
    "birth_date": ("quasi", None, None, "year", None),
    "zip": ("quasi", None, None, None, None),
    "sex": ("quasi", "sex", None, None, ["NA"]),
    "disease": ("sensitive", None, None, None, ["?"]),
    "weight": ("quasi", None, None, None, None),
}


def test_yes_accepts_only_proposals_publishing_no_more(messy_database: Path) -> None:
    result = run(messy_database, "visits", "--yes")
    assert result.exit_code == 0, result.output
    assert settings(messy_database) == TAKEN
    assert "480 values, 48 of 4 characters, 5 of 3 characters, 1 of 2 character" in result.output
    assert "weight: numbers as text with decimal commas" in result.output
    assert [line for line in result.stdout.splitlines() if len(line) > 80 and not line.endswith(";")] == []
    with dbanon.connect(messy_database) as con:
        assert con.execute("SELECT count(*) FROM dbanon.hierarchy").fetchall() == [(0,)]
        ages = con.execute("SELECT DISTINCT age FROM kacpc('visits', k=10)").fetchall()
    assert not [age for (age,) in ages if age and ("103" in age or "999" in age)]


def test_replaced_policy_keeps_codes_that_values_can_have(messy_database: Path) -> None:
    assert run(messy_database, "visits", "--yes").exit_code == 0
    with dbanon.connect(messy_database) as con:
        con.execute("UPDATE dbanon.policy SET missing_codes = ['103'] || missing_codes WHERE column_name = 'age'")
        con.execute("UPDATE dbanon.policy SET missing_codes = ['-', '99'] WHERE column_name = 'weight'")
        con.execute("ALTER TABLE visits ALTER COLUMN weight TYPE DOUBLE USING replace(weight, ',', '.')::DOUBLE")
        con.execute("UPDATE visits SET disease = 'unknown' WHERE patient_id % 50 = 0")
    expected = {"age": ["103", "999"], "sex": ["NA"], "disease": ["?", "unknown"], "weight": ["99"]}
    for arguments, answers in ((["--yes"], ""), ([], "\n" * 60)):
        assert run(messy_database, "visits", "--replace", *arguments, answers=answers).exit_code == 0
        assert {name: codes for name, (*_, codes) in settings(messy_database).items() if codes} == expected
    with dbanon.connect(messy_database) as con:
        rows = con.execute("SELECT DISTINCT age, sex FROM best('visits', k=10)").fetchall()
    assert not [row for row in rows if row[1] == "NA" or "999" in str(row[0])]


def test_hierarchies_previewed_built_and_stored_with_policy(messy_database: Path) -> None:
    # person; age: role, codes, intervals; born: role, dates; zip: role, prefix; the rest as proposed; write
    answers = ["", "", "", "intervals", "", "dates", "", "", "", "", "", "", "", "", "", "", "y"]
    result = run(messy_database, "visits", answers="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    for preview in (
        "intervals builds one: 74 values, 17 of width 5, 10 of width 10, 6 of width 20",
        "dates builds one: ",
    ):
        assert preview in result.output
    built = {name: cells[1] for name, cells in settings(messy_database).items() if cells[0] == "quasi"}
    assert built == {"age": "age", "birth_date": "birth_date", "zip": "zip", "sex": "sex", "weight": None}
    assert settings(messy_database)["age"] == ("quasi", "age", None, None, ["999"]), "no top beside a hierarchy"
    with dbanon.connect(messy_database) as con:
        levels = con.execute(
            "SELECT name, max(depth) FROM dbanon.hierarchy_node GROUP BY name ORDER BY name"
        ).fetchall()
        assert levels == [("age", 4), ("birth_date", 5), ("zip", 4)]
        assert con.execute("FROM hierarchy_problems()").fetchall() == []
        assert con.execute("SELECT min(persons) >= 5 FROM kacpc_classes('visits', k=5)").fetchall() == [(True,)]


@pytest.mark.not_everyday
def test_init_proposals_can_be_refused_and_changed(messy_database: Path) -> None:
    # age: role, other codes, no hierarchy, no top; born: role, none, decade; zip: role, none
    answers = ["", "", "999, 103", "", "-", "", "", "decade", "", "-", "", "-", "-", "", "-", "", "", "", "y"]
    result = run(messy_database, "visits", answers="\n".join(answers) + "\n")
    assert result.exit_code == 0, result.output
    actual_settings = settings(messy_database)
    assert actual_settings["age"] == ("quasi", None, None, None, ["999", "103"])
    assert actual_settings["birth_date"] == ("quasi", None, None, "decade", None)
    assert (
        actual_settings["zip"][1],
        actual_settings["sex"][1],
        actual_settings["sex"][4],
        actual_settings["disease"][4],
    ) == (None, None, None, None)


def test_hierarchy_not_built_if_policy_not_written(messy_database: Path) -> None:
    assert run(messy_database, "visits", answers="\n" * 18 + "n\n").exit_code == 1
    with dbanon.connect(messy_database) as con:
        assert con.execute("SELECT count(*) FROM dbanon.hierarchy").fetchall() == [(0,)]
    assert settings(messy_database) == {}


@pytest.mark.not_everyday
def test_built_hierarchy_avoids_existing_names(messy_database: Path) -> None:
    with dbanon.connect(messy_database) as con:
        dbanon.load_hierarchy(con, "zip", [["a", "*"], ["b", "*"]])
    result = run(messy_database, "visits", answers="\n" * 18 + "y\n")
    assert result.exit_code == 0, result.output
    assert settings(messy_database)["zip"][1] == "visits zip"


@pytest.mark.not_everyday
def test_top_is_value_exceeded_by_fewer_than_k_persons(messy_database: Path) -> None:
    with dbanon.connect(messy_database) as con:
        con.execute("CREATE TABLE even AS SELECT i % 80 AS age FROM range(1600) AS r (i)")
    assert run(messy_database, "even", "--yes").exit_code == 0
    assert settings(messy_database)["age"][2] is None, "twenty have the greatest age"
    assert run(messy_database, "even", "--yes", "--replace", "-k", 50).exit_code == 0
    assert settings(messy_database)["age"][2] == "75", "of the greatest age are fewer than 50; 80 are 76 or older"


def test_init_prints_json_to_stdout_and_text_to_stderr(clinic: Path) -> None:
    result = run(clinic, "patients", "--yes", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert [(c["column_name"], c["role"], c["hierarchy"]) for c in document["written"]] == policy_rows(clinic)
    assert set(document) == {"database", "table", "written", "withheld", "problems", "next"}
    assert document["next"] == f"dbanon anonymize {clinic} -k 10"
    assert "The policy of" in result.stderr
    repeated = run(clinic, "patients", "--yes", "--json")
    assert (repeated.exit_code, json.loads(repeated.stdout)["error"]["kind"]) == (1, "failed")
