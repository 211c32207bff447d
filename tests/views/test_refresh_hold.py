"""REFRESH with mode = 'hold': too few new records are deferred, counted, and published once there are enough."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support import kept

import dbanon
from dbanon import errors
from dbanon.sqltext.quote import Sql
from dbanon.views import deferred_records

DISEASES = ["Flu", "HIV", "TB", "Cold"]
ZIPS = [["101", "1", "*"], ["102", "1", "*"], ["103", "1", "*"], ["201", "2", "*"], ["202", "2", "*"]]


@pytest.fixture
def con() -> Iterator[Any]:
    connection = dbanon.connect()
    yield connection
    connection.close()


def patients(con: Any, person: bool = False, count: int = 10, **asked: Any) -> dbanon.Release:
    """Create patients of 20 to 29 years with alternating diseases, released with k = 5."""
    return kept.restore_state(
        con, (_patients, person, count, *asked.items()), lambda con: _patients(con, person, count, asked)
    )


def _patients(con: Any, person: bool, count: int, parameters: dict[str, Any]) -> dbanon.Release:
    key = "" if person else "PRIMARY KEY"
    con.execute(f"CREATE TABLE patients (pid INTEGER {key}, age INTEGER, disease VARCHAR)")
    insert_rows(con, [(i, 20 + i, DISEASES[i % 4]) for i in range(count)])
    dbanon.declare(con, "patients", pid="person" if person else "identifier", age="quasi", disease="sensitive")
    return dbanon.create_release(con, "safe", "kacpc", "patients", k=5, **parameters)


def insert_rows(con: Any, rows: Sequence[tuple[int, int, str]]) -> None:
    if rows:
        con.executemany("INSERT INTO patients VALUES (?, ?, ?)", list(rows))


def patients_with_disease(first: int, count: int, age: int = 40, disease: str = "Flu") -> list[tuple[int, int, str]]:
    """Return patients from a number on, all of them with one disease."""
    return [(first + i, age + i, disease) for i in range(count)]


def hold(con: Any, **asked: Any) -> tuple[int, int, int | None]:
    """Refresh; return the current version, its records, and the number of pending records."""
    release = dbanon.refresh_release(con, "safe", mode="hold", **asked)
    return release.version, release.records, release.waiting


def deferred_counts(con: Any) -> list[tuple[Any, ...]]:
    """Return the ledger's counts of pending records and persons, by version."""
    return con.execute("SELECT version, waiting, waiting_persons FROM releases()").fetchall()


def status(con: Any) -> tuple[Any, ...]:
    return con.execute("SELECT status, added, removed, changed, waiting FROM release_status()").fetchall()[0]


def tables(con: Any) -> list[Any]:
    return [con.execute(f"FROM safe{ending}").fetchall() for ending in ("", "_classes", "_metrics")]


def n_published(con: Any, *ages: int) -> int:
    """Return the number of records of these ages in a class, by the membership."""
    ages_text = ", ".join(map(str, ages))
    return con.execute(
        "SELECT count(*) FROM dbanon.membership AS m JOIN patients AS p ON p.pid = m.person_key::INTEGER "
        f"WHERE p.age IN ({ages_text}) AND m.class_id IS NOT NULL AND version = (SELECT max(version) FROM releases())"
    ).fetchall()[0][0]


# --- deferring and publishing --------------------------------------------------------------------------------


def test_few_records_deferred_until_enough(con: Any) -> None:
    """Two, then two more are deferred in version 1; the fifth publishes all as one class, others stay unchanged."""
    patients(con)
    old_tables = tables(con)
    insert_rows(con, patients_with_disease(100, 2))
    with pytest.raises(errors.SmallDifferencesRefusedError):
        dbanon.refresh_release(con, "safe")
    assert status(con) == ("stale", 2, 0, 0, 0)
    assert hold(con) == (1, 10, 2)
    assert status(con) == ("fresh", 0, 0, 0, 2)
    insert_rows(con, patients_with_disease(102, 2, 50))
    assert status(con) == ("stale", 2, 0, 0, 2)
    assert hold(con) == (1, 10, 4)
    assert tables(con) == old_tables
    assert deferred_counts(con) == [(1, 4, None)]
    insert_rows(con, patients_with_disease(104, 1, 60))
    assert hold(con) == (2, 15, 0)
    assert deferred_counts(con) == [(1, 4, None), (2, 0, None)]
    assert con.execute("SELECT count(*) FROM dbanon.membership WHERE waiting").fetchall() == [(0,)]
    old = con.execute("SELECT age, disease FROM safe WHERE age <> '[40, 60]' ORDER BY ALL").fetchall()
    assert old == sorted((age, disease) for age, disease, _ in old_tables[0])
    assert con.execute("SELECT count(*) FROM safe WHERE age = '[40, 60]'").fetchall() == [(5,)]
    assert con.execute("SELECT refresh_mode, small_differences FROM releases() WHERE version = 2").fetchall() == [
        ("hold", 0)
    ]


