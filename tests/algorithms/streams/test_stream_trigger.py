"""Streams in which delta limits the number of pending records: the gate, views, and calls of earlier versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest

import dbanon
from dbanon import errors
from dbanon.algorithms import streams
from dbanon.algorithms.streams import StreamState
from dbanon.ledger.streams import DEFAULTS, StreamEntry
from dbanon.udf import stream
from dbanon.views import streaming

CALL: dict[str, Any] = {"k": 3, "delta": 6, "order_by": ["ts"], "qi": ["age"], "sensitive": ["disease"]}
ARGUMENTS = "'events', k := 3, delta := 6, order_by := 'ts', qi := 'age', sensitive := 'disease', reuse_window := 0"


def fill_events(con: Any, first: int, last: int) -> None:
    """Add rows of equal ages, of which two are far from all others and from each other."""
    age = "CASE i WHEN 1 THEN 60 WHEN 2 THEN 90 ELSE 20 + i % 2 END"
    con.execute(f"INSERT INTO events SELECT i, {age}, 'd' || i % 3 FROM range({first}, {last}) AS r (i)")


def new_connection() -> Any:
    con = dbanon.connect()
    con.execute("CREATE TABLE events (ts INTEGER, age INTEGER, disease VARCHAR)")
    return con


def change_results(monkeypatch: pytest.MonkeyPatch, change: Callable[[StreamState], StreamState]) -> None:
    real = streams.find
    monkeypatch.setattr(
        stream.streams, "find", lambda name: replace(real(name), run=lambda *given: change(real(name).run(*given)))
    )


def publish_all_at_last_arrival(state: StreamState) -> StreamState:
    return replace(state, published_at=np.full_like(state.published_at, len(state.published_at)))


def test_gate_limits_pending_records_not_their_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    con = new_connection()
    fill_events(con, 0, 40)
    longest = f"SELECT max(delay) FROM fads({ARGUMENTS})"
    assert con.execute(longest).fetchall()[0][0] > CALL["delta"]
    change_results(monkeypatch, publish_all_at_last_arrival)
    with pytest.raises(duckdb.Error, match=r"delta or more records were pending \(34\)"):
        con.execute(longest)
    con.close()


def test_growing_view_by_size_equals_function_and_flushes(monkeypatch: pytest.MonkeyPatch) -> None:
    con = new_connection()
    streaming.create_stream(con, "safe", "fads", "events", **CALL, reuse_window=0)
    for last in (4, 9, 10, 31):
        fill_events(con, con.execute("SELECT count(*) FROM events").fetchall()[0][0], last)
        assert streaming.refresh_stream(con, "safe").waiting < CALL["delta"]
    streaming.refresh_stream(con, "safe", flush=True)
    columns = "age, disease, class_id, suppressed"
    expected = con.execute(f"SELECT {columns} FROM fads({ARGUMENTS}) ORDER BY ALL").fetchall()
    assert con.execute(f"SELECT {columns} FROM safe ORDER BY ALL").fetchall() == expected
    fill_events(con, 31, 50)
    old_rows = con.execute("FROM safe").fetchall()
    with monkeypatch.context() as patched:
        change_results(patched, lambda state: replace(state, class_ids=np.full_like(state.class_ids, streams.PENDING)))
        with pytest.raises((duckdb.Error, errors.DbanonError), match=r"delta or more records were pending"):
            streaming.refresh_stream(con, "safe")
    assert con.execute("FROM safe").fetchall() == old_rows
    con.close()


@pytest.mark.parametrize(
    ("system", "given", "earlier"),
    [
        ("fads", {"delta": 900}, {"delta": 900, "trigger": "age"}),
        ("faanst", {"DELTA": 900}, {"DELTA": 900, "mu": 500}),
        ("faanst", {"delta": 90, "MU": 20}, {"delta": 90, "MU": 20}),
        ("castle", {"delta": 90}, {"delta": 90}),
    ],
)
def test_stream_of_earlier_version_keeps_its_defaults(
    system: str, given: dict[str, Any], earlier: dict[str, Any]
) -> None:
    call: dict[str, Any] = {"function": system, "source": "t", "schema": "main", "parameters": given}
    entry = StreamEntry("memory", "main", "safe", "active", "t", system, "", call, {}, "", "", ())
    assert entry.parameters == earlier
    assert replace(entry, call=call | {"defaults": DEFAULTS}).parameters == given
