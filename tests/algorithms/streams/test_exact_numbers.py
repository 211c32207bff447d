"""Streams of numbers that a DOUBLE does not distinguish: published intervals cover their values and no more."""

from __future__ import annotations

import io
import random
import sys
from typing import Any

import duckdb
import numpy as np
import pytest

import dbanon
from dbanon.algorithms.streams import streams
from dbanon.views import streaming

SYSTEMS = {system.name: system for system in streams()}
CALL: dict[str, Any] = {
    "k": 3, "delta": 9, "order_by": ["r"], "qi": ["a", "b"], "sensitive": ["x"], "intervals": "bounds"
}  # fmt: skip

KINDS = {
    # Type and SQL of the value of a small integer i.
    "BIGINT": ("BIGINT", "-9223372036854775808 + (i + 500)"),
    "UBIGINT": ("UBIGINT", "18446744073709551615::UBIGINT - (i + 500)::UBIGINT"),
    "HUGEINT": ("HUGEINT", "-170141183460469231731687303715884105727::HUGEINT + (i + 500)"),
    "HUGEINT of both signs": ("HUGEINT", "CASE WHEN i % 2 = 0 THEN 1 ELSE -1 END * (9007199254740992::HUGEINT + i)"),
    "UHUGEINT": ("UHUGEINT", "340282366920938463463374607431768211455::UHUGEINT - (i + 500)::UHUGEINT"),
    "DECIMAL": ("DECIMAL(38,3)", "99999999999999999999999.000::DECIMAL(38,3) + i * 0.001::DECIMAL(38,3)"),
    "TIMESTAMP": ("TIMESTAMP", "TIMESTAMP '9999-12-31 23:00:00' + to_microseconds(i)"),
    "TIMESTAMP_NS": ("TIMESTAMP_NS", "make_timestamp_ns(1700000000000000000 + i)"),
    "DOUBLE": ("DOUBLE", "i * 5e-324"),
    "small and large": ("BIGINT", "CASE WHEN i < 0 THEN i ELSE 9223372036854775000 + i END"),
}


def connection(kind: str) -> Any:
    con = dbanon.connect()
    con.execute(f"CREATE TABLE t (r INTEGER, a {KINDS[kind][0]}, b INTEGER, x VARCHAR)")
    return con


def insert(con: Any, kind: str, seed: int, first: int, last: int) -> None:
    """Insert the records `first` to `last`; some have no value."""
    rng = random.Random(seed)
    values = [(r, rng.choice([None, *range(-12, 400)] if r > 9 else [r, -r]), rng.randrange(4)) for r in range(last)]
    rows = ", ".join(f"({r}, {'NULL' if i is None else i}, {b})" for r, i, b in values[first:])
    con.execute(f"INSERT INTO t SELECT r, {KINDS[kind][1]}, b, 'x' || r FROM (VALUES {rows}) AS v (r, i, b)")


def published_rows(con: Any, query: str) -> list[tuple[Any, ...]]:
    """Return the published rows without the class numbers."""
    con.execute(f"CREATE OR REPLACE TABLE result AS SELECT * EXCLUDE (class_id) FROM {query}")
    return sorted(con.execute("SELECT COLUMNS(*)::VARCHAR FROM result").fetchall(), key=repr)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_stream_view_equals_function_for_exact_numbers(system: str, kind: str) -> None:
    con, seed = connection(kind), len(system) + len(kind)
    call = {**CALL, "intervals": ["bounds", "text"][seed % 2]}
    insert(con, kind, seed, 0, 30)
    streaming.create_stream(con, "s", system, "t", **call)
    for first in (30, 55, 70):
        insert(con, kind, seed, first, first + {30: 25, 55: 15, 70: 20}[first])
        streaming.refresh_stream(con, "s", flush=first == 70)
    arguments = ", ".join(f"{name} := {value!r}" for name, value in call.items())
    expected = published_rows(
        con, f"(SELECT * EXCLUDE (arrived_at, published_at, delay) FROM {system}('t', {arguments}))"
    )
    assert published_rows(con, "s") == expected
    if call["intervals"] == "bounds" and not SYSTEMS[system].maybe:
        check_covered(con, "s")
    con.close()


