"""Versions of the same people with other keys, values or record spellings, and versions of other people."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

import dbanon
from dbanon import errors
from dbanon.ledger.people import chance_agreement

PEOPLE = (
    "CREATE TABLE p AS SELECT i::INTEGER AS id, 20 + (i // 11)::INTEGER * 3 AS age, (10000 + i // 11)::VARCHAR AS zip, "
    "['flu', 'cold', 'gout', 'asthma'][1 + (i % 4)::INTEGER] AS disease FROM range(132) AS r (i);"
    "UPDATE p SET disease = 'hiv' WHERE id = 5"
)

CHANGES = {
    "nothing": "SELECT 1",
    "values in capitals": "UPDATE p SET disease = upper(disease)",
    "values as codes": "UPDATE p SET disease = md5(disease)",
    "id is DOUBLE": "ALTER TABLE p ALTER id TYPE DOUBLE",
    "id is DECIMAL": "ALTER TABLE p ALTER id TYPE DECIMAL(9, 2)",
    "id is VARCHAR": "ALTER TABLE p ALTER id TYPE VARCHAR",
    "id is padded": "ALTER TABLE p ALTER id TYPE VARCHAR USING lpad(id::VARCHAR, 5, '0')",
    "other numbers": "UPDATE p SET id = id + 100000",
    "hashed ids": "ALTER TABLE p ALTER id TYPE VARCHAR USING md5(id::VARCHAR)",
    "other numbers and capitals": "UPDATE p SET id = id + 100000, disease = upper(disease)",
    "other numbers, everybody older": "UPDATE p SET id = id + 100000, age = age + 1",
}
"""Changes of all records between two versions."""


@pytest.fixture
def people() -> Iterator[Any]:
    with dbanon.connect() as connection:
        connection.execute(PEOPLE)
        yield connection


def declare(connection: Any, *, role: str = "person", table: str = "p") -> None:
    dbanon.declare(connection, table, id=role, age="quasi", zip="quasi", disease="sensitive")


def publish(connection: Any, name: str, source: str = "p", **options: Any) -> list[str]:
    """Publish a release; return its warnings compared with other releases."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dbanon.create_release(connection, name, "mondrian", source, k=10, l=2, **options)
    return [str(warning.message) for warning in caught if warning.category is dbanon.DisclosureWarning]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("role", ["person", "key"])
def test_removed_person_noticed_after_respelling(people: Any, change: str, role: str) -> None:
    declare(people, role="person" if role == "person" else "identifier")
    key = {"key": "id"} if role == "key" else {}
    publish(people, "a", **key)
    people.execute("DELETE FROM p WHERE id = 5")
    people.execute(CHANGES[change])
    with pytest.raises(errors.SmallDifferencesRefusedError):
        publish(people, "a", replace=True, **key)
    with pytest.raises((errors.CompositionRefusedError, errors.PeopleNotRecognizedError)):
        publish(people, "b", composition="refuse", **key)
    assert publish(people, "b", **key)


@pytest.mark.parametrize("change", ["nothing", "values in capitals", "values as codes"])
def test_removed_record_noticed_without_key(people: Any, change: str) -> None:
    declare(people, role="identifier")
    publish(people, "a")
    people.execute("DELETE FROM p WHERE id = 5")
    people.execute(CHANGES[change])
    with pytest.raises(errors.SmallDifferencesRefusedError):
        publish(people, "a", replace=True)
    assert publish(people, "b")


def test_added_record_noticed_after_all_ages_changed(people: Any) -> None:
    people.execute(
        "CREATE TABLE v AS SELECT 20 + (hash(i) % 40)::INTEGER AS age, '1' || (hash(i, 1) % 4) AS zip, "
        "['flu', 'cold', 'gout'][1 + (hash(i, 2) % 3)::INTEGER] AS disease FROM range(200) AS r (i)"
    )
    dbanon.declare(people, "v", age="quasi", zip="quasi", disease="sensitive")
    publish(people, "a", "v")
    people.execute("UPDATE v SET age = age + 1; INSERT INTO v VALUES (33, '13', 'hiv')")
    with pytest.raises(errors.SmallDifferencesRefusedError):
        publish(people, "a", "v", replace=True)
    (message,) = publish(people, "b", "v")
    assert "200 of 200 have the same records in zip, disease" in message


def test_changed_value_noticed_despite_respelling(people: Any) -> None:
    declare(people)
    people.execute("UPDATE p SET disease = 'cold' WHERE id = 5")
    publish(people, "a")
    people.execute("UPDATE p SET disease = 'gout' WHERE id = 5; UPDATE p SET disease = upper(disease)")
    with pytest.raises(errors.SmallDifferencesRefusedError):
        publish(people, "a", replace=True)


