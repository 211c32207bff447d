"""Materialized releases of related tables: all tables of one state, made once, and no other release of the people."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pytest
from oracle.related import people_by_published_rows
from support import broken_template
from support.related import clinic

import dbanon
from dbanon import errors
from dbanon.cli.commands import next_command
from dbanon.views import doctor, warnings as release_warnings

CREATE = "CREATE MATERIALIZED ANONYMIZED VIEW"
TABLES = ("safe", "safe_classes", "safe_metrics", "safe_visits")


@pytest.fixture
def con(tmp_path: Path) -> Iterator[Any]:
    """Create thirty people with visits and labs, and their relations."""
    with dbanon.connect(tmp_path / "clinic.duckdb") as connection:
        clinic(connection.raw, 4, 30)
        dbanon.relate(connection, "visits", "patients", {"patient_id": "id"})
        yield connection


def table_names(con: Any, like: str = "safe%") -> list[str]:
    query = "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE ? ORDER BY ALL"
    return [name for (name,) in con.execute(query, [like]).fetchall()]


def by_pseudonym(con: Any, table: str, key: str, columns: str) -> dict[int, list[tuple[Any, ...]]]:
    result: dict[int, list[tuple[Any, ...]]] = {}
    for person, *row in con.execute(f"SELECT {key}, {columns} FROM {table}").fetchall():
        result.setdefault(person, []).append(tuple(row))
    return result


def test_one_statement_creates_all_related_tables(con: Any) -> None:
    calls = ("kacpc('patients', k=3, children='visits')", "kacpc('visits', k=3, entity='patients')")
    people, visits, classes = (
        con.execute(f"FROM {call}").fetchall() for call in (*calls, calls[0].replace("kacpc", "kacpc_classes"))
    )
    result = con.execute(f"SELECT metric, value FROM {calls[0].replace('kacpc', 'kacpc_metrics')} WHERE is_publishable")
    measures = result.fetchall()
    messages = con.execute(f"{CREATE} safe AS SELECT * FROM {calls[0]}").fetchall()
    assert messages == [("safe", 1, len(people), len(classes))]
    assert table_names(con) == list(TABLES)
    assert con.execute("FROM safe").fetchall() == people
    assert con.execute("FROM safe_visits").fetchall() == visits
    assert con.execute("FROM safe_classes").fetchall() == classes
    assert con.execute("SELECT metric, value FROM safe_metrics").fetchall() == measures
    assert con.execute("SELECT name, version, status, records FROM releases()").fetchall() == [
        ("safe", 1, "published", 30)
    ]


def test_main_table_has_requested_name(con: Any) -> None:
    release = dbanon.create_release(con, "rows", "mondrian", "visits", k=3, entity="patients", key={"patient_id": "id"})
    assert (release.name, release.version) == ("rows", 1)
    assert release.classes == con.execute("SELECT count(*) FROM rows_classes").fetchall()[0][0]
    assert table_names(con, "rows%") == ["rows", "rows_classes", "rows_metrics", "rows_patients"]
    columns = [name for name, *_ in con.execute("DESCRIBE rows").fetchall()]
    assert columns == ["patient_id", "day", "code", "disease", "class_id"]


def test_related_tables_from_one_snapshot(con: Any) -> None:
    con.execute("CREATE VIEW a_part AS FROM visits WHERE random() < 0.7")
    con.execute("INSERT INTO dbanon.policy SELECT * REPLACE ('a_part' AS table_name) FROM dbanon.policy "
                "WHERE table_name = 'visits'")  # fmt: skip
    con.execute(f"{CREATE} safe AS FROM kacpc('patients', k=3, children='a_part', key={{'patient_id': 'id'}})")
    people = {p: rows[0] for p, rows in by_pseudonym(con, "safe", "id", "age, zip").items()}
    rows = by_pseudonym(con, "safe_a_part", "patient_id", "day, code")
    assert set(rows) <= set(people)
    assert len(people) == 30
    assert min(people_by_published_rows(people, [rows]).values()) >= 3
    joined_query = "FROM safe AS p JOIN safe_a_part AS r ON r.patient_id = p.id WHERE p.class_id <> r.class_id"
    assert con.execute(f"SELECT count(*) {joined_query}").fetchall() == [(0,)]


OTHERS = [
    f"{CREATE} other AS SELECT * FROM kacpc('visits', k=3, person='patient_id')",
    f"{CREATE} other AS SELECT * FROM kacpc('seen', k=3)",
    f"{CREATE} other AS SELECT * FROM kacpc('moved', k=3)",
    f"{CREATE} other AS SELECT * FROM kacpc('patients', k=5, children='visits')",
    f"{CREATE} other AS SELECT * FROM kacpc('labs', k=3)",
    f"{CREATE} other AS SELECT * FROM kacpc('notes', k=3, qi=['length'])",
    "CREATE STREAMING ANONYMIZED VIEW other AS SELECT * FROM fads('labs', k=3, delta=100, order_by=['value'])",
]


@pytest.mark.filterwarnings("ignore::dbanon.UtilityWarning")
@pytest.mark.all_cases
@pytest.mark.parametrize("statement", OTHERS)
def test_other_release_of_same_people_refused(con: Any, statement: str) -> None:
    """By the same tables, by views over them, also with tables of others.

    Also by tables that a relation or a foreign key links to them.
    """
    con.execute("CREATE TABLE known (id INTEGER PRIMARY KEY, age INTEGER)")
    con.execute("INSERT INTO known SELECT i, 30 FROM range(12) AS r (i)")
    con.execute("CREATE TABLE notes (who INTEGER REFERENCES known (id), length INTEGER)")
    con.execute("INSERT INTO notes SELECT i, i FROM range(12) AS r (i)")
    con.execute("CREATE VIEW seen AS SELECT p.age FROM patients AS p")
    con.execute("CREATE TABLE towns AS SELECT 'here' AS town")
    con.execute("CREATE VIEW moved AS SELECT p.age, t.town FROM patients AS p CROSS JOIN towns AS t")
    con.execute("DELETE FROM labs WHERE value IS NULL")
    dbanon.declare(con, "seen", age="quasi")
    dbanon.declare(con, "moved", age="quasi", town="quasi")
    dbanon.relate(con, "labs", "patients", {"patient_id": "id"})
    first = f"{CREATE} safe AS SELECT * FROM kacpc('patients', k=3, children='visits')"
    if "notes" in statement:
        dbanon.declare(con, "known", age="quasi")
        con.execute("CREATE TABLE stays AS SELECT i % 12 AS id, i AS length FROM range(24) AS r (i)")
        dbanon.declare(con, "stays", length="quasi")
        first = f"{CREATE} safe AS SELECT * FROM kacpc('known', k=3, children='stays', key='id')"
    con.execute(first)
    for _ in ("published", "dropped"):
        with pytest.raises(errors.OverlappingReleaseError, match="the same people are in safe, "):
            con.execute(statement)
        assert table_names(con, "other%") == []
        con.execute("DROP MATERIALIZED ANONYMIZED VIEW IF EXISTS safe")
    assert dbanon.forget_release(con, "safe") == 1
    con.execute(statement)
    with pytest.raises(
        errors.OverlappingReleaseError, match=r"people are in other.*a release of several tables cannot be"
    ):
        con.execute(first)
    assert table_names(con) == []


def test_unrelated_tables_released_next_to_related_release(con: Any) -> None:
    con.execute(f"{CREATE} safe AS SELECT * FROM kacpc('patients', k=3, children='visits')")
    con.execute("CREATE TABLE staff AS SELECT 20 + i AS age FROM range(12) AS r (i)")
    con.execute(f"{CREATE} other AS SELECT * FROM kacpc('staff', k=3, qi=['age'])")
    con.execute(f"{CREATE} labs_too AS SELECT * FROM kacpc('labs', k=3)")  # the people of these are not declared


def test_related_release_has_single_version(con: Any) -> None:
    create = f"{CREATE} safe AS SELECT * FROM kacpc('patients', k=3, children='visits')"
    con.execute(create)
    rows = con.execute("FROM safe_visits").fetchall()
    for statement in ("REFRESH MATERIALIZED ANONYMIZED VIEW safe", "FROM certificate('safe')"):
        with pytest.raises(
            Exception,
            match=r"safe is a release of several tables, which has one.*DROP MATERIALIZED ANONYMIZED VIEW safe",
        ):
            con.execute(statement).fetchall()
    with pytest.raises(dbanon.DbanonError, match="safe is a release of several tables"):
        dbanon.publish(con, "safe", "safe.csv")
    for second_create in (create, create.replace("CREATE", "CREATE OR REPLACE")):
        with pytest.raises(
            errors.ReleaseExistsError, match=r"DROP MATERIALIZED ANONYMIZED VIEW safe, call dbanon.forget_release"
        ):
            con.execute(second_create)
    assert con.execute(create.replace("VIEW", "VIEW IF NOT EXISTS")).fetchall() == []
    with pytest.raises(errors.UnusedArgumentError, match="allow_small_differences"):
        con.execute(create.replace("safe AS", "more WITH (allow_small_differences = true) AS"))
    assert con.execute("FROM safe_visits").fetchall() == rows
    con.execute("DROP MATERIALIZED ANONYMIZED VIEW safe")
    con.execute("DROP MATERIALIZED ANONYMIZED VIEW IF EXISTS safe")
    assert table_names(con) == []
    assert con.execute("SELECT status FROM releases()").fetchall() == [("dropped",)]


def test_doctor_reports_modified_related_release(con: Any) -> None:
    con.execute(f"{CREATE} safe AS SELECT * FROM kacpc('patients', k=3, children='visits')")

    def release_problems() -> list[str]:
        return [p.problem for p in doctor.problems(con) if p.kind == "related release"]

    hint = (
        ". Hint: it cannot be refreshed; to renew it, DROP MATERIALIZED ANONYMIZED VIEW safe, use forget_release once "
        "no reader has it any more, and create it again"
    )
    assert release_problems() == []
    assert next_command.after_doctor(con, Path("a.duckdb"), ["patients", "visits"], []) == "dbanon releases a.duckdb"
    labs = next_command.after_doctor(con, Path("a.duckdb"), ["patients", "labs"], [])
    assert labs == "dbanon anonymize a.duckdb --table labs -k 10"
    con.execute("DELETE FROM safe_visits WHERE class_id = 1")
    assert release_problems() == [
        f"table safe_visits has other rows, another order or other columns than when it was created{hint}"
    ]
    problem = next(p for p in doctor.problems(con) if p.kind == "related release")
    assert next_command.after_doctor(con, Path("clinic.duckdb"), [], [problem]) == "dbanon shell clinic.duckdb"
    con.execute("DROP TABLE safe_visits")
    assert release_problems() == [f"table safe_visits is missing{hint}"]


def test_related_release_warns_of_dropped_rows(con: Any) -> None:
    """Twelve of thirty people have visits; with k = 30 there is one class, which publishes none."""
    con.execute("DELETE FROM visits WHERE patient_id % 5 > 1")
    ((n_rows,),) = con.execute("SELECT count(*) FROM visits").fetchall()
    expected = f"safe: {n_rows} of {n_rows} rows of visits are dropped.*; 1 of 1 classes publish none"
    with pytest.warns(dbanon.UtilityWarning, match=expected):
        dbanon.create_release(con, "safe", "kacpc", "patients", k=30, children="visits")
    assert con.execute("FROM safe_visits").fetchall() == []


@pytest.mark.parametrize(("n_published", "n_dropped"), [(90, 10), (50, 50), (0, 0)])
def test_up_to_half_of_dropped_rows_causes_no_warning(n_published: int, n_dropped: int) -> None:
    metrics = {"rows:visits": float(n_published), "rows_surplus:visits": float(n_dropped)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release_warnings.warn_of_dropped_rows("safe", "visits", 3, 1, metrics)
    metrics["rows_surplus:visits"] += 1
    if n_dropped == n_published:
        with pytest.warns(
            dbanon.UtilityWarning, match=f"{n_dropped + 1} of {n_published + n_dropped + 1} rows of visits"
        ):
            release_warnings.warn_of_dropped_rows("safe", "visits", 3, 1, metrics)


def test_related_release_refused_by_gate_leaves_no_tables(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    spoil = partial(broken_template.change_template, monkeypatch)
    spoil("release/related/clustered_people.sql", "SELECT rid, class_id AS cluster", "SELECT rid, rid AS cluster")
    with pytest.raises(duckdb.Error, match="release gate refused"):
        con.execute(f"{CREATE} safe AS SELECT * FROM kacpc('patients', k=3, children='visits')")
    assert table_names(con) == table_names(con, "dbanon related%") == []
    assert con.execute("FROM dbanon.related_release").fetchall() == []


def test_related_table_without_published_rows_keeps_columns(con: Any) -> None:
    con.execute(
        "DELETE FROM visits WHERE patient_id NOT IN (SELECT patient_id FROM visits GROUP BY ALL "
        "HAVING count(*) > 1 LIMIT 2)"
    )  # two people are no class
    with pytest.warns(dbanon.UtilityWarning, match="rows of visits are dropped"):
        con.execute(f"{CREATE} safe AS SELECT * FROM kacpc('patients', k=3, children='visits')")
    assert con.execute("FROM safe_visits").fetchall() == []
    types = [row[:2] for row in con.execute("DESCRIBE safe_visits").fetchall()]
    assert types == [row[:2] for row in con.execute("DESCRIBE FROM kacpc('visits', k=3, entity='patients')").fetchall()]


@pytest.mark.filterwarnings("ignore::dbanon.UtilityWarning")
def test_ledger_records_requested_model(con: Any) -> None:
    con.execute("UPDATE patients SET blood = ['A', 'B', 'AB', '0'][1 + (rowid % 4)::INTEGER]")
    con.execute("UPDATE visits SET disease = ['Flu', 'HIV', 'TB', 'Cold'][1 + (hash(rowid) % 4)::INTEGER]")
    con.execute(f"{CREATE} safe AS SELECT * FROM kacpc('patients', k=3, l=2, children='visits')")
    parameters, achieved = con.execute(
        "SELECT parameters->>'$.l', metrics['l_diversity:patients.blood'] FROM dbanon.related_release"
    ).fetchall()[0]
    assert parameters == "2"
    assert achieved >= 2


def test_related_tables_of_several_databases_refused(con: Any) -> None:
    """The ledger of one does not know the releases in the other."""
    con.execute("ATTACH ':memory:' AS elsewhere")
    con.execute("CREATE TABLE elsewhere.visits AS FROM visits; CREATE SCHEMA elsewhere.dbanon")
    con.execute("CREATE TABLE elsewhere.dbanon.policy AS FROM dbanon.policy WHERE table_name = 'visits'")
    con.execute("CREATE TABLE elsewhere.dbanon.hierarchy AS FROM dbanon.hierarchy")
    key = "key={'patient_id': 'id'}"
    rows = con.execute(f"FROM kacpc('elsewhere.visits', k=3, entity='patients', {key})").fetchall()
    assert rows
    with pytest.raises(errors.InvalidArgumentError, match="children must be tables of one database"):
        con.execute(f"{CREATE} safe AS FROM kacpc('elsewhere.visits', k=3, entity='patients', {key})")
    con.execute("CREATE TEMP TABLE passing AS FROM visits")
    con.execute("INSERT INTO dbanon.policy SELECT * REPLACE ('passing' AS table_name) FROM dbanon.policy "
                "WHERE table_name = 'visits'")  # fmt: skip
    with pytest.raises(errors.UnstableSourceError):
        con.execute(f"{CREATE} safe AS FROM kacpc('passing', k=3, entity='patients', {key})")
    assert table_names(con) == []


def test_related_release_refuses_reserved_and_taken_names(con: Any) -> None:
    con.execute("CREATE TABLE classes AS FROM visits")
    con.execute("INSERT INTO dbanon.policy SELECT * REPLACE ('classes' AS table_name) FROM dbanon.policy "
                "WHERE table_name = 'visits'")  # fmt: skip
    with pytest.raises(
        errors.InvalidArgumentError, match="tables with different names, none of them named classes or metrics"
    ):
        con.execute(
            f"{CREATE} safe AS SELECT * FROM kacpc('patients', k=3, children='classes', key={{'patient_id': 'id'}})"
        )
    con.execute("CREATE TABLE safe_visits (x INTEGER)")
    with pytest.raises(errors.ReleaseExistsError, match=r"safe_visits exists already\. Hint: choose another name"):
        con.execute(f"{CREATE} safe AS SELECT * FROM kacpc('patients', k=3, children='visits')")
    with pytest.raises(errors.OpenTransactionError):
        con.execute("BEGIN")
        con.execute(f"{CREATE} safer AS SELECT * FROM kacpc('patients', k=3, children='visits')")
    con.execute("ROLLBACK")
    con.execute('CREATE SCHEMA "x\'); DROP TABLE t; --"')
    con.execute(f'{CREATE} "x\'); DROP TABLE t; --"."😀 ""s""" AS FROM kacpc(\'patients\', k=3, children=\'visits\')')
    assert table_names(con, "😀%") == ['😀 "s"', '😀 "s"_classes', '😀 "s"_metrics', '😀 "s"_visits']
    con.execute('DROP MATERIALIZED ANONYMIZED VIEW "x\'); DROP TABLE t; --"."😀 ""s"""')
    assert table_names(con, "😀%") == []
