"""IDEA, K-VARP and IoT anonymity compared with plain loops, in any split into calls, and with traced streams."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest
from oracle.stream_incomplete import ByPattern, Idea
from support.streams import assert_equal_states, random_arrivals, random_cuts, refuse_broken, resume_at_cuts

import dbanon
from dbanon.algorithms.streams import Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.encoding.encoded_table import NumericAttribute

NAMES = ("idea", "k_varp", "iot_anonymity")
SYSTEMS = pytest.mark.parametrize("name", NAMES)


def run(
    name: str,
    came: Arrivals,
    model: StreamModel,
    options: dict[str, Any],
    initial_state: StreamState | None = None,
    ends: bool = True,
) -> StreamState:
    return find(name).run(came, model, options, lambda: None, initial_state, ends)


def plain_algorithm(name: str, came: Arrivals, model: StreamModel, options: dict[str, Any]) -> Idea | ByPattern:
    if name == "idea":
        return Idea(came, model.k, model.min_values, **options)
    return ByPattern(came, model.k, model.min_values, **options, by_size=name == "iot_anonymity")


def case(seed: int, name: str) -> tuple[Arrivals, StreamModel, dict[str, Any]]:
    """Return a random stream, its model and the options of the algorithm `name`.

    Covers NULLs, persons with several records, sensitive columns, one attribute, few or constant values, short streams,
    and a delta close to k.
    """
    random = np.random.default_rng(seed)
    sensitive = int(random.integers(0, 3))
    came = random_arrivals(
        seed,
        int(random.integers(1, 120)),
        nulls=bool(seed % 4),
        persons=bool(seed % 3),
        sensitive=sensitive,
        values=1 if seed % 11 == 0 else int(random.integers(1, 8)),
        attributes_used=slice(0, 1) if seed % 7 == 0 else slice(None),
    )
    if seed % 2:  # some records lack most attributes
        came.values[random.random(came.values.shape) < 0.4] = np.nan
    model = StreamModel(int(random.integers(2, 6)), (2,) * sensitive)
    delta = model.k + int(random.integers(0, 4 if seed % 5 == 0 else 40))
    options: dict[str, Any] = {"delta": delta, "max_stored_classes": int(random.choice([0, 1, 4, 100]))}
    if name == "idea":
        options["theta"] = float(random.choice([0.0, 0.2, 0.5, 1.0]))
    if name == "iot_anonymity":
        options["max_stored_classes"] = 0
    return came, model, options


@pytest.mark.all_cases
@SYSTEMS
def test_incomplete_streams_equal_plain_loops_within_delta(name: str) -> None:
    joined_number = 0
    for seed in range(250):
        came, model, options = case(seed, name)
        remaining, loop = run(name, came, model, options), plain_algorithm(name, came, model, options)
        assert (remaining.class_ids.tolist(), remaining.published_at.tolist()) == (loop.out, loop.step), seed
        assert [
            list(zip(*c, strict=True)) for c in zip(remaining.lows.tolist(), remaining.highs.tolist(), strict=True)
        ] == (loop.classes), seed
        assert remaining.reusable.tolist() == loop.kept, seed
        refuse_broken(came, model, remaining, options["delta"], allow_null_in_class=find(name).maybe)
        joined_number += int((remaining.class_ids >= 0).sum())
    assert joined_number > 3000


@SYSTEMS
def test_incomplete_streams_independent_of_batching(name: str) -> None:
    for seed in range(150):
        came, model, options = case(seed, name)
        cuts = random_cuts(seed, came.n_records)

        def run_with_state(
            arrivals: Arrivals,
            initial_state: StreamState | None,
            ends: bool,
            model: StreamModel = model,
            options: dict[str, Any] = options,
        ) -> StreamState:
            return run(name, arrivals, model, options, initial_state, ends)

        assert_equal_states(
            resume_at_cuts(came, run_with_state, cuts, find(name).state_layout.by_record),
            run(name, came, model, options),
        )


def two_number_arrivals(rows: list[tuple[int, int]]) -> Arrivals:
    """Return records of two numbers from 0 to 9, one person per record; 10 stands for NULL."""
    numbers = [NumericAttribute(np.arange(10.0), integral=True), NumericAttribute(np.arange(10.0), integral=True)]
    return build_arrivals(numbers, np.array(rows, np.int32), None, np.zeros((len(rows), 0), np.int64))


def test_idea_equals_hand_traced_stream() -> None:
    """k = 2, delta = 3; 0 to 8 and 0 to 8 have been seen when the first is due, so each attribute counts half.

    (0, 0) is due at 3. (8, 8) has both attributes and is far in both: 1 - 1 = 0. (0, -) has one, at no distance: 0.5.
    So these are published as (0, 0); the second has no value of the second attribute. At 5 (8, 8) is due, and no
    pending record is close to it: for (-, 1) and (2, 2) the similarity is 0.5 - 0.5 * 7 / 8 = 0.0625 and 1 - 2 * 0.5 *
    6 / 8 = 0.25; with (2, 2) it is published as (2-8, 2-8), which loses 0.75, no less than theta, so it is not stored.
    At 6 all are published: (-, 1) may not be (0, 0), and with (3, 1) it is (3, 1), which loses nothing.
    """
    came = two_number_arrivals([(0, 0), (8, 8), (0, 10), (10, 1), (2, 2), (3, 1)])
    remaining = run("idea", came, StreamModel(2), {"delta": 4, "theta": 0.5, "max_stored_classes": 5})
    assert remaining.class_ids.tolist() == [0, 1, 0, 2, 1, 2]
    assert remaining.published_at.tolist() == [4, 5, 4, 6, 5, 6]
    assert remaining.lows.tolist() == [[0, 0], [2, 2], [3, 1]]
    assert remaining.highs.tolist() == [[0, 0], [8, 8], [3, 1]]
    assert remaining.reusable.tolist() == [0, 2]


def test_k_varp_equals_hand_traced_stream() -> None:
    """k = 2, delta = 4; patterns of missing values are merged.

    (0, 0) is due at 4, alone with its pattern. Of (1, -) and (-, 0), both half similar, the older is merged: (0-1, *).
    At 6 (-, 0) is due and is published with (-, 1): (NULL, 0-1) is stored. Then the stream ends, and (-, 2) is alone:
    only (5, 5) is pending, half similar: (*, 2-5).
    """
    came = two_number_arrivals([(0, 0), (1, 10), (10, 0), (10, 2), (5, 5), (10, 1)])
    remaining = run("k_varp", came, StreamModel(2), {"delta": 4, "max_stored_classes": 5})
    assert remaining.class_ids.tolist() == [0, 0, 1, 2, 2, 1]
    assert remaining.published_at.tolist() == [4, 4, 6, 6, 6, 6]
    assert remaining.lows.tolist() == [[0, -np.inf], [np.inf, 0], [-np.inf, 2]]
    assert remaining.highs.tolist() == [[1, np.inf], [-np.inf, 1], [np.inf, 5]]
    assert remaining.reusable.tolist() == [1]


def test_iot_anonymity_merges_largest_partition() -> None:
    """(0, 0) is due at 4: (1, -) is older, but there are two of (-, 0)."""
    came = two_number_arrivals([(0, 0), (1, 10), (10, 0), (10, 2), (5, 10)])
    remaining = run("iot_anonymity", came, StreamModel(2), {"delta": 4})
    assert remaining.class_ids.tolist()[:4] == [0, 1, 0, -1]


@pytest.fixture(scope="module")
def con() -> Any:
    con = dbanon.attach(duckdb.connect())
    con.execute(
        "CREATE TABLE events AS SELECT i AS ts, CASE WHEN i % 5 <> 0 THEN 20 + i * 7 % 30 END AS age, "
        "CASE WHEN i % 7 > 1 THEN ['Oslo', 'Rome', 'Bern'][1 + i % 3] END AS city, i % 4 AS disease "
        "FROM range(300) AS r (i)"
    )
    return con


CALL = "'events', k := 4, delta := 40, order_by := 'ts', qi := ['age', 'city'], sensitive := 'disease'"


@SYSTEMS
@pytest.mark.parametrize("form", ["text", "bounds"])
def test_incomplete_streams_in_sql_meet_k_and_delta(con: Any, name: str, form: str) -> None:
    call = f"{CALL}, l := 2, intervals := '{form}'"
    rows = con.execute(f"SELECT count(*), count(class_id) FROM {name}({call})").fetchall()
    assert rows[0][0] == 300
    assert rows[0][1] > 250
    measures = dict(con.execute(f"SELECT metric, value FROM {name}_metrics({call})").fetchall())
    assert measures["k"] >= 4
    assert measures["delay"] <= 40
    assert con.execute(f"SELECT sum(size) FROM {name}_classes({call})").fetchall() == [(300,)]


def test_maybe_match_publishes_known_value_over_null(con: Any) -> None:
    shown_row = con.execute(f"SELECT count(*) FILTER (WHERE age IS NULL), count(*) FROM idea({CALL})").fetchall()[0]
    lacking = con.execute("SELECT count(*) FROM events WHERE age IS NULL").fetchall()[0][0]
    assert shown_row[0] < lacking / 2
    plainly = con.execute(f"SELECT count(*) FILTER (WHERE age = '*') FROM k_varp({CALL})").fetchall()[0][0]
    assert con.execute(f"SELECT count(*) FILTER (WHERE age = '*') FROM idea({CALL})").fetchall()[0][0] <= plainly


def test_gate_refuses_value_no_one_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class of records that all lack a value, published as if one had it."""
    from dbanon.sqltext import resources, templates as filling

    con = dbanon.attach(duckdb.connect())
    con.execute(
        "CREATE TABLE events AS SELECT i AS ts, CASE WHEN i > 8 THEN 30 END AS age, i AS d FROM range(20) AS r (i)"
    )
    call = "idea('events', k := 4, delta := 5, order_by := 'ts', qi := 'age', sensitive := 'd')"
    assert con.execute(f"SELECT DISTINCT age FROM {call} WHERE class_id = 1").fetchall() == [(None,)]
    real, was = resources.sql, "WHEN {{ is_star(sql('x.'), q) }} THEN '*' END AS {{ 'published'|of(q) }}"

    def text(path: str) -> str:
        result = real(path)
        assert path != "release/plan/span_values.sql" or was in result
        return result.replace(was, was.replace("THEN '*' END", "THEN '*' ELSE '31' END"))

    filling._templates.cache_clear()
    monkeypatch.setattr(resources, "sql", text)
    monkeypatch.setattr(filling, "_bytecode_cache", lambda: None)
    with pytest.raises(duckdb.Error, match="the release gate refused the result: published values that do not cover"):
        con.execute(f"FROM {call}").fetchall()
    monkeypatch.undo()
    filling._templates.cache_clear()