def test_deferred_then_removed_record_leaves_no_trace(con: Any) -> None:
    patients(con)
    insert_rows(con, patients_with_disease(100, 3))
    assert hold(con) == (1, 10, 3)
    con.execute("DELETE FROM patients WHERE pid = 101")
    assert status(con) == ("stale", 0, 1, 0, 3)
    assert hold(con) == (1, 10, 2)
    assert con.execute("SELECT person_key FROM dbanon.membership WHERE waiting ORDER BY ALL").fetchall() == [
        ("100",),
        ("102",),
    ]


def test_records_missing_l_deferred_for_other_disease(con: Any) -> None:
    patients(con, l=2)
    insert_rows(con, patients_with_disease(100, 7))
    assert hold(con) == (1, 10, 7)
    insert_rows(con, patients_with_disease(200, 1, 50, "TB"))
    assert hold(con) == (2, 18, 0)


@pytest.mark.parametrize("model", [{"t": 0.3}, {"alpha": 0.6}, {"beta": 0.9}, {"delta_disclosure": 1.0}, {"p": 2}])
def test_refresh_hold_supports_every_model(con: Any, model: dict[str, Any]) -> None:
    """Six of one disease miss each of them; a mixture like the earlier one meets it."""
    patients(con, count=12, **model)
    insert_rows(con, patients_with_disease(100, 6))
    assert hold(con) == (1, 12, 6)
    insert_rows(con, [(200 + i, 40 + i % 6, DISEASES[1 + i % 3]) for i in range(18)])
    assert hold(con) == (2, 36, 0)


def test_refresh_hold_counts_persons_not_records(con: Any) -> None:
    """Eight records of four new persons are deferred; a known person's record makes the fifth person of a class."""
    patients(con, person=True)
    insert_rows(con, [*patients_with_disease(100, 4), *patients_with_disease(100, 4, 50, "TB")])
    assert hold(con) == (1, 10, 8)
    assert deferred_counts(con) == [(1, 8, 4)]
    insert_rows(con, patients_with_disease(0, 1, 60))
    assert hold(con) == (2, 19, 0)
    messages = con.execute("SELECT value FROM certificate('safe') WHERE section = 'not published'").fetchall()
    assert ("0",) in messages


def test_new_record_of_published_person_is_deferred(con: Any) -> None:
    """The person's first record is unchanged, and nothing reveals that the second is theirs."""
    patients(con, person=True)
    old_tables = tables(con)
    insert_rows(con, patients_with_disease(3, 1))
    assert hold(con) == (1, 10, 1)
    assert deferred_counts(con) == [(1, 1, 1)]
    assert tables(con) == old_tables
    insert_rows(con, patients_with_disease(100, 4, 41))
    assert hold(con) == (2, 15, 0)


def test_duplicate_of_published_record_deferred_by_count(con: Any) -> None:
    """Without a person column one of the two is new, whichever it is."""
    con.execute("CREATE TABLE patients (pid INTEGER, age INTEGER, disease VARCHAR)")
    insert_rows(con, [(i, 20 + i % 2, "Flu") for i in range(10)])
    dbanon.declare(con, "patients", pid="identifier", age="quasi", disease="sensitive")
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    insert_rows(con, [(100 + i, 20, "Flu") for i in range(4)])
    assert hold(con) == (1, 10, 4)
    assert con.execute("SELECT sum(records) FROM dbanon.membership WHERE waiting").fetchall() == [(4,)]
    insert_rows(con, [(104, 20, "Flu")])
    assert hold(con) == (2, 15, 0)


