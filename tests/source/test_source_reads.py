"""Relations that a source reads: stored tables, files, and those that cannot be determined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dbanon.source import catalog, file_identity
from dbanon.source.source_reads import source_reads

QUERIES: dict[str, tuple[set[str], set[str], set[str]]] = {
    "FROM p": ({"p"}, set(), set()),
    "FROM query_table(['p', 'q'], true)": ({"p", "q"}, set(), set()),
    "FROM query('FROM p')": ({"p"}, set(), set()),
    "SELECT (SELECT max(a) FROM q) AS a FROM p": ({"p", "q"}, set(), set()),
    "FROM p UNION ALL FROM 'x.csv'": ({"p"}, {"x.csv"}, set()),
    "WITH m AS MATERIALIZED (FROM p) FROM m, m AS n": ({"p"}, set(), set()),
    "SELECT a.b AS a FROM (VALUES (1), (2)) AS a (b), range(3), unnest([1])": (set(), set(), set()),
    "FROM 'x.csv'": (set(), {"x.csv"}, set()),
    "FROM read_csv('x.csv', header = true)": (set(), {"x.csv"}, set()),
    "FROM read_csv(['x.csv', 'y.csv'])": (set(), {"x.csv", "y.csv"}, set()),
    "FROM read_csv('*.csv')": (set(), {"x.csv", "y.csv"}, set()),
    "SELECT i.a FROM read_csv('x.csv') AS i WHERE 'y.csv' <> ''": (set(), {"x.csv"}, set()),
    "FROM read_csv('x' || '.csv')": (set(), set(), {"read_csv"}),
    "FROM read_csv(concat('x', '.csv'))": (set(), set(), {"read_csv"}),
    "FROM read_csv(['x.csv', 'y' || '.csv'])": (set(), set(), {"read_csv"}),
    "FROM read_csv('x.csv') UNION ALL FROM read_csv('y' || '.csv')": (set(), {"x.csv"}, {"read_csv"}),
    "SELECT content AS a FROM read_text('x.csv')": (set(), {"x.csv"}, set()),
}


def test_source_reads_lists_tables_and_files_of_view(con: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    con.execute("CREATE TABLE p AS SELECT 1 AS a; CREATE TABLE q AS FROM p; COPY p TO 'x.csv'; COPY p TO 'y.csv'")
    path = catalog.SearchPath.from_connection(con)
    for query, (tables, files, unknown) in QUERIES.items():
        con.execute(f"CREATE OR REPLACE VIEW v AS {query}")
        reads = source_reads(catalog.resolve_source("create_release", "v", con.cursor(), path, {}), con.cursor())
        paths = {str(Path(file)) for file in reads.files}
        assert ({table for _, _, table in reads.tables}, paths, reads.unknown) == (tables, files, unknown), query


def test_file_identity_is_path_and_content(tmp_path: Path) -> None:
    one, copy, longer = (tmp_path / name for name in ("a.csv", "b.csv", "c.csv"))
    one.write_bytes(b"a\n1\n")
    copy.write_bytes(b"a\n1\n")
    longer.write_bytes(b"a\n12\n")
    (tmp_path / "link.csv").symlink_to(one)
    identities = file_identity.file_identities
    assert identities(str(tmp_path / "link.csv")) == identities(str(one)) == identities(f"file://{one}")
    assert identities(str(one))[1] == identities(str(copy))[1] != identities(str(longer))[1]
    assert identities(str(tmp_path / "none.csv")) == [str(tmp_path / "none.csv")]


def test_content_identity_samples_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_identity, "_BLOCK_BYTES", 4)
    path, seen_values = tmp_path / "a.bin", set()
    for n_changed in (None, 0, 999):  # the first and the last block are always read
        content = bytearray(1000)
        if n_changed is not None:
            content[n_changed] = 1
        path.write_bytes(content)
        seen_values.add(file_identity.content_identity(path))
    assert len(seen_values) == 3
