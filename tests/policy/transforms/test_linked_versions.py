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
def clinic_con(tmp_path: Path) -> Any:
    con = dbanon.connect(str(tmp_path / "clinic.duckdb"))
    con.execute(PATIENTS)
    dbanon.declare(con, "patients", patient="pseudonym", age="quasi", sex="quasi", disease="sensitive")
    yield con
    con.close()


def insert_rows(con: Any, first: int, count: int) -> None:
    con.execute(
        f"INSERT INTO patients BY NAME SELECT {first} + i AS patient, 20 + i % 7 AS age, ['F', 'M'][1 + i % 2] AS sex, "
        f"['Flu', 'HIV', 'Cold'][1 + i % 3] AS disease FROM range({count}) AS r (i)"
    )


def pseudonyms(con: Any, name: str) -> set[str]:
    return {p for (p,) in con.sql(f"SELECT patient FROM {name}").fetchall()}


def test_versions_share_pseudonyms_but_views_do_not(clinic_con: Any) -> None:
    dbanon.create_release(clinic_con, "safe", "kacpc", "patients", k=10)
    first = pseudonyms(clinic_con, "safe")
    insert_rows(clinic_con, 5000, 40)
    dbanon.refresh_release(clinic_con, "safe")
    assert first < pseudonyms(clinic_con, "safe") and len(pseudonyms(clinic_con, "safe")) == 340
    with pytest.warns(dbanon.DisclosureWarning):
        dbanon.create_release(clinic_con, "two", "mondrian", "patients", k=10)
    assert not pseudonyms(clinic_con, "two") & pseudonyms(clinic_con, "safe")
    assert clinic_con.sql("SELECT status FROM release_status()").fetchall() == [("fresh",)] * 2


