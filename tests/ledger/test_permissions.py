"""Releases that readers may request, and the outcomes of their requests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.serving import clinic

import dbanon
from dbanon import errors
from dbanon.ledger import permissions
from dbanon.ledger.permissions import Permission
from dbanon.views import doctor, release_requests

pytestmark = pytest.mark.all_cases

PERMITTED = (
    Permission("patients", ("kacpc", "best"), 20, {"l": 2}),
    Permission("Lab.Tests", ("mondrian",), 5, {"t": 0.3}, "alice"),
)


@pytest.mark.parametrize(
    ("reader", "algorithm", "source", "requested", "parameters"),
    [
        ("bob", "kacpc", "patients", {}, '{"k": 20, "l": 2}'),
        ("bob", "best", "PATIENTS", {"k": 25}, '{"k": 25, "l": 2}'),
        ("bob", "best", "patients", {"k": 25.0, "l": 3, "t": 0.5}, '{"k": 25, "l": 3, "t": 0.5}'),
        ("alice", "mondrian", "lab.tests", {"t": 0.2}, '{"k": 5, "t": 0.2}'),
    ],
)
def test_readers_may_request_stricter_parameters(
    reader: str, algorithm: str, source: str, requested: dict[str, Any], parameters: str
) -> None:
    _, asking = permissions.find_permission(PERMITTED, reader, algorithm, source, requested)
    assert (asking.algorithm, asking.parameters) == (algorithm, parameters)
    assert asking.source in ("patients", "Lab.Tests")


@pytest.mark.parametrize(
    ("reader", "algorithm", "source", "requested", "error"),
    [
        ("bob", "kacpc", "patients", {"k": 19}, errors.RequestNotPermittedError),
        ("bob", "mondrian", "patients", {}, errors.RequestNotPermittedError),
        ("bob", "mondrian", "lab.tests", {}, errors.RequestNotPermittedError),
        ("alice", "mondrian", "lab.tests", {"t": 0.31}, errors.RequestNotPermittedError),
        ("bob", "kacpc", "patients", {"seed": 2}, errors.RequestNotPermittedError),
        ("bob", "kacpc", "main.patients", {"k": 20}, errors.RequestNotPermittedError),
        ("bob", "kacpc", "patients", {"k": True}, errors.InvalidArgumentError),
        ("bob", "kacpc", "patients", {"k": "20"}, errors.InvalidArgumentError),
        ("bob", "kacpc", "patients", {"k": float("nan")}, errors.InvalidArgumentError),
        ("bob", "kacpc", "patients", {"k": [20]}, errors.InvalidArgumentError),
        ("bob", "kacpc", "patients", {"k": 10**400}, errors.InvalidArgumentError),
        ("bob", "read_text", "patients", {"k": 20}, errors.RequestNotPermittedError),
        ("alice", "mondrian", "lab.tests", {"t": -1}, errors.InvalidArgumentError),
    ],
)
def test_request_outside_permissions_refused(
    reader: str, algorithm: str, source: str, requested: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error) as caught:
        permissions.find_permission(PERMITTED, reader, algorithm, source, requested, ["eve"])
    if error is errors.RequestNotPermittedError:
        assert "custodian of the data (eve)" in str(caught.value)
        assert ("Lab.Tests" in str(caught.value)) == (reader == "alice")


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Any]:
    with dbanon.connect(clinic(tmp_path / "clinic.duckdb")) as con:
        con.execute(
            "INSERT INTO dbanon.permission (source, algorithms, k, max_requests) "
            "VALUES ('patients', ['kacpc', 'mondrian'], 5, 3)"
        )
        yield con


def test_first_request_creates_release_later_ones_checked(con: Any) -> None:
    first = release_requests.fulfil_request(
        con, "alice", "kacpc", "patients", {"k": 5}
    )  # as for 'safe': it reveals nothing more
    assert first.release == ("asked", "kacpc_patients_k5")
    assert con.execute("SELECT composition IS NOT NULL FROM dbanon.release WHERE name = 'kacpc_patients_k5'").fetchall()
    con.execute("INSERT INTO patients SELECT 100 + i, 'x', 30, 'F', 'flu' FROM range(10) AS r (i)")
    assert release_requests.fulfil_request(con, "bob", "kacpc", "Patients", {}) == first
    assert con.execute("SELECT count(*), max(reader) FROM dbanon.release_request").fetchall() == [(1, "alice")]
    other = release_requests.fulfil_request(con, "alice", "mondrian", "patients", {"k": 7})
    assert other.release is None
    ((why,),) = con.execute("SELECT refusal FROM dbanon.release_request WHERE algorithm = 'mondrian'").fetchall()
    assert "candidate sets fall below" in why
    too_many = release_requests.fulfil_request(con, "alice", "kacpc", "patients", {"k": 500})
    assert too_many.release is None
    limit = r"at most 3 different releases of 'patients' .*Existing releases: kacpc\('patients', k=5\)\. Hint"
    with pytest.raises(errors.RequestLimitReachedError, match=limit):
        release_requests.fulfil_request(con, "alice", "kacpc", "patients", {"k": 501})
    assert con.execute("SELECT count(*) FROM releases() WHERE schema_name = 'asked'").fetchall() == [(1,)]


def test_orphaned_release_found_and_dropped_not_recreated(con: Any) -> None:
    first = release_requests.fulfil_request(con, "alice", "kacpc", "patients", {"k": 5})
    con.execute("UPDATE dbanon.release_request SET refusal = 'as it is while the release is made'")
    assert release_requests.fulfil_request(con, "alice", "kacpc", "patients", {"k": 5}) == first
    con.execute("DROP MATERIALIZED ANONYMIZED VIEW asked.kacpc_patients_k5")
    assert release_requests.fulfil_request(con, "alice", "kacpc", "patients", {"k": 5}).release is None
    con.execute("DELETE FROM dbanon.release_request")
    second_release = release_requests.fulfil_request(con, "alice", "kacpc", "patients", {"k": 5}).release
    assert second_release == ("asked", "kacpc_patients_k5_2")


def test_transient_error_is_not_stored_as_refusal(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def busy(*_: object, **__: object) -> None:
        raise errors.LedgerBusyError("create_release", "safe", "somebody else")

    monkeypatch.setattr(release_requests.materialize, "create_release", busy)
    with pytest.raises(errors.LedgerBusyError):
        release_requests.fulfil_request(con, "alice", "kacpc", "patients", {"k": 5})
    assert con.execute("FROM dbanon.release_request").fetchall() == []


MESSAGES = {
    "kacpc: k must be between 2 and 30 (patients has 30 rows), got 50.": True,
    "create_release: composition = 'refuse'": True,
    "patients.age: 2 distinct values are missing from hierarchy 'h'.": True,
    "patients.odd column: every value is NULL.": True,
    "main.patients.age: 2 distinct values are '*'.": True,
    "hierarchy 'h' is not well-formed: it has 2 roots.": True,
    "Malformed JSON at byte 3 of input": False,
    "Could not parse string 'x': no date": False,
    "Attempting to fetch from an unsuccessful query result": False,
    "read_csv: no files": False,
}


@pytest.mark.parametrize(("message", "is_stored"), MESSAGES.items())
def test_only_messages_of_dbanon_are_stored_as_refusals(
    con: Any, monkeypatch: pytest.MonkeyPatch, message: str, is_stored: bool
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise duckdb.InvalidInputException(f"Invalid Input Error: {message}")

    monkeypatch.setattr(release_requests.materialize, "create_release", fail)
    if is_stored:
        assert release_requests.fulfil_request(con, "alice", "kacpc", "patients", {"k": 5}).release is None
        assert con.execute("SELECT refusal FROM dbanon.release_request").fetchall() == [(message,)]
    else:
        with pytest.raises(duckdb.InvalidInputException):
            release_requests.fulfil_request(con, "alice", "kacpc", "patients", {"k": 5})
        assert con.execute("FROM dbanon.release_request").fetchall() == []


def test_doctor_names_ineffective_permission(con: Any) -> None:
    con.execute("INSERT INTO dbanon.permission (source, algorithms, k) VALUES ('patients', ['kacpcc'], 5)")
    (result,) = [p for p in doctor.problems(con) if p.kind == "permission"]
    assert result.about == "patients" and "Did you mean 'kacpc'?" in result.problem
