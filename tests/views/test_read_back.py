"""What was written is read back by code that did not write it, and is removed where it is not the release."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.engine import hashed_lines
from dbanon.errors import OutputDiffersError
from dbanon.sqltext.quote import Sql
from dbanon.views import certificate as certificates
from dbanon.views import publish as handouts
from dbanon.views import seal
from dbanon.views.certificate import Certificate

TARGETS = ("out.csv", "out.parquet", "out.duckdb", "folder/")

Copy = Callable[[Any, Sql, Path], None]
COPIED: Copy = handouts._Handout._copy
FAULTS: dict[str, Callable[[Sql], Sql]] = {
    "rows twice": lambda query: Sql(f"FROM ({query}) UNION ALL FROM ({query})"),
    "a row less": lambda query: Sql(f"FROM ({query}) OFFSET 1"),
    "no rows": lambda query: Sql(f"FROM ({query}) LIMIT 0"),
    "another order": lambda query: Sql(f"FROM (FROM ({query}) OFFSET 3) UNION ALL FROM (FROM ({query}) LIMIT 3)"),
    "a NULL for a text": lambda query: Sql(f"SELECT * REPLACE (nullif(disease, '') AS disease) FROM ({query})"),
    "another value": lambda query: Sql(f"SELECT * REPLACE (class_id % 2 AS class_id) FROM ({query})"),
    "a column less": lambda query: Sql(f"SELECT * EXCLUDE (disease) FROM ({query})"),
    "two columns exchanged": lambda query: Sql(f"SELECT age AS disease, disease AS age, class_id FROM ({query})"),
}  # fmt: skip


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clinic") / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute(
            "CREATE TABLE visits AS SELECT 20 + i % 20 AS age, ['Flu', 'HIV', NULL, 'NULL', '', 'a\"b,c' || chr(10)]"
            "[1 + i % 6] AS disease FROM range(60) AS r (i)"
        )
        dbanon.declare(con, "visits", age="quasi", disease="sensitive")
        dbanon.materialize(con, "safe", "mondrian", "visits", k=5)
    return path


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_file_with_other_rows_is_removed(
    clinic: Path, fault: str, to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copied(self: Any, query: Sql, draft: Path) -> None:
        COPIED(self, FAULTS[fault](query) if '."safe")' in query else query, draft)

    monkeypatch.setattr(handouts._Handout, "_copy", copied)
    if fault in ("a column less", "two columns exchanged") and to.endswith("duckdb"):
        pytest.skip("the writer of databases takes the columns by name")
    with pytest.raises(OutputDiffersError, match="was read back after writing and is not what the release gate passed"):
        dbanon.publish(clinic, "safe", f"{tmp_path}/{to}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", TARGETS)
def test_a_certificate_with_other_lines_is_removed(
    clinic: Path, to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = certificates.rows
    monkeypatch.setattr(certificates, "rows", lambda lines: written(lines[:-1]))
    with pytest.raises(OutputDiffersError, match="it has other lines than the certificate"):
        dbanon.publish(clinic, "safe", f"{tmp_path}/{to}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.whole
@pytest.mark.parametrize("to", TARGETS[:3])
@pytest.mark.parametrize("blind", ["problems", "changed"])
def test_a_changed_release_is_refused_by_the_file_alone(
    clinic: Path, blind: str, to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where nothing compares the tables with the ledger before they are written."""
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(clinic.read_bytes())
    with duckdb.connect(copy) as plain:
        plain.execute("UPDATE safe SET disease = 'HIV' WHERE disease = 'Flu'")
    if blind == "problems":
        monkeypatch.setattr(Certificate, "problems", lambda self: iter(()))
    else:
        monkeypatch.setattr(seal, "changed", lambda cursor, entry, kept: [])
    with pytest.raises(dbanon.DbanonError, match=r"is not what (?:the release gate passed|was released)"):
        dbanon.publish(copy, "safe", f"{tmp_path}/{to}")
    assert list(tmp_path.iterdir()) == [copy]


@pytest.mark.parametrize("to", TARGETS)
def test_metrics_for_the_custodian_are_in_no_file(
    clinic: Path, to: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(clinic.read_bytes())
    with dbanon.connect(copy) as con:
        names = con.execute("SELECT metric FROM mondrian_metrics('visits', k=5) WHERE NOT published").fetchall()
        con.execute("INSERT INTO safe_metrics VALUES (?, 1, 'lower', 'for the custodian')", list(names[0]))
        monkeypatch.setattr(Certificate, "problems", lambda self: iter(()))
        kept = dict(con.execute("SELECT hashes FROM dbanon.release").fetchall()[0][0])
        monkeypatch.setattr(hashed_lines, "sha256", lambda header, lines: kept["_metrics"])
        con.execute("UPDATE dbanon.release SET hashes = MAP {'': $h, '_metrics': $h}", {"h": kept["_metrics"]})
        with pytest.raises(OutputDiffersError, match=f"metrics that are for the custodian only .{names[0][0]}"):
            dbanon.publish(con, "safe", f"{tmp_path}/{to}")
    assert list(tmp_path.iterdir()) == [copy]
