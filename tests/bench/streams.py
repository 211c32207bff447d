"""Streams: Adult record by record, every stream algorithm compared with FADS, and statements with GROUP BY."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

from tests.bench import apart
from tests.bench.apart import Clock, row, table

SETTINGS: dict[str, dict[str, int]] = {
    "k = 10, delta = 1,000": {"k": 10, "delta": 1_000},
    "k = 100, delta = 10,000, beta = 50": {"k": 100, "delta": 10_000, "beta": 50},
}
"""The usual setting, and that of the papers."""

BASELINE = "fads"


def measure(setting: str, rows: int | None) -> dict[str, Any]:
    """Yield CPU seconds of clustering alone and of the statement, and metrics, by stream algorithm.

    With `rows`, Adult is resampled.
    """
    import duckdb

    import dbanon
    from dbanon.algorithms.streams import registry, streams
    from tests.bench import data

    con = dbanon.attach(duckdb.connect())
    quasi = ", ".join(f'"{c}"' for c in data.load(con, data.adult(rows)))
    con.execute("CREATE TABLE events AS SELECT *, rowid AS ts FROM t")
    con.execute("INSERT INTO dbanon.policy BY NAME SELECT * REPLACE ('events' AS table_name) FROM dbanon.policy")
    grouped = f"SELECT count(*) FROM (SELECT {quasi}, count(*) FROM events GROUP BY ALL)"
    con.execute(grouped).fetchall()
    clock = Clock()
    con.execute(grouped).fetchall()
    mapping: dict[str, Any] = {"records": con.execute("SELECT count(*) FROM events").fetchall()[0][0]}
    mapping["GROUP BY"], mapping["systems"] = clock.read()[1], {}
    for system in streams():
        dbanon.warmup([system.name])
        spent = [0.0]

        def run(*given: Any, real: Any = system.run, spent: list[float] = spent) -> Any:
            began = time.process_time()
            state = real(*given)
            spent[0] = time.process_time() - began
            return state

        registry._REGISTRY[system.name] = replace(system, run=run)
        own_names = {p.name for p in system.parameters}
        text = ", ".join(f"{name} := {value}" for name, value in SETTINGS[setting].items() if name in own_names)
        call = f"('events', {text}, order_by := 'ts')"
        clock = Clock()
        con.execute(f"CREATE OR REPLACE TABLE safe AS FROM {system.name}{call}")
        statement = clock.read()[1]
        measures = dict(con.execute(f"SELECT metric, value FROM {system.name}_metrics{call}").fetchall())
        wanted = ("average_loss", "average_delay", "suppression")
        mapping["systems"][system.name] = [spent[0], statement, *(measures[name] for name in wanted)]
    con.close()
    return mapping


def report(as_json: bool, rows: int | None = None) -> None:
    """Print one row per stream algorithm and setting."""
    for setting in SETTINGS:
        result = apart.run(measure, setting=setting, rows=rows)
        if as_json:
            print(json.dumps({"setting": setting, **result}))
            continue
        records, grouped = result["records"], result["GROUP BY"]
        print(f"\nStreams: Adult, {records:,} records one by one, {setting}\n")
        print(table("system", "records / s", "time / FADS", "statement / GROUP BY", "loss", "delay", "left out"))
        baseline = result["systems"][BASELINE][0]
        for name, (alone, statement, loss, delay, out) in sorted(result["systems"].items(), key=lambda of: of[1][0]):
            speed = round(records / max(alone, 1e-6))
            print(row(name, speed, alone / baseline, round(statement / grouped), loss, round(delay), out), flush=True)