def test_ledger_and_warning_count_recognized_people(people: Any) -> None:
    declare(people)
    publish(people, "a")
    people.execute("UPDATE p SET id = id + 100000 WHERE id >= 100")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dbanon.create_release(people, "b", "kacpc", "p", k=12, l=2)
    texts = [str(warning.message) for warning in caught]
    assert any("100 of 132 people are recognized by their keys" in text and "32 of 132" in text for text in texts)
    query = "SELECT recognized FROM releases() WHERE name = 'b'"
    assert people.execute(query).fetchall() == [({"a version 1": 132},)]


# --- other people -------------------------------------------------------------------------------------------


def cohort(connection: Any, first: int, count: int, table: str = "y") -> None:
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS {table} (id INTEGER, age INTEGER, zip VARCHAR, disease VARCHAR); "
        f"DELETE FROM {table}; INSERT INTO {table} SELECT i, 18 + hash(i) % 60, (10000 + hash(i, 1) % 40)::VARCHAR, "
        "['flu', 'hiv', 'cold', 'cancer', 'asthma'][1 + (hash(i, 3) % 5)::INTEGER] "
        f"FROM range({first}, {first + count}) AS r (i)"
    )


@pytest.mark.parametrize("role", ["person", "identifier"])
def test_yearly_cohorts_of_one_table_are_published(people: Any, role: str) -> None:
    for year in range(4):
        cohort(people, 1000 * year, 220 - 7 * year)
        declare(people, role=role, table="y")
        assert publish(people, f"y{year}", "y", composition="refuse") == []


def test_releases_of_unrelated_people_are_published(people: Any) -> None:
    cohort(people, 1, 150, "north")
    cohort(people, 1, 200, "south")
    people.execute("UPDATE south SET age = 18 + hash(id, 8) % 60, zip = (10000 + hash(id, 9) % 40)::VARCHAR")
    people.execute("CREATE VIEW east AS FROM south WHERE id % 2 = 0; CREATE VIEW west AS FROM south WHERE id % 2 = 1")
    for table in ("north", "east", "west"):
        declare(people, table=table)
        assert publish(people, f"safe_{table}", table, composition="refuse") == []


def test_repeated_release_and_refresh_published(people: Any) -> None:
    declare(people)
    assert publish(people, "a", composition="refuse") == []
    assert publish(people, "b", composition="refuse") == []
    people.execute("INSERT INTO p SELECT 900 + i, 30, '10003', 'flu' FROM range(3) AS r (i)")
    with warnings.catch_warnings():
        warnings.simplefilter("error", dbanon.DisclosureWarning)
        assert dbanon.refresh_release(people, "a", mode="hold", composition="refuse").records == 132


def test_sources_declared_disjoint_are_not_compared(people: Any) -> None:
    declare(people)
    publish(people, "a")
    people.execute("UPDATE p SET id = id + 100000")
    with pytest.raises(errors.PeopleNotRecognizedError, match=r"disjoint_from = \['a'\]"):
        people.execute(
            "CREATE MATERIALIZED ANONYMIZED VIEW b WITH (composition = 'refuse') AS FROM mondrian('p', k = 12, l = 2)"
        )
    people.execute(
        "CREATE MATERIALIZED ANONYMIZED VIEW b WITH (composition = 'refuse', disjoint_from = ['a']) "
        "AS FROM mondrian('p', k = 12, l = 2)"
    )
    query = "SELECT disjoint_from, composition FROM releases() WHERE name = 'b'"
    assert people.execute(query).fetchall() == [(["a"], {})]
    with pytest.raises(errors.InvalidArgumentError, match="disjoint_from"):
        publish(people, "c", disjoint_from="nowhere")


def test_stream_refused_next_to_refusing_release(people: Any) -> None:
    declare(people)
    publish(people, "a", composition="refuse")
    with pytest.raises(errors.StreamRefusedError):
        dbanon.create_stream(people, "s", "fads", "p", k=5, delta=50, order_by="id")


# --- coincidental matches -----------------------------------------------------------------------------------


def test_different_people_rarely_recognized_as_same() -> None:
    rnd, taken_number = random.Random(5), 0
    for _ in range(400):
        values, count = rnd.choice([2, 5, 30, 300]), rnd.choice([30, 200, 1000])
        groups = [Counter(rnd.randrange(values) for _ in range(count)) for _ in range(2)]
        counts = Counter((groups[0][v], groups[1][v]) for v in groups[0] | groups[1])
        rows = [(mine, theirs, n) for (mine, theirs), n in counts.items()]
        taken_number += chance_agreement.agreement(rows, (0,)).is_no_chance
    assert taken_number <= 2


@pytest.mark.parametrize("values", [8, 30, 300])
def test_value_counts_missing_one_record_are_recognized(values: int) -> None:
    rnd = random.Random(values)
    mine = Counter(rnd.randrange(values) for _ in range(600))
    theirs = mine - Counter([next(iter(mine))])
    counts = Counter((mine[v], theirs[v]) for v in mine)
    agreement = chance_agreement.agreement([(x, y, n) for (x, y), n in counts.items()], (0,))
    assert (agreement.is_no_chance, agreement.common) == (True, 599)
