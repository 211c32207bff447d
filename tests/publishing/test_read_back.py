"""Written files are read back by independent code, and removed if they differ from the release."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import dbanon
from dbanon.api import frame, frame_adapters
from dbanon.errors import OutputDiffersError
from dbanon.ledger import hashes, text_hash
from dbanon.publishing import certificate as certificates, release_files as handouts
from dbanon.publishing.certificate import Certificate
from dbanon.publishing.written_tables import withheld_metrics
from dbanon.release.plan import plan
from dbanon.runtime import session
from dbanon.sqltext.quote import Sql

TARGETS = ("out.csv", "out.parquet", "out.duckdb", "folder/")

Copy = Callable[[Any, Sql, Path], None]
COPIED: Copy = handouts._ReleaseWriter._copy
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
        dbanon.create_release(con, "safe", "mondrian", "visits", k=5)
    return path


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("fault", FAULTS)
def test_published_file_with_different_rows_removed(
    clinic: Path, fault: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def copy_faulty_rows(self: Any, query: Sql, draft: Path) -> None:
        COPIED(self, FAULTS[fault](query) if '."safe"' in query else query, draft)

    monkeypatch.setattr(handouts._ReleaseWriter, "_copy", copy_faulty_rows)
    if fault in ("a column less", "two columns exchanged") and target.endswith("duckdb"):
        pytest.skip("the writer of databases takes the columns by name")
    with pytest.raises(
        OutputDiffersError, match="was read again after writing and differs from what the release gate passed"
    ):
        dbanon.publish(clinic, "safe", f"{tmp_path}/{target}")
    assert list(tmp_path.iterdir()) == []


FAULTS_WITHOUT_HASHES = FAULTS | {
    "a NULL for a text": lambda query: Sql(f"SELECT * REPLACE (nullif(disease, 'Flu') AS disease) FROM ({query})"),
    "rows of NULL after the last": lambda query: Sql(
        f"FROM ({query}) UNION ALL SELECT NULL AS age, NULL AS disease, NULL AS class_id FROM range(2)"
    ),
    "another case": lambda query: Sql(f"SELECT * REPLACE (lower(disease) AS disease) FROM ({query})"),
    "a text for a number": lambda query: Sql(f"SELECT * REPLACE ('x' AS class_id) FROM ({query})"),
    "an apostrophe more": lambda query: Sql(f"SELECT * REPLACE (chr(39) || disease AS disease) FROM ({query})"),
}


@pytest.mark.parametrize("target", TARGETS[:2])
@pytest.mark.parametrize("fault", [*FAULTS_WITHOUT_HASHES, None])
def test_file_with_different_rows_removed_without_stored_hashes(
    fault: str | None, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tables that only this process can read have no hashes: the file is compared with the table itself."""

    def copy_faulty_rows(self: Any, query: Sql, draft: Path) -> None:
        is_release = fault is not None and '."safe"' in query
        COPIED(self, FAULTS_WITHOUT_HASHES[fault or ""](query) if is_release else query, draft)

    monkeypatch.setattr(handouts._ReleaseWriter, "_copy", copy_faulty_rows)
    with dbanon.connect() as con:
        session.find_session(con.raw).has_private_database = True
        con.execute(
            "CREATE TABLE visits AS SELECT 20 + i % 20 AS age, ['Flu', 'HIV', NULL, '=1', chr(39) || '=2', "
            "'a\"b,c' || chr(10)][1 + i % 6] AS disease FROM range(60) AS r (i)"
        )
        dbanon.create_release(con, "safe", "mondrian", "visits", k=5, qi=["age"], sensitive=["disease"])
        assert con.execute("SELECT hashes FROM dbanon.release").fetchall() == [(None,)]
        if fault is None:
            dbanon.publish(con, "safe", tmp_path / target)
            return
        with pytest.raises(OutputDiffersError, match="differs from what the release gate passed"):
            dbanon.publish(con, "safe", tmp_path / target)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", TARGETS)
