"""SQLite tables as sources: its types do not restrict values, and DuckDB reads it on several threads by default."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.postgres import needs_scanner

import dbanon
from dbanon import errors

pytestmark = pytest.mark.all_cases

ONE_THREAD = "SET GLOBAL sqlite_disable_multithreaded_scans = true"


@pytest.fixture(scope="module")
def sqlite_con(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    needs_scanner("sqlite")
    with dbanon.connect(tmp_path_factory.mktemp("clinic") / "clinic.duckdb") as con:
        dbanon.load_extension(con, "sqlite")
        yield con


def test_load_extension_reads_sqlite_on_one_thread() -> None:
    needs_scanner("sqlite")
    with dbanon.connect() as con:
        dbanon.load_extension(con, "sqlite")
        setting = "SELECT current_setting('sqlite_disable_multithreaded_scans')"
        assert con.cursor().execute(setting).fetchall() == [(True,)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Create a SQLite database with patients, and a view of them."""
    path = tmp_path / "ward.sqlite"
    write(
        path,
        "CREATE TABLE patients (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, sex TEXT, born DATE)",
        "INSERT INTO patients WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 119) "
        "SELECT i, 'somebody ' || i, 20 + i % 40, CASE i % 2 WHEN 0 THEN 'f' ELSE 'm' END, '1969-07-20' FROM n",
        "CREATE VIEW seen AS SELECT * FROM patients",
    )
    return path


@pytest.fixture
def ward(sqlite_con: Any, file: Path) -> Iterator[Any]:
    """Provide the clinic's DuckDB file with that database attached as `ward`, read on one thread."""
    sqlite_con.execute(ONE_THREAD)
    sqlite_con.execute(f"ATTACH '{file}' AS ward (TYPE sqlite)")
    yield sqlite_con
    sqlite_con.execute("DETACH ward")
    for (table,) in sqlite_con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE schema_name = 'dbanon'"
    ).fetchall():
        sqlite_con.execute(f"DELETE FROM clinic.dbanon.{table}")
    for (table,) in sqlite_con.execute(
        "SELECT table_name FROM duckdb_tables() WHERE (database_name, schema_name) = ('clinic', 'main')"
    ).fetchall():
        sqlite_con.execute(f"DROP TABLE clinic.main.{table}")


def write(path: Path, *statements: str) -> None:
    with sqlite3.connect(path, timeout=30) as con:
        for statement in statements:
            con.execute(statement)
    con.close()


def rows(con: Any, query: str) -> list[Any]:
    actual_rows: list[Any] = con.execute(query).fetchall()
    return actual_rows


def refusal_message(con: Any, query: str) -> str:
    with pytest.raises(Exception) as caught:
        con.execute(query).fetchall()
    return str(caught.value)


def test_sqlite_table_released_like_duckdb_copy(ward: Any) -> None:
    roles = {"id": "person", "name": "identifier", "age": "quasi", "sex": "quasi", "born": "insensitive"}
    dbanon.declare(ward, "ward.patients", **roles)
    ward.execute("CREATE TABLE copied AS FROM ward.patients")
    dbanon.declare(ward, "copied", **roles)
    want = rows(ward, "FROM kacpc('copied', k=10)")
    assert len(want) == 120
    for name in ("ward.patients", "ward.main.patients", "WARD.Patients"):
        assert rows(ward, f"FROM kacpc('{name}', k=10)") == want
    assert "no policy of its own" in refusal_message(ward, "FROM kacpc('ward.seen', k=10, qi=['name'])")


