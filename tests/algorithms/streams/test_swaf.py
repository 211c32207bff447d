"""SWAF compared with its plain loop, in any split into calls, and with a stream traced by hand."""

from __future__ import annotations

import numpy as np
import pytest
from oracle.stream_swaf import Swaf
from support.streams import (
    assert_equal_states,
    check_plain_loop,
    random_arrivals,
    random_cuts,
    refuse_broken,
    resume_at_cuts,
)

from dbanon.algorithms.streams import SUPPRESSED, Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.encoding.encoded_table import NumericAttribute


def run(
    came: Arrivals, model: StreamModel, delta: int, initial_state: StreamState | None = None, ends: bool = True
) -> StreamState:
    return find("swaf").run(came, model, {"delta": delta}, lambda: None, initial_state, ends)


def case(seed: int) -> tuple[Arrivals, StreamModel, int]:
    """Return a random stream, its model and the options: NULLs, several records per person, few values."""
    random = np.random.default_rng(seed)
    sensitive = int(random.integers(0, 3))
    came = random_arrivals(
        seed,
        int(random.integers(1, 160)),
        nulls=bool(seed % 2),
        persons=bool(seed % 3),
        sensitive=sensitive,
        values=int(random.integers(1, 30)),
    )
    model = StreamModel(int(random.integers(2, 6)), (2,) * sensitive)
    return came, model, model.k + int(random.integers(0, 60))


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(3))
def test_swaf_equals_plain_loop_and_meets_k_l_delta(part: int) -> None:
    for seed in range(part, 400, 3):
        came, model, delta = case(seed)
        remaining = run(came, model, delta)
        plain_swaf = Swaf(came, model.k, model.min_values, delta)
        check_plain_loop(remaining, plain_swaf, seed)
        refuse_broken(came, model, remaining, delta)


def test_swaf_result_independent_of_batching() -> None:
    for seed in range(200):
        came, model, delta = case(seed)
        assert_equal_states(_run_in_batches(seed, came, model, delta), run(came, model, delta))


def _run_in_batches(seed: int, came: Arrivals, model: StreamModel, delta: int) -> StreamState:
    cuts, by_record = random_cuts(seed, came.n_records), find("swaf").state_layout.by_record
    return resume_at_cuts(came, lambda some, before, ends: run(some, model, delta, before, ends), cuts, by_record)


def test_swaf_reuses_published_regions_for_most_records() -> None:
    came = random_arrivals(3, 3000, values=60)
    remaining = run(came, StreamModel(5), 200)
    assert (remaining.class_ids >= 0).all()
    assert len(remaining.made_at) < 3000 / 5 / 4
    assert len(remaining.reusable) > 10


def test_swaf_equals_hand_traced_stream() -> None:
    """k = 2, delta = 5, one number.

    1, 9, 2 and 8 are cut at the median: up to 2, and from 8. 4 belongs to the latter, beyond what it spans. At 5 the 1
    is due: its region is published first with 1 and 2, class 0. At 6 the 9: with 8, class 1, 8-9. At 9 the 4 is due,
    which 8-9 does not cover: the region is published again with the oldest, 4 and 3, from 3 to its greatest pending
    record, class 2, 3-9. At 10 the same for 0, with 2: class 3, 0-2. The stream ends: 9, 8 and 1 join these one by one;
    a NULL of an unknown person is alone in the root and suppressed.
    """
    value = np.array([[1], [9], [2], [8], [4], [0], [2], [3], [9], [8], [1], [10]], np.int32)
    people = np.append(np.arange(11), -1)
    came = build_arrivals(
        [NumericAttribute(np.arange(10.0), integral=True)], value, people, np.zeros((12, 0), np.int64)
    )
    remaining = run(came, StreamModel(2), 5)
    assert remaining.class_ids.tolist() == [0, 1, 0, 1, 2, 3, 3, 2, 2, 2, 3, SUPPRESSED]
    assert remaining.published_at.tolist() == [5, 6, 5, 6, 9, 10, 10, 9, 12, 12, 12, 12]
    assert remaining.lows.tolist() == [[1], [8], [3], [0]]
    assert remaining.highs.tolist() == [[2], [9], [9], [2]]
    assert remaining.reusable.tolist() == [2, 3]
