"""composition(): people narrowed by two releases together, compared with a plain oracle."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon import errors

DISEASES = ["Flu", "HIV", "TB", "Cold"]


@pytest.fixture
def con() -> Iterator[Any]:
    connection = dbanon.connect()
    yield connection
    connection.close()


def visits(con: Any, seed: int) -> None:
    """Create visits of persons, some of unknown persons; age and ward are known from elsewhere."""
    rng = random.Random(seed)
    con.execute("CREATE OR REPLACE TABLE visits (person INTEGER, age INTEGER, ward VARCHAR, disease VARCHAR)")
    rows = []
    for _ in range(rng.randint(20, 60)):
        person = rng.randrange(30) if rng.random() < 0.9 else None
        rows.append((person, rng.randrange(20, 40), rng.choice("abc"), rng.choice([*DISEASES, None])))
    con.executemany("INSERT INTO visits VALUES (?, ?, ?, ?)", rows)
    con.execute("DELETE FROM dbanon.policy")
    dbanon.declare(con, "visits", person="person", age="quasi", ward="quasi", disease="sensitive")


def classes_of(con: Any, name: str) -> tuple[dict[str, set[int]], dict[int, set[str]]]:
    """Return the classes of each person, and the diseases of each class."""
    rows = con.execute(
        "SELECT m.person_key, m.class_id FROM dbanon.membership AS m WHERE m.release = ? AND m.class_id IS NOT NULL "
        "AND m.person_key IS NOT NULL",
        [name],
    ).fetchall()
    people: dict[str, set[int]] = {}
    for person, number in rows:
        people.setdefault(person, set()).add(number)
    values: dict[int, set[str]] = {}
    for number, disease in con.execute(f"SELECT class_id, disease FROM {name}").fetchall():
        values.setdefault(number, set()).update({disease} - {None})
    return people, values


def expected_composition(con: Any, a: str, b: str, k: int, l: int) -> list[tuple[Any, ...]]:  # noqa: E741
    """Return every person and pair of classes with fewer than k common persons or l common diseases."""
    people_a, values_a = classes_of(con, a)
    people_b, values_b = classes_of(con, b)
    values = []
    for person in people_a.keys() & people_b.keys():
        for x in people_a[person]:
            for y in people_b[person]:
                both = {p for p in people_a if x in people_a[p] and y in people_b.get(p, set())}
                remaining_count = len(values_a[x] & values_b[y])
                if len(both) < k or remaining_count < l:
                    values.append((person, x, y, len(both), remaining_count))
    return sorted(values)


@pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")
@pytest.mark.parametrize("seed", range(6))
def test_composition_equals_plain_search(con: Any, seed: int) -> None:
    visits(con, seed)
    k = random.Random(seed).choice([2, 3, 4])
    l = 2 if seed % 2 else 1  # noqa: E741
    parameters = {"k": k} | ({"l": l} if l > 1 else {})
    dbanon.create_release(con, "a", "kacpc", "visits", **parameters)
    dbanon.create_release(con, "b", "mondrian", "visits", k=2, qi=["age"], sensitive=["disease"], withhold=["ward"])
    rows = con.execute(
        "SELECT person_key, class_a, class_b, candidates, sensitive_values FROM composition('a', 'b')"
    ).fetchall()
    assert sorted(rows) == expected_composition(con, "a", "b", k, l)
    counted_value = con.execute("SELECT composition FROM dbanon.release WHERE name = 'b'").fetchall()[0][0]
    assert counted_value == {"a version 1": len({row[0] for row in rows})}


def patients(con: Any, key: str = "PRIMARY KEY") -> None:
    con.execute(f"CREATE TABLE patients (pid INTEGER {key}, age INTEGER, size INTEGER, disease VARCHAR)")
    con.execute(
        "INSERT INTO patients SELECT i, 20 + i, 150 + (i * 7) % 20, ['Flu', 'HIV'][1 + i % 2] FROM range(20) AS r (i)"
    )
    dbanon.declare(con, "patients", pid="identifier", age="quasi", size="quasi", disease="sensitive")


@pytest.mark.not_everyday
def test_create_warns_if_two_releases_narrow_people(con: Any) -> None:
    patients(con)
    dbanon.create_release(con, "by_age", "kacpc", "patients", k=5, withhold=["size"])
    with pytest.warns(dbanon.DisclosureWarning, match="with by_age version 1"):
        release = dbanon.create_release(con, "by_size", "kacpc", "patients", k=5, withhold=["age"])
    assert release.composition is not None
    assert release.composition["by_age version 1"] > 0
    people = con.execute("SELECT count(DISTINCT person_key) FROM composition('by_size', 'by_age')").fetchall()
    assert people == [(release.composition["by_age version 1"],)]


def test_refused_composition_writes_nothing(con: Any) -> None:
    patients(con)
    dbanon.create_release(con, "by_age", "kacpc", "patients", k=5, withhold=["size"])
    with pytest.raises(errors.CompositionRefusedError, match="with by_age version 1"):
        dbanon.create_release(con, "by_size", "kacpc", "patients", k=5, withhold=["age"], composition="refuse")
    assert con.execute("SELECT count(*) FROM dbanon.release").fetchall() == [(1,)]
    assert con.execute("SELECT DISTINCT release FROM dbanon.membership").fetchall() == [("by_age",)]
    tables = {row[0] for row in con.execute("SELECT table_name FROM duckdb_tables()").fetchall()}
    assert not any(name.startswith("by_size") for name in tables)


@pytest.mark.not_everyday
def test_composition_lists_people_in_one_version_only(con: Any) -> None:
    """One person was removed and one added, each in a class with people of both versions; five removed are a class."""
    patients(con)
    dbanon.create_release(con, "a", "kacpc", "patients", k=5, withhold=["size"])
    full_value = con.execute("SELECT class_id FROM a GROUP BY ALL ORDER BY min(age)").fetchall()[0][0]
    went = con.execute(
        "SELECT person_key::INTEGER FROM dbanon.membership WHERE class_id = ? ORDER BY ALL", [full_value]
    ).fetchall()
    con.execute("DELETE FROM patients WHERE list_contains(?, pid) OR pid = 17", [[pid for (pid,) in went]])
    con.execute("INSERT INTO patients VALUES (100, 33, 150, 'Flu')")
    with pytest.warns(dbanon.DisclosureWarning):
        dbanon.create_release(
            con, "a", "kacpc", "patients", k=5, withhold=["size"], replace=True, allow_small_differences=True
        )
    alone = "(class_a IS NULL) <> (class_b IS NULL) ORDER BY ALL"
    shown_query = "SELECT person_key, class_a IS NULL, class_b IS NULL, candidates, k, sensitive_values"
    rows = con.execute(f"{shown_query} FROM composition('a', 'a', version_a=1) WHERE {alone}").fetchall()
    assert rows == [("100", True, False, 1, 5, 1), ("17", False, True, 1, 5, 1)]
    turned = con.execute(f"{shown_query} FROM composition('a', 'a', version_b=1) WHERE {alone}").fetchall()
    assert turned == [("100", False, True, 1, 5, 1), ("17", True, False, 1, 5, 1)]
    assert con.execute("FROM composition('a', 'a')").fetchall() == []
    with pytest.raises(duckdb.Error, match=r"composition: a has no version 3. It has 1 \(replaced\), 2 \(published\)"):
        con.execute("FROM composition('a', 'a', version_a=3)")


@pytest.mark.not_everyday
def test_releases_with_equal_classes_narrow_no_person(con: Any) -> None:
    patients(con)
    dbanon.create_release(con, "a", "kacpc", "patients", k=5)
    release = dbanon.create_release(con, "b", "kacpc", "patients", k=5, composition="refuse")
    assert release.composition == {"a version 1": 0}


@pytest.mark.not_everyday
def test_dropped_release_counts_until_forgotten(con: Any) -> None:
    patients(con)
    dbanon.create_release(con, "a", "kacpc", "patients", k=5, withhold=["size"])
    dbanon.drop_release(con, "a")
    with pytest.raises(errors.CompositionRefusedError):
        dbanon.create_release(con, "a", "kacpc", "patients", k=5, withhold=["age"], composition="refuse")
    dbanon.forget_release(con, "a")
    release = dbanon.create_release(con, "a", "kacpc", "patients", k=5, withhold=["age"], composition="refuse")
    assert release.composition == {}


@pytest.mark.not_everyday
def test_unidentifiable_people_reported(con: Any) -> None:
    patients(con, key="")
    release = dbanon.create_release(con, "a", "kacpc", "patients", k=5)
    assert release.composition is None
    assert con.execute("SELECT person_key, composition FROM releases()").fetchall() == [(None, None)]
    with pytest.raises(Exception, match="the persons in a are unknown"):
        con.execute("FROM composition('a', 'a')").fetchall()
    assert dbanon.create_release(con, "b", "kacpc", "patients", k=5, key="pid").composition == {}
    with pytest.raises(Exception, match="the persons in a are unknown"):
        con.execute("FROM composition('b', 'a')").fetchall()