def test_sqlite_multithreaded_scan_refused(ward: Any) -> None:
    dbanon.declare(ward, "ward.patients", age="quasi")
    ward.execute("CREATE VIEW seen_here AS FROM ward.patients")
    dbanon.declare(ward, "seen_here", sex="quasi")
    ward.execute("CREATE TABLE mine AS SELECT 1 AS a FROM range(20)")
    ward.execute("SET GLOBAL sqlite_disable_multithreaded_scans = false")
    assert len(rows(ward, "FROM kacpc('mine', k=10, qi=['a'])")) == 20
    for query in (
        "FROM kacpc('ward.patients', k=10)",
        "FROM kacpc_metrics('ward.patients', k=10)",
        "FROM profile('ward.patients')",
        "FROM anonymity('ward.patients', qi=['age'])",
        "FROM kacpc('seen_here', k=10)",
        "CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('ward.patients', k=10)",
    ):
        assert ONE_THREAD in refusal_message(ward, query), query
    ward.execute(ONE_THREAD)
    assert len(rows(ward, "FROM kacpc('ward.patients', k=10)")) == 120
    assert len(rows(ward, "FROM kacpc('seen_here', k=10)")) == 120
    ward.execute("DROP VIEW seen_here")


def test_sqlite_release_reads_single_snapshot(ward: Any, file: Path) -> None:
    """A writer changes the first and the last record at once.

    Read on several threads they differ, which is refused.
    """
    write(
        file,
        "PRAGMA journal_mode = wal",
        "CREATE TABLE large (id INTEGER PRIMARY KEY, age INTEGER)",
        "INSERT INTO large WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 299999) "
        "SELECT i, 50 FROM n",
    )
    with subprocess.Popen([sys.executable, "-c", _WRITER, str(file)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        try:
            for _ in range(3):
                query = "SELECT age, count(*) FROM kacpc('ward.large', k=2, qi=['age']) WHERE age <> '50' GROUP BY ALL"
                assert [size for _, size in rows(ward, query)] == [2]
        finally:
            writer.kill()


_WRITER = """
import sqlite3, sys
con = sqlite3.connect(sys.argv[1], timeout=30)
for i in range(100000):
    con.execute("UPDATE large SET age = 100 + ? WHERE id IN (1, 299998)", [i])
    con.commit()
    if i == 0:
        print("writes", flush=True)
"""


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE patients SET age = 'somebody else' WHERE id = 7",
        "UPDATE patients SET born = 'somebody else' WHERE id = 7",
        "UPDATE patients SET age = 99999999999999999999999.5 WHERE id = 7",
    ],
)
def test_sqlite_type_error_contains_no_cell(ward: Any, file: Path, statement: str) -> None:
    write(file, statement)
    for query in (
        "FROM kacpc('ward.patients', k=10, qi=['age'], insensitive=['born'])",
        "CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('ward.patients', k=10, qi=['age', 'born'])",
        "FROM profile('ward.patients')",
    ):
        message = refusal_message(ward, query)
        assert "could not be read or converted" in message, (query, message)
        assert "else" not in message and "99999" not in message
    assert len(rows(ward, "FROM kacpc('ward.patients', k=10, qi=['sex'])")) == 120


def test_sqlite_text_with_invalid_utf8_refused(ward: Any, file: Path) -> None:
    write(file, "UPDATE patients SET sex = CAST(x'ff' AS TEXT) WHERE id < 30")
    for roles in ("qi=['sex']", "qi=['age'], insensitive=['sex']", "qi=['age'], sensitive=['sex']"):
        refusal_message(ward, f"FROM kacpc('ward.patients', k=10, {roles})")


def test_sqlite_policy_belongs_to_file(ward: Any, file: Path, tmp_path: Path) -> None:
    dbanon.declare(ward, "ward.patients", age="quasi", sex="quasi")
    assert rows(ward, "FROM attached_databases()") == [("ward", "sqlite", f"sqlite:{file}")]
    assert rows(ward, "FROM dbanon.foreign_database") == [("ward", "sqlite", f"sqlite:{file}")]
    other = tmp_path / "other.sqlite"
    other.write_bytes(file.read_bytes())
    ward.execute("DETACH ward")
    ward.execute(f"ATTACH '{other}' AS ward (TYPE sqlite)")
    assert "is attached" in refusal_message(ward, "FROM kacpc('ward.patients', k=10)")
    ward.execute(f"ATTACH '{file}' AS first (TYPE sqlite)")
    try:
        assert len(rows(ward, "FROM kacpc('first.patients', k=10)")) == 120
    finally:
        ward.execute("DETACH first")


