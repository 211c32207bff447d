"""The statement PUBLISH MATERIALIZED ANONYMIZED VIEW: files, options, the ledger, and refusals."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dbanon
from dbanon import errors

PUBLISH = "PUBLISH MATERIALIZED ANONYMIZED VIEW"


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Any]:
    """Provide a database with the release `safe`."""
    with dbanon.connect(tmp_path / "clinic.duckdb") as con:
        con.execute("CREATE TABLE people AS SELECT 20 + i % 30 AS age, i % 3 AS ward FROM range(60) AS r (i)")
        dbanon.declare(con, "people", age="quasi", ward="sensitive")
        dbanon.create_release(con, "safe", "mondrian", "people", k=5)
        yield con


def test_publish_statement_writes_files_and_ledger(clinic: Any, tmp_path: Path) -> None:
    path = tmp_path / "Rome's.csv"
    options = "recipient = 'Uni Rome', purpose = 'a study', legal_basis = 'contract 7', classes = true"
    target = str(path).replace("'", "''")
    files = clinic.execute(f"{PUBLISH} main.safe TO '{target}' WITH ({options})").fetchall()
    endings = ("", "_metrics", "_classes", "_certificate")
    assert {file for (file,) in files} == {
        *(str(tmp_path / f"Rome's{e}.csv") for e in endings), str(tmp_path / "Rome's_certificate.csv.txt"),
    }  # fmt: skip
    assert dbanon.verify(path, clinic) == []
    listed = clinic.execute("SELECT DISTINCT recipient, purpose, legal_basis FROM published_files()").fetchall()
    assert listed == [("Uni Rome", "a study", "contract 7")]
    with pytest.raises(errors.TargetExistsError):
        clinic.execute(f"{PUBLISH} safe TO '{target}'")
    clinic.execute(f"publish materialized anonymized view SAFE to '{target}' with (replace = true); SELECT 1")


def test_publish_statement_refuses_what_publish_refuses(clinic: Any, tmp_path: Path) -> None:
    path = tmp_path / "safe.csv"
    with pytest.raises(errors.UnknownReleaseError, match="publish: there is no published release other"):
        clinic.execute(f"{PUBLISH} other TO '{path}'")
    clinic.execute("BEGIN")
    with pytest.raises(errors.OpenTransactionError):
        clinic.execute(f"{PUBLISH} safe TO '{path}'")
    clinic.execute("ROLLBACK")
    clinic.execute("UPDATE safe SET ward = 9")
    with pytest.raises(errors.ReleaseChangedError):
        clinic.execute(f"{PUBLISH} safe TO '{path}'")
    assert not list(tmp_path.glob("safe*"))


@pytest.mark.parametrize(
    ("statement", "error", "message"),
    [
        (f"{PUBLISH} safe", errors.UnreadableStatementError, "expected TO"),
        (f"{PUBLISH} safe TO x.csv", errors.UnreadableStatementError, "expected the path of a file or folder"),
        (f"{PUBLISH} safe TO 'x.csv' AS SELECT 1", errors.UnreadableStatementError, "the end of the statement"),
        (f"{PUBLISH} safe TO 'x.csv' WITH (overwrite = true)", errors.UnknownParameterError, "overwrite"),
        (f"{PUBLISH} safe TO 'x.csv' WITH (replace = 'yes')", errors.InvalidArgumentError, "true or false"),
        ("PUBLISH STREAMING ANONYMIZED VIEW safe TO 'x.csv'", errors.UnreadableStatementError, "MATERIALIZED"),
    ],
)
def test_publish_statement_syntax_errors(
    clinic: Any, statement: str, error: type[errors.DbanonError], message: str
) -> None:
    with pytest.raises(error, match=message):
        clinic.execute(statement)
