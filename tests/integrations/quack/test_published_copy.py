"""Readers are served a copy of the published tables, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.serving import KNOWN, SECRETS, clinic

import dbanon
from dbanon.integrations.quack import copy_process, published_copy
from dbanon.integrations.quack.reader_process import ReaderHandler, StatementLimits
from dbanon.sqltext.quote import identifier, qualified

pytestmark = [pytest.mark.all_cases, pytest.mark.filterwarnings("ignore::dbanon.errors.warnings.DisclosureWarning")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = published_copy.copy_folder(tmp_path / "clinic.duckdb")
    published_copy.prepare_folder(folder)
    return folder


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Any]:
    with dbanon.connect(clinic(tmp_path / "clinic.duckdb")) as con:
        yield con


def open_connection(path: Path) -> Any:
    return duckdb.connect(str(path), read_only=True)


def test_published_copy_has_release_without_source(con: Any, folder: Path) -> None:
    copies = published_copy.refresh_copy(con, folder)
    assert copies.omitted == ()
    with open_connection(copies.path) as copy:
        for name in ("safe", "safe_classes", "safe_metrics"):
            text = f"SELECT COLUMNS(*)::VARCHAR FROM {name}"
            assert copy.execute(text).fetchall() == con.execute(text).fetchall()
        tables = copy.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        assert tables == [
            ("dbanon", "permitted"),
            ("dbanon", "release_request"),
            ("dbanon", "served"),
            ("main", "safe"),
            ("main", "safe_certificate"),
            ("main", "safe_classes"),
            ("main", "safe_metrics"),
        ]
        assert copy.execute("FROM releases()").fetchall() == [("main", "safe", 1, 60)]
        lines = copy.execute("FROM certificate('SAFE')").fetchall()
        assert lines == copy.execute("FROM safe_certificate").fetchall() and len(lines) > 20
        assert copy.execute("SELECT midpoint('[1, 3]'), covers('[1, 3]', 2)").fetchall() == [(2.0, True)]
    content = copies.path.read_bytes()
    for secret in (*SECRETS, "somebody 5", "patients"):
        assert secret.encode() not in content


def test_copy_rebuilt_only_after_publication_changes(con: Any, folder: Path) -> None:
    first = published_copy.refresh_copy(con, folder).path
    st_mtime_ns = first.stat().st_mtime_ns
    con.execute("INSERT INTO patients SELECT 100 + i, 'x', 30, 'F', 'flu' FROM range(10) AS r (i)")
    assert published_copy.refresh_copy(con, folder).path == first and first.stat().st_mtime_ns == st_mtime_ns
    con.execute("REFRESH MATERIALIZED ANONYMIZED VIEW safe")
    second = published_copy.refresh_copy(con, folder).path
    assert second != first and not first.exists()
    assert [path.name for path in sorted(folder.iterdir())] == ["current.json", second.name]
    with open_connection(second) as copy:
        assert copy.execute("FROM releases()").fetchall() == [("main", "safe", 2, 70)]
    con.execute("DROP MATERIALIZED ANONYMIZED VIEW safe")
    with open_connection(published_copy.refresh_copy(con, folder).path) as copy:
        assert copy.execute("FROM releases()").fetchall() == []


def test_changed_release_not_copied_with_reason(con: Any, folder: Path) -> None:
    con.execute("CREATE MATERIALIZED ANONYMIZED VIEW whole AS SELECT * FROM kacpc('patients', k=5)")
    con.execute("UPDATE safe SET sex = 'F'")
    copies = published_copy.refresh_copy(con, folder)
    assert [name for name, _ in copies.omitted] == ["safe"]
    assert "safe is not what was released" in copies.omitted[0][1]
    assert published_copy.current_copy(folder) == copies
    with open_connection(copies.path) as copy:
        assert copy.execute("SELECT name FROM releases()").fetchall() == [("whole",)]
        assert not copy.execute("SELECT 1 FROM duckdb_tables() WHERE table_name LIKE 'safe%'").fetchall()
    con.execute("UPDATE whole SET sex = 'F'")
    assert [name for name, _ in published_copy.refresh_copy(con, folder).omitted] == ["safe", "whole"]
    con.execute("REFRESH MATERIALIZED ANONYMIZED VIEW safe WITH (mode = 'recluster')")
    with open_connection(published_copy.refresh_copy(con, folder).path) as copy:
        assert copy.execute("SELECT name FROM releases()").fetchall() == [("safe",)]


def test_releases_of_other_schemas_keep_their_schema(con: Any, folder: Path) -> None:
    con.execute("CREATE SCHEMA lab")
    con.execute("CREATE MATERIALIZED ANONYMIZED VIEW lab.safe AS SELECT * FROM kacpc('patients', k=20)")
    with open_connection(published_copy.refresh_copy(con, folder).path) as copy:
        assert copy.execute("SELECT schema_name, name FROM releases()").fetchall() == [
            ("lab", "safe"),
            ("main", "safe"),
        ]
        assert len(copy.execute("SELECT DISTINCT class_id FROM lab.safe").fetchall()) <= 3
        k = "SELECT value FROM certificate('lab.safe') WHERE (section, item) = ('parameters', 'k')"
        assert copy.execute(k).fetchall() == [("20",)]


CERTIFIED: dict[tuple[str, str], dict[str, Any]] = {
    ("Odd Schema", "a b"): {"k": 5, "alpha": 0.9, "beta": 9, "t": 0.9, "l": 2, "diversity": "entropy"},
    ("asked", "it"): {"k": 6, "l": 2, "diversity": "recursive", "c": 9.0, "t": 0.9, "ground_distance": "ordered"},
    ("main", "it"): {"k": 7, "t": 0.9, "ground_distance": "hierarchical", "delta_disclosure": 9},
}


@pytest.mark.skipif(not KNOWN, reason="the server checks statements of DuckDB 1.5")
@pytest.mark.parametrize("place", CERTIFIED, ids=lambda place: place[0])
def test_served_certificate_sql_runs_for_its_reader(con: Any, folder: Path, place: tuple[str, str]) -> None:
    tree = [["flu", "airway", "*"], ["cold", "airway", "*"], ["cough", "airway", "*"]]
    dbanon.load_hierarchy(con, "diseases", tree)
    con.execute("UPDATE dbanon.policy SET hierarchy = 'diseases' WHERE column_name = 'disease'")
    con.execute("UPDATE dbanon.policy SET role = 'identifier' WHERE column_name = 'pid'")  # records are counted
    con.execute("DROP MATERIALIZED ANONYMIZED VIEW safe")
    con.execute(f"CREATE SCHEMA IF NOT EXISTS {identifier(place[0])}")
    dbanon.create_release(con, str(qualified(*place)), "mondrian", "patients", **CERTIFIED[place])
    handler = ReaderHandler(StatementLimits(60, 1000, "500MB"), folder / "tokens")
    handler.use_copy(published_copy.refresh_copy(con, folder).path)
    lines = handler.answer("", "alice", f"FROM {qualified(place[0], place[1] + '_certificate')} WHERE sql IS NOT NULL")
    assert lines.rows.num_rows > 12
    for line in lines.rows.to_pylist():
        (row,) = handler.answer("", "alice", line["sql"]).rows.to_pylist()
        (number,) = row.values()
        assert float(number) == pytest.approx(float(line["value"]), rel=1e-9, abs=1e-9), line
        assert "as it was measured" not in line["sql"] or line["section"] == "not published", line


def test_enumerations_copied_as_text(con: Any, folder: Path) -> None:
    with open_connection(published_copy.refresh_copy(con, folder).path) as copy:
        types = dict(
            copy.execute("SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = 'safe'").fetchall()
        )
    assert types["disease"] == "VARCHAR"


def test_copy_process_reports_busy_database(con: Any, folder: Path, tmp_path: Path) -> None:
    database = tmp_path / "clinic.duckdb"
    actual_copy_process = copy_process.run_copy_process(database, folder)
    assert actual_copy_process["busy"] and "lock" in actual_copy_process["error"]
    con.close()
    old_content = database.read_bytes()
    assert copy_process.run_copy_process(database, folder) == {"left_out": [], "made": []}
    assert published_copy.current_copy(folder) is not None
    assert database.read_bytes() == old_content


def test_copy_folder_is_private_to_owner(folder: Path) -> None:
    assert folder.stat().st_mode & 0o077 == 0