def test_sqlite_in_memory_database_has_no_identity(ward: Any) -> None:
    ward.execute("ATTACH ':memory:' AS passing (TYPE sqlite)")
    try:
        ward.execute("CREATE TABLE passing.t AS SELECT 1 AS a FROM range(20)")
        assert len(rows(ward, "FROM kacpc('passing.t', k=2, qi=['a'])")) == 20
        with pytest.raises(errors.DatabaseIdentityUnavailableError, match="it is in memory"):
            dbanon.declare(ward, "passing.t", a="quasi")
        with pytest.raises(errors.DatabaseIdentityUnavailableError, match="it is in memory"):
            ward.execute("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('passing.t', k=2, qi=['a'])")
        ward.execute("INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('passing.t', 'a', 'quasi')")
        assert "it is in memory" in refusal_message(ward, "FROM kacpc('passing.t', k=2)")
        assert [name for name, _, _ in rows(ward, "FROM attached_databases()")] == ["ward"]
    finally:
        ward.execute("DETACH passing")


def test_sqlite_release_is_refreshed(ward: Any, file: Path) -> None:
    dbanon.declare(ward, "ward.patients", id="person", age="quasi", sex="quasi")
    ward.execute("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('ward.patients', k=10)")
    write(file, "INSERT INTO patients SELECT id + 1000, name, 30, 'f', born FROM patients LIMIT 20")
    assert rows(ward, "SELECT status, added FROM release_status()") == [("stale", 20)]
    ward.execute("REFRESH MATERIALIZED ANONYMIZED VIEW safe")
    assert rows(ward, "SELECT count(*) FROM safe") == [(140,)]


def test_related_tables_share_people_after_database_moved(ward: Any, file: Path) -> None:
    query = "INSERT INTO visits SELECT id, age + id % 7 FROM patients WHERE id % 3 > 0"
    write(file, "CREATE TABLE visits (id INTEGER, day INTEGER)", query)
    dbanon.declare(ward, "ward.main.patients", id="person", age="quasi")
    dbanon.declare(ward, "ward.main.visits", id="person", day="quasi")
    call = "SELECT * FROM kacpc('ward.main.patients', k=3, children='ward.main.visits', key='id')"
    ward.execute(f"CREATE MATERIALIZED ANONYMIZED VIEW care AS {call}")
    moved_text = """['"sqlite:before it moved"."main"."patients"']"""
    ward.execute(f"UPDATE dbanon.related_release SET source_tables = {moved_text}, person_tables = {moved_text}")
    for table in ("patients", "visits"):
        other = f"CREATE MATERIALIZED ANONYMIZED VIEW other AS SELECT * FROM kacpc('ward.main.{table}', k=3)"
        assert "the same people are in care" in refusal_message(ward, other)


def test_stream_of_sqlite_table_refused(ward: Any) -> None:
    with pytest.raises(errors.DbanonError, match="is not a table of a DuckDB database"):
        dbanon.create_stream(ward, "growing", "castle", "ward.patients", k=5, delta=50, qi=["age"], order_by=["id"])


def test_policy_from_labels_refuses_sqlite_table(ward: Any) -> None:
    assert "is not a table of PostgreSQL" in refusal_message(ward, "FROM policy_from_labels('ward.patients')")


def test_missing_sqlite_extension_names_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dbanon.runtime.duckdb_extensions._package_folder", lambda name: None)
    with duckdb.connect(config={"extension_directory": "/nonexistent"}) as con:
        with pytest.raises(errors.ScannerExtensionMissingError, match=r"pip install -e '\.\[sqlite\]'"):
            dbanon.load_extension(con, "sqlite")
        with pytest.raises(errors.InvalidArgumentError, match="'postgres', 'sqlite', 'mysql'"):
            dbanon.load_extension(con, "oracle")
