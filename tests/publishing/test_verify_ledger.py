"""Verification of published files against the ledger: hashes, versions and numbers of rows."""

import shutil
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon import errors
from dbanon.cli import main
from dbanon.publishing.ledger_comparison import CertifiedFile, Ledger


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a database whose release `safe` was published in three formats, next to it."""
    path = tmp_path_factory.mktemp("verify") / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute("CREATE TABLE people AS SELECT 20 + i % 30 AS age, i % 3 AS ward FROM range(60) AS r (i)")
        dbanon.declare(con, "people", age="quasi", ward="sensitive")
        dbanon.create_release(con, "safe", "mondrian", "people", k=5)
        for file in ("csv/safe.csv", "parquet/safe.parquet", "db/safe.duckdb"):
            dbanon.publish(con, "safe", path.parent / file)
    return path


@pytest.mark.parametrize("file", ["csv/safe.csv", "parquet/safe.parquet", "db/safe.duckdb", "csv"])
def test_verify_accepts_files_of_ledger(clinic: Path, file: str) -> None:
    path = clinic.parent / file
    assert dbanon.verify(path, clinic) == []
    with duckdb.connect(str(clinic), read_only=True) as con:
        assert dbanon.verify(path, con) == []
    done = CliRunner().invoke(main, ["verify", str(path), "--ledger", str(clinic)])
    assert (done.exit_code, done.output) == (0, "The files match their certificate and the ledger.\n")


def test_verify_reports_release_with_forged_certificate(clinic: Path, tmp_path: Path) -> None:
    forged = tmp_path / "forged.duckdb"
    with dbanon.connect(forged) as con:
        con.execute("CREATE TABLE people AS SELECT 20 + i % 30 AS age, i % 3 AS ward FROM range(59) AS r (i)")
        dbanon.declare(con, "people", age="quasi", ward="sensitive")
        dbanon.create_release(con, "safe", "mondrian", "people", k=5)
        for file in ("safe.csv", "safe.duckdb"):
            dbanon.publish(con, "safe", tmp_path / "out" / file)
    assert dbanon.verify(tmp_path / "out") == []
    problems = dbanon.verify(tmp_path / "out" / "safe.csv", clinic)
    prefix = "safe_certificate.csv: the ledger of clinic.duckdb lists no file with the hash of"
    assert sum(problem.startswith(prefix) for problem in problems) == 4
    assert (
        f"{prefix} safe.csv; the safe.csv that it lists, of version 1 of safe, has another" in problems
        and "safe_certificate.csv: safe.csv has 59 rows, and version 1 of safe has 60 in the ledger of clinic.duckdb"
        in problems
    )
    assert len(dbanon.verify(tmp_path / "out" / "safe.duckdb", clinic)) == 2
    done = CliRunner().invoke(main, ["verify", str(tmp_path / "out" / "safe.csv"), "--ledger", str(clinic)])
    assert done.exit_code == 1 and "59 rows" in done.output


def test_ledger_reports_other_version() -> None:
    ledger = Ledger("the ledger", {("safe", 1): [60]}, {"abc": [("safe", 1, "safe.csv")]})
    assert list(ledger.problems(CertifiedFile(Path("safe.csv"), "abc", "safe", 1, 60))) == []
    assert list(ledger.problems(CertifiedFile(Path("safe.csv"), "abc", "safe", 2, 60))) == [
        "safe.csv is version 1 of safe in the ledger, and version 2 of safe in its certificate",
        "the ledger has no version 2 of safe",
    ]
    assert list(ledger.problems(CertifiedFile(Path("safe_metrics.csv"), "def"))) == [
        "the ledger lists no file with the hash of safe_metrics.csv"
    ]


def test_verify_refuses_what_is_no_ledger(clinic: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.duckdb").write_bytes(b"no database")
    with duckdb.connect(str(tmp_path / "plain.duckdb")):
        pass
    for ledger in (tmp_path / "empty.duckdb", tmp_path / "plain.duckdb", tmp_path / "missing.duckdb"):
        with pytest.raises(errors.InvalidArgumentError, match="ledger must be the database with the ledger"):
            dbanon.verify(clinic.parent / "csv", ledger)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("csv/safe_certificate.csv", b"a,b\n1,2\n"),
        ("csv/safe_certificate.csv", b"section,item,value\n\xff,a,b\n"),
        ("parquet/safe_certificate.parquet", b"PAR1"),
    ],
)
def test_verify_reports_damaged_certificate(clinic: Path, tmp_path: Path, file: str, content: bytes) -> None:
    folder = shutil.copytree(clinic.parent / Path(file).parent, tmp_path / "out")
    certificate = folder / Path(file).name
    certificate.write_bytes(content)
    expected = f"{certificate.name}: it cannot be read as a certificate"
    assert dbanon.verify(folder) == [expected]
    assert dbanon.verify(folder, clinic)[:1] == [expected]


def test_verify_reports_certificate_with_short_lines(tmp_path: Path) -> None:
    (tmp_path / "safe_certificate.csv").write_text("section,item,value\nSHA-256,safe.csv\n", encoding="utf-8")
    (tmp_path / "safe_certificate.csv.txt").write_bytes(b"\xff")
    assert dbanon.verify(tmp_path) == [
        "safe_certificate.csv: safe.csv is missing",
        "safe_certificate.csv: safe_certificate.csv.txt belongs to other files",
    ]