def test_published_file_with_different_certificate_removed(
    clinic: Path, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written_rows_sql = certificates.rows_sql
    monkeypatch.setattr(certificates, "rows_sql", lambda lines: written_rows_sql(lines[:-1]))
    with pytest.raises(OutputDiffersError, match="its lines differ from those of the certificate"):
        dbanon.publish(clinic, "safe", f"{tmp_path}/{target}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.all_cases
@pytest.mark.parametrize("target", TARGETS[:3])
@pytest.mark.parametrize("blind", ["problems", "changed"])
def test_modified_release_detected_by_file_check_alone(
    clinic: Path, blind: str, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the tables are not compared with the ledger before they are written."""
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(clinic.read_bytes())
    with duckdb.connect(copy) as plain_con:
        plain_con.execute("UPDATE safe SET disease = 'HIV' WHERE disease = 'Flu'")
    if blind == "problems":
        monkeypatch.setattr(Certificate, "problems", lambda self: iter(()))
    else:
        monkeypatch.setattr(hashes, "changed_tables", lambda cursor, entry, kept: [])
    with pytest.raises(dbanon.DbanonError, match=r"differs from what (?:the release gate passed|was released)"):
        dbanon.publish(copy, "safe", f"{tmp_path}/{target}")
    assert list(tmp_path.iterdir()) == [copy]


@pytest.mark.parametrize("target", TARGETS)
def test_published_file_with_custodian_metrics_removed(
    clinic: Path, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy.duckdb"
    copy.write_bytes(clinic.read_bytes())
    with dbanon.connect(copy) as con:
        names = con.execute("SELECT metric FROM mondrian_metrics('visits', k=5) WHERE NOT is_publishable").fetchall()
        con.execute("INSERT INTO safe_metrics VALUES (?, 1, 'lower', 'for the custodian')", list(names[0]))
        monkeypatch.setattr(Certificate, "problems", lambda self: iter(()))
        kept_mapping = dict(con.execute("SELECT hashes FROM dbanon.release").fetchall()[0][0])
        monkeypatch.setattr(text_hash, "sha256", lambda header, lines: kept_mapping["_metrics"])
        con.execute("UPDATE dbanon.release SET hashes = MAP {'': $h, '_metrics': $h}", {"h": kept_mapping["_metrics"]})
        with pytest.raises(OutputDiffersError, match=f"metrics that are for the custodian only .{names[0][0]}"):
            dbanon.publish(con, "safe", f"{tmp_path}/{target}")
    assert list(tmp_path.iterdir()) == [copy]


PLANNED = plan.release_sql
WRITTEN_FAULTS: dict[str, Callable[[str], str]] = {
    "rows twice": lambda statement: f"SELECT r.* FROM ({statement}) AS r, range(2)",
    "a row less": lambda statement: f"FROM ({statement}) OFFSET 1",
    "another order": lambda rows: f"FROM (FROM ({rows}) OFFSET 9) UNION ALL FROM (FROM ({rows}) LIMIT 9)",
    "reversed": lambda statement: f"FROM ({statement}) ORDER BY class_id DESC, disease DESC",
    "values exchanged": lambda rows: f"SELECT * REPLACE (lead(disease, 1, disease) OVER () AS disease) FROM ({rows})",
    "other published values": lambda statement: f"SELECT * REPLACE ('*' AS age) FROM ({statement})",
    "a value of another class": lambda statement: f"SELECT * REPLACE (min(age) OVER () AS age) FROM ({statement})",
}  # fmt: skip


@pytest.mark.all_cases
@pytest.mark.parametrize("fault", WRITTEN_FAULTS)
def test_release_table_with_different_rows_rolled_back(
    clinic: Path, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty_sql(publication: Any, **options: Any) -> Any:
        statement = PLANNED(publication, **options)
        return Sql(WRITTEN_FAULTS[fault](statement)) if publication.kind == "release" else statement

    with dbanon.connect() as con:
        con.execute("CREATE TABLE visits AS SELECT 20 + i % 20 AS age, ['a', 'b', 'c', NULL][1 + i % 4] AS disease "
                    "FROM range(80) AS r (i)")  # fmt: skip
        dbanon.declare(con, "visits", age="quasi", disease="sensitive")
        monkeypatch.setattr(plan, "release_sql", faulty_sql)
        with pytest.raises((OutputDiffersError, dbanon.errors.UnstableSourceError)):
            dbanon.create_release(con, "safe", "mondrian", "visits", k=5)
        assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'safe%'").fetchall() == [(0,)]
        monkeypatch.undo()
        assert dbanon.create_release(con, "safe", "mondrian", "visits", k=5).records == 80


def test_release_tables_with_custodian_metrics_rolled_back(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    con.execute("CREATE TABLE visits AS SELECT 20 + i % 20 AS age, 'a' AS disease FROM range(80) AS r (i)")
    dbanon.declare(con, "visits", age="quasi", disease="sensitive")

    def faulty_sql(publication: Any, **options: Any) -> Any:
        statement = PLANNED(publication, **options)
        is_metrics = publication.kind == "metrics"
        return f"SELECT * REPLACE (true AS is_publishable) FROM ({statement})" if is_metrics else statement

    monkeypatch.setattr(plan, "release_sql", faulty_sql)
    with pytest.raises(OutputDiffersError, match="it has metrics that are for the custodian only"):
        dbanon.create_release(con, "safe", "mondrian", "visits", k=5)
    assert con.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name LIKE 'safe%'").fetchall() == [(0,)]


FRAME_FAULTS: dict[str, Callable[[Any], Any]] = {
    "rows twice": lambda rows: pa.concat_tables([rows, rows]),
    "a row less": lambda rows: rows.slice(1),
    "another order": lambda rows: rows.take(list(range(len(rows)))[::-1]),
}


@pytest.mark.all_cases
@pytest.mark.parametrize("fault", FRAME_FAULTS)
def test_anonymized_frame_with_different_rows_not_returned(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shared_rows = frame.FrameCall.shared_rows

    def faulty_rows(self: Any, con: Any) -> Any:
        release, *others = shared_rows(self, con)
        return [FRAME_FAULTS[fault](release), *others]

    source = pd.DataFrame({"age": [20 + i % 20 for i in range(80)], "disease": ["a", "b"] * 40})
    call: dict[str, Any] = {"k": 5, "qi": ["age"], "sensitive": ["disease"]}
    assert len(dbanon.anonymize(source, "mondrian", **call).release) == 80
    monkeypatch.setattr(frame.FrameCall, "shared_rows", faulty_rows)
    with pytest.raises(OutputDiffersError, match="the release was read again after writing"):
        dbanon.anonymize(source, "mondrian", **call)
    monkeypatch.undo()
    made_of = frame_adapters.adapt_frame
    monkeypatch.setattr(
        frame_adapters,
        "adapt_frame",
        lambda data, function: replace(made_of(data, function), make_release=lambda made: source.iloc[:79]),
    )
    with pytest.raises(OutputDiffersError, match="it has 79 rows, and the release has 80"):
        dbanon.anonymize(source, "mondrian", **call)


def test_metrics_of_used_leaves_are_for_custodian(con: Any) -> None:
    con.execute("CREATE TABLE written_metrics AS SELECT unnest(['ncp', 'k', 'gcp']) AS metric")
    relation = Sql("written_metrics")
    assert withheld_metrics(con, relation, "all") is None and withheld_metrics(con, relation, None) is None
    assert "for the custodian only (ncp, gcp)" in str(withheld_metrics(con, relation, "used"))
