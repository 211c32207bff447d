"""Any output name of `dbanon anonymize` is written or refused with one clear error."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon.cli import main

NAMES = (
    "x.csv.csv", "a.b.c.parquet", "main.x.csv", "memory.main.x.parquet", "x.csv.duckdb", 'q"uo"te.csv', "it's.csv",
    "  blank .csv", " .csv", "select.csv", "table.csv", "NULL.csv", "\U0001f600.csv", "cafe\u0301.csv",
    "input.csv", "INPUT.parquet",
    "Input_Classes.csv", "\u0130nput.csv", "x; DROP TABLE input; --.csv", "~home.csv", "~dir/x.csv", "k=1/x.csv",
    "origin.csv", "dbanon.csv", "dbanon.release.duckdb", "temp.csv", "x*.csv", "x?[1].parquet", "{i}.csv", "%s.csv",
    "new\nline.csv", "file:x.csv", "-.csv", ".hidden.csv", "\\back.csv", "x.CSV", "x_metrics.csv", "folder", "out.d/",
)  # fmt: skip
REFUSED = {
    "x.csv.gz": "to must be a file ending in", ".csv": "to must be a file ending in",
    "a" * 245 + ".csv": "could not be written: the name is too long",
    "\U0001f600" * 61 + ".csv": "the name is too long",
    "s3://bucket/x.csv": "not a path on this machine",
}  # fmt: skip


@pytest.fixture
def people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{20 + i % 9},{'abc'[i % 3]}\n" for i in range(60))
    (tmp_path / "people.source").mkdir()
    path = tmp_path / "people.source" / "people.csv"
    path.write_text("age,disease\n" + rows)
    return path


def run_anonymize(people: Path, output: str, *more: str) -> tuple[int, str]:
    call = ("anonymize", str(people), "-k", "5", "--qi", "age", "--sensitive", "disease", "--algorithm", "mondrian")
    result = CliRunner().invoke(main, [*call, "-o", output, *more])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_anonymize_writes_to_any_output_name(people: Path, name: str) -> None:
    code, output = run_anonymize(people, name, "--quiet")
    assert (code, output) == (0, "")
    files = sorted(p for p in people.parents[1].rglob("*") if p.is_file() and p != people)
    if name.lower().endswith(".duckdb"):
        with duckdb.connect(name, read_only=True) as plain_con:
            table = Path(name).stem.replace('"', '""')
            assert plain_con.execute(f'SELECT count(*) FROM "{table}"').fetchall() == [(60,)]
        return
    assert len(files) == 4
    release = min(files, key=lambda file: len(file.name))
    assert dbanon.verify(release.absolute()) == []
    if release.suffix == ".csv":
        assert len(release.read_text().splitlines()) == 61


@pytest.mark.all_cases
@pytest.mark.parametrize("name", REFUSED, ids=lambda name: ascii(name)[:20])
def test_anonymize_refuses_output_name_with_one_error(people: Path, name: str) -> None:
    code, output = run_anonymize(people, name)
    assert code in (1, 2)
    errors = [line for line in output.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1 and REFUSED[name] in errors[0]
    assert [p.name for p in people.parents[1].iterdir()] == ["people.source"]


def test_anonymize_names_file_of_other_metrics(people: Path) -> None:
    for name, other_result in (("x.csv.csv", "x.csv_metrics.csv"), ("input.csv", "input_metrics.csv")):
        assert f"in {other_result}" in run_anonymize(people, name)[1]


def test_anonymize_escapes_formulas_in_every_csv(people: Path) -> None:
    people.write_text(people.read_text().replace("a\n", "=1+1\n").replace("disease", "=disease"))
    call = ("anonymize", str(people), "-k", "5", "--qi", "age", "--sensitive", "=disease", "--algorithm", "mondrian")
    for choice, mark in (((), "'"), (("--csv-formulas", "keep"), "")):
        result = CliRunner().invoke(main, [*call, "-o", "safe.csv", "--classes", "--replace", "--quiet", *choice])
        assert result.exit_code == 0, result.output
        for file in ("safe.csv", "safe_classes.csv"):
            assert f"{mark}=disease" in Path(file).read_text("utf-8").splitlines()[0].split(",")
        assert f",{mark}=1+1," in Path("safe.csv").read_text("utf-8")
        assert f"roles,{mark}=disease,sensitive" in Path("safe_certificate.csv").read_text("utf-8")
        assert dbanon.verify("safe.csv") == []
    result = CliRunner().invoke(main, [*call, "-o", "other.csv", "--csv-formulas", "none"])
    assert result.exit_code == 2 and "'escape', 'keep'" in result.output
