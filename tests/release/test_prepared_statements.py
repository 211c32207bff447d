"""Records that simdiv drops before clustering: those beyond bounds, and duplicates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon

CALL = "('t', k := 3, influence := 'weights'{})"


@pytest.fixture
def people(con: Any) -> Any:
    """Create sixty records: some ages are NULL, each third record occurs twice, two are far off."""
    con.execute(
        """
        CREATE TABLE t AS
        SELECT i AS pid, 'p' || i // 2 AS person, CASE WHEN i % 17 <> 0 THEN 20 + i END AS age,
            DATE '1960-01-01' + (i * 100)::INTEGER AS born, ['a', 'b'][1 + i % 2] AS sex,
            ['Flu', 'HIV', 'none'][1 + i % 3] AS disease
        FROM range(45) AS r (i)
        """
    )
    con.execute("INSERT INTO t SELECT pid + 100, person, age, born, sex, disease FROM t WHERE pid % 3 = 0")
    con.execute("UPDATE t SET age = 400 WHERE pid = 1; UPDATE t SET born = DATE '1066-10-14' WHERE pid = 2")
    dbanon.declare(con, "t", age="quasi", born="quasi", sex="quasi", disease="sensitive")
    return con


def rows(con: Any, query: str) -> list[tuple[Any, ...]]:
    return list(con.execute(query).fetchall())


def metrics(con: Any, extra_options: str) -> dict[str, float]:
    return dict(con.execute(f"SELECT metric, value FROM simdiv_metrics{CALL.format(extra_options)}").fetchall())


def test_records_beyond_bounds_dropped_and_counted(people: Any) -> None:
    assert not any(name.startswith(("dropped:bounds", "dropped:duplicate")) for name in metrics(people, ""))
    extra_options = ", bounds := {'age': [0, 120], 'born': ['1900-01-01', '2025-12-31']}"
    actual_metrics = metrics(people, extra_options)
    assert (actual_metrics["records"], actual_metrics["dropped:bounds"]) == (58, 2)
    assert "dropped:duplicate" not in actual_metrics
    people.execute("CREATE VIEW near AS FROM t WHERE pid NOT IN (1, 2)")
    dbanon.declare(people, "near", age="quasi", born="quasi", sex="quasi", disease="sensitive")
    expected = rows(people, "FROM simdiv('near', k := 3, influence := 'weights')")
    assert rows(people, f"FROM simdiv{CALL.format(extra_options)}") == expected
    # An end belongs to the bounds, and a NULL is beyond none.
    actual_metrics = metrics(people, ", bounds := {'age': [21, 63]}")
    ages = [r[0] for r in rows(people, "SELECT age FROM t")]
    assert actual_metrics["records"] == sum(age is None or 21 <= age <= 63 for age in ages)


@pytest.mark.not_everyday
def test_drop_duplicates_keeps_one_record_of_each_tuple(people: Any) -> None:
    actual_metrics = metrics(people, ", drop_duplicates := true")
    kinds = Counter(rows(people, "SELECT age, born, sex, disease FROM t"))
    assert actual_metrics["records"] == len(kinds) == 45
    assert actual_metrics["dropped:duplicate"] == 15
    people.execute("CREATE VIEW single AS SELECT DISTINCT age, born, sex, disease FROM t")
    dbanon.declare(people, "single", age="quasi", born="quasi", sex="quasi", disease="sensitive")
    expected = rows(people, "FROM simdiv('single', k := 3, influence := 'weights')")
    assert rows(people, f"FROM simdiv{CALL.format(', drop_duplicates := true')}") == expected
    both = metrics(people, ", drop_duplicates := true, bounds := {'age': [0, 120]}")
    assert (both["dropped:bounds"], both["dropped:duplicate"]) == (1, 15)
    # One record of each person: no person with equal values is lost.
    people.execute("UPDATE t SET person = pid::VARCHAR")
    actual_metrics = metrics(people, ", drop_duplicates := true, person := 'person'")
    assert (actual_metrics["records"], actual_metrics["dropped:duplicate"]) == (60, 0)
    # Other published columns distinguish the records.
    dbanon.declare(people, "t", pid="insensitive")
    extra_options = ", drop_duplicates := true, insensitive := ['pid'], allow_rare := ['pid']"
    assert metrics(people, extra_options)["dropped:duplicate"] == 0


def test_drop_duplicates_keeps_equal_values_of_distinct_text(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT 1 AS age, ['0.0', '-0.0'][1 + i % 2]::DOUBLE AS disease FROM range(8) AS r (i)"
    )
    dbanon.declare(con, "t", age="quasi", disease="sensitive")
    actual_rows = rows(con, "FROM simdiv('t', k := 2, influence := 'weights', drop_duplicates := true)")
    assert len(actual_rows) == 2


def test_too_few_records_within_bounds_raise(people: Any) -> None:
    people.execute("DELETE FROM t WHERE age IS NULL")
    with pytest.raises(duckdb.Error, match="t, within bounds, has no rows"):
        people.execute(f"FROM simdiv{CALL.format(', bounds := ' + str({'age': [900, 901]}))}")
    with pytest.raises(duckdb.Error, match="t, within bounds, has 2 rows"):
        people.execute(f"FROM simdiv{CALL.format(', bounds := ' + str({'age': [23, 23]}))}")


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        ("{'sex': ['a', 'b']}", "bounds does not fit main.t.sex|it is a category"),
        ("{'disease': [1, 2]}", "bounds"),
        ("{'age': [5, 1]}", "bounds must be two values of age"),
        ("{'age': ['x', 'y']}", "bounds must be two values of age"),
        ("{'age': [1]}", "bounds must be"),
        ("{'born': ['1066-10-01', 'yesterday']}", "bounds must be two values of born"),
        ("[1, 2]", "bounds must be"),
    ],
)
def test_invalid_bounds_refused(people: Any, bounds: str, says: str) -> None:
    with pytest.raises(duckdb.Error, match=says):
        people.execute(f"FROM simdiv{CALL.format(', bounds := ' + bounds)}")
    assert rows(people, "SELECT count(*) FROM t") == [(60,)]


def test_hostile_bounds_text_is_not_executed(people: Any) -> None:
    with pytest.raises(duckdb.Error, match="bounds must be two values"):
        people.execute(f"""FROM simdiv{CALL.format(", bounds := {'age': ['1'') ; DROP TABLE t; --', '2']}")}""")
    assert rows(people, "SELECT count(*) FROM t") == [(60,)]


@pytest.mark.not_everyday
def test_materialized_view_keeps_bounds(tmp_path: Path) -> None:
    with dbanon.connect(tmp_path / "c.duckdb") as con:
        con.execute(
            "CREATE TABLE t AS SELECT i AS pid, 20 + i % 20 AS age, 'd' || i % 2 AS disease FROM range(60) AS r (i)"
        )
        con.execute("INSERT INTO t VALUES (900, 500, 'Flu')")
        dbanon.declare(con, "t", age="quasi", disease="sensitive")
        parameters: dict[str, Any] = {
            "k": 3,
            "influence": "weights",
            "drop_duplicates": True,
            "bounds": {"age": [0, 99]},
        }
        release = dbanon.create_release(con, "safe", "simdiv", "t", key="pid", **parameters)
        assert release.records == 20
        con.execute("INSERT INTO t SELECT 1000 + i, 60 + i, 'HIV' FROM range(6) AS r (i)")
        status = con.execute("SELECT status FROM release_status()").fetchall()
        assert status == [("stale",)]
        with pytest.warns(dbanon.DisclosureWarning):
            release = dbanon.refresh_release(con, "safe", mode="recluster", allow_small_differences=True)
        assert release.records == 26
        assert con.execute("SELECT value FROM safe_metrics WHERE metric = 'dropped:bounds'").fetchall() == [(1.0,)]
        query = "SELECT item, value FROM certificate('safe') WHERE section = 'not published'"
        mapping = dict(con.execute(query).fetchall())
        assert (mapping["beyond bounds"], mapping["as duplicates"]) == ("1", "40")
