"""UBDSA compared with its plain loop, in any split into calls, and with a stream traced by hand."""

from __future__ import annotations

import numpy as np
import pytest
from oracle.stream_ubdsa import Ubdsa
from support.streams import check_cuts, check_plain_loop, random_arrivals, refuse_broken

from dbanon.algorithms.streams import SUPPRESSED, Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.encoding.encoded_table import NumericAttribute

Options = dict[str, object]


def run(
    came: Arrivals, model: StreamModel, options: Options, initial_state: StreamState | None = None, ends: bool = True
) -> StreamState:
    return find("ubdsa").run(came, model, options, lambda: None, initial_state, ends)


def case(seed: int) -> tuple[Arrivals, StreamModel, Options]:
    """Return a random stream, its model and the options: NULLs, several records per person, few values."""
    random = np.random.default_rng(seed)
    sensitive = int(random.integers(0, 3))
    came = random_arrivals(
        seed,
        int(random.integers(1, 120)),
        nulls=bool(seed % 2),
        persons=bool(seed % 3),
        sensitive=sensitive,
        values=int(random.integers(1, 9)),
    )
    model = StreamModel(int(random.integers(2, 6)), (2,) * sensitive)
    options: Options = {
        "delta": model.k + int(random.integers(0, 40)),
        "beta": int(random.integers(1, 9)),
        "theta": float(random.choice([0.0, 0.2, 0.5, 1.0])),
        "max_stored_classes": int(random.integers(0, 6)),
    }
    return came, model, options


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(3))
def test_ubdsa_equals_plain_loop_and_meets_k_l_delta(part: int) -> None:
    for seed in range(part, 400, 3):
        came, model, options = case(seed)
        remaining = run(came, model, options)
        plain_ubdsa = Ubdsa(came, model.k, model.min_values, options)
        check_plain_loop(remaining, plain_ubdsa, seed)
        refuse_broken(came, model, remaining, int(str(options["delta"])))


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(2))
def test_ubdsa_result_independent_of_batching(part: int) -> None:
    for seed in range(part, 200, 2):
        check_cuts("ubdsa", run, seed, *case(seed))


def test_ubdsa_publishes_equal_records_once_k_arrived() -> None:
    came = build_arrivals(
        [NumericAttribute(np.arange(1.0), integral=True)], np.zeros((9, 1), np.int32), None, np.zeros((9, 0), np.int64)
    )
    remaining = run(came, StreamModel(3), {"delta": 5, "beta": 2, "theta": 0.0, "max_stored_classes": 1})
    assert remaining.class_ids.tolist() == [0] * 9
    assert remaining.published_at.tolist() == [3, 3, 3, 4, 5, 6, 7, 8, 9]


def test_ubdsa_equals_hand_traced_stream() -> None:
    """k = 2, delta = 4, one number, theta = 0.3, at most two open clusters, one stored class; width 10 from 2 on.

    1: 0 opens A; 2: 10 would make A lose 1 and opens B. 3: 2 joins A, which loses 0.2 and is published, class 0, 0-2.
    4: 1 is published with it at once. 5: 6 would make B lose 0.4 and opens C; 10 is due, and B and C are published,
    class 1, 6-10. 6: class 1 covers 9 but loses 0.4, so it opens D; 7: 9 of the same person joins it. 8: 3 opens E. 9:
    3 of an unknown person joins E, which has one person; record 6 is due, alone in D with record 7, and is published
    with class 1. 10: 5 would cost 0.8 in D and 3 * 0.2 in E, which has two persons with it and is published, class 2,
    3-5; record 7 is due, which class 2 does not cover, and no other is open: it is suppressed, as is the 8 that arrives
    last.
    """
    value = np.array([[0], [10], [2], [1], [6], [9], [9], [3], [3], [5], [8]], np.int32)
    people = np.array([0, 1, 2, 3, 4, 5, 5, 6, -1, 7, 8])
    came = build_arrivals(
        [NumericAttribute(np.arange(11.0), integral=True)], value, people, np.zeros((11, 0), np.int64)
    )
    remaining = run(came, StreamModel(2), {"delta": 4, "beta": 2, "theta": 0.3, "max_stored_classes": 1})
    assert remaining.class_ids.tolist() == [0, 1, 0, 0, 1, 1, SUPPRESSED, 2, 2, 2, SUPPRESSED]
    assert remaining.published_at.tolist() == [3, 5, 3, 4, 5, 9, 10, 10, 10, 10, 11]
    assert remaining.lows.tolist() == [[0], [6], [3]]
    assert remaining.highs.tolist() == [[2], [10], [5]]
    assert remaining.reusable.tolist() == [2]
