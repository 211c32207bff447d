"""Lines of a CSV file that are not read as records are counted by `dbanon init` and `dbanon anonymize`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from dbanon.cli import main
from dbanon.runtime import csv_lines

RECORDS = "".join(f"{20 + i % 9},{i % 2},ward{i % 3}\n" for i in range(60))
FILES = {
    "leading": (
        f"Export of secret\n\nage,sex,ward\n{RECORDS}",
        "2 lines at the beginning are not read, because the number of fields differs from that of the other lines.",
    ),
    "no header": (
        "secret,a\n1,2\n" + "1,2,3\n" * 50,
        "2 lines at the beginning are not read, because the number of fields differs from that of the other lines (the "
        "names of the columns may be among them).",
    ),
    "comments": (
        f"age,sex,ward\n{RECORDS}#secret,1,2\n#secret,1,2\n",
        "2 lines that begin with # are not read, as comments.",
    ),
    "merged": (
        f"age,sex,ward\n21,1\n{RECORDS}23,1,2,secret\n{RECORDS}",
        "each line is read as one column, because 2 lines (2, 63) have another number of fields than the first line. "
        "Hint: correct them, or load the file into a table with read_csv and null_padding = true.",
    ),
    "merged below a title": (
        f"# secret\nage,sex,ward\n{RECORDS}23,1\n{RECORDS}",
        "each line is read as one column, because 2 lines (1, 63) have another number of fields than most lines. "
        "Hint: correct them, or load the file into a table with read_csv and null_padding = true.",
    ),
    "merged below a title with separators": (
        f"Export of secret,\nage,sex,ward\n{RECORDS}23,1\n{RECORDS}",
        "each line is read as one column, because 2 lines (1, 63) have another number of fields than most lines. "
        "Hint: correct them, or load the file into a table with read_csv and null_padding = true.",
    ),
    "years": (
        "born,age\n" + "".join(f"31.12.{i},{i}\n" for i in range(20, 80)),
        "years of two digits are read as 1969 to 2068 in born. Hint: if some dates are earlier, subtract INTERVAL 100 "
        "YEAR from them.",
    ),
    "years of times": (
        "seen,age\n" + "".join(f"31-12-{i} 10:00:00,{i}\n" for i in range(20, 80)),
        "years of two digits are read as 1969 to 2068 in seen. Hint: if some dates are earlier, subtract INTERVAL 100 "
        "YEAR from them.",
    ),
}  # fmt: skip


def run_command(*arguments: object) -> Any:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("name", FILES)
def test_reading_notes_count_lines_without_values(tmp_path: Path, name: str) -> None:
    text, note = FILES[name]
    path = tmp_path / "p'[1].csv"
    path.write_text(text)
    compressed = tmp_path / "p.csv.gz"
    compressed.write_bytes(gzip.compress(text.encode()))
    with duckdb.connect() as con:
        assert csv_lines.reading_notes(str(path), con) == [note] == csv_lines.reading_notes(str(compressed), con)
        assert con.execute("SHOW ALL TABLES").fetchall() == []


def test_reading_notes_of_clean_files_are_empty(tmp_path: Path) -> None:
    texts = {
        "a.csv": f"age,sex,ward\n{RECORDS}\n\n", "b.csv": "age\n1\n2\n", "c.tsv": "a\tb\n1\t2\n", "d.csv": "a,b\n",
        "e.csv": 'id,text\n1,"a\nb, c"\n2,"#d"\n' * 9, "f.csv": "notes; a, b\nx\ny\n", "g.json": '{"a": 1}',
        "h.csv": "", "i.csv": "born;age\n" + "31.12.1950;7\n" * 9,
    }  # fmt: skip
    with duckdb.connect() as con:
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
            assert csv_lines.reading_notes(str(tmp_path / name), con) == [], name
            assert csv_lines.rejected_lines(str(tmp_path / name), con) is None, name


def test_init_and_anonymize_report_skipped_lines(tmp_path: Path) -> None:
    text, note = FILES["leading"]
    path = tmp_path / "visits.csv"
    path.write_text(text)
    done = run_command("init", path, "--yes", "--json")
    assert f"visits.csv: {note}" in done.stderr and json.loads(done.stdout)["notes"] == [note]
    roles = ("--qi", "age", "--qi", "sex", "--insensitive", "ward")
    arguments = ("anonymize", path, "-o", tmp_path / "out.csv", "-k", 5, *roles)
    done = run_command(*arguments)
    assert done.exit_code == 0 and f"visits.csv: {note}" in done.stderr and "secret" not in done.output
    assert note not in run_command(*arguments, "--quiet", "--overwrite").output


def test_rejected_lines_counted_in_error(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("age,sex,ward\n" + "1,2,3\n" * 30_000 + "4,secret\n5\n")
    for arguments in (("init", path, "--yes"), ("anonymize", path, "-o", tmp_path / "out.csv", "--qi", "age")):
        done = run_command(*arguments)
        assert done.exit_code != 0 and "secret" not in done.output
        assert "2 lines (30,002, 30,003) cannot be read: the number of fields differs" in " ".join(done.output.split())
    assert not (tmp_path / "visits.duckdb").exists()
