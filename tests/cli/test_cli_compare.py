"""`dbanon compare` and `dbanon tradeoffs`: tables, JSON, plots, and stored runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import dbanon
from dbanon.cli import main


@pytest.fixture
def clinic(tmp_path: Path) -> str:
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE people AS SELECT range * 7919 % 61 AS age, range % 7 AS city, "
            "['Flu', 'HIV', 'TB'][range % 3 + 1] AS disease FROM range(200)"
        )
    return str(path)


def run_command(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


def test_compare_command_prints_stores_and_plots_runs(clinic: str, tmp_path: Path) -> None:
    words = ("compare", clinic, "people", "-k", "3,5", "--algorithms", "mdav,kacpc", "-p", "qi=age,city")
    shown_call = run_command(*words)
    assert shown_call.exit_code == 0, shown_call.stderr
    assert "mdav" in shown_call.stdout and "precision" in shown_call.stdout
    plot = tmp_path / "runs.svg"
    kept_call = run_command(*words, "--output", "runs", "--plot", str(plot), "--json")
    assert kept_call.exit_code == 0, kept_call.stderr
    rows = json.loads(kept_call.stdout)
    assert [(row["algorithm"], row["k"], row["metric"]) for row in rows] == [
        (a, k, m) for a in ("mdav", "kacpc") for k in (3, 5) for m in ("precision", "ncp")
    ]
    assert plot.read_text().startswith("<?xml")
    extra_call = run_command(*words[:4], "3,5,9", *words[5:], "--output", "runs", "--json")
    assert len(json.loads(extra_call.stdout)) == 12
    other = run_command(*words, "--output", "runs", "-p", "metrics=ncp")
    assert other.exit_code == 2
    assert "runs contains" in other.stderr
    with dbanon.connect(clinic, read_only=True) as con:
        assert con.execute("SELECT count(*) FROM runs").fetchone() == (12,)


def test_compare_command_accepts_lists_of_sizes_and_columns(clinic: str) -> None:
    words = (
        "compare",
        clinic,
        "people",
        "-k",
        "3",
        "--algorithms",
        "mdav",
        "-p",
        "qi=age,city",
        "-p",
        "metrics=k,classes",
    )
    actual_call = run_command(*words, "--n-quasi-identifiers", "1,2", "--sample-sizes", "50,200", "--json")
    assert actual_call.exit_code == 0, actual_call.stderr
    assert [(r["n_quasi_identifiers"], r["sample_size"], r["metric"]) for r in json.loads(actual_call.stdout)] == [
        (d, n, m) for d in (1, 2) for n in (50, 200) for m in ("k", "classes")
    ]


def test_tradeoffs_command_prints_plots_and_writes_json(clinic: str, tmp_path: Path) -> None:
    words = (
        "tradeoffs",
        clinic,
        "people",
        "-k",
        "3,9",
        "-l",
        "1,2,8",
        "-t",
        "0.5,1",
        "-p",
        "qi=age",
        "-p",
        "sensitive=disease",
    )
    plot = tmp_path / "choose.png"
    shown_call = run_command(*words, "-p", "queries=20", "--plot", str(plot))
    assert shown_call.exit_code == 0, shown_call.stderr
    assert "frontier" in shown_call.stdout and "do not meet l = 8" in shown_call.stdout.replace("\n", " ")
    assert plot.read_bytes().startswith(b"\x89PNG")
    document = json.loads(run_command(*words, "-p", "queries=0", "--json").stdout)
    assert [(r["k"], r["l"], r["t"]) for r in document] == [
        (k, l_, t) for k in (3, 9) for l_ in (1, 2, 8) for t in (0.5, 1)
    ]
    with dbanon.connect(clinic) as con:
        con.execute(document[0]["statement"])


def test_unplottable_comparison_still_printed(clinic: str, tmp_path: Path) -> None:
    plot = tmp_path / "runs.svg"
    words = ("compare", clinic, "people", "-k", "5000", "--algorithms", "mdav", "-p", "qi=age", "--plot", str(plot))
    shown_call, as_json = run_command(*words), run_command(*words, "--json")
    assert "k must be between 2 and" in shown_call.stdout.replace("\n", " ")
    assert "rows of compare() with a mean" in shown_call.stderr
    assert "rows of compare() with a mean" in json.loads(as_json.stdout)["error"]["message"]
    assert (shown_call.exit_code, as_json.exit_code) == (2, 2)
    assert not plot.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-k", "3,x"), "k must be a list of different integers"),
        (("-k", "3", "--algorithms", "mdvv"), "Did you mean 'mdav'?"),
        (("-k", "3", "--plot", "out.gif"), "a file that ends in .svg"),
        (("-k", "3", "-p", "nix=1"), "nix"),
        (("-k", "3", "-p", "k=5"), "k is given twice, with different values"),
        ((), "Missing option '-k'"),
    ],
)
def test_invalid_arguments_reported_and_nothing_run(clinic: str, words: tuple[str, ...], message: str) -> None:
    actual_call = run_command("compare", clinic, "people", "-p", "qi=age", *words)
    assert actual_call.exit_code == 2
    assert message in actual_call.stderr
