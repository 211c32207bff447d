"""Versions of a view share pseudonyms, two views do not; the release is judged by who can be followed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.pseudonyms import PATIENTS, SECRET

import dbanon
from dbanon import errors


@pytest.fixture
def own(tmp_path: Path) -> Any:
    con = dbanon.connect(str(tmp_path / "clinic.duckdb"))
    con.execute(PATIENTS)
    dbanon.declare(con, "patients", patient="pseudonym", age="quasi", sex="quasi", disease="sensitive")
    yield con
    con.close()


def insert_rows(con: Any, first: int, many: int) -> None:
    con.execute(
        f"INSERT INTO patients BY NAME SELECT {first} + i AS patient, 20 + i % 7 AS age, ['F', 'M'][1 + i % 2] AS sex, "
        f"['Flu', 'HIV', 'Cold'][1 + i % 3] AS disease FROM range({many}) AS r (i)"
    )


def pseudonyms(con: Any, name: str) -> set[str]:
    return {p for (p,) in con.sql(f"SELECT patient FROM {name}").fetchall()}


def test_versions_keep_pseudonyms_views_have_own(own: Any) -> None:
    dbanon.create_release(own, "safe", "kacpc", "patients", k=10)
    first = pseudonyms(own, "safe")
    insert_rows(own, 5000, 40)
    dbanon.refresh_release(own, "safe")
    assert first < pseudonyms(own, "safe") and len(pseudonyms(own, "safe")) == 340
    with pytest.warns(dbanon.DisclosureWarning):
        dbanon.create_release(own, "two", "mondrian", "patients", k=10)
    assert not pseudonyms(own, "two") & pseudonyms(own, "safe")
    assert own.sql("SELECT status FROM release_status()").fetchall() == [("fresh",)] * 2


@pytest.mark.exhaustive
def test_ledger_reveals_shared_key_but_not_which(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dbanon.create_release(own, "safe", "kacpc", "patients", k=10)
    insert_rows(own, 5000, 40)
    dbanon.refresh_release(own, "safe")
    monkeypatch.setenv("DBANON_KEY", SECRET[::-1])
    insert_rows(own, 6000, 40)
    dbanon.refresh_release(own, "safe")
    keys = [k["patient"] for (k,) in own.sql("SELECT keys FROM releases() ORDER BY version").fetchall()]
    assert keys[0] == keys[1] != keys[2] and SECRET not in str(keys)


def test_people_cannot_be_followed_to_classes_of_too_few(own: Any) -> None:
    dbanon.create_release(own, "safe", "kacpc", "patients", k=10)
    own.execute("UPDATE patients SET age = 20 + (patient * 7919) % 11")  # new classes overlap the old ones
    with pytest.raises(
        errors.LinkedVersionsNotAnonymousError, match=r"safe version 1 and this version, and \d+ persons miss k"
    ):
        dbanon.refresh_release(own, "safe", mode="recluster", allow_small_differences=True)
    assert own.sql("SELECT max(version) FROM releases()").fetchall() == [(1,)]


@pytest.mark.exhaustive
def test_shared_scope_checked_against_all_views(own: Any) -> None:
    dbanon.declare(own, "patients", patient={"role": "pseudonym", "settings": {"scope": "study"}})
    dbanon.create_release(own, "one", "kacpc", "patients", k=10)
    with pytest.raises(errors.LinkedVersionsNotAnonymousError, match="one version 1"):
        dbanon.create_release(own, "two", "mondrian", "patients", k=10)
    dbanon.create_release(own, "three", "kacpc", "patients", k=10)
    assert pseudonyms(own, "one") == pseudonyms(own, "three")


@pytest.mark.exhaustive
def test_values_of_linked_versions_count_together(own: Any) -> None:
    """Both values of a ward are those of many; a person who alone changed from one to the other can be followed."""
    own.execute("ALTER TABLE patients ADD COLUMN ward VARCHAR")
    own.execute("UPDATE patients SET ward = IF(patient % 2 = 0, 'a', 'b')")
    dbanon.declare(own, "patients", ward="insensitive")
    dbanon.create_release(own, "safe", "kacpc", "patients", k=10)
    own.execute("UPDATE patients SET ward = 'b' WHERE patient = 1000")
    with pytest.raises(errors.LinkedVersionsNotAnonymousError, match="1 persons miss values"):
        dbanon.refresh_release(own, "safe", mode="recluster", allow_small_differences=True)


@pytest.mark.parametrize("change", ["scope", "view"])
def test_other_pseudonyms_hide_no_difference(own: Any, change: str) -> None:
    """Records are not known by their pseudonyms: without one person another view would reveal who was removed."""
    dbanon.create_release(own, "safe", "kacpc", "patients", k=10)
    own.execute("DELETE FROM patients WHERE patient = 1000")
    if change == "scope":
        dbanon.declare(own, "patients", patient={"role": "pseudonym", "settings": {"scope": "other"}})
    with pytest.raises(errors.CompositionRefusedError):
        dbanon.create_release(own, "two", "kacpc", "patients", k=10, composition="refuse")


@pytest.fixture
def houses(own: Any) -> Any:
    """Create patients, each in a household of one, and a release of them; as many were added since."""
    own.execute("ALTER TABLE patients ADD COLUMN house INTEGER; DELETE FROM patients WHERE patient >= 1280")
    own.execute("UPDATE patients SET house = patient")
    dbanon.declare(own, "patients", patient="person", house="pseudonym")
    dbanon.create_release(own, "safe", "kacpc", "patients", k=10)
    insert_rows(own, 5000, 280)
    own.execute("UPDATE patients SET house = patient WHERE house IS NULL")
    return own


def test_households_are_not_followed_from_version_to_version(houses: Any) -> None:
    """Persons are not unique by their trails, but readers follow households, whose trails may be unique."""
    houses.execute("UPDATE patients SET house = patient // 28 * 28 + patient % 14 WHERE patient < 2000")
    with pytest.raises(errors.LinkedVersionsNotAnonymousError, match="pseudonyms of house are not of one person each"):
        dbanon.refresh_release(houses, "safe")


@pytest.mark.exhaustive
def test_person_pseudonym_may_be_followed(houses: Any) -> None:
    dbanon.refresh_release(houses, "safe")
    assert houses.sql("SELECT count(DISTINCT house) FROM safe").fetchall() == [(560,)]


@pytest.mark.exhaustive
def test_an_erasure_goes_through(own: Any) -> None:
    dbanon.create_release(own, "safe", "kacpc", "patients", k=10)
    own.execute("DELETE FROM patients WHERE patient = 1000")
    with pytest.warns(dbanon.DisclosureWarning):
        dbanon.refresh_release(own, "safe", erase=True)
    assert len(pseudonyms(own, "safe")) < 300


def test_key_absent_from_database_files_and_certificates(own: Any, tmp_path: Path) -> None:
    dbanon.declare(own, "patients", phone={"role": "mask", "settings": {"last": 1}})
    dbanon.create_release(own, "safe", "kacpc", "patients", k=10)
    own_certificate = dbanon.certificate(own, "safe", "text")
    assert "pseudonym of patient" in own_certificate and "mask of phone" in own_certificate
    assert "key and scope: key " in own_certificate
    dbanon.publish(own, "safe", tmp_path / "out.parquet")
    assert not dbanon.verify(tmp_path / "out.parquet")
    text = (tmp_path / "out_certificate.parquet.txt").read_text()
    assert "pseudonym of patient" in text and "key and scope" not in text
    own.execute("CHECKPOINT")
    shutil.copy(tmp_path / "clinic.duckdb", tmp_path / "copy.duckdb")
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        assert SECRET.encode() not in content and bytes.fromhex(SECRET) not in content, file
    assert own.sql("FROM risk('safe') LIMIT 1").fetchall()