def check_covered(con: Any, view: str) -> None:
    """Assert that each published interval covers the value of its record; intervals of times end with whole days."""
    low, high = (f"s.a_{end}" for end in ("min", "max"))
    (ends,) = con.execute(f"SELECT any_value(typeof(a_min)) FROM {view}").fetchone()
    value = "CAST(t.a AS DATE)" if ends == "DATE" else "t.a"
    query = f"FROM {view} AS s JOIN t ON t.x = s.x WHERE {low} IS NOT NULL AND {value} NOT BETWEEN {low} AND {high}"
    assert con.execute(f"SELECT count(*) {query}").fetchone() == (0,)


def test_k_varp_suppresses_record_outside_class_interval() -> None:
    con = dbanon.connect()
    con.execute("CREATE TABLE b (r INTEGER, a BIGINT)")
    minimum = -9223372036854775808
    con.execute("INSERT INTO b VALUES (1, ?), (2, ?), (3, ?)", [minimum + 21, minimum + 29, minimum + 14])
    call = "k_varp('b', k := 3, order_by := 'r', delta := 3, qi := ['a'], insensitive := ['r'], allow_rare := ['r'])"
    con.execute(f"CREATE STREAMING ANONYMIZED VIEW s AS SELECT * FROM {call}")
    con.execute("INSERT INTO b VALUES (4, ?), (5, ?)", [minimum + 13, minimum + 11])
    expected = [(r, f"[{minimum + 14}, {minimum + 29}]" if r < 4 else "*") for r in range(1, 6)]
    assert con.execute(f"SELECT coalesce(r, arrived_at), a FROM {call} ORDER BY arrived_at").fetchall() == expected
    con.execute("REFRESH STREAMING ANONYMIZED VIEW s WITH (flush = true)")
    assert con.execute("SELECT DISTINCT a FROM s WHERE class_id IS NOT NULL").fetchall() == [(expected[0][1],)]
    con.close()