@pytest.mark.not_everyday
def test_ledger_shows_key_change_but_no_secret(clinic_con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dbanon.create_release(clinic_con, "safe", "kacpc", "patients", k=10)
    insert_rows(clinic_con, 5000, 40)
    dbanon.refresh_release(clinic_con, "safe")
    monkeypatch.setenv("DBANON_KEY", SECRET[::-1])
    insert_rows(clinic_con, 6000, 40)
    dbanon.refresh_release(clinic_con, "safe")
    keys = [k["patient"] for (k,) in clinic_con.sql("SELECT keys FROM releases() ORDER BY version").fetchall()]
    assert keys[0] == keys[1] != keys[2] and SECRET not in str(keys)


def test_versions_following_people_into_small_classes_refused(clinic_con: Any) -> None:
    dbanon.create_release(clinic_con, "safe", "kacpc", "patients", k=10)
    clinic_con.execute("UPDATE patients SET age = 20 + (patient * 7919) % 11")  # new classes overlap the old ones
    with pytest.raises(
        errors.LinkedVersionsNotAnonymousError, match=r"safe version 1 and this version, and \d+ persons then miss k"
    ):
        dbanon.refresh_release(clinic_con, "safe", mode="recluster", allow_small_differences=True)
    assert clinic_con.sql("SELECT max(version) FROM releases()").fetchall() == [(1,)]


@pytest.mark.not_everyday
def test_shared_scope_checked_against_all_views(clinic_con: Any) -> None:
    dbanon.declare(clinic_con, "patients", patient={"role": "pseudonym", "settings": {"scope": "study"}})
    dbanon.create_release(clinic_con, "one", "kacpc", "patients", k=10)
    with pytest.raises(errors.LinkedVersionsNotAnonymousError, match="one version 1"):
        dbanon.create_release(clinic_con, "two", "mondrian", "patients", k=10)
    dbanon.create_release(clinic_con, "three", "kacpc", "patients", k=10)
    assert pseudonyms(clinic_con, "one") == pseudonyms(clinic_con, "three")


@pytest.mark.not_everyday
def test_rare_value_change_across_linked_versions_refused(clinic_con: Any) -> None:
    """Both values of a ward are those of many; a person who alone changed from one to the other can be followed."""
    clinic_con.execute("ALTER TABLE patients ADD COLUMN ward VARCHAR")
    clinic_con.execute("UPDATE patients SET ward = IF(patient % 2 = 0, 'a', 'b')")
    dbanon.declare(clinic_con, "patients", ward="insensitive")
    dbanon.create_release(clinic_con, "safe", "kacpc", "patients", k=10)
    clinic_con.execute("UPDATE patients SET ward = 'b' WHERE patient = 1000")
    with pytest.raises(errors.LinkedVersionsNotAnonymousError, match="1 persons then miss values"):
        dbanon.refresh_release(clinic_con, "safe", mode="recluster", allow_small_differences=True)


@pytest.mark.parametrize("change", ["scope", "view"])
def test_small_difference_found_despite_other_pseudonyms(clinic_con: Any, change: str) -> None:
    """Records are not known by their pseudonyms: without one person another view would reveal who was removed."""
    dbanon.create_release(clinic_con, "safe", "kacpc", "patients", k=10)
    clinic_con.execute("DELETE FROM patients WHERE patient = 1000")
    if change == "scope":
        dbanon.declare(clinic_con, "patients", patient={"role": "pseudonym", "settings": {"scope": "other"}})
    with pytest.raises(errors.CompositionRefusedError):
        dbanon.create_release(clinic_con, "two", "kacpc", "patients", k=10, composition="refuse")


@pytest.fixture
def houses(clinic_con: Any) -> Any:
    """Create patients, each in a household of one, and a release of them; as many were added since."""
    clinic_con.execute("ALTER TABLE patients ADD COLUMN house INTEGER; DELETE FROM patients WHERE patient >= 1280")
    clinic_con.execute("UPDATE patients SET house = patient")
    dbanon.declare(clinic_con, "patients", patient="person", house="pseudonym")
    dbanon.create_release(clinic_con, "safe", "kacpc", "patients", k=10)
    insert_rows(clinic_con, 5000, 280)
    clinic_con.execute("UPDATE patients SET house = patient WHERE house IS NULL")
    return clinic_con


def test_refresh_with_household_pseudonym_refused(houses: Any) -> None:
    """Persons are not unique by their trails, but readers follow households, whose trails may be unique."""
    houses.execute("UPDATE patients SET house = patient // 28 * 28 + patient % 14 WHERE patient < 2000")
    with pytest.raises(
        errors.LinkedVersionsNotAnonymousError, match="a pseudonym of house can belong to several persons"
    ):
        dbanon.refresh_release(houses, "safe")


@pytest.mark.not_everyday
def test_refresh_with_pseudonym_per_person_accepted(houses: Any) -> None:
    dbanon.refresh_release(houses, "safe", if_stale=False)
    assert houses.sql("SELECT count(DISTINCT house) FROM safe").fetchall() == [(560,)]


@pytest.mark.not_everyday
def test_erasure_with_linked_versions_succeeds(clinic_con: Any) -> None:
    dbanon.create_release(clinic_con, "safe", "kacpc", "patients", k=10)
    clinic_con.execute("DELETE FROM patients WHERE patient = 1000")
    with pytest.warns(dbanon.DisclosureWarning):
        dbanon.refresh_release(clinic_con, "safe", erase=True)
    assert len(pseudonyms(clinic_con, "safe")) < 300


def test_key_absent_from_database_files_and_certificates(clinic_con: Any, tmp_path: Path) -> None:
    dbanon.declare(clinic_con, "patients", phone={"role": "mask", "settings": {"last": 1}})
    dbanon.create_release(clinic_con, "safe", "kacpc", "patients", k=10)
    own_certificate = dbanon.certificate(clinic_con, "safe", "text")
    assert "pseudonym of patient" in own_certificate and "mask of phone" in own_certificate
    assert "key and scope: key " in own_certificate
    dbanon.publish(clinic_con, "safe", tmp_path / "out.parquet")
    assert not dbanon.verify(tmp_path / "out.parquet")
    text = (tmp_path / "out_certificate.parquet.txt").read_text()
    assert "pseudonym of patient" in text and "key and scope" not in text
    clinic_con.execute("CHECKPOINT")
    shutil.copy(tmp_path / "clinic.duckdb", tmp_path / "copy.duckdb")
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        assert SECRET.encode() not in content and bytes.fromhex(SECRET) not in content, file
    assert clinic_con.sql("FROM risk('safe') LIMIT 1").fetchall()
