"""Unchanged values that a DuckDB version orders or returns differently alone and inside a row."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import duckdb
import pytest

import dbanon

VALUES = {
    "TIMETZ": ("TIMETZ '10:00:00+00'", "TIMETZ '11:00:00+01'"),
    "DOUBLE": ("'0.0'::DOUBLE", "'-0.0'::DOUBLE"),
    "FLOAT": ("'0.0'::FLOAT", "'-0.0'::FLOAT"),
}
FORMS = {
    "alone": "{}",
    "list": "[{}]",
    "array": "array_value({})",
    "struct": "{{'a': {}}}",
    "map": "MAP {{'a': {}}}",
    "union": "union_value(a := {})",
}
RARE_VALUES = {kind: VALUES[kind] for kind in ("DOUBLE", "FLOAT")} | {
    "INTERVAL": ("INTERVAL '1 month'", "INTERVAL '30 days'")
}
CALLS = (
    "kacpc('t', k := 3, qi := ['age'], insensitive := ['v'], allow_rare := ['v'])",
    "kacpc('t', k := 3, qi := ['age'], sensitive := ['v'])",
    "fads('t', k := 3, delta := 4, order_by := 'age', qi := ['age'], sensitive := ['v'])",
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", VALUES)
def test_equal_values_with_distinct_texts_keep_their_text(con: Any, kind: str, form: str) -> None:
    """One instant in two time zones, and zeros of either sign."""
    first, second = (FORMS[form].format(value) for value in VALUES[kind])
    con.execute(f"""CREATE TABLE t AS SELECT v.v, range::INTEGER AS age FROM range(6)
        JOIN (SELECT unnest([0, 1]) AS i, unnest([{first}, {second}]) AS v) AS v ON v.i = range % 2""")
    texts = Counter(con.execute("SELECT v::VARCHAR FROM t").fetchall())
    assert len(texts) == 2
    for call in CALLS:
        assert Counter(con.execute(f"SELECT v::VARCHAR FROM {call}").fetchall()) == texts
    assert con.execute("SELECT count(*) FROM kacpc_metrics('t', k := 3, qi := ['age'], sensitive := ['v'])").fetchall()
    dbanon.create_release(con, "safe", "kacpc", "t", k=3, qi=["age"], sensitive=["v"])
    assert Counter(con.execute("SELECT v::VARCHAR FROM safe").fetchall()) == texts


@pytest.mark.parametrize("n_rare", [2, 3])
@pytest.mark.parametrize("form", ["alone", "list", "struct"])
@pytest.mark.parametrize("kind", RARE_VALUES)
def test_rare_text_of_equal_insensitive_values_refused(con: Any, kind: str, form: str, n_rare: int) -> None:
    """Readers see -0.0 next to 0.0: published only if each text has k records, by a count of the texts."""
    common, rare = (FORMS[form].format(value) for value in RARE_VALUES[kind])
    con.execute(f"""CREATE TABLE t AS SELECT i % 2 AS age, CASE WHEN i < {n_rare} THEN {rare} ELSE {common} END AS v
        FROM range(9) AS r (i)""")
    texts = Counter(con.execute("SELECT v::VARCHAR FROM t").fetchall())
    assert sorted(texts.values()) == [n_rare, 9 - n_rare]
    call = "FROM kacpc('t', k := 3, qi := ['age'], insensitive := ['v'])"
    if min(texts.values()) < 3:
        with pytest.raises(duckdb.Error, match="1 of its values belongs to fewer than k = 3"):
            con.execute(call).fetchall()
    else:
        assert Counter(con.execute(f"SELECT v::VARCHAR FROM ({call})").fetchall()) == texts


@pytest.mark.parametrize("kind", RARE_VALUES)
def test_risks_count_texts_that_readers_see(con: Any, kind: str) -> None:
    """Metrics, `risk` and the certificate: one record alone has its text."""
    common, rare = RARE_VALUES[kind]
    con.execute(f"""CREATE TABLE t AS SELECT i % 2 AS age, CASE WHEN i = 0 THEN {rare} ELSE {common} END AS v
        FROM range(12) AS r (i)""")
    dbanon.create_release(con, "safe", "kacpc", "t", k=4, qi=["age"], sensitive=["v"])
    rows = con.execute("SELECT age, v::VARCHAR FROM safe").fetchall()
    smallest_group, n_unique = min(Counter(rows).values()), list(Counter(v for _, v in rows).values()).count(1)
    assert (smallest_group, n_unique) == (1, 1)
    metrics = dict(con.execute("SELECT metric, value FROM safe_metrics").fetchall())
    assert (metrics["k_full_record"], metrics["unique_by_unchanged_columns"]) == (smallest_group, n_unique)
    assert con.execute("SELECT value FROM risk('safe', source := 't') WHERE name = 'k_full_record'").fetchall() == [
        (1,)
    ]
    text = str(dbanon.certificate(con, "safe"))
    assert f"smallest group by everything published: {smallest_group}" in text
    assert f"records unique by all unchanged columns: {n_unique}" in text


def test_rare_text_of_equal_values_after_suppression_refused(con: Any) -> None:
    """Of three records with -0.0, suppression removes one."""
    con.execute("""CREATE TABLE t AS SELECT CASE WHEN i = 0 THEN 90000 ELSE 20 + i % 3 END AS age,
        CASE WHEN i < 3 THEN '-0.0' ELSE '0.0' END::DOUBLE AS v FROM range(20) AS r (i)""")
    with pytest.raises(duckdb.Error, match="suppressed outliers, 1 of its values belongs to fewer than k = 3"):
        con.execute("FROM kacpc('t', k := 3, qi := ['age'], insensitive := ['v'], suppress := 0.1)").fetchall()


def test_rare_text_of_equal_values_deferred_by_hold(con: Any) -> None:
    con.execute("CREATE TABLE t (pid INTEGER PRIMARY KEY, age INTEGER, v INTERVAL)")
    con.execute("INSERT INTO t SELECT i, 20 + i, INTERVAL '1 month' FROM range(10) AS r (i)")
    dbanon.declare(con, "t", pid="identifier", age="quasi", v="insensitive")
    dbanon.create_release(con, "safe", "kacpc", "t", k=5)
    con.execute("INSERT INTO t SELECT 100 + i, 40 + i, INTERVAL '1 month' FROM range(5) AS r (i)")
    con.execute("INSERT INTO t SELECT 200 + i, 40 + i, INTERVAL '30 days' FROM range(3) AS r (i)")
    release = dbanon.refresh_release(con, "safe", mode="hold")
    assert (release.records, release.waiting) == (15, 3)
    assert con.execute("SELECT DISTINCT v::VARCHAR FROM safe").fetchall() == [("1 month",)]


def test_rare_text_of_equal_values_in_linked_rows_refused(con: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each text has k persons; only one person has both texts."""
    monkeypatch.setenv("DBANON_KEY", hashlib.sha256(b"a key of this test").hexdigest())
    con.execute("""CREATE TABLE t AS SELECT i AS pid, 7 AS age,
        CASE WHEN i < 4 OR (i = 9 AND j = 0) THEN '30 days' ELSE '1 month' END::INTERVAL AS v
        FROM range(10) AS r (i), range(2) AS s (j)""")
    dbanon.declare(con, "t", pid="pseudonym", age="quasi", v="insensitive")
    with pytest.raises(duckdb.Error, match="the linked rows of 1 person of t have combined values"):
        con.execute("FROM mondrian('t', k := 3)").fetchall()
    con.execute("DELETE FROM t WHERE pid = 9")
    texts = con.execute("SELECT v::VARCHAR FROM mondrian('t', k := 3)").fetchall()
    assert Counter(texts) == {("1 month",): 10, ("30 days",): 8}


def test_equal_zoned_times_ordered_by_text(con: Any) -> None:
    con.execute("""CREATE TABLE t AS SELECT 7 AS age, unnest([
        TIMETZ '10:00:00+00', TIMETZ '09:00:00-01', TIMETZ '11:00:00+01']) AS v""")
    rows = con.execute("SELECT v::VARCHAR FROM kacpc('t', k := 3, qi := ['age'], sensitive := ['v'])").fetchall()
    assert rows == sorted(rows), duckdb.__version__
