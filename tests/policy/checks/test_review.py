"""policy_review() lists what a release would publish, flags anomalies, and returns statements that change it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import dbanon
from dbanon.cli import main
from dbanon.policy.checks import review
from dbanon.sqltext.quote import identifier, text

Rows = list[tuple[str, str | None, str, str | None]]


def review_rows(con: Any, table: str = "t") -> Rows:
    rows: Rows = con.execute(f"FROM policy_review({text(table)})").fetchall()
    return rows


def findings_by_column(rows: Rows, topic: str) -> dict[str | None, str]:
    return {column: finding for t, column, finding, _ in rows if t == topic}


def change_statement(rows: Rows, topic: str, column: str | None = None) -> str:
    [statement] = [s for t, c, _, s in rows if (t, c) == (topic, column)]
    assert statement is not None
    return statement


@pytest.fixture
def clinic(con: Any) -> Any:
    """Create visits of 50 persons; the ward of every tenth visit is unique."""
    con.execute(
        "CREATE TABLE t AS SELECT i // 4 AS patient, i AS visit, 20 + i % 50 AS age, "
        "DATE '1950-01-01' + i::INT AS born, "
        "lpad((i % 90)::VARCHAR, 5, '0') AS zip, ['red', 'green', 'blue', 'grey'][i % 4 + 1] AS colour, "
        "['F', 'M'][i % 2 + 1] AS sex, ['flu', 'cold'][i % 2 + 1] AS disease, "
        "CASE WHEN i % 10 = 0 THEN 'ward ' || i ELSE 'ward' END AS ward, 'x' AS extra FROM range(200) r (i)"
    )
    dbanon.load_hierarchy(con, "colours", [[c, "*"] for c in ("red", "green", "blue", "grey")])
    dbanon.declare(
        con, "t", patient="person", visit="identifier", age={"role": "quasi", "top": 60}, born="quasi", zip="quasi",
        colour=("quasi", "colours"), sex={"role": "quasi", "hierarchy": "sex"}, disease="sensitive", ward="insensitive",
    )  # fmt: skip
    return con


def test_review_lists_every_column_with_treatment(clinic: Any) -> None:
    rows = review_rows(clinic)
    assert rows[0] == ("source", None, "200 records of 50 persons", None)
    assert findings_by_column(rows, "unchanged") == {"disease": "sensitive, 2 values", "ward": "insensitive, 21 values"}
    assert findings_by_column(rows, "generalized") == {
        "age": "ranges, >=60", "born": "ranges by month", "zip": "unchanged or *", "colour": "hierarchy colours",
        "sex": "hierarchy sex",
    }  # fmt: skip
    assert findings_by_column(rows, "withheld") == {"patient": "person", "visit": "identifier", "extra": "no role"}
    assert [row[0] for row in rows] == sorted((row[0] for row in rows), key=("source", *review.TOPICS).index)


def test_review_lists_transformed_columns_as_published(clinic: Any) -> None:
    dbanon.declare(
        clinic, "t", patient={"role": "pseudonym", "settings": {"key": "env:SECRET", "format": "hex"}},
        ward={"role": "mask", "settings": {"first": "3"}},
    )  # fmt: skip
    rows = review_rows(clinic)
    assert findings_by_column(rows, "transformed") == {"patient": "pseudonym, format hex", "ward": "mask, first 3"}
    assert set(findings_by_column(rows, "withheld")) == {"visit", "extra"}
    lines = review.format_review(rows, "t")
    assert "  transformed patient (pseudonym, format hex); ward (mask, first 3)" in lines
    clinic.execute(change_statement(rows, "transformed", "ward"))
    assert findings_by_column(review_rows(clinic), "withheld")["ward"] == "no role"
    assert not any(line.startswith("  transformed") for line in review.format_review(review_rows(clinic)[:1], "t"))


def test_unique_unchanged_counted_in_records_and_persons(clinic: Any) -> None:
    alone = clinic.execute(
        "SELECT count(*), count(DISTINCT p) FROM (SELECT any_value(patient) AS p FROM t GROUP BY disease, ward "
        "HAVING count(DISTINCT patient) = 1)"
    ).fetchall()[0]
    assert alone == (20, 20)
    rows = review_rows(clinic)
    assert findings_by_column(rows, "unique") == {
        None: "20 of 200 records (10.0 %) and 20 of 50 persons (40.0 %) are unique by the columns published unchanged: "
        "disease, ward"
    }
    clinic.execute(change_statement(rows, "unique"))
    assert findings_by_column(review_rows(clinic), "unique")[None].startswith(
        "0 of 200 records (0.0 %) and 0 of 50 persons (0.0 %)"
    )


def test_review_finds_flat_hierarchies_and_builds_one(clinic: Any) -> None:
    rows = review_rows(clinic)
    assert findings_by_column(rows, "flat") == {
        "zip": "no hierarchy; 90 values are directly below *: they are published unchanged or as *",
        "colour": "4 of 4 values of hierarchy colours are directly below *: they are published unchanged or as *",
    }
    clinic.execute(change_statement(rows, "flat", "zip"))
    rows = review_rows(clinic)
    assert findings_by_column(rows, "flat").keys() == {"colour"}
    assert findings_by_column(rows, "generalized")["zip"] == "hierarchy zip"


def test_review_lists_policy_problems_of_its_table_only(clinic: Any) -> None:
    clinic.execute("CREATE TABLE other AS SELECT 1 AS a")
    clinic.execute(
        "INSERT INTO dbanon.policy (table_name, column_name, role) "
        "VALUES ('t', 'nothing', 'quasi'), ('other', 'b', 'quasi')"
    )
    problems = [(c, f) for t, c, f, _ in review_rows(clinic) if t == "problem"]
    assert {column for column, _ in problems} == {"nothing", "disease, ward"}
    all_rows = clinic.execute("SELECT table_name, column_name FROM policy_problems() ORDER BY ALL").fetchall()
    assert all_rows == [("other", "b"), ("t", "disease, ward"), ("t", "nothing")], "of all tables, one after another"


@pytest.mark.parametrize(
    ("topic", "column", "expected_findings"),
    [
        ("unchanged", "ward", {"withheld": "no role"}),
        ("generalized", "born", {"generalized": "ranges by quarter"}),
        ("generalized", "age", {"generalized": "ranges by 5, >=60"}),
        ("generalized", "sex", {"generalized": "hierarchy sex, from level 1"}),
        ("withheld", "extra", {"generalized": "unchanged or *"}),
    ],
)
def test_review_statement_changes_its_finding(
    clinic: Any, topic: str, column: str, expected_findings: dict[str, str]
) -> None:
    clinic.execute(change_statement(review_rows(clinic), topic, column))
    values = {t: f for t, c, f, _ in review_rows(clinic) if c == column and t not in ("flat", "problem")}
    assert values == expected_findings
    assert clinic.execute("SELECT count(*) > 0 FROM kacpc('t', k=2, withhold=['ward'])").fetchall() == [(True,)]


@pytest.mark.parametrize("odd", ["x'); DROP TABLE t; --", 'a "b" {{ q }}', "é\n;"])
def test_review_statements_valid_for_odd_names(con: Any, odd: str) -> None:
    con.execute("CREATE SCHEMA ward")
    actual_text = f"i % 9 AS {identifier(odd)}, i AS o, lpad((i % 40)::VARCHAR, 4, '0') AS z"
    con.execute(f"CREATE TABLE ward.{identifier(odd)} AS SELECT {actual_text} FROM range(80) r (i)")
    source = f"ward.{identifier(odd)}"
    dbanon.declare(con, source, **{odd: "quasi", "o": "insensitive", "z": "quasi"})
    for topic, column in (("generalized", odd), ("unchanged", "o"), ("flat", "z")):
        con.execute(change_statement(review_rows(con, source), topic, column))
    rows = review_rows(con, source)
    assert findings_by_column(rows, "generalized") == {odd: "ranges by 5", "z": "hierarchy z"}
    assert findings_by_column(rows, "withheld") == {"o": "no role"}
    assert "\n" not in "".join(review.format_review(rows, odd))


def test_review_contains_no_cell(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT 'SECRET' || i AS ward, 'SECRET' || i AS zip FROM range(9) r (i)")
    dbanon.declare(con, "t", ward="insensitive", zip="quasi")
    assert "SECRET" not in str(review_rows(con))


def test_review_text_fits_80_columns_and_24_lines(clinic: Any) -> None:
    actual_review = review.format_review(review_rows(clinic), "t")
    assert len(actual_review) <= 24
    assert [line for line in actual_review if len(line) > 80 and not line.startswith("    ")] == []


# --- on the command line and in the shell ----------------------------------------------------------------


def run_command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    actual_path = tmp_path / "clinic.duckdb"
    with dbanon.connect(actual_path) as con:
        con.execute(
            "CREATE TABLE t AS SELECT 20 + i % 40 AS age, i AS pid, ['a', 'b'][i % 2 + 1] AS d FROM range(80) r (i)"
        )
        dbanon.declare(con, "t", age="quasi", pid="person", d="sensitive")
    return actual_path


def test_review_printed_for_first_release_only(path: Path) -> None:
    call = ("create-release", path, "safe", "t", "--algorithm", "mondrian", "-p", "k=4")
    first = run_command(*call)
    assert first.stdout.startswith("safe version 1")
    lines = first.stderr.splitlines()
    assert lines[:4] == [
        "First release of t as safe: 80 records of 80 persons",
        "  unchanged   d (sensitive, 2 values)",
        "  generalized age (ranges)",
        "  withheld    pid (person)",
    ]
    assert "First release" not in run_command("refresh", path, "safe", "--mode", "recluster").stderr
    assert "First release" not in run_command(*call, "--replace").stderr
    assert (
        run_command("create-release", path, "silent", "t", "--algorithm", "mondrian", "-p", "k=4", "--quiet").stderr
        == ""
    )


@pytest.mark.not_everyday
def test_review_uses_roles_of_call(path: Path) -> None:
    stderr = run_command(
        "create-release", path, "safe", "t", "--algorithm", "mondrian", "-p", "k=4", "-p", "withhold=['d']"
    ).stderr
    assert "unchanged   nothing" in stderr and "d (by the call)" in stderr


def test_review_printed_before_first_file_is_written(tmp_path: Path) -> None:
    source, out = tmp_path / "people.csv", tmp_path / "safe.csv"
    source.write_text("age,d,pid\n" + "".join(f"{20 + i % 40},{'ab'[i % 2]},{i}\n" for i in range(80)))
    call = ("anonymize", source, "-k", 4, "--qi", "age", "--sensitive", "d", "-o", out)
    stderr = run_command(*call).stderr
    assert stderr.startswith("First release of people.csv as safe: 80 records\n")
    assert "--identifier COLUMN withholds a column" in stderr and "dbanon.policy" not in stderr
    assert "First release" not in run_command(*call, "--replace").stderr
    out.unlink()
    assert run_command(*call, "--quiet", "--replace").stderr == ""


def test_policy_and_doctor_commands_print_review(path: Path) -> None:
    import json

    for command in ("policy", "doctor"):
        result = run_command(command, path)
        assert result.exit_code == 0, result.output
        assert result.stdout.startswith("t: 80 records of 80 persons\n  unchanged   d (sensitive, 2 values)\n")
        assert len(result.stdout.splitlines()) <= 24
    document = json.loads(run_command("doctor", path, "--json").stdout)
    assert document["problems"] == []
    assert document["tables"]["t"][1]["column_name"] == "d"
    assert run_command("policy", path, "nowhere").stdout == ""
    with dbanon.connect(path) as con:
        con.execute("INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('gone', 'a', 'quasi')")
    for command in ("policy", "doctor"):
        result = run_command(command, path)
        assert result.exit_code == 1
        assert "orphan: there is no table or view 'gone'" in result.output
    ill = run_command("doctor", path, "--json")
    assert (ill.exit_code, json.loads(ill.stdout)["problems"][0]["kind"]) == (1, "policy")


def test_review_shown_in_interactive_shell_not_in_script(path: Path) -> None:
    import io

    from dbanon.cli.shell.dot_commands import run_dot_command
    from dbanon.cli.shell.shell import Shell

    for watched in (True, False):
        out = io.StringIO()
        with dbanon.connect(path) as con:
            shell = Shell(con, out, out, mode="table", watched=watched, dot_command=run_dot_command)
            name = f"safe_{watched}".lower()
            assert shell.run(f"CREATE MATERIALIZED ANONYMIZED VIEW {name} AS SELECT * FROM kacpc('t', k = 4)")
            shell.close()
        assert ("First release of t as safe_true" in out.getvalue()) == watched
