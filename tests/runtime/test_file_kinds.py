"""Files in other encodings and of other kinds, and files on a network: the errors name the reason and the remedy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon import errors
from dbanon.cli import main
from dbanon.runtime import input_files

ROWS = "city,age\n" + "Zürich,30\n" * 20
ENCODINGS = {"latin-1": "latin-1", "windows-1252": "cp1252", "utf-16": "utf-16", "utf-16 without mark": "utf-16-le"}
REASON = r"is not UTF-8 \(line \d\)\. Hint: convert .* iconv .* encoding = 'latin-1'"


@pytest.fixture(scope="module")
def con() -> Any:
    with dbanon.connect() as connection:
        yield connection


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, [*arguments])
    assert result.exit_code != 0
    return " ".join(result.output.split())


@pytest.mark.parametrize("encoding", ENCODINGS.values(), ids=ENCODINGS)
def test_wrong_encoding_names_reason_and_remedy(con: Any, tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "people.csv"
    file.write_bytes(ROWS.replace("Z", "€" if encoding == "cp1252" else "Z").encode(encoding))
    with pytest.raises(duckdb.Error, match=REASON) as caught:
        con.execute(f"FROM kacpc('{file}', k = 2, qi = ['city'])")
    with pytest.raises((duckdb.Error, errors.FileEncodingError), match=REASON):
        dbanon.anonymize(file, k=2, qi=["city"])
    output = run("init", str(file), "--yes")
    assert "the text of the input is not UTF-8" in output
    assert "iconv" in output
    assert "rich" not in f"{caught.value}{output}"


def test_view_of_late_wrong_encoding_names_reason(con: Any, tmp_path: Path) -> None:
    file = tmp_path / "late.csv"
    file.write_bytes(b"city,age\n" + b"Bern,1\n" * 30_000 + "Zürich,2\n".encode("latin-1"))
    con.execute(f"CREATE OR REPLACE VIEW late AS FROM '{file}'")
    with pytest.raises(errors.FileEncodingError, match=r"text of late is not UTF-8 \(line 30002\)"):
        con.execute("FROM kacpc('late', k = 2, qi = ['city'])").fetchall()


def test_remedies_of_wrong_encoding_work(con: Any, tmp_path: Path) -> None:
    for encoding in ("latin-1", "utf-16"):
        file = tmp_path / f"{encoding}.csv"
        file.write_bytes(ROWS.encode(encoding))
        con.execute(f"CREATE OR REPLACE TABLE loaded AS FROM read_csv('{file}', encoding = '{encoding}')")
        assert con.execute("SELECT DISTINCT city FROM kacpc('loaded', k = 2, qi = ['city'])").fetchall() == [
            ("Zürich",)
        ]


def test_wrong_encoding_of_json_and_hierarchy_named(con: Any, tmp_path: Path) -> None:
    file = tmp_path / "people.json"
    file.write_bytes('[{"city": "Zürich"}, {"city": "Zürich"}]'.encode("latin-1"))
    with pytest.raises(duckdb.Error, match=r"is not UTF-8\. Hint: convert"):
        con.execute(f"FROM kacpc('{file}', k = 2, qi = ['city'])")
    with pytest.raises(errors.FileEncodingError, match="load_hierarchy: the text of"):
        dbanon.load_hierarchy(con, "h", file)


def test_stream_of_wrong_encoding_names_line(tmp_path: Path) -> None:
    file = tmp_path / "lines.csv"
    file.write_bytes(b"city,age\nBern,1\n" + "Zürich,2\n".encode("latin-1"))
    options = ["-k", "2", "-p", "delta=5", "--qi", "age"]
    assert "not UTF-8 (line 3)" in run("stream", "--from", str(file), "-o", str(tmp_path / "out.csv"), *options)


@pytest.mark.parametrize("name", ["notes.docx", "picture.png", "people.dat"])
def test_file_of_other_ending_names_readers(con: Any, tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text(ROWS, "utf-8")
    with pytest.raises(duckdb.Error, match=r"does not end in \.csv, .*read_csv\(.*read_xlsx"):
        con.execute(f"FROM best('{file}', k = 10)")
    with pytest.raises(duckdb.Error, match=r"'missing\.docx' is visible"):
        con.execute("FROM best('missing.docx', k = 10)")
    assert "neither a DuckDB database nor a file of rows. Hint: files of rows end in .csv," in run("init", str(file))
    con.execute(f"CREATE OR REPLACE VIEW people AS FROM read_csv('{file}')")
    assert con.execute("SELECT DISTINCT city FROM kacpc('people', k = 2, qi = ['city'])").fetchall() == [("Zürich",)]


def test_existence_of_file_not_revealed_without_access(tmp_path: Path) -> None:
    (tmp_path / "notes.docx").write_text("x", "utf-8")
    with dbanon.connect() as con:
        con.execute("SET enable_external_access = false")
        for name in ("notes.docx", "others.docx"):
            with pytest.raises(duckdb.Error, match=r"neither|not the name of a table|is visible"):
                con.execute(f"FROM best('{tmp_path / name}', k = 10)")


def test_remote_path_is_passed_to_duckdb_with_extension(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    con.execute("SET autoload_known_extensions = false")
    monkeypatch.setattr(input_files, "required_extension", lambda _: None)  # as if httpfs were loaded
    for path in ("s3://bucket/people.csv", "https://example.org/people.parquet"):
        with pytest.raises(duckdb.Error, match=rf"cannot read the file '{path}': .*(httpfs|requires the extension)"):
            con.execute(f"FROM kacpc('{path}', k = 2, qi = ['city'])")


def test_command_line_refuses_url_with_remedy() -> None:
    for command in (("init",), ("anonymize", "-k", "2", "-o", "out.csv")):
        output = run(*command, "s3://bucket/people.csv")
        assert "is on a network" in output
        assert "LOAD httpfs; CREATE TABLE NAME AS FROM 's3://bucket/people.csv'" in output


def test_anonymize_of_url_names_missing_extension() -> None:
    with pytest.raises(duckdb.Error, match=r"'https://example\.org/x\.csv' is on a network.*httpfs"):
        dbanon.anonymize("https://example.org/x.csv", k=2, qi=["a"])