def test_refresh_hold_defers_each_max_level_block_separately(con: Any) -> None:
    """Five of the region 1 are a class; two of region 2 are deferred until there are three more."""
    con.execute("CREATE TABLE patients (pid INTEGER PRIMARY KEY, zip VARCHAR, disease VARCHAR)")
    con.executemany("INSERT INTO patients VALUES (?, ?, ?)", [(i, ZIPS[i % 5][0], DISEASES[i % 4]) for i in range(40)])
    dbanon.load_hierarchy(con, "zips", ZIPS)
    dbanon.declare(
        con,
        "patients",
        pid="identifier",
        zip={"role": "quasi", "hierarchy": "zips", "max_level": 1},
        disease="sensitive",
    )
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("INSERT INTO patients SELECT 100 + i, '10' || (1 + i % 3), 'Flu' FROM range(5) AS r (i)")
    con.execute("INSERT INTO patients VALUES (200, '201', 'TB'), (201, '202', 'TB')")
    assert hold(con) == (2, 45, 2)
    assert deferred_counts(con)[1:] == [(2, 2, None)]
    con.execute("INSERT INTO patients SELECT 300 + i, '201', 'Flu' FROM range(3) AS r (i)")
    assert hold(con) == (3, 50, 0)


def test_rare_value_deferred_until_frequent(con: Any) -> None:
    con.execute("CREATE TABLE patients (pid INTEGER PRIMARY KEY, age INTEGER, ward VARCHAR)")
    con.execute("INSERT INTO patients SELECT i, 20 + i, 'a' FROM range(10) AS r (i)")
    dbanon.declare(con, "patients", pid="identifier", age="quasi", ward="insensitive")
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("INSERT INTO patients SELECT 100 + i, 40 + i, 'a' FROM range(5) AS r (i)")
    con.execute("INSERT INTO patients SELECT 200 + i, 40 + i, 'b' FROM range(3) AS r (i)")
    assert hold(con) == (2, 15, 3)
    con.execute("INSERT INTO patients SELECT 300 + i, 50 + i, 'b' FROM range(2) AS r (i)")
    assert hold(con) == (3, 20, 0)


# --- removed people ------------------------------------------------------------------------------------------


def test_removal_refused_and_erasure_defers_new_records(con: Any) -> None:
    """One of three classes of five is removed for the deleted person; six new ones are deferred to the next version."""
    patients(con, count=15)
    insert_rows(con, patients_with_disease(100, 6))
    con.execute("DELETE FROM patients WHERE pid = 3")
    with pytest.raises(errors.SmallDifferencesRefusedError):
        hold(con)
    assert deferred_counts(con) == [(1, None, None)]
    with pytest.warns(dbanon.DisclosureWarning, match="4 records are withheld"):
        assert hold(con, erase=True) == (2, 10, 6)
    assert status(con) == ("fresh", 0, 0, 0, 6)
    assert con.execute("SELECT withheld_after_erasure, waiting FROM releases() WHERE version = 2").fetchall() == [
        (4, 6)
    ]
    assert hold(con) == (3, 16, 0)
    assert status(con) == ("fresh", 0, 0, 0, 0)


def test_removed_class_creates_version_deferring_others(con: Any) -> None:
    patients(con, count=15)
    insert_rows(con, patients_with_disease(100, 2))
    con.execute("DELETE FROM patients WHERE age < 25")
    assert hold(con) == (2, 10, 2)
    assert hold(con) == (2, 10, 2)


def test_returning_people_deferred_if_absent_are_exposed(con: Any) -> None:
    """Four of the five of a removed class return, and would show the fifth. Five others are not deferred for them."""
    patients(con, count=15)
    con.execute("CREATE TABLE went AS FROM patients WHERE age < 25")
    con.execute("DELETE FROM patients WHERE age < 25")
    assert hold(con) == (2, 10, 0)
    con.execute("INSERT INTO patients FROM went WHERE pid <> 2")
    insert_rows(con, patients_with_disease(100, 5))
    assert hold(con) == (3, 15, 4)
    con.execute("INSERT INTO patients FROM went WHERE pid = 2")
    insert_rows(con, patients_with_disease(200, 2, 50))
    assert hold(con) == (4, 20, 2)


