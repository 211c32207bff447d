"""The functions of streams: published rows, arguments, and a gate that refuses faulty results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest

import dbanon
from dbanon import errors
from dbanon.algorithms import streams as stream_algorithms
from dbanon.algorithms.streams import StreamState, streams
from dbanon.udf import stream

NAMES = [system.name for system in streams()]
REFUSED = "release gate refused the result"
ASKED = "qi := ['age', 'sex'], sensitive := 'disease'"


@pytest.fixture
def con() -> Any:
    con = dbanon.connect()
    con.execute(
        "CREATE TABLE visits AS SELECT i AS ts, (i * 37) % 50 + 20 AS age, ['F', 'M'][1 + (i // 3) % 2] AS sex, "
        "'d' || (i * 13) % 7 AS disease, (i * 17) % 80 AS person FROM range(240) r (i)"
    )
    yield con
    con.close()


def call(name: str, extra_arguments: str = "", table: str = "visits") -> str:
    return f"{name}('{table}', k := 4, delta := 40, order_by := 'ts', {ASKED}{extra_arguments})"


@pytest.mark.parametrize(
    "extra_arguments", ["", ", person := 'person', l := 2", ", intervals := 'bounds', suppress := 'drop'"]
)
@pytest.mark.parametrize("name", NAMES)
def test_record_published_once_in_time_with_k_persons(con: Any, name: str, extra_arguments: str) -> None:
    own_query = f"SELECT class_id, arrived_at, published_at, delay, suppressed FROM {call(name, extra_arguments)}"
    rows = con.execute(own_query).fetchall()
    arrived = [row[1] for row in rows]
    assert sorted(arrived) == list(range(1, 241)) or ("drop" in extra_arguments and len(set(arrived)) == len(arrived))
    assert [row[2] for row in rows] == sorted(row[2] for row in rows)
    assert all(0 <= delay == output - came for _, came, output, delay, _ in rows)
    for moment in range(1, 241):
        assert sum(came <= moment < output for _, came, output, _, _ in rows) < 40
    if name != "fads":  # which limits the number of pending records, not their delay
        assert all(delay <= 40 for _, _, _, delay, _ in rows)
    person = {i + 1: (i * 17) % 80 if "person" in extra_arguments else i for i in range(240)}
    for number in {row[0] for row in rows if not row[4]}:
        members = [row for row in rows if row[0] == number]
        first = min(row[2] for row in members)
        assert len({person[row[1]] for row in members if row[2] == first}) >= 4


@pytest.mark.parametrize("name", NAMES)
def test_stream_classes_and_metrics_match_rows(con: Any, name: str) -> None:
    con.execute(f"CREATE TEMP TABLE left_ AS FROM {call(name, ', l := 2')}")
    classes = con.execute(f"SELECT class_id, size FROM {call(name + '_classes', ', l := 2')} ORDER BY ALL").fetchall()
    assert classes == con.execute("SELECT class_id, count(*) FROM left_ GROUP BY ALL ORDER BY ALL").fetchall()
    mapping = dict(con.execute(f"SELECT metric, value FROM {call(name + '_metrics', ', l := 2')}").fetchall())
    expected = con.execute(
        "SELECT count(*), avg(delay), max(delay), avg(suppressed::INTEGER), count(DISTINCT class_id) FROM left_"
    ).fetchone()
    names = ("records", "average_delay", "delay", "suppression", "classes")
    assert [mapping[n] for n in names] == pytest.approx(expected)
    assert mapping["k"] >= 4
    assert mapping["l:disease"] >= 2
    assert 0 <= mapping["average_loss"] <= 1
    assert 0 <= mapping.get("reuse", 0) < 1


def test_stream_output_independent_of_storage_order(con: Any) -> None:
    con.execute("CREATE TABLE shuffled AS FROM visits ORDER BY hash(ts)")
    con.execute("UPDATE visits SET ts = ts // 10")
    con.execute("UPDATE shuffled SET ts = ts // 10")
    first = con.execute(f"FROM {call('fads')}").fetchall()
    assert con.execute(f"FROM {call('fads', table='shuffled')}").fetchall() == first


@pytest.mark.parametrize(
    ("invalid_call", "message"),
    [
        ("fads('visits', k := 4, delta := 3, order_by := 'ts', qi := 'age')", "delta must be at least 4"),
        ("fads('visits', k := 4, delta := 40, qi := 'age')", "order_by is missing"),
        ("fads('visits', k := 4, delta := 40, order_by := 'when', qi := 'age')", "has no column 'when'"),
        ("fads('visits', k := 4, delta := 40, order_by := 'gone', qi := 'age')", "gone has NULLs, but it states"),
        ("fads('visits', k := 4, delta := 40, order_by := 'ts', qi := 'age', l := 2)", "sensitive"),
        ("fads('visits', k := 4, delta := 40, order_by := 'ts', qi := 'age', t := 0.2)", "there is no parameter 't'"),
        ("faanst('visits', k := 4, delta := 40, order_by := 'ts', qi := 'age', mu := 3)", "mu must be at least 4"),
        ("kl_clustering('visits', k := 4, delta := 40, order_by := 'ts', qi := 'age', sensitive := 'disease', l := 5)",
         "l must be at most 4"),
        ("fads('visits', k := 1000, delta := 2000, order_by := 'ts', qi := 'age')", "k must be between 2 and 240"),
    ],
)  # fmt: skip
def test_invalid_stream_call_states_accepted_values(con: Any, invalid_call: str, message: str) -> None:
    con.execute("ALTER TABLE visits ADD COLUMN gone INTEGER")
    with pytest.raises((duckdb.Error, errors.DbanonError), match=message):
        con.execute(f"FROM {invalid_call}").fetchall()


def test_stream_refuses_declared_max_level(con: Any) -> None:
    dbanon.load_hierarchy(con, "sex")
    dbanon.declare(con, "visits", sex={"role": "quasi", "hierarchy": "sex", "max_level": 0})
    with pytest.raises(duckdb.Error, match="a stream cannot guarantee"):
        con.execute("FROM fads('visits', k := 4, delta := 40, order_by := 'ts')").fetchall()


def test_argument_forms_views_and_copies_give_equal_rows(con: Any) -> None:
    options_text = "k=4, delta=40, order_by='ts', qi=['age', 'sex'], sensitive='disease', reuse_window=10"
    expected = con.execute(f"FROM {call('fads', ', reuse_window := 10')}").fetchall()
    con.execute(f"CREATE VIEW later AS SELECT * FROM fads('visits', {options_text})")
    con.execute(f"CREATE TABLE copied AS FROM fads('visits', {options_text})")
    assert con.execute("FROM later").fetchall() == con.execute("FROM copied").fetchall() == expected


def test_stream_columns_may_use_names_of_statement(con: Any) -> None:
    names = ["l", "s", "r", "v", "c", "g", "p", "arrived_at", "published_at", "delay", "suppressed", "source"]
    text = ", ".join(f'ts % 3 AS "{name}"' for name in names)
    con.execute(f"CREATE OR REPLACE TABLE named AS SELECT ts, age, {text} FROM visits")
    asked_text = f"'named', k := 4, delta := 40, order_by := 'ts', qi := 'age', sensitive := {names}"
    columns = [c[0] for c in con.execute(f"FROM castle({asked_text})").description]
    assert columns[: 1 + len(names)] == ["age", *names]
    assert len(set(columns)) == len(columns) == len(names) + 6
    for kind in ("_classes", "_metrics"):
        assert con.execute(f"FROM castle{kind}({asked_text})").fetchall()


# --- the gate ----------------------------------------------------------------------------------------------


def patch_stream_results(monkeypatch: pytest.MonkeyPatch, spoil: Callable[[StreamState], StreamState]) -> None:
    """Change the state that every stream algorithm returns with `spoil`, before it is published."""
    real = stream_algorithms.find

    def find(name: str) -> stream_algorithms.StreamAlgorithm:
        system = real(name)
        return replace(system, run=lambda *given: spoil(system.run(*given)))

    monkeypatch.setattr(stream.streams, "find", find)


def isolate_first_record(state: StreamState) -> StreamState:
    alone = state.class_ids.copy()
    alone[0] = state.class_ids.max() + 1
    return replace(state, class_ids=alone)


def publish_record_after_delta(state: StreamState) -> StreamState:
    return replace(state, published_at=np.where(np.arange(len(state.published_at)) == 0, 200, state.published_at))


def publish_record_before_arrival(state: StreamState) -> StreamState:
    return replace(state, published_at=np.where(np.arange(len(state.published_at)) == 100, 3, state.published_at))


def publish_class_in_two_parts(state: StreamState) -> StreamState:
    """Publish the first class in two parts, of which the first is too small."""
    members = np.flatnonzero(state.class_ids == state.class_ids[0])
    step = state.published_at.copy()
    step[members[1:]] += 1
    return replace(state, published_at=step)


def suppress_last_class(state: StreamState) -> StreamState:
    """Suppress the last class, which breaks no guarantee."""
    return replace(
        state,
        class_ids=np.where(state.class_ids == state.class_ids.max(), stream_algorithms.SUPPRESSED, state.class_ids),
    )


@pytest.mark.parametrize("kind", ["", "_classes", "_metrics"])
@pytest.mark.parametrize(
    "spoil",
    [isolate_first_record, publish_record_after_delta, publish_record_before_arrival, publish_class_in_two_parts],
)
def test_gate_refuses_small_late_or_split_stream_classes(
    con: Any, monkeypatch: pytest.MonkeyPatch, kind: str, spoil: Callable[[StreamState], StreamState]
) -> None:
    patch_stream_results(monkeypatch, spoil)
    by_age = ", trigger := 'age'"
    with pytest.raises(duckdb.Error, match=REFUSED):
        con.execute(f"SELECT count(*) FROM {call('fads' + kind, by_age)}").fetchall()


@pytest.mark.parametrize(
    ("template", "original", "replacement"),
    [
        ("release/streams/pipeline.sql", "'*' ELSE c.{{", "'F' ELSE c.{{"),
        ("release/streams/pipeline.sql", "CASE WHEN l.class_id <> -1 THEN s.{{ u.column }} END", "s.{{ u.column }}"),
        ("release/streams/pipeline.sql", "s.rid AS arrived_at", "s.rid + 1 AS arrived_at"),
        ("release/streams/source.sql", '{{ loop.index }}" ASC NULLS FIRST', '{{ loop.index }}" DESC NULLS FIRST'),
        ("release/plan/span_values.sql", "THEN {{ 'range'|of(q) }}.published\n", "THEN '[20, 21]'\n"),
    ],
)
def test_gate_refuses_untrue_stream_values(
    con: Any, monkeypatch: pytest.MonkeyPatch, template: str, original: str, replacement: str
) -> None:
    from dbanon.sqltext import resources, templates as filling

    real = resources.sql

    def text(path: str) -> str:
        result = real(path)
        assert path != template or original in result
        return result.replace(original, replacement) if path == template else result

    patch_stream_results(monkeypatch, suppress_last_class)
    assert (True,) in con.execute(f"SELECT suppressed FROM {call('fads')}").fetchall()
    filling._templates.cache_clear()
    monkeypatch.setattr(resources, "sql", text)
    monkeypatch.setattr(filling, "_bytecode_cache", lambda: None)
    with pytest.raises(duckdb.Error, match=REFUSED):
        con.execute(f"FROM {call('fads')}").fetchall()
    monkeypatch.undo()
    filling._templates.cache_clear()