def test_gate_refuses_interval_beyond_arrived_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers with the same position count as one value, as in earlier versions."""
    con = dbanon.connect()
    con.execute("CREATE TABLE b (r INTEGER, a BIGINT)")
    con.execute("INSERT INTO b SELECT i, -9223372036854775779 - (i * 5 % 18) FROM range(1, 6) AS v (i)")
    monkeypatch.setattr(sys.modules["dbanon.algorithms.streams.arrivals"], "needed_scale", lambda attribute: None)
    with pytest.raises(duckdb.Error, match="reach beyond what had arrived"):
        con.execute("FROM k_varp('b', k := 3, order_by := 'r', delta := 3, qi := ['a'])").fetchall()
    con.close()


@pytest.mark.parametrize("system", ["castle", "fads", "swaf", "ubdsa"])
def test_stream_state_of_earlier_version_is_resumed(system: str) -> None:
    """Its classes have positions instead of exact values; they cover less than the published intervals, never more."""
    con = connection("BIGINT")
    insert(con, "BIGINT", 3, 0, 40)
    streaming.create_stream(con, "s", system, "t", **CALL)
    (state,) = con.execute("SELECT state FROM dbanon.stream").fetchone()
    with np.load(io.BytesIO(state)) as arrays:
        put = dict(arrays)
    places = put.pop("places 0")
    put.pop("keys 0")
    for name in ("lows", "highs", "own open_lows", "own open_highs", "own low", "own high"):
        if name in put:
            is_number = np.isfinite(put[name][:, 0])
            put[name][is_number, 0] = places[put[name][is_number, 0].astype(int)]
    put["seen"][0] = places[put["seen"][0].astype(int)]
    if "own cut" in put:
        is_number = (put["own shape"][:, 2] == 1) & (put["own shape"][:, 1] == 0)
        put["own cut"][is_number] = places[put["own cut"][is_number].astype(int)]
    file = io.BytesIO()
    np.savez_compressed(file, **put)  # type: ignore[arg-type]
    con.execute("UPDATE dbanon.stream SET state = ?", [file.getvalue()])
    for first in (40, 60):
        insert(con, "BIGINT", 3, first, first + 20)
        assert streaming.refresh_stream(con, "s", flush=first == 60).read == 20
    check_covered(con, "s")
    con.close()


PUBLISHED_AS: dict[str, tuple[str, str, dict[str, Any]]] = {
    # Type, SQL of the value of i from -200 to 199, and its published form.
    "whole": ("INTEGER", "i", {}),
    "whole on a grid": ("INTEGER", "i", {"rounding": {"a": 7}}),
    "whole on a grid between limits": ("INTEGER", "i", {"rounding": {"a": 10}, "top": {"a": 95}, "bottom": {"a": -33}}),
    "largest on a grid": ("BIGINT", "9223372036854775607 + (i + 200) % 200", {"rounding": {"a": 1000}}),
    "unsigned on a grid": ("UTINYINT", "(i + 200) % 200", {"rounding": {"a": 50}}),
    "limits": ("SMALLINT", "i", {"top": {"a": 50}, "bottom": {"a": 20}}),
    "decimal on a grid": ("DECIMAL(9,2)", "i / 8", {"rounding": {"a": 2.5}}),
    "decimal multiples": ("DECIMAL(9,1)", "i", {"rounding": {"a": 5}, "top": {"a": 61}}),
    "floating": ("DOUBLE", "i / 7", {}),
    "floating on a grid": ("DOUBLE", "i / 7", {"rounding": {"a": 0.3}}),
    "large floating on a grid": ("FLOAT", "i * 1e30", {"rounding": {"a": 0.1}}),
    "day": ("DATE", "DATE '2000-01-01' + i", {}),
    "week": ("DATE", "DATE '2000-01-01' + i", {"rounding": {"a": "week"}}),
    "month": ("DATE", "DATE '2000-01-31' + i", {"rounding": {"a": "month"}, "top": {"a": "2000-05-17"}}),
    "quarter": ("TIMESTAMP", "TIMESTAMP '2000-01-31 23:59:59' + to_hours(i * 50)", {"rounding": {"a": "quarter"}}),
    "year": ("DATE", "DATE '1900-12-31' + i * 200", {"rounding": {"a": "year"}, "bottom": {"a": "1850-07-01"}}),
    "decade": ("DATE", "DATE '0009-12-31' + i * 900", {"rounding": {"a": "decade"}}),
    "century": ("TIMESTAMPTZ", "to_timestamp(i * 1e8)", {"rounding": {"a": "century"}}),
    "instant": ("TIMESTAMP_NS", "make_timestamp_ns(1700000000000000000 + i * 7919)", {}),
    "time": ("TIME", "TIME '12:00:00' + to_seconds(i * 60)", {}),
}


@pytest.mark.parametrize("intervals", ["text", "bounds", "struct"])
@pytest.mark.parametrize("case", PUBLISHED_AS)
def test_gate_passes_grids_and_limits(case: str, intervals: str) -> None:
    con, (kind, value, call) = dbanon.connect(), PUBLISHED_AS[case]
    con.execute(f"CREATE TABLE t (r INTEGER, a {kind}, x VARCHAR)")
    rng = random.Random(case)
    rows = ", ".join(f"({r}, {rng.randrange(-200, 200)})" for r in range(60))
    value = f"CASE WHEN r % 11 > 0 THEN {value} END"
    con.execute(f"INSERT INTO t SELECT r, {value}, 'x' || r % 5 FROM (VALUES {rows}) AS v (r, i)")
    parameters = {
        "k": 3,
        "delta": 12,
        "order_by": ["r"],
        "qi": ["a"],
        "sensitive": ["x"],
        "intervals": intervals,
        **call,
    }
    arguments = ", ".join(f"{name} := {argument!r}" for name, argument in parameters.items())
    for system in ("fads", "swaf", "k_varp"):
        rows = con.execute(f"FROM {system}('t', {arguments})").fetchall()
        assert len(rows) == 60
    streaming.create_stream(con, "s", "castle", "t", **parameters)
    streaming.refresh_stream(con, "s", flush=True)
    con.close()
