"""Versions of DuckDB that read a written file, and the error for a file that a newer one wrote."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa
from click.testing import CliRunner
from support.documents import create_small_demo

import dbanon
from dbanon import errors
from dbanon.cli import main
from dbanon.runtime import storage_version as runtime_storage_version
from dbanon.sqlalchemy import install

READ_BY_1_4 = 67
"""The newest storage version that DuckDB 1.4 reads."""


def storage_version(path: Path) -> int:
    """Return the storage version in the header of a database file."""
    header = path.read_bytes()[8:20]
    assert header[:4] == b"DUCK"
    return int.from_bytes(header[4:12], "little")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clinic") / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE visits AS SELECT 20 + i % 9 AS age, (i % 2)::VARCHAR AS note, 'x' AS d FROM range(90) r(i)"
        )
        dbanon.declare(con, "visits", age="quasi", note="insensitive")
        dbanon.create_release(con, "safe", "kacpc", "visits", k=5)
    return path


def test_published_files_readable_by_duckdb_1_4(clinic: Path, tmp_path: Path) -> None:
    dbanon.publish(clinic, "safe", tmp_path / "published.duckdb", classes=True)
    order = ["anonymize", str(clinic), "--table", "visits", "-k", "5", "-o", str(tmp_path / "anonymized.duckdb")]
    assert CliRunner().invoke(main, order).exit_code == 0
    create_small_demo(tmp_path / "demo.duckdb")
    for path in sorted(tmp_path.glob("*.duckdb")):
        assert storage_version(path) == 64 <= READ_BY_1_4, path.name
    with dbanon.connect(tmp_path / "demo.duckdb") as con:
        con.execute("CREATE TABLE safe AS FROM kacpc('patients', k=10); CHECKPOINT")
    assert storage_version(tmp_path / "demo.duckdb") == 64, "whoever works with the demo does not make it newer"


def test_command_line_sets_storage_version(clinic: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "a.duckdb", tmp_path / "b.duckdb"
    for order in (
        ["publish", str(clinic), "safe", "--output", str(first)],
        ["anonymize", str(clinic), "--table", "visits", "-k", "5", "-o", str(second)],
    ):
        result = CliRunner().invoke(main, [*order, "--storage-version", "v1.2.0"])
        assert result.exit_code == 0, result.output
    assert storage_version(first) == storage_version(second) == 65


@pytest.mark.parametrize("type_", ["VARIANT", "STRUCT(a VARIANT, b INTEGER)[]", "MAP(VARCHAR, VARIANT)"])
def test_variant_type_requires_storage_version_1_5(type_: str) -> None:
    types = {"age": "VARCHAR", "note": type_}
    for older in ("v1.0.0", "v1.4.4"):
        with pytest.raises(
            errors.StorageVersionTooOldError, match=r"note has the type VARIANT, which needs DuckDB v1\.5\.0"
        ):
            runtime_storage_version.check_column_types("publish", types, older)
    for newer in ("v1.5.0", "v2.0.0", "latest"):
        runtime_storage_version.check_column_types("publish", types, newer)


def test_variant_published_only_with_storage_version_1_5(tmp_path: Path) -> None:
    out = tmp_path / "out.duckdb"
    with dbanon.connect() as con:
        con.execute("CREATE TABLE visits AS SELECT i % 9 AS age, (i % 2)::VARIANT AS note FROM range(90) r(i)")
        dbanon.declare(con, "visits", age="quasi", note="insensitive")
        dbanon.create_release(con, "safe", "kacpc", "visits", k=5)
        for parameters in ({}, {"storage_version": "v1.4.0"}):
            with pytest.raises(errors.StorageVersionTooOldError, match=r"storage_version = 'v1\.5\.0'"):
                dbanon.publish(con, "safe", out, **parameters)
        assert list(tmp_path.iterdir()) == []
        dbanon.publish(con, "safe", out, storage_version="v1.5.0")
    assert storage_version(out) == 68
    with duckdb.connect(out, read_only=True) as plain_con:
        assert plain_con.execute("SELECT count(*), any_value(typeof(note)) FROM safe").fetchall() == [(90, "VARIANT")]


@pytest.mark.parametrize("type_", ["TIMESTAMPTZ_NS", "TIMESTAMPTZ_NS[]", "STRUCT(variant INTEGER, s TIMESTAMPTZ_NS)"])
def test_type_only_duckdb_2_reads_is_refused(type_: str) -> None:
    """DuckDB 2.0 writes it to older files without an error, and older versions then read nothing of the table."""
    with pytest.raises(errors.StorageVersionTooOldError, match="TIMESTAMPTZ_NS"):
        runtime_storage_version.check_column_types("publish", {"seen": type_}, "v1.5.0")
    runtime_storage_version.check_column_types("publish", {"seen": type_}, "v2.0.0")


@pytest.mark.parametrize("type_", ["VARCHAR", "STRUCT(variant INTEGER)", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS"])
def test_other_types_need_no_newer_version(type_: str) -> None:
    runtime_storage_version.check_column_types("publish", {"variant": type_}, runtime_storage_version.DEFAULT_VERSION)


# --- files of a newer DuckDB ---------------------------------------------------------------------------------


@pytest.fixture
def newer_database(tmp_path: Path) -> Path:
    """Create a database whose header names a future DuckDB version."""
    path = tmp_path / "newer.duckdb"
    duckdb.connect(path).close()
    one_bytearray = bytearray(path.read_bytes())
    checksum, previous = struct.unpack_from("<QQ", one_bytearray)
    struct.pack_into("<I", one_bytearray, 12, 1234)  # the version, in the first word after the checksum
    following = struct.unpack_from("<Q", one_bytearray, 8)[0]
    for word in (previous, following):  # the checksum adds up the words of a block, each on its own
        checksum ^= word * 0xBF58476D1CE4E5B9 % 2**64
    struct.pack_into("<Q", one_bytearray, 0, checksum)
    path.write_bytes(one_bytearray)
    with pytest.raises(duckdb.IOException, match="version number 1234"):
        duckdb.connect(path)
    return path


def test_newer_file_error_contains_hint(newer_database: Path, tmp_path: Path) -> None:
    def opened_by_sqlalchemy() -> Any:
        return install(sa.create_engine(f"duckdb:///{newer_database}")).connect()

    says = (
        rf"newer\.duckdb: a newer DuckDB wrote this file \(storage version 1234\).* {duckdb.__version__} reads .*Hint"
    )
    for opens in (
        lambda: dbanon.connect(newer_database),
        lambda: dbanon.connect(str(newer_database), read_only=True),
        lambda: dbanon.publish(newer_database, "safe", tmp_path / "out.csv"),
        opened_by_sqlalchemy,
    ):
        with pytest.raises(errors.NewerDatabaseError, match=says):
            opens()
    for order in (
        ["releases", str(newer_database)],
        ["publish", str(newer_database), "safe", "--output", str(tmp_path / "out.csv")],
        ["anonymize", str(newer_database), "--table", "t", "-k", "5", "-o", str(tmp_path / "out.csv")],
        ["shell", str(newer_database), "-c", "SELECT 1"],
    ):
        result = CliRunner().invoke(main, order)
        assert result.exit_code == 1 and "a newer DuckDB wrote this file" in result.output
    assert list(tmp_path.iterdir()) == [newer_database]


def test_other_open_errors_keep_duckdb_message(tmp_path: Path) -> None:
    (tmp_path / "text.duckdb").write_text("no database")
    with pytest.raises(duckdb.Error, match="not a valid DuckDB"):
        dbanon.connect(tmp_path / "text.duckdb")
    engine = install(sa.create_engine(f"duckdb:///{tmp_path / 'text.duckdb'}"))
    with pytest.raises(sa.exc.DBAPIError, match="not a valid DuckDB"):
        engine.connect()
