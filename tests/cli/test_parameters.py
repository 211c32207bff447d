"""Parameters on the command line: `-k 10` is `-p k=10`, other values than SQL literals are text, none is evaluated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from dbanon import errors
from dbanon.cli import main
from dbanon.cli.options.parameters import merge_parameters, parse_assignment
from dbanon.table_functions.registry import table_functions

KINDS = {p.name: p.kind for p in table_functions()["kacpc"].parameters}


@pytest.mark.parametrize(
    ("assignment", "value"),
    [
        ("k=10", 10),
        ("t=0.25", 0.25),
        ("qi=['age','zip']", ["age", "zip"]),
        ("qi=age,zip", ["age", "zip"]),
        ("qi= age , zip ", ["age", "zip"]),
        ("qi=age", ["age"]),
        ("qi='a,b'", "a,b"),
        ("qi=2020", ["2020"]),
        ("qi=1,2", ["1", "2"]),
        ("insensitive=user", ["user"]),
        ("insensitive=current_date", ["current_date"]),
        ("weights={'age': 2.5}", {"age": 2.5}),
        ("weights=influence", "influence"),
        ("hierarchies=MAP {'zip': 'zip5'}", {"zip": "zip5"}),
        ("escape_labels=true", True),
        ("l=NULL", None),
        ("nulls=drop", "drop"),
        ("nulls='drop'", "drop"),
        ("top={'born': DATE '2000-01-01'}", {"born": "2000-01-01"}),
        ("K := 10", 10),
        ("k => 10", 10),
        ("c=1e-3", 0.001),
        ("person=patient number", "patient number"),
    ],
)
def test_parameter_value_is_literal_or_text(assignment: str, value: object) -> None:
    assert parse_assignment(assignment, KINDS) == (assignment.split("=")[0].rstrip(": ").lower(), value)


@pytest.mark.parametrize(
    "value",
    ["10 LIMIT 0", "5; DROP TABLE x", "1 FROM range(3)", "now()", "read_text('/etc/passwd')", "1 + 1", "nan", "-", "*",
     "getenv('HOME')", "1; SELECT 2", "x\x00y", "ü" * 5000],
)  # fmt: skip
def test_parameter_expressions_are_not_evaluated(value: str) -> None:
    assert parse_assignment(f"nulls={value}", KINDS) == ("nulls", value)


@pytest.mark.parametrize(
    "assignment", ["k", "", "=5", "k=", "qi=['age'", "k=(SELECT 1)", "k=$1", 'qi="age"', "qi=[now()]"]
)
def test_malformed_parameter_raises_one_error(assignment: str) -> None:
    with pytest.raises(click.BadParameter, match=r"NAME=VALUE|not a SQL literal"):
        parse_assignment(assignment, KINDS)


def test_conflicting_values_for_parameter_refused() -> None:
    def merge_values(*given: str, **options: object) -> dict[str, Any]:
        return merge_parameters("kacpc", given, **options)

    assert merge_values("k=5", k=5, l=None) == merge_values("k=5", "K=5") == merge_values(k=5) == {"k": 5}
    for wrong in (
        lambda: merge_values("k=5", k=6),
        lambda: merge_values("k=5", "K=6"),
        lambda: merge_values("improve=10", improve="5s"),
    ):
        with pytest.raises(click.BadParameter, match="given twice, with different values"):
            wrong()
    with pytest.raises(errors.UnknownAlgorithmError, match="Did you mean 'kacpc'"):
        merge_parameters("kacp", ())
    with pytest.raises(errors.NotSupportedForRelatedTablesError, match="support one table only"):
        merge_values("key=x")
    for name in ("source", "name", "replace", "connection", "progress"):  # parameters of Python, not of a call
        with pytest.raises(errors.UnknownParameterError):
            merge_values(f"{name}=x")


@pytest.fixture
def people(tmp_path: Path) -> str:
    path = tmp_path / "people.csv"
    rows = "\n".join(f"{20 + i % 40},0{i % 7},{'abc'[i % 3]}" for i in range(120))
    path.write_text(f"age,zip,disease\n{rows}\n")
    return str(path)


def files(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if "certificate" not in p.name}


def test_options_and_parameters_give_equal_files(people: str, tmp_path: Path) -> None:
    roles = ("--qi", "age", "--qi", "zip", "--sensitive", "disease", "--quiet")
    calls = (
        ("-k", "5", "-l", "2", "-t", "0.5", "--algorithm", "kacpc", "-p", "nulls='drop'", "-p", "qi=['age', 'zip']"),
        ("-p", "k=5", "-p", "l=2", "-p", "t=0.5", "-p", "algorithm=kacpc", "-p", "nulls=drop", "-p", "qi=age,zip"),
    )
    actual_files = []
    for number, call in enumerate(calls):
        folder = tmp_path / str(number)
        result = CliRunner().invoke(main, ["anonymize", people, *call, *roles, "-o", str(folder / "safe.csv")])
        assert result.exit_code == 0, result.output
        actual_files.append(files(folder))
    assert actual_files[0] == actual_files[1] and len(actual_files[0]) == 2


@pytest.mark.parametrize(
    ("call", "says"),
    [
        ((), "k is missing; it must be an integer of at least 2. Hint: -k 10."),
        (("-k", "1"), "1 is not an integer of at least 2"),
        (("-k", "ten"), "ten is not an integer"),
        (("-k", "99999999999"), "99999999999 is not an integer of at most"),
        (("-k", "5", "-t", "nan"), "nan is not a number from 0 to 1"),
        (("-k", "5", "-p", "k=6"), "k is given twice, with different values"),
        (
            ("-k", "5", "-p", "algorithm=best", "--algorithm", "kacpc"),
            "algorithm is given twice, with different values",
        ),
        (("-k", "5", "-p", "nulls=dorp"), "nulls must be one of 'keep', 'drop', 'error', got 'dorp'"),
        (("-k", "5", "-p", "kk=3"), "no parameter 'kk'"),
        (("-k", "5", "-p", "top=90"), "top must be"),
        (("-k", "5", "-p", "algorithm=bset"), "there is no algorithm 'bset'. Did you mean 'best'?"),
    ],
)
def test_invalid_parameter_exits_with_2(people: str, tmp_path: Path, call: tuple[str, ...], says: str) -> None:
    out = tmp_path / "out" / "safe.csv"
    result = CliRunner().invoke(main, ["anonymize", people, *call, "--qi", "age", "-o", str(out)])
    assert result.exit_code == 2, result.output
    assert says in result.stderr and result.stdout == ""
    assert not out.parent.exists()
