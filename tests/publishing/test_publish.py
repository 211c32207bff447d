"""Published files contain the release and its documents, and no byte of anything else."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.publishing import release_files as handouts

TARGETS = ("out.duckdb", "out.parquet", "out.csv", "folder/")
NAMES = ("Quintessa", "Zebulon", "Wilhelmina", "Xanthippe")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Create a clinic whose raw values are distinguishable from everything that is published."""
    path = tmp_path_factory.mktemp("clinic") / "clinic.duckdb"
    r = random.Random(5)
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE wardbook (pid VARCHAR, name VARCHAR, age INTEGER, zip VARCHAR, disease VARCHAR, "
            "secretnote VARCHAR)"
        )
        con.executemany(
            "INSERT INTO wardbook VALUES (?, ?, ?, ?, ?, ?)",
            [
                (f"PKEY{700 + i}", f"{r.choice(NAMES)} Nr{i}", 20 + i % 60, f"Q{i % 40:02d}7ZIP",
                 r.choice(["Flu", "HIV"]), f"NOTE{i}")
                for i in range(400)
            ],
        )  # fmt: skip
        con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_flat('zips', 'wardbook', 'zip')")
        dbanon.load_hierarchy(con, "unused", [["UNUSEDLEAF", "UNUSEDNODE", "*"], ["UNUSED2", "UNUSEDNODE", "*"]])
        dbanon.declare(
            con, "wardbook", pid="person", name="identifier", age="quasi", zip=("quasi", "zips"), disease="sensitive"
        )
        dbanon.create_release(
            con,
            "safe_patients",
            "kacpc",
            "wardbook",
            k=5,
            l=2,
            suppress=0.05,
            min_level={"zip": 1},
            rounding={"age": 10},
        )
    return path


def files(target: Path) -> list[Path]:
    return [p for p in sorted(target.rglob("*")) if p.is_file()]


def forbidden_words() -> list[bytes]:
    """Return bytes that no file may contain: names, keys, notes, zip codes, and names of withheld columns and nodes."""
    words = [*NAMES, "PKEY", "NOTE", "7ZIP", "UNUSED", "wardbook", "secretnote", "clinic", "pid", "zips"]
    return [w.encode() for w in words]


def leaks(folder: Path) -> list[str]:
    result = []
    for path in files(folder):
        content = path.read_bytes()
        result += [f"{path.name}: {word!r}" for word in forbidden_words() if word.lower() in content.lower()]
    return result


