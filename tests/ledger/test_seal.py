"""The ledger keeps hashes of every version: later changes are detected and not revealed."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.views import doctor

SWAPPED = (
    "UPDATE safe SET seen = CASE rowid WHEN {a} THEN (SELECT seen FROM safe WHERE rowid = {b}) ELSE "
    "(SELECT seen FROM safe WHERE rowid = {a}) END WHERE rowid IN ({a}, {b})"
)
CHANGES = {
    "a sensitive value": "UPDATE safe SET disease = 'HIV' WHERE rowid = 0",
    "two sensitive values of a class": SWAPPED.format(a=0, b=1),
    "a narrowed range": "UPDATE safe SET age = replace(age, '[20', '[21') WHERE starts_with(age, '[20')",
    "the same in the classes": "UPDATE safe_classes SET age = replace(age, '[20', '[21') WHERE starts_with(age, '[20')",
    "another order": "CREATE OR REPLACE TABLE safe AS FROM safe ORDER BY class_id DESC",
    "another type": "ALTER TABLE safe ALTER class_id TYPE INTEGER",
    "another name": "ALTER TABLE safe RENAME disease TO illness",
    "a measure": "UPDATE safe_metrics SET value = 0.99 WHERE metric = 'precision'",
    "a description": "UPDATE safe_metrics SET description = 'excellent' WHERE metric = 'precision'",
    "the order of the measures": "CREATE OR REPLACE TABLE safe_metrics AS FROM safe_metrics ORDER BY value",
    "the order of the classes": "CREATE OR REPLACE TABLE safe_classes AS FROM safe_classes ORDER BY class_id DESC",
    "values of a class": "UPDATE safe_classes SET disease = list_reverse(disease) WHERE class_id = 1",
    "what the ledger says": "UPDATE dbanon.release SET records = records + 1",
    "a parameter in the ledger": "UPDATE dbanon.release SET parameters = replace(parameters, '\"k\": 5', '\"k\": 6')",
    "a table that is gone": "DROP TABLE safe_classes",
}


@pytest.fixture(scope="module")
def sealed_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a database with a release whose values are awkward to write as text."""
    path = tmp_path_factory.mktemp("made") / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE visits AS SELECT 20 + i % 20 AS age, ['Flu', 'HIV', NULL, 'NULL', 'a\\b', ''][1 + i % 6] "
            "AS disease, TIMESTAMPTZ '2024-01-01 00:00:00+00' + to_days(i % 7) AS seen FROM range(60) AS r (i)"
        )
        dbanon.declare(con, "visits", age="quasi", disease="sensitive", seen="sensitive")
        dbanon.create_release(con, "safe", "mondrian", "visits", k=5)
    return path


@pytest.fixture
def clinic(sealed_database: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sealed_database, tmp_path / "clinic.duckdb"))


def release_problems(con: Any) -> list[str]:
    """Return the doctor's findings about releases."""
    return [p.problem for p in doctor.problems(con) if p.kind == "release"]


@pytest.mark.all_cases
@pytest.mark.parametrize("change", CHANGES)
def test_changed_release_refused_and_reported(clinic: Path, change: str, tmp_path: Path) -> None:
    with duckdb.connect(clinic) as plain_con:
        old_rows = plain_con.execute("FROM safe").fetchall()
        done = plain_con.execute(CHANGES[change]).fetchall()
        assert not CHANGES[change].startswith("UPDATE") or done[0][0], "something was changed"
        assert change != "another order" or plain_con.execute("FROM safe").fetchall() != old_rows
    with dbanon.connect(clinic, read_only=True) as con:
        with pytest.raises(dbanon.DbanonError, match="is not what was released"):
            dbanon.publish(con, "safe", tmp_path / "out.parquet")
        with pytest.raises(duckdb.Error, match="is not what was released"):
            con.execute("FROM certificate('safe')")
        named_problems = [p for p in doctor.problems(con) if (p.kind, p.about) == ("release", "safe")]
        assert any(re.search("(when|since) it was created|is missing", p.problem) for p in named_problems)
    assert [p.name for p in tmp_path.iterdir()] == ["clinic.duckdb"]


def test_unchanged_release_reports_no_change(clinic: Path, tmp_path: Path) -> None:
    """Other time zones and calendars, a rewritten file, threads that need not keep an order."""
    with dbanon.connect(clinic) as con:
        con.execute("SET TimeZone = 'Asia/Tokyo'; SET Calendar = 'japanese'; SET threads = 4")
        con.execute("SET preserve_insertion_order = false; VACUUM; FORCE CHECKPOINT")
        assert dbanon.publish(con, "safe", tmp_path / "out.parquet")
        dbanon.certificate(con, "safe")
        assert release_problems(con) == []
        zone = con.execute("SELECT current_setting('TimeZone'), current_setting('Calendar')").fetchall()
        assert zone == [("Asia/Tokyo", "japanese")]
        row = con.execute("SELECT map_keys(hashes), map_values(hashes) FROM releases()").fetchall()[0]
    assert row[0] == ["", "_classes", "_metrics", "ledger", "state"]
    assert all(len(h) == 64 for h in row[1]) and len(set(row[1])) == 5


@pytest.mark.not_everyday
def test_earlier_release_unknown_until_refreshed(clinic: Path, tmp_path: Path) -> None:
    with duckdb.connect(clinic) as plain_con:
        plain_con.execute("ALTER TABLE dbanon.release DROP hashes")
    with dbanon.connect(clinic, read_only=True) as con:
        assert "tables: unknown" in dbanon.certificate(con, "safe")
        assert ["unknown whether it is what was released" in message for message in release_problems(con)] == [True]
        with pytest.raises(dbanon.DbanonError, match=r"earlier version of dbanon.*Hint: refresh it"):
            dbanon.publish(con, "safe", tmp_path / "out.parquet")
    with dbanon.connect(clinic) as con:
        with pytest.raises(dbanon.DbanonError, match="Hint: refresh it"):
            dbanon.publish(con, "safe", tmp_path / "out.parquet")
        dbanon.refresh_release(con, "safe")
        assert "tables: unchanged since the release" in dbanon.certificate(con, "safe")
        assert dbanon.publish(con, "safe", tmp_path / "out.parquet")
        assert release_problems(con) == []
        old, new = con.execute("SELECT hashes FROM releases() ORDER BY version").fetchall()
        assert old[0] is None and new[0] is not None


def test_error_during_hashing_is_raised(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error does not report an aborted transaction, or that another connection has changed the release."""

    def full(header: str, lines: Any) -> str:
        return str(lines.aggregate("error('no memory is left')").fetchall())

    con.execute("SET TimeZone = 'Asia/Tokyo'; CREATE TABLE t AS SELECT range % 9 AS age FROM range(90)")
    monkeypatch.setattr("dbanon.ledger.text_hash.sha256", full)
    with pytest.raises(duckdb.Error, match="no memory is left"):
        dbanon.create_release(con, "safe", "kacpc", "t", k=5, qi=["age"])
    monkeypatch.undo()
    assert dbanon.create_release(con, "safe", "kacpc", "t", k=5, qi=["age"]).version == 1
