"""FADS compared with its plain loop, in any split into calls, and with a stream traced by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from oracle.stream_fads import Fads
from support.streams import check_cuts, check_plain_loop, random_arrivals, refuse_broken

from dbanon.algorithms.streams import SUPPRESSED, Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.encoding.encoded_table import NumericAttribute
from dbanon.kernels.streams.nearest import BATCH_RECORDS

Options = dict[str, Any]


def run(
    came: Arrivals, model: StreamModel, options: Options, initial_state: StreamState | None = None, ends: bool = True
) -> StreamState:
    return find("fads").run(came, model, options, lambda: None, initial_state, ends)


def case(seed: int) -> tuple[Arrivals, StreamModel, Options]:
    """Return a random stream, its model and the options of the algorithm.

    Covers NULLs, persons with several records, sensitive columns, one attribute, few or constant values, short streams,
    and a delta close to k.
    """
    random = np.random.default_rng(seed)
    sensitive = int(random.integers(0, 3))
    came = random_arrivals(
        seed,
        int(random.integers(1, 120)),
        nulls=bool(seed % 2),
        persons=bool(seed % 3),
        sensitive=sensitive,
        values=1 if seed % 11 == 0 else int(random.integers(1, 30)),
        attributes_used=slice(0, 1) if seed % 7 == 0 else slice(None),
    )
    model = StreamModel(int(random.integers(2, 6)), (2,) * sensitive)
    delta = model.k + int(random.integers(0, 4 if seed % 5 == 0 else 50))
    trigger = ("size", "age")[seed % 2]
    return came, model, {"delta": delta, "reuse_window": int(random.choice([0, 1, 5, 30, 1000])), "trigger": trigger}


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(3))
def test_fads_equals_plain_loop_and_meets_k_l_delta(part: int) -> None:
    for seed in range(part, 400, 3):
        came, model, options = case(seed)
        remaining = run(came, model, options)
        plain_fads = Fads(came, model.k, model.min_values, **options)
        check_plain_loop(remaining, plain_fads, seed)
        assert remaining.made_at.tolist() == plain_fads.born, seed
        refuse_broken(came, model, remaining, options["delta"], limits_pending=options["trigger"] == "size")


def test_fads_with_pending_beyond_batch_equals_plain_loop() -> None:
    came = random_arrivals(5, 700, nulls=True, persons=True, values=200)
    for trigger in ("size", "age"):
        options = {"delta": BATCH_RECORDS + 130, "reuse_window": 50, "trigger": trigger}
        remaining, plain_fads = run(came, StreamModel(5), options), Fads(came, 5, (), **options)
        assert (remaining.class_ids.tolist(), remaining.published_at.tolist()) == (plain_fads.out, plain_fads.step)


def test_fads_result_independent_of_batching() -> None:
    for seed in range(200):
        check_cuts("fads", run, seed, *case(seed))


def test_fads_equals_hand_traced_stream() -> None:
    """k = 2, delta = 3 by age, reuse_window = 4, one number.

    1: 0; 2: 4; 3: 1, and the 0 is due: with the 1 it is class 0, 0-1. 4: 5, with the 4 that is due class 1, 4-5. 5: 4;
    6: 10; 7: 8, and the 4 is due: class 0 was made four arrivals ago and is forgotten, class 1 covers 4 and loses 0.1,
    less than 4-8 would, so it is used again. 8: 9, with the 10 class 2, 9-10. 9: 3, with the 8 class 3, 3-8. 10: 9; 11:
    0, of an unknown person. The stream ends: class 2 is not too old for the 9, none covers 0.
    """
    value = np.array([[0], [4], [1], [5], [4], [10], [8], [9], [3], [9], [0]], np.int32)
    people = np.append(np.arange(10), -1)
    came = build_arrivals(
        [NumericAttribute(np.arange(11.0), integral=True)], value, people, np.zeros((11, 0), np.int64)
    )
    remaining = run(came, StreamModel(2), {"delta": 3, "reuse_window": 4, "trigger": "age"})
    assert remaining.class_ids.tolist() == [0, 1, 0, 1, 1, 2, 3, 2, 3, 2, SUPPRESSED]
    assert remaining.published_at.tolist() == [3, 4, 3, 4, 7, 8, 9, 8, 9, 11, 11]
    assert remaining.lows.tolist() == [[0], [4], [9], [3]]
    assert remaining.highs.tolist() == [[1], [5], [10], [8]]
    assert remaining.made_at.tolist() == [3, 4, 8, 9]
    assert remaining.reusable.tolist() == [2, 3]


def test_fads_adds_farther_record_for_second_value() -> None:
    """0 (x), 1 (x), 1 (NULL), 7 (y), 2 (x) of the person of the first.

    The nearest of another person is 1, and then the nearest with another value, 7.
    """
    value, people = np.array([[0], [1], [1], [7], [2]], np.int32), np.array([0, 1, 2, 3, 0])
    sensitive = np.array([[0], [0], [-1], [1], [0]])
    came = build_arrivals([NumericAttribute(np.arange(8.0), integral=True)], value, people, sensitive)
    remaining = run(came, StreamModel(2, (2,)), {"delta": 5, "reuse_window": 9, "trigger": "age"})
    assert remaining.class_ids.tolist() == [0, 0, 0, 0, 0]
    assert remaining.published_at.tolist() == [5, 5, 5, 5, 5]
    assert (remaining.lows.tolist(), remaining.highs.tolist()) == ([[0]], [[7]])


def test_fads_by_size_publishes_when_delta_records_are_pending() -> None:
    """k = 2, delta = 3 by size, no reuse, one number: 0 9 1 | 8 | 9 7 | ...

    3: three are pending, and the 0 is published with the 1 as class 0. 5: 9, 8 and 9 are pending, and the 9 is
    published with the other 9, by age it would have been due at 4. 7: 8, 5 and 0 are pending, and the 8 is published
    with the 5. At the end, the 0 has no other record and no class.
    """
    value = np.array([[0], [9], [1], [8], [9], [5], [0]], np.int32)
    came = build_arrivals(
        [NumericAttribute(np.arange(10.0), integral=True)], value, np.arange(7), np.zeros((7, 0), np.int64)
    )
    remaining = run(came, StreamModel(2), {"delta": 3, "reuse_window": 0, "trigger": "size"})
    assert remaining.class_ids.tolist() == [0, 1, 0, 2, 1, 2, SUPPRESSED]
    assert remaining.published_at.tolist() == [3, 5, 3, 7, 5, 7, 7]
    by_age = run(came, StreamModel(2), {"delta": 3, "reuse_window": 0, "trigger": "age"})
    assert by_age.class_ids.tolist() == [0, 1, 0, 1, 2, 2, SUPPRESSED]
    assert by_age.published_at.tolist() == [3, 4, 3, 4, 7, 7, 7]


def test_fads_by_size_keeps_bound_of_delay() -> None:
    """No record is pending for more than delta - 1 times as many arrivals as a class has records.

    A far record stays pending as long as each class is formed of the oldest record and a later one.
    """
    delta, k = 4, 3
    value = np.array([[0], [50]] + [[i % 2] for i in range(60)], np.int32)
    came = build_arrivals(
        [NumericAttribute(np.arange(51.0), integral=True)], value, np.arange(62), np.zeros((62, 0), np.int64)
    )
    remaining = run(came, StreamModel(k), {"delta": delta, "reuse_window": 0, "trigger": "size"})
    refuse_broken(came, StreamModel(k), remaining, delta, limits_pending=True)
    longest = (remaining.published_at - came.arrived).max()
    assert delta <= longest <= (delta - 1) * k
