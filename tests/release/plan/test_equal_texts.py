"""Unchanged values that a DuckDB version orders or returns differently alone and inside a row."""

from __future__ import annotations

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


def test_equal_zoned_times_ordered_by_text(con: Any) -> None:
    con.execute("""CREATE TABLE t AS SELECT 7 AS age, unnest([
        TIMETZ '10:00:00+00', TIMETZ '09:00:00-01', TIMETZ '11:00:00+01']) AS v""")
    rows = con.execute("SELECT v::VARCHAR FROM kacpc('t', k := 3, qi := ['age'], sensitive := ['v'])").fetchall()
    assert rows == sorted(rows), duckdb.__version__
