"""Parts of a release of related tables: pseudonyms, rows, columns and counts, in every kind of statement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from support.related import KEY, RelatedClinic, clinic

import dbanon

ROWS = f"kacpc('visits', k := 3, entity := 'patients', {KEY})"
PEOPLE = f"kacpc('patients', k := 3, children := 'visits', {KEY})"


@pytest.fixture(scope="module")
def con_with_clinic() -> Iterator[tuple[Any, RelatedClinic]]:
    """Create twenty-five people with visits."""
    with duckdb.connect() as con:
        dbanon.attach(con)
        yield con, clinic(con, 3, 25)


def columns(con: Any, call: str) -> list[tuple[str, str]]:
    return [row[:2] for row in con.execute(f"DESCRIBE FROM {call}").fetchall()]


def test_related_tables_share_pseudonyms_instead_of_keys(con_with_clinic: Any) -> None:
    con, result = con_with_clinic
    people = con.execute(f"SELECT id, class_id FROM {PEOPLE}").fetchall()
    rows = con.execute(f"SELECT DISTINCT patient_id, class_id FROM {ROWS}").fetchall()
    assert [person for person, _ in people] == list(range(1, len(result.people) + 1))
    assert set(rows) <= set(people)
    assert [name for name, _ in columns(con, ROWS)] == ["patient_id", "day", "code", "disease", "class_id"]
    assert [name for name, _ in columns(con, PEOPLE)] == ["id", "age", "zip", "blood", "class_id"]


def test_related_metrics_count_suppressed_rows(con_with_clinic: Any) -> None:
    con, result = con_with_clinic
    call = ROWS.replace("kacpc", "kacpc_metrics").replace("k := 3", "k := 3, max_children := 2")
    measured_metrics = dict(con.execute(f"SELECT metric, value FROM {call}").fetchall())
    rows = con.execute(f"SELECT count(*) FROM {ROWS.replace('k := 3', 'k := 3, max_children := 2')}").fetchall()[0][0]
    had = [len(rows) for rows in result.visits.values()]
    assert measured_metrics["persons"] == len(result.people)
    assert measured_metrics["k"] >= 3
    assert measured_metrics["rows:visits"] == rows > 0
    assert measured_metrics["rows_above_cap:visits"] == sum(max(n - 2, 0) for n in had) > 0
    assert measured_metrics["rows:visits"] + measured_metrics["rows_surplus:visits"] + measured_metrics[
        "rows_above_cap:visits"
    ] == sum(had)
    actual_rows = con.execute(f"SELECT metric FROM {call} WHERE is_publishable").fetchall()
    assert ("rows_surplus:visits",) not in actual_rows
    assert ("rows:visits",) in actual_rows


def test_classes_state_rows_per_person(con_with_clinic: Any) -> None:
    con, _ = con_with_clinic
    classes = con.execute(f"FROM {ROWS.replace('kacpc', 'kacpc_classes')}").fetchall()
    second_rows = con.execute(f"""
        SELECT class_id, count(*), any_value(age), any_value(zip), min(rows)
        FROM {PEOPLE} AS p
        LEFT JOIN (SELECT patient_id, count(*) AS rows FROM {ROWS} GROUP BY ALL) AS r ON r.patient_id = p.id
        GROUP BY class_id ORDER BY class_id""").fetchall()
    assert [row[:4] for row in classes] == [row[:4] for row in second_rows]
    assert [row[4] for row in classes] == [row[4] or 0 for row in second_rows]
    assert columns(con, ROWS.replace("kacpc", "kacpc_classes"))[-1][0] == "visits_rows"


@pytest.mark.parametrize("threads", [1, 4])
def test_release_independent_of_order_keys_and_threads(con_with_clinic: Any, threads: int) -> None:
    con, _ = con_with_clinic
    old_rows = [con.execute(f"FROM {call}").fetchall() for call in (PEOPLE, ROWS)]
    with duckdb.connect() as other:
        dbanon.attach(other)
        clinic(other, 3, 25)
        other.execute(f"SET threads = {threads}")
        other.execute(
            "CREATE OR REPLACE TABLE patients AS SELECT * REPLACE (7 * id AS id) FROM patients ORDER BY zip, age DESC"
        )
        other.execute("CREATE OR REPLACE TABLE visits AS SELECT * REPLACE (7 * patient_id::INTEGER AS patient_id) "
                      "FROM visits ORDER BY code DESC, day, disease")  # fmt: skip
        assert [other.execute(f"FROM {call}").fetchall() for call in (PEOPLE, ROWS)] == old_rows


@pytest.mark.not_everyday
def test_related_call_works_in_views_tables_and_copies(con_with_clinic: Any) -> None:
    con, _ = con_with_clinic
    rows = con.execute(f"FROM {ROWS}").fetchall()
    con.execute(f"CREATE OR REPLACE VIEW safe AS FROM {ROWS}")
    assert con.execute("FROM safe").fetchall() == rows
    con.execute(f"CREATE OR REPLACE TABLE copied AS FROM {ROWS}")
    assert con.execute("SELECT count(*) FROM copied").fetchall() == [(len(rows),)]
    assert con.execute(f"FROM {ROWS.replace('3', '?', 1)}", [3]).fetchall() == rows
    assert con.execute(f"EXPLAIN (FORMAT json) FROM {ROWS}").fetchall()
    generic = ROWS.replace("kacpc('visits'", "anonymize('visits', algorithm := 'kacpc'")
    assert con.execute(f"FROM {generic}").fetchall() == rows


def test_related_call_accepts_equals_sign(con_with_clinic: Any) -> None:
    con, _ = con_with_clinic
    with dbanon.connect(":memory:") as other:
        clinic(other.raw, 3, 25)
        rows = other.execute("FROM kacpc('visits', k=3, entity='patients', key={'patient_id': 'id'})").fetchall()
    assert rows == con.execute(f"FROM {ROWS}").fetchall()
    plain_call = "kacpc('visits', k = 3, entity = 'patients', key := {'patient_id': 'id'})"
    assert con.execute(f"FROM {plain_call}").fetchall() == rows


def test_related_view_with_random_order_releases_equal_rows(con_with_clinic: Any) -> None:
    con, _ = con_with_clinic
    con.execute("CREATE OR REPLACE VIEW seen AS FROM visits ORDER BY random()")
    con.execute("INSERT INTO dbanon.policy SELECT * REPLACE ('seen' AS table_name) FROM dbanon.policy "
                "WHERE table_name = 'visits'")  # fmt: skip
    assert con.execute(f"FROM {ROWS.replace('visits', 'seen')}").fetchall() == con.execute(f"FROM {ROWS}").fetchall()


def test_related_release_applies_policies_of_both_tables() -> None:
    with duckdb.connect() as other:
        dbanon.attach(other)
        clinic(other, 5, 20)
        other.execute("ALTER TABLE visits ADD COLUMN note VARCHAR DEFAULT 'secret'")
        other.execute("ALTER TABLE patients ADD COLUMN name VARCHAR DEFAULT 'secret'")
        other.execute("UPDATE dbanon.policy SET rounding = 'decade' WHERE column_name = 'day'")
        other.execute("UPDATE dbanon.policy SET min_level = 1 WHERE column_name = 'code'")
        other.execute("UPDATE dbanon.policy SET top = '40', bottom = '30' WHERE column_name = 'age'")
        other.execute("DELETE FROM dbanon.policy WHERE column_name = 'disease'")
        assert [name for name, _ in columns(other, ROWS)] == ["patient_id", "day", "code", "class_id"]
        days = {row[0] for row in other.execute(f"SELECT DISTINCT day FROM {ROWS}").fetchall()}
        assert days <= {"[1960, 1969]", "[1970, 1979]", "[1960, 1979]", "*", None}
        codes = {row[0] for row in other.execute(f"SELECT DISTINCT code FROM {ROWS}").fetchall()}
        assert codes <= {"J", "I", "K", "*", None}
        ages = {row[0] for row in other.execute(f"SELECT DISTINCT age FROM {PEOPLE}").fetchall()}
        assert not any(text in str(age) for age in ages for text in ("41", "18", "79"))


def test_related_call_accepts_composite_keys_and_hostile_names() -> None:
    child, parent = "v\"x'); DROP TABLE t; --", "p: rows 😀"
    with duckdb.connect() as con:
        dbanon.attach(con)
        con.execute(f"""
            CREATE TABLE "{parent}" AS SELECT i // 4 AS a, i % 4 AS "b c", 20 + i AS "dbanon number", i AS rowid
            FROM range(12) AS r (i)""")
        con.execute(f"""
            CREATE TABLE "{child.replace('"', '""')}" AS SELECT i // 4 AS a, i % 4 AS "b c", j * 10 + i AS "source",
                'x' AS class_id
            FROM range(12) AS r (i), range(3) AS s (j)""")
        dbanon.declare(con, f'"{parent}"', **{"dbanon number": "quasi", "rowid": "sensitive"})
        name = '"' + child.replace('"', '""') + '"'
        dbanon.declare(con, name, source="quasi", class_id="sensitive")
        quoted = name.replace("'", "''")
        call = f"kacpc('{quoted}', k := 3, entity := '\"{parent}\"', key := ['b c', 'a'])"
        rows = con.execute(f"FROM {call}").fetchall()
        assert len(rows) == 36
        assert columns(con, call) == [
            ("entity_id", "BIGINT"), ("source", "VARCHAR"), ("class_id", "VARCHAR"), ("class_id_", "BIGINT"),
        ]  # fmt: skip
        people = f"kacpc('\"{parent}\"', k := 3, children := '{quoted}', key := ['b c', 'a'])"
        assert sorted(row[0] for row in con.execute(f"FROM {people}").fetchall()) == list(range(1, 13))


def test_tables_without_quasi_identifiers_differ_by_row_counts() -> None:
    with duckdb.connect() as con:
        dbanon.attach(con)
        con.execute("CREATE TABLE p AS SELECT i AS id, 'x' AS s FROM range(9) AS r (i)")
        con.execute("CREATE TABLE c AS SELECT i AS id FROM range(9) AS r (i), range(3) AS s (j) WHERE j <= i % 3")
        dbanon.declare(con, "p", id="person", s="sensitive")
        dbanon.declare(con, "c", id="person")
        rows = con.execute("FROM kacpc_classes('c', k := 3, entity := 'p', key := 'id')").fetchall()
        assert rows == [(1, 3, 1), (2, 3, 2), (3, 3, 3)]
        assert con.execute("SELECT count(*) FROM kacpc('c', k := 3, entity := 'p', key := 'id')").fetchall() == [(18,)]


def test_foreign_key_determines_key() -> None:
    with duckdb.connect() as con:
        dbanon.attach(con)
        con.execute("CREATE TABLE p (id INTEGER PRIMARY KEY, age INTEGER)")
        con.execute("CREATE TABLE v (who INTEGER REFERENCES p (id), day DATE)")
        con.execute("CREATE TABLE w (pid INTEGER REFERENCES p (id), amount DECIMAL(9, 2))")
        con.execute("INSERT INTO p SELECT i, 20 + i FROM range(12) AS r (i)")
        con.execute("INSERT INTO v SELECT i % 12, DATE '2020-01-01' + i::INTEGER * 9 FROM range(30) AS r (i)")
        con.execute("INSERT INTO w SELECT i % 12, i * 1.5 FROM range(20) AS r (i)")
        dbanon.declare(con, "p", id="identifier", age="quasi")
        dbanon.declare(con, "v", day="quasi")
        dbanon.declare(con, "w", amount="quasi")
        of_w = con.execute("SELECT pid FROM kacpc('w', k := 3, entity := 'p', children := ['v', 'w'])").fetchall()
        of_p = con.execute("SELECT id FROM kacpc('p', k := 3, children := ['v', 'w'])").fetchall()
        assert set(of_w) <= set(of_p) == {(i,) for i in range(1, 13)}
