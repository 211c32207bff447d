"""What `dbanon anonymize` advises after a release: a column to withhold, and l."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main
from dbanon.cli.commands import release_advice
from dbanon.cli.options.parameters import merge_parameters

ODD = "job x'); DROP TABLE t; --"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """Provide a file in which the jobs and streets of all people differ."""
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "sex", ODD, "street", "disease", "note"])
        for i in range(120):
            writer.writerow([20 + i % 40, "FM"[i % 2], f"j{i}", f"s{i % 60}", ["flu", "HIV"][i % 9 == 0], i])
    return path


def words(people: Path, *columns: str) -> list[object]:
    roles = [option for column in columns for option in ("--qi", column)]
    return [
        "anonymize",
        people,
        "-o",
        people.with_name("o.csv"),
        "--replace",
        "-k",
        5,
        *roles,
        "--sensitive",
        "disease",
    ]


def test_advice_names_column_whose_withholding_gains_precision(people: Path) -> None:
    columns = ("age", "sex", ODD, "street")
    output = run(*words(people, *columns))
    assert "of the 4 generalized columns; 1 column withheld." in output
    found = re.search(
        r"2 of 4 quasi-identifiers are .* for 90 % .* " + re.escape(ODD) + r" has most values \(120\): without it, "
        r"precision is (0\.\d+) instead of (0\.\d+)\. Hint: omit (--qi .*)\. \d+ %",
        output,
    )
    assert found is not None and float(found[1]) > float(found[2])
    assert shlex.split(found[3]) == ["--qi", ODD]
    withheld = run(*words(people, "age", "sex", "street"))
    assert f"precision {found[1]} of the 3 generalized columns; 2 columns withheld." in withheld
    assert "has most values" not in withheld


def test_advice_suggests_l_for_homogeneous_classes(people: Path) -> None:
    assert "-l 2 requires two values in every class" in run(*words(people, "age", "sex"))
    assert "-l 2" not in run(*words(people, "age", "sex"), "-l", 2)


def test_no_advice_for_good_release_or_json(people: Path) -> None:
    output = run(*words(people, "age", "sex"))
    assert "has most values" not in output
    assert "has most values" not in run(*words(people, "age", "sex", ODD, "street"), "--json")


def test_slow_release_gets_advice_without_trial(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(release_advice, "MAX_RELEASE_S", -1)
    output = run(*words(people, "age", "sex", ODD, "street"))
    assert "so that it probably costs most. Hint: omit" in output and "without it" not in output


def test_stored_release_gets_advice(people: Path) -> None:
    database = people.with_name("clinic.duckdb")
    with dbanon.connect(database) as con:
        con.execute("CREATE TABLE people AS FROM read_csv(?)", [str(people)])
        roles = dict.fromkeys(("age", "sex", ODD, "street"), "quasi") | {"disease": "sensitive"}
        dbanon.declare(con, "people", **{name: {"role": role} for name, role in roles.items()})
    output = run("anonymize", database, "-k", 5)
    found = re.search(r"has most values \(120\): without it, .* Hint: (-p .*) withholds it\.", output)
    assert found is not None and shlex.split(found[1]) == ["-p", f"withhold={ODD}"]
    assert "of the 4 generalized columns; 1 column withheld." in output


@pytest.mark.parametrize("values", [["age,sex,street=street.csv", ODD], [f"age,{ODD}", "sex", "street"]])
def test_advice_omits_column_that_qi_lists(people: Path, values: list[str]) -> None:
    streets = [f"s{i};*" for i in range(60)]
    people.with_name("street.csv").write_text("\n".join([*streets, ""]))
    values = [value.replace("street.csv", str(people.with_name("street.csv"))) for value in values]
    assert f"Hint: omit {shlex.join(['--qi', ODD])}." in run(*words(people, *values))


@pytest.mark.parametrize("column", ["job", "job, place", "it's, a job"])
def test_withhold_hint_names_one_column(column: str) -> None:
    hint = release_advice.AnonymizeCall("best", "t", {}).withhold_hint(column)
    option, text = shlex.split(hint.removeprefix("Hint: ").removesuffix(" withholds it."))
    assert (option, merge_parameters("best", [text])) == ("-p", {"withhold": [column]})