@pytest.mark.parametrize("how", ["keep", "hold"])
def test_returning_people_checked_against_former_classes(con: Any, how: str) -> None:
    """Two classes were removed. A person of one of them in a class with new people now is one of fewer than five."""
    patients(con, count=20)
    con.execute("CREATE TABLE went AS FROM patients WHERE age < 30")
    con.execute("DELETE FROM patients WHERE age < 30")
    assert hold(con) == (2, 10, 0)
    con.execute("INSERT INTO patients FROM went")
    insert_rows(con, [(100 + i, 21 + 2 * i, "Flu") for i in range(5)])
    if how == "keep":
        with pytest.raises(errors.SmallDifferencesRefusedError, match="version 1"):
            dbanon.refresh_release(con, "safe")
    else:
        assert hold(con) == (3, 15, 10)
        assert hold(con) == (4, 25, 0)


# --- compared with the other ways to refresh ---------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
@pytest.mark.parametrize("how", ["keep", "recluster"])
def test_deferred_records_are_new_to_other_refresh_modes(con: Any, how: str) -> None:
    patients(con)
    insert_rows(con, patients_with_disease(100, 3))
    assert hold(con) == (1, 10, 3)
    with pytest.raises(errors.SmallDifferencesRefusedError):
        dbanon.refresh_release(con, "safe", mode=how)
    insert_rows(con, patients_with_disease(103, 2))
    assert dbanon.refresh_release(con, "safe", mode=how).records == 15
    assert deferred_counts(con) == [(1, 3, None), (2, None, None)]
    assert status(con) == ("fresh", 0, 0, 0, 0)


def test_deferred_records_not_counted_as_suppressed(con: Any) -> None:
    """A share of the records may be suppressed; deferred records do not count in it, and suppressed ones stay so."""
    patients(con, count=20, suppress=0.2)
    remaining_value = con.execute("SELECT suppressed FROM releases()").fetchall()[0][0]
    insert_rows(con, patients_with_disease(100, 2))
    assert hold(con) == (1, 20 - remaining_value, 2)
    insert_rows(con, patients_with_disease(102, 8))
    version, records, waiting = hold(con)
    assert (version, waiting) == (2, 0)
    suppressed = con.execute("SELECT suppressed FROM releases() WHERE version = 2").fetchall()[0][0]
    assert records + suppressed == 30


@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
def test_refresh_hold_requires_keepable_classes(con: Any) -> None:
    patients(con)
    dbanon.create_release(con, "safe", "simdiv", "patients", k=5, replace=True)
    insert_rows(con, patients_with_disease(100, 1))
    with pytest.raises(errors.CannotKeepClassesError, match="publishes more of a class"):
        hold(con)


def test_unchanged_source_creates_no_version(con: Any) -> None:
    patients(con)
    insert_rows(con, patients_with_disease(100, 2))
    assert hold(con) == hold(con) == hold(con, if_stale=True) == (1, 10, 2)
    dbanon.declare(con, "patients", age={"role": "quasi", "weight": 2})
    assert hold(con) == (2, 10, 2)
    assert con.execute("SELECT count(*) FROM dbanon.membership WHERE waiting").fetchall() == [(2,)]


def test_source_problem_raised_not_deferred(con: Any) -> None:
    con.execute("CREATE TABLE patients (pid INTEGER PRIMARY KEY, zip VARCHAR, disease VARCHAR)")
    con.executemany("INSERT INTO patients VALUES (?, ?, ?)", [(i, ZIPS[i % 5][0], "Flu") for i in range(40)])
    dbanon.load_hierarchy(con, "zips", ZIPS)
    dbanon.declare(con, "patients", pid="identifier", zip={"role": "quasi", "hierarchy": "zips"}, disease="sensitive")
    dbanon.create_release(con, "safe", "kacpc", "patients", k=5)
    con.execute("INSERT INTO patients VALUES (100, '999', 'Flu')")
    with pytest.raises(errors.CannotKeepClassesError, match="zip"):
        hold(con)
    assert deferred_counts(con) == [(1, None, None)]


# --- reported values ---------------------------------------------------------------------------------------------


def test_deferred_count_shown_to_custodian_only(con: Any, tmp_path: Path) -> None:
    patients(con, l=2)
    insert_rows(con, patients_with_disease(100, 5))
    insert_rows(con, patients_with_disease(105, 1, 50, "TB"))
    assert hold(con) == (2, 16, 0)
    files = {}
    for waiting in (0, 7):
        insert_rows(con, patients_with_disease(200, waiting))
        assert hold(con) == (2, 16, waiting)
        messages = con.execute("SELECT item, value FROM certificate('safe') WHERE section = 'not published'").fetchall()
        assert ("deferred until there are enough", str(waiting)) in messages
        assert ("for a NULL", "0") in messages
        folder = tmp_path / str(waiting)
        dbanon.publish(con, "safe", str(folder))
        files[waiting] = [duckdb.sql(f"FROM '{f}'").fetchall() for f in sorted(folder.glob("*.parquet"))]
        text = next(folder.glob("*.txt")).read_text()
        assert "may be deferred until there are enough; their number is not published" in text
    assert files[0] == files[7]


