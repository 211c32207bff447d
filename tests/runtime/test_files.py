"""Files: a call reads only files that the connection may read, by their exact name, and downloads nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon import errors
from dbanon.cli import main

TREE = "a;x;*\nb;x;*\n"

FORBIDDEN = {
    "enable_external_access": "SET enable_external_access = false",
    "disabled_filesystems": "SET disabled_filesystems = 'LocalFileSystem'",
}


@pytest.fixture
def attached_connection() -> Any:
    with duckdb.connect() as connection:
        yield dbanon.attach(connection)


def file_calls(connection: Any, path: Path) -> Iterator[Callable[[], Any]]:
    """Return every way to name a file in a call."""
    yield lambda: dbanon.load_hierarchy(connection, "x", path)
    for query in (
        f"FROM hierarchy_from_file('x', '{path}')",
        f"FROM kacpc('{path}', k = 2, qi = ['a'])",
        f"FROM profile('{path}')",
        f"FROM k_anonymity('{path}', qi = ['a'])",
        f"FROM uncovered_values('{path}', 'a', hierarchy := 'sex')",
    ):
        yield partial(connection.execute, query)


@pytest.mark.parametrize("setting", FORBIDDEN)
def test_calls_respect_file_restrictions_of_connection(attached_connection: Any, tmp_path: Path, setting: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text(TREE)
    attached_connection.execute(FORBIDDEN[setting])
    for call in file_calls(attached_connection, secret):
        with pytest.raises(
            (duckdb.Error, errors.UnreadableFileError), match=r"cannot read the file.*disabled by configur"
        ):
            call()


def test_allowed_paths_readable_others_not(attached_connection: Any, tmp_path: Path) -> None:
    for folder in ("open", "closed"):
        (tmp_path / folder).mkdir()
        for name in ("x.csv", "y.csv"):
            (tmp_path / folder / name).write_text(TREE)
    attached_connection.execute(f"SET allowed_directories = ['{tmp_path}/open/']")
    attached_connection.execute(f"SET allowed_paths = ['{tmp_path}/closed/y.csv']")
    attached_connection.execute("SET enable_external_access = false")
    query = "SELECT count(*) FROM hierarchy_from_file('x', ?)"
    for path in ("open/x.csv", "closed/y.csv"):
        assert attached_connection.execute(query, [str(tmp_path / path)]).fetchall() == [(4,)]
    for path in ("closed/x.csv", "open/../closed/x.csv"):
        with pytest.raises(duckdb.Error, match="disabled by configuration"):
            attached_connection.execute(query, [str(tmp_path / path)])


def test_file_name_is_not_read_as_pattern(
    attached_connection: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for other in ("p1.csv", "p2.csv", "pp.csv", "[1.csv"):
        Path(other).write_text("a\n1\n1\n1\n")
    for name in ("p[12].csv", "p*.csv", "p?.csv", "[[]1.csv", "{p1,p2}.csv", "p1.csv"):
        Path(name).write_text("a\n2\n2\n")
        query = f"SELECT * FROM kacpc_classes('{name}', k = 2, qi = ['a'])"
        assert attached_connection.execute(query).fetchall() == [(1, 2, "2", 0.0)]
        Path(name).write_text(TREE)
        assert attached_connection.execute(f"SELECT count(*) FROM hierarchy_from_file('x', '{name}')").fetchall() == [
            (4,)
        ]
    Path("p[12].csv").write_text("a\n2\n2\n")
    result = CliRunner().invoke(main, ["anonymize", "p[12].csv", "-k", "2", "--qi", "a", "-o", "out.csv"])
    assert result.exit_code == 0, result.output
    assert Path("out.csv").read_text().splitlines() == ["a,class_id", "2,1", "2,1"]


def test_remote_file_name_fetches_no_extension(attached_connection: Any) -> None:
    attached_connection.execute("SET custom_extension_repository = 'http://127.0.0.1:1'")
    state = "FROM duckdb_extensions() WHERE loaded OR installed"
    old_rows = attached_connection.execute(state).fetchall()
    for scheme in ("http", "https", "HTTPS", "s3", "gs", "r2", "hf", "az", "abfss"):
        path = f"{scheme}://bucket/x.csv"
        for query in (f"FROM hierarchy_from_file('x', '{path}')", f"FROM kacpc('{path}', k = 2, qi = ['a'])"):
            with pytest.raises(duckdb.Error, match=r"is on a network, and .* not loaded\. Nothing was fetched"):
                attached_connection.execute(query)
        with pytest.raises(errors.RemoteFileError, match="LOAD"):
            dbanon.load_hierarchy(attached_connection, "x", path)
    assert attached_connection.execute(state).fetchall() == old_rows


def test_registered_file_system_is_read(attached_connection: Any) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    with memory.open("/x.csv", "w") as file:
        file.write(TREE)
    attached_connection.register_filesystem(memory)
    assert attached_connection.execute(
        "SELECT count(*) FROM hierarchy_from_file('x', 'memory://x.csv')"
    ).fetchall() == [(4,)]


def test_text_files_of_other_endings_are_read(attached_connection: Any, tmp_path: Path) -> None:
    for name, text in {"x.txt": "a\n2\n2\n", "x.tsv": "a\tb\n2\t1\n2\t1\n", "x.jsonl": '{"a": 2}\n{"a": 2}\n'}.items():
        (tmp_path / name).write_text(text)
        query = f"SELECT a FROM kacpc('{tmp_path / name}', k = 2, qi = ['a'])"
        assert attached_connection.execute(query).fetchall() == [("2",)] * 2


@pytest.mark.not_everyday
def test_anonymize_accepts_file_and_relation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("a\n1\n1\n2\n2\n")
    with duckdb.connect() as con:
        con.execute("CREATE TABLE t AS FROM 'p.csv'")
        relation = con.table("t").filter("a < 3")
        for text in ("p.csv", Path("p.csv"), relation):
            release = dbanon.anonymize(text, k=2, qi=["a"]).release
            rows = release.fetchall() if text is relation else release.itertuples(index=False)
            assert [row[0] for row in rows] == ["1", "1", "2", "2"]
    for wrong in ("t", 42, "SELECT 1"):
        with pytest.raises(errors.UnsupportedInputError, match="Hint"):
            dbanon.anonymize(wrong, k=2, qi=["a"])


def test_relation_name_clash_explained_and_name_works() -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE t AS SELECT range // 2 AS a FROM range(4)")
        relation = con.table("t")
        with pytest.raises(duckdb.Error, match=r"no table, view or file 'x' is visible.*relation\.query"):
            relation.query("x", "FROM kacpc('x', k := 2, qi := ['a'])")
        assert con.execute("SELECT count(*) FROM kacpc('relation', k = 2, qi = ['a'])").fetchall() == [(4,)]
