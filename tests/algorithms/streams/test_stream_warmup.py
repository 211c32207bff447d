"""`dbanon warmup` compiles every kernel that functions of streams and stream views call."""

from __future__ import annotations

import warnings
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.algorithms.streams import streams
from dbanon.kernels import compile_events
from dbanon.views import streaming


@pytest.fixture(scope="module")
def con() -> Any:
    con = dbanon.attach(duckdb.connect())
    con.execute(
        "CREATE TABLE events AS SELECT i AS ts, i // 2 AS p, CASE WHEN i % 9 > 0 THEN i % 7 END AS a, "
        "'c' || i % 5 AS c, 'd' || i % 4 AS d FROM range(300) AS r (i)"
    )
    return con


@pytest.mark.parametrize("system", [system.name for system in streams()])
def test_stream_call_after_warmup_compiles_nothing(con: Any, system: str) -> None:
    dbanon.warmup([system])
    compiled: list[str] = []
    shared = {"k": 4, "delta": 40, "order_by": "ts", "qi": ["a", "c"]}
    calls = [{}, {"sensitive": ["d"]}, {"sensitive": ["d"], "l": 2, "person": "p"}]
    with compile_events.listen(compiled.append):
        for number, extra in enumerate(calls):
            if not extra and system in ("puri_haritha",):  # this one needs sensitive values
                continue
            call = shared | extra
            text = ", ".join(f"{name} := {value!r}" for name, value in call.items())
            con.execute(f"FROM {system}('events', {text})").fetchall()
            name = f"{system}_{number}"
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", dbanon.DisclosureWarning)
                streaming.create_stream(con, name, system, "events", **call)
            con.execute("INSERT INTO events FROM events LIMIT 60")
            streaming.refresh_stream(con, name)
    assert compiled == []