def test_refresh_hold_statement_reports_deferred_records(con: Any) -> None:
    patients(con)
    insert_rows(con, patients_with_disease(100, 2))
    view = "REFRESH MATERIALIZED ANONYMIZED VIEW safe"
    result = con.execute(f"{view} WITH (mode = 'hold')")
    assert [column[0] for column in result.description] == ["name", "version", "records", "classes", "waiting"]
    assert result.fetchall() == [("safe", 1, 10, 2, 2)]
    words = r"refresh.*one of 'keep', 'hold', 'recluster'.*'hodl'"
    with pytest.raises(errors.InvalidArgumentError, match=words):
        con.execute(f"{view} WITH (mode = 'hodl')")
    with pytest.raises(errors.InvalidArgumentError, match=words):
        dbanon.refresh_release(con, "safe", mode="hodl")
    assert "2 wait" in repr(dbanon.refresh_release(con, "safe", mode="hold"))
    assert dbanon.forget_release(con, "safe") == 0


def test_earlier_ledger_gets_deferred_count_columns(con: Any) -> None:
    patients(con)
    for table, column in (("release", "waiting"), ("release", "waiting_persons"), ("membership", "waiting")):
        con.execute(f"ALTER TABLE dbanon.{table} DROP COLUMN {column}")
    assert con.execute("SELECT value FROM certificate('safe') WHERE item = 'k'").fetchall()
    assert status(con) == ("fresh", 0, 0, 0, 0)
    insert_rows(con, patients_with_disease(100, 2))
    assert hold(con) == (1, 10, 2)
    assert deferred_counts(con) == [(1, 2, None)]


def test_published_and_deferred_rows_equal_source(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """One record that is neither published nor counted as pending stops the version, and nothing is changed."""
    patients(con)
    insert_rows(con, patients_with_disease(100, 1))
    assert hold(con) == (1, 10, 1)
    lost_value = con.execute("SELECT row_hash FROM dbanon.membership WHERE waiting").fetchall()[0][0]
    insert_rows(con, patients_with_disease(200, 6, 60))
    remember = deferred_records.defer_records

    def forgetful(cursor: Any, entry: Any, *given: Any) -> Any:
        result = remember(cursor, entry, *given)
        extra_query = f"SELECT '100' AS person_key, {lost_value}::UBIGINT AS row_hash, 1 AS records"
        deferred = result.version_constraints.deferred_members
        return result.with_version_constraints(
            deferred_members=Sql(f"(SELECT person_key, row_hash, records FROM {deferred} UNION ALL {extra_query})")
        )

    monkeypatch.setattr(deferred_records, "defer_records", forgetful)
    with pytest.raises(errors.UnstableSourceError):
        hold(con)
    assert deferred_counts(con) == [(1, 1, None)]
    monkeypatch.undo()
    assert hold(con) == (2, 17, 0)


@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
def test_withheld_records_that_are_deferred_count_once_in_status(con: Any) -> None:
    con.execute(
        "CREATE TABLE people AS SELECT i AS pid, 20 + i AS age, 'd' || i % 3 AS disease FROM range(20) AS r (i)"
    )
    dbanon.declare(con, "people", pid="person", age="quasi", disease="sensitive")
    dbanon.create_release(con, "erased", "mdav", "people", k=5)
    con.execute("DELETE FROM people WHERE pid = 3")
    assert status(con) == ("stale", 0, 1, 0, 0)
    dbanon.refresh_release(con, "erased", erase=True)
    dbanon.forget_release(con, "erased", version=1)
    assert status(con) == ("fresh", 0, 0, 0, 0)
    assert not dbanon.refresh_release(con, "erased", mode="hold").is_new
    assert status(con) == ("fresh", 0, 0, 0, 4)
    con.execute("INSERT INTO people VALUES (100, 23, 'd0')")
    assert status(con) == ("stale", 1, 0, 0, 4)
    con.execute("DELETE FROM people WHERE pid = 1")
    assert status(con) == ("stale", 1, 1, 0, 4)
