"""The version of the schema `dbanon`, and the migration of an older one."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors
from dbanon.source import schema


def version(con: Any) -> list[tuple[int]]:
    return list(con.execute("SELECT version FROM dbanon.schema_version").fetchall())


def test_new_database_has_current_schema_version(con: Any) -> None:
    assert version(con) == [(schema.current_version(),)]


def test_older_schema_migrated_to_current_version(tmp_path: Path) -> None:
    with dbanon.connect(tmp_path / "c.duckdb") as con:
        con.execute("CREATE TABLE p AS SELECT 20 + i % 5 AS age FROM range(60) t(i)")
        dbanon.declare(con, "p", age="quasi")
    with duckdb.connect(str(tmp_path / "c.duckdb")) as old:  # as before there were versions and forms
        old.execute("DROP TABLE dbanon.schema_version; ALTER TABLE dbanon.policy DROP COLUMN settings")
    with dbanon.connect(tmp_path / "c.duckdb") as con:
        assert version(con) == [(schema.current_version(),)]
        assert con.execute("SELECT column_name, role, settings FROM dbanon.policy").fetchall() == [
            ("age", "quasi", None)
        ]
        assert len(con.execute("FROM mondrian('p', k=5)").fetchall()) == 60


def test_attach_recreates_missing_tables(tmp_path: Path) -> None:
    with dbanon.connect(tmp_path / "c.duckdb") as con:
        con.execute("DROP TABLE dbanon.release_request")
    with dbanon.connect(tmp_path / "c.duckdb") as con:
        assert con.execute("FROM dbanon.release_request").fetchall() == []


@pytest.mark.parametrize("read_only", [False, True])
def test_newer_schema_refused(tmp_path: Path, read_only: bool) -> None:
    with dbanon.connect(tmp_path / "c.duckdb") as con:
        con.execute("UPDATE dbanon.schema_version SET version = 999")
    with pytest.raises(errors.NewerSchemaError, match="has version 999"):
        dbanon.connect(tmp_path / "c.duckdb", read_only=read_only)


def test_failed_migration_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(tmp_path / "c.duckdb")
    with dbanon.connect(path):
        pass
    with duckdb.connect(path) as con:
        con.execute("DROP TABLE dbanon.schema_version")
        monkeypatch.setattr(
            schema, "_statements", lambda name: "CREATE TABLE dbanon.half (a INTEGER); SELECT error('x')"
        )
        with pytest.raises(duckdb.Error, match="x"):
            schema.create(con)
        assert (
            con.execute("SELECT 1 FROM duckdb_tables() WHERE table_name IN ('half', 'schema_version')").fetchall() == []
        )


def test_schema_created_by_two_connections_at_once(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "c.duckdb")) as one, one.cursor() as two:
        barrier, failed = threading.Barrier(2), list[Exception]()

        def create(con: Any) -> None:
            barrier.wait()
            try:
                schema.create(con)
            except Exception as error:
                failed.append(error)

        threads = [threading.Thread(target=create, args=(con,)) for con in (one, two)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert version(one) == [(schema.current_version(),)]