@pytest.fixture(params=["path", "connection", "uncompressed"])
def source(request: pytest.FixtureRequest, clinic: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return the database as a path, and as connections that have just read all of its raw data."""
    if request.param == "path":
        yield clinic
        return
    with dbanon.connect(clinic) as con:
        if request.param == "uncompressed":
            con.execute("SET force_compression = 'uncompressed'")
            monkeypatch.setattr(handouts, "_SETTINGS", {"force_compression": "uncompressed"})
        con.execute("SELECT * FROM wardbook ORDER BY name").fetchall()
        con.execute("FROM inference('wardbook', k=5)").fetchall()
        yield con


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("classes", [False, True])
def test_published_files_contain_no_source_bytes(source: Any, target: str, classes: bool, tmp_path: Path) -> None:
    output = dbanon.publish(source, "safe_patients", f"{tmp_path}/{target}", classes=classes)
    assert sorted(output) == files(tmp_path), "nothing else remains, no draft and no log"
    assert leaks(tmp_path) == []
    exact = {str(age) for age in range(20, 80)}
    ages = column_values(tmp_path, target, "age")
    assert len(ages) > 300 and not exact & set(ages)


def column_values(folder: Path, target: str, name: str) -> list[str]:
    with open_connection(folder, target) as con:
        return [str(row[0]) for row in con.execute(f"SELECT {name} FROM {relation(target, '')}").fetchall()]


def open_connection(folder: Path, target: str) -> Any:
    """Return a recipient's plain DuckDB, in the folder of the files."""
    if target.endswith(".duckdb"):
        return duckdb.connect(folder / target, read_only=True)
    con = duckdb.connect()
    con.execute(f"SET file_search_path = '{folder / target if target.endswith('/') else folder}'")
    return con


def certificate_csv(name: str) -> str:
    return f"read_csv('{name}', all_varchar = true, header = true, delim = ',', quote = '\"', escape = '\"')"


def relation(target: str, ending: str) -> str:
    name, form = ("safe_patients", "parquet") if target.endswith("/") else target.split(".")
    if form == "duckdb":
        return f"safe_patients{ending}"
    if form == "csv" and ending == "_certificate":
        return certificate_csv(f"{name}{ending}.csv")
    return f"'{name}{ending}.{form}'"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("classes", [False, True])
def test_published_release_complete_and_verifiable(clinic: Path, target: str, classes: bool, tmp_path: Path) -> None:
    dbanon.publish(clinic, "safe_patients", f"{tmp_path}/{target}", classes=classes)
    with duckdb.connect(clinic, read_only=True) as con:
        expected = con.execute("SELECT * FROM safe_patients").fetchall()
        metrics = con.execute("SELECT * FROM safe_patients_metrics").fetchall()
        size = con.execute("SELECT count(*) FROM safe_patients_classes").fetchall()
    with open_connection(tmp_path, target) as con:
        assert con.execute(f"FROM {relation(target, '')}").fetchall() == expected
        if not target.endswith("csv"):
            assert con.execute(f"FROM {relation(target, '_metrics')}").fetchall() == metrics
        lines = con.execute(f"SELECT item, value, sql FROM {relation(target, '_certificate')}").fetchall()
        assert {"k", "records", "as outliers", "verified", "homogeneity"} <= {line[0] for line in lines}
        checked = [line for line in lines if line[2] and len(line[1]) != 64]
        assert len(checked) > 10
        hashes = [line for line in lines if line[2] and len(line[1]) == 64]
        assert len(hashes) == (0 if target.endswith(".duckdb") else 2 + classes)
        for element, value, sql in hashes:
            assert con.execute(sql).fetchall() == [(value,)], element
        for element, value, sql in checked:
            assert float(con.execute(sql).fetchall()[0][0]) == pytest.approx(float(value), abs=1e-9), (element, sql)
        if classes:
            assert con.execute(f"SELECT count(*) FROM {relation(target, '_classes')}").fetchall() == size
        else:
            with pytest.raises(duckdb.Error):
                con.execute(f"FROM {relation(target, '_classes')}")


def test_published_database_has_three_tables_only(clinic: Path, tmp_path: Path) -> None:
    dbanon.publish(clinic, "safe_patients", tmp_path / "out.duckdb")
    with duckdb.connect(tmp_path / "out.duckdb", read_only=True) as con:
        tables = con.execute("SELECT schema_name, table_name FROM duckdb_tables() ORDER BY ALL").fetchall()
        names = ["safe_patients", "safe_patients_certificate", "safe_patients_metrics"]
        assert tables == [("main", n) for n in names]
        assert con.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [(0,)]
        assert con.execute("SELECT count(*) FROM duckdb_schemas() WHERE schema_name = 'dbanon'").fetchall() == [(0,)]


def test_recipient_sees_only_permitted_lines(clinic: Path, tmp_path: Path) -> None:
    dbanon.publish(clinic, "safe_patients", tmp_path / "out.parquet")
    message = (tmp_path / "out_certificate.parquet.txt").read_text(encoding="utf-8")
    assert "age: quasi" in message and "disease: sensitive" in message and "as outliers:" in message
    assert "columns: 3" in message, "how many are withheld, not which"
    for hidden in ("fingerprint", "source", "statement", "min_level", "rounding", "withheld:", "person:"):
        assert f"  {hidden}" not in message


@pytest.mark.parametrize("version, number", [(None, 64), ("v1.2.0", 65)])
def test_published_database_has_requested_storage_version(
    clinic: Path, version: str | None, number: int, tmp_path: Path
) -> None:
    dbanon.publish(clinic, "safe_patients", tmp_path / "out.duckdb", storage_version=version, classes=True)
    header = (tmp_path / "out.duckdb").read_bytes()[8:20]
    assert header[:4] == b"DUCK" and int.from_bytes(header[4:12], "little") == number
    assert leaks(tmp_path) == []


def test_unknown_or_inapplicable_storage_version_raises(clinic: Path, tmp_path: Path) -> None:
    with pytest.raises(dbanon.DbanonError, match=r"could not be written: .*v9\.9"):
        dbanon.publish(clinic, "safe_patients", tmp_path / "out.duckdb", storage_version="v9.9")
    with pytest.raises(dbanon.DbanonError, match="storage_version"):
        dbanon.publish(clinic, "safe_patients", tmp_path / "out.csv", storage_version="v1.2.0")
    assert files(tmp_path) == []


@pytest.mark.parametrize("file_name", TARGETS)
def test_publish_keeps_existing_target_unless_overwrite(clinic: Path, file_name: str, tmp_path: Path) -> None:
    target = f"{tmp_path}/{file_name}"
    dbanon.publish(clinic, "safe_patients", target, classes=True)
    old_contents = {p: p.read_bytes() for p in files(tmp_path)}
    with pytest.raises(dbanon.DbanonError, match=r"exists? already"):
        dbanon.publish(clinic, "safe_patients", target)
    assert {p: p.read_bytes() for p in files(tmp_path)} == old_contents
    output = dbanon.publish(clinic, "safe_patients", target, overwrite=True)
    assert files(tmp_path) == sorted(output), "classes of the earlier file do not stay beside the new one"


def test_publish_into_source_database_refused(clinic: Path, tmp_path: Path) -> None:
    old_size = clinic.stat().st_size
    with pytest.raises(dbanon.DbanonError, match="choose another file"):
        dbanon.publish(clinic, "safe_patients", clinic, overwrite=True)
    (tmp_path / "link.duckdb").symlink_to(clinic)
    with dbanon.connect(clinic) as con, pytest.raises(dbanon.DbanonError, match="choose another file"):
        dbanon.publish(con, "safe_patients", tmp_path / "link.duckdb", overwrite=True)
    assert clinic.stat().st_size == old_size


@pytest.mark.parametrize("target", TARGETS)
def test_failed_publish_leaves_no_files(
    clinic: Path, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dbanon.publishing import certificate as certificates

    def fails(*_: object) -> str:
        raise OSError("disk full")

    monkeypatch.setattr(certificates, "rows_sql", fails)
    with dbanon.connect(clinic) as con:
        with pytest.raises(OSError, match="disk full"):
            dbanon.publish(con, "safe_patients", f"{tmp_path}/{target}")
        assert list(tmp_path.iterdir()) == []
        assert con.execute(
            "SELECT count(*) FROM duckdb_databases() WHERE database_name LIKE 'dbanon_out%'"
        ).fetchall() == [(0,)]


@pytest.mark.parametrize(
    "change",
    [
        "INSERT INTO safe_patients SELECT '33', 'Q017ZIP', 'Flu', 999",
        "DELETE FROM safe_patients WHERE class_id = 1",
        "UPDATE safe_patients SET age = '33' WHERE rowid = 0",
        "ALTER TABLE safe_patients ADD COLUMN name VARCHAR",
        "UPDATE safe_patients SET class_id = 1 WHERE class_id = 2",
        "INSERT INTO safe_patients_metrics VALUES ('Zebulon', 1, 'lower', '')",
        "UPDATE safe_patients_classes SET size = size + 1",
        "ALTER TABLE safe_patients_classes ADD COLUMN name VARCHAR",
        "DROP TABLE safe_patients_metrics",
    ],
)
def test_publish_of_modified_release_refused(clinic: Path, change: str, tmp_path: Path) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(clinic.read_bytes())
    with duckdb.connect(copy) as con:
        con.execute(change)
    with pytest.raises(dbanon.DbanonError, match="is not what was released"):
        dbanon.publish(copy, "safe_patients", tmp_path / "out.duckdb")
    assert files(tmp_path) == [copy]


def test_publish_refuses_unknown_format_release_and_file(clinic: Path, tmp_path: Path) -> None:
    with pytest.raises(dbanon.DbanonError, match=r"ending in \.duckdb, \.parquet, \.csv, or a folder"):
        dbanon.publish(clinic, "safe_patients", tmp_path / "out.xlsx")
    with pytest.raises(dbanon.DbanonError, match="Did you mean 'safe_patients'"):
        dbanon.publish(clinic, "safe_patient", tmp_path / "out.csv")
    with pytest.raises(duckdb.Error, match="does not exist"):
        dbanon.publish(tmp_path / "none.duckdb", "safe_patients", tmp_path / "out.csv")
    assert files(tmp_path) == []


def test_read_only_connection_can_publish(clinic: Path, tmp_path: Path) -> None:
    with dbanon.connect(clinic, read_only=True) as con:
        for target in TARGETS:
            with pytest.warns(dbanon.UnrecordedFileWarning, match="clinic is read-only"):
                assert dbanon.publish(con, "safe_patients", f"{tmp_path}/{TARGETS.index(target)}/{target}")
    assert leaks(tmp_path) == []


@pytest.mark.not_everyday
def test_published_csv_preserves_awkward_values_and_names(tmp_path: Path) -> None:
    with dbanon.connect(tmp_path / "a.duckdb") as con:
        con.execute("CREATE SCHEMA lab")
        con.execute(
            'CREATE TABLE t AS SELECT i % 3 AS "a ""b", CASE WHEN i % 2 = 0 THEN \'\' WHEN i % 3 = 0 THEN NULL '
            "ELSE 'x,\"y\"' || chr(10) END AS s FROM range(60) r(i)"
        )
        dbanon.declare(con, "t", **{'a "b': "quasi", "s": "sensitive"})
        dbanon.create_release(con, 'lab."odd name"', "mondrian", "t", k=2, t=0.9, beta=9, intervals="struct")
        dbanon.publish(con, 'lab."odd name"', tmp_path / "out" / "o.csv", classes=True)
    with duckdb.connect() as plain_con:
        plain_con.execute(f"SET file_search_path = '{tmp_path / 'out'}'")
        lines = plain_con.execute(
            f"SELECT item, value, sql FROM {certificate_csv('o_certificate.csv')} WHERE sql IS NOT NULL"
        ).fetchall()
        lines = [line for line in lines if len(line[1]) != 64]
        assert len(lines) > 10
        for element, value, sql in lines:
            assert float(plain_con.execute(sql).fetchall()[0][0]) == pytest.approx(float(value), abs=1e-9), (
                element,
                sql,
            )


@pytest.mark.not_everyday
def test_published_database_preserves_types(tmp_path: Path) -> None:
    with dbanon.connect(tmp_path / "a.duckdb") as con:
        con.execute(
            "CREATE TABLE t AS SELECT i % 3 AS q, 170141183460469231731687303715884105727::HUGEINT - i % 2 AS huge, "
            "(CASE WHEN i % 2 = 0 THEN 'z' ELSE 'a' END)::ENUM ('z', 'a') AS word, "
            "TIME '01:02:03' AS clock, TIMESTAMP_S '2020-01-01 00:00:01' AS moment FROM range(60) r(i)"
        )
        roles: dict[str, Any] = dict.fromkeys(("huge", "word", "clock", "moment"), "sensitive")
        dbanon.declare(con, "t", q="quasi", **roles)
        dbanon.create_release(con, "safe", "mondrian", "t", k=2, t=0.9, ground_distance="ordered")
        dbanon.publish(con, "safe", tmp_path / "out.duckdb", classes=True)
        expected = [
            con.execute(f"{query} safe{e}").fetchall() for e in ("", "_classes") for query in ("DESCRIBE", "FROM")
        ]
    with duckdb.connect(tmp_path / "out.duckdb", read_only=True) as plain_con:
        rows = [
            plain_con.execute(f"{query} safe{e}").fetchall() for e in ("", "_classes") for query in ("DESCRIBE", "FROM")
        ]
    lists = next(i for i, column in enumerate(expected[2]) if column[0] == "word")
    expected[2][lists] = (expected[2][lists][0], 'STRUCT("value" VARCHAR, size BIGINT)[]', *expected[2][lists][2:])
    assert rows == expected


@pytest.mark.not_everyday
def test_file_rows_in_release_order_under_any_settings(tmp_path: Path) -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE t AS SELECT (i * 7919) % 80 AS place FROM range(150000) AS r (i)")
        dbanon.declare(con, "t", place="quasi")
        con.execute("SET threads = 8; SET preserve_insertion_order = false")
        dbanon.create_release(con, "safe", "kacpc", "t", k=5)
        dbanon.publish(con, "safe", tmp_path / "out.csv")
    with duckdb.connect() as plain_con:
        plain_con.execute("SET threads = 1")
        class_id = plain_con.execute(f"SELECT class_id FROM '{tmp_path / 'out.csv'}'").fetchnumpy()["class_id"]
    assert len(class_id) == 150000 and (class_id[1:] >= class_id[:-1]).all()


def test_release_after_erasure_can_be_published(tmp_path: Path) -> None:
    """Nine are withheld, which is not the same as dropped for a NULL."""
    with dbanon.connect() as con:
        con.execute(
            "CREATE TABLE patients AS SELECT i AS pid, 20 + i // 2 AS age, 'Flu' AS disease FROM range(40) r (i)"
        )
        con.execute("INSERT INTO patients VALUES (40, NULL, 'Flu')")
        dbanon.declare(con, "patients", pid="person", age="quasi", disease="sensitive")
        dbanon.create_release(con, "safe", "kacpc", "patients", k=10, nulls="drop")
        con.execute("DELETE FROM patients WHERE pid = 0")
        with pytest.warns(dbanon.DisclosureWarning, match="9 records are withheld"):
            dbanon.refresh_release(con, "safe", erase=True)
        dbanon.publish(con, "safe", tmp_path / "safe.parquet")
        dbanon.refresh_release(con, "safe")
        dbanon.publish(con, "safe", tmp_path / "safe.parquet", overwrite=True)
        remaining_rows = con.execute(
            "SELECT item, value FROM certificate('safe') WHERE section = 'not published'"
        ).fetchall()
    assert dbanon.verify(tmp_path / "safe.parquet") == []
    assert dict(remaining_rows).items() >= {("for a NULL", "1"), ("withheld since an erasure", "9")}


def test_overwritten_file_removes_previous_certificate(clinic: Path, tmp_path: Path) -> None:
    """Certificates were called out_certificate.txt once; one of another file, or a text of the user, stays."""
    out, old = tmp_path / "out.csv", tmp_path / "out_certificate.txt"
    dbanon.publish(clinic, "safe_patients", out)
    old.write_text((tmp_path / "out_certificate.csv.txt").read_text())
    dbanon.publish(clinic, "safe_patients", tmp_path / "out.parquet")
    assert old.exists()
    dbanon.publish(clinic, "safe_patients", out, overwrite=True)
    assert not old.exists()
    old.write_text("what 'out.csv' is for")
    dbanon.publish(clinic, "safe_patients", out, overwrite=True)
    assert old.exists()


def test_enumeration_published_with_occurring_values(tmp_path: Path) -> None:
    """The source type has values that no row has; the order of the others is kept, for ordered distances."""
    with dbanon.connect() as con:
        con.execute("CREATE TYPE stage AS ENUM ('late', 'unseen''1', 'early')")
        con.execute(
            "CREATE TABLE t AS SELECT i // 10 AS age, IF(i % 2 = 0, 'late', 'early')::stage AS stage, "
            "[NULL]::stage[] AS stages, NULL::stage AS none FROM range(60) AS r (i)"
        )
        dbanon.declare(con, "t", age="quasi", stage="sensitive", stages="insensitive", none="insensitive")
        dbanon.create_release(con, "safe", "mondrian", "t", k=2, t=0.9, ground_distance="ordered")
        for ending in ("duckdb", "csv", "parquet"):
            dbanon.publish(con, "safe", tmp_path / f"out.{ending}", classes=True)
        expected = con.execute("SELECT age, stage::VARCHAR, stages::VARCHAR, class_id FROM safe").fetchall()
    for file in tmp_path.iterdir():
        assert b"unseen" not in file.read_bytes(), file.name
    with duckdb.connect(tmp_path / "out.duckdb", read_only=True) as plain_con:
        types = dict(plain_con.execute("SELECT column_name, column_type FROM (DESCRIBE safe)").fetchall())
        assert (types["stage"], types["stages"]) == ("ENUM('late', 'early')", "VARCHAR[]")
        assert (
            plain_con.execute("SELECT age, stage::VARCHAR, stages::VARCHAR, class_id FROM safe").fetchall() == expected
        )
        numbers = plain_con.execute("SELECT value, sql FROM safe_certificate WHERE sql IS NOT NULL").fetchall()
        assert len(numbers) > 10
        for value, sql in numbers:
            actual_value = plain_con.execute(sql).fetchall()[0][0]
            assert str(actual_value) == value or float(actual_value) == pytest.approx(float(value), abs=1e-9), sql
