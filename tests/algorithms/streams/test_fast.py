"""FAST compared with its plain loop, in any split into calls, and with a stream traced by hand."""

from __future__ import annotations

import numpy as np
import pytest
from oracle.stream_fads import Fast
from support.streams import assert_equal_states, check_cuts, check_plain_loop, random_arrivals, refuse_broken

from dbanon.algorithms.streams import SUPPRESSED, Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.algorithms.streams.fast import excluded_parameter
from dbanon.encoding.encoded_table import NumericAttribute

Options = dict[str, int]


def run(
    came: Arrivals, model: StreamModel, options: Options, initial_state: StreamState | None = None, ends: bool = True
) -> StreamState:
    return find("fast").run(came, model, {"workers": 1, **options}, lambda: None, initial_state, ends)


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
    ahead = int(random.choice([0, random.integers(0, delta - model.k + 1), delta - model.k]))
    return came, model, {"delta": delta, "reuse_window": int(random.choice([0, 1, 5, 30, 1000])), "lookahead": ahead}


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(3))
def test_fast_equals_plain_loop_and_meets_k_l_delta(part: int) -> None:
    for seed in range(part, 400, 3):
        came, model, options = case(seed)
        remaining = run(came, model, options)
        plain_fast = Fast(came, model.k, model.min_values, **options)
        check_plain_loop(remaining, plain_fast, seed)
        assert remaining.made_at.tolist() == plain_fast.born, seed
        refuse_broken(came, model, remaining, options["delta"])


def test_fast_result_independent_of_batching() -> None:
    for seed in range(200):
        check_cuts("fast", run, seed, *case(seed))


@pytest.mark.all_cases
@pytest.mark.parametrize("workers", [2, 3])
def test_fast_result_independent_of_workers(workers: int) -> None:
    for seed in range(100):
        came, model, options = case(seed)
        assert_equal_states(run(came, model, {**options, "workers": workers}), run(came, model, options))
    came = random_arrivals(1, 2000, persons=True, sensitive=1, values=200)
    options = {"delta": 300, "reuse_window": 50, "lookahead": 250}
    assert_equal_states(
        run(came, StreamModel(3, (2,)), {**options, "workers": workers}), run(came, StreamModel(3, (2,)), options)
    )


def test_fast_without_lookahead_equals_fads_by_age() -> None:
    for seed in range(100):
        came, model, options = case(seed)
        fads = find("fads").run(came, model, {**options, "trigger": "age"}, lambda: None, None, True)
        assert_equal_states(run(came, model, {**options, "lookahead": 0}), fads)


def test_fast_equals_hand_traced_stream() -> None:
    """k = 2, delta = 5, lookahead = 2, reuse_window = 4, one number.

    1: 0; 2: 9; 3: 4; 4: 8; 5: 1, and the 0 is due: with 1 it is class 0, 0-1. Those up to 3 would be due before two
    more have arrived: 9 is published with 8 as class 1, 8-9, and 4 has no partner and is suppressed. 6: 5; 7: 5; 8: 9;
    9: 6; 10: 8, and the first 5 is due: class 2, 5-5. For the 9, which would be due soon, class 1 was made too long
    ago; with the 8 it is class 3, 8-9. 11: 9; the stream ends: 6 has 9 as its nearest, class 4, 6-9.
    """
    value = np.array([[0], [9], [4], [8], [1], [5], [5], [9], [6], [8], [9]], np.int32)
    came = build_arrivals([NumericAttribute(np.arange(11.0), integral=True)], value, None, np.zeros((11, 0), np.int64))
    remaining = run(came, StreamModel(2), {"delta": 5, "reuse_window": 4, "lookahead": 2})
    assert remaining.class_ids.tolist() == [0, 1, SUPPRESSED, 1, 0, 2, 2, 3, 4, 3, 4]
    assert remaining.published_at.tolist() == [5, 5, 5, 5, 5, 10, 10, 10, 11, 10, 11]
    assert remaining.lows.tolist() == [[0], [8], [5], [8], [6]]
    assert remaining.highs.tolist() == [[1], [9], [5], [9], [9]]


def test_fast_lookahead_is_at_most_delta_minus_k() -> None:
    assert excluded_parameter({"delta": 9, "lookahead": 6}, 4) == (
        "lookahead",
        "at most 5, delta less as many records as a class needs",
    )
    assert excluded_parameter({"delta": 9, "lookahead": 5}, 4) is None
    assert excluded_parameter({"delta": 4, "lookahead": None}, 4) is None
    came, model, options = case(2)
    ahead = min(model.k, options["delta"] - model.k)
    remaining = find("fast").run(came, model, {**options, "workers": 1, "lookahead": None}, lambda: None, None, True)
    assert_equal_states(remaining, run(came, model, {**options, "lookahead": ahead}))
