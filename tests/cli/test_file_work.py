"""`dbanon anonymize` of a file does only what the files need."""

from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from dbanon.cli import main
from dbanon.ledger import hashes
from dbanon.views import build_version


def test_release_for_files_has_no_membership(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is deleted: nothing is written into its membership, and the rows are hashed once."""
    duckdb.sql("SELECT CASE WHEN i < 28 THEN i % 3 END AS a, i % 5 AS s FROM range(30) AS r (i)").write_csv(
        str(tmp_path / "in.csv")
    )
    unexpected: list[Any] = []
    monkeypatch.setattr(build_version, "_insert_members", lambda *arguments: unexpected.append(arguments))
    monkeypatch.setattr(hashes, "version_changes", lambda *arguments: unexpected.append(arguments))
    words = ["-k", "2", "--algorithm", "kacpc", "--qi", "a", "--sensitive", "s", "-p", "nulls=drop", "--quiet"]
    result = CliRunner().invoke(main, ["anonymize", str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv"), *words])
    assert result.exit_code == 0, result.output
    assert not unexpected
    metrics = dict(duckdb.sql(f"SELECT metric, value FROM '{tmp_path}/out_metrics.csv'").fetchall())
    assert (metrics["records"], metrics["dropped:null"]) == (28, 2)
    assert "for a NULL: 2" in (tmp_path / "out_certificate.csv.txt").read_text(encoding="utf-8")
