"""SWAF compared with its plain loop, in any split into calls, and with a stream traced by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from oracle.stream_swaf import Swaf
from support.streams import check_cuts, check_plain_loop, random_arrivals, refuse_broken

from dbanon.algorithms.streams import SUPPRESSED, Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.encoding.encoded_table import NumericAttribute

Options = dict[str, int]


def run(
    came: Arrivals, model: StreamModel, options: Options, initial_state: StreamState | None = None, ends: bool = True
) -> StreamState:
    return find("swaf").run(came, model, options, lambda: None, initial_state, ends)


def case(seed: int) -> tuple[Arrivals, StreamModel, Options]:
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
    delta = model.k + int(random.integers(0, 60))
    return came, model, {"delta": delta, "max_stored_classes": int(random.choice([0, 1, 4, 1000]))}


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(3))
def test_swaf_equals_plain_loop_and_meets_k_l_delta(part: int) -> None:
    for seed in range(part, 400, 3):
        came, model, options = case(seed)
        remaining = run(came, model, options)
        check_plain_loop(remaining, Swaf(came, model.k, model.min_values, **options), seed)
        refuse_broken(came, model, remaining, options["delta"])


def test_swaf_result_independent_of_batching() -> None:
    for seed in range(200):
        check_cuts("swaf", run, seed, *case(seed))


def test_swaf_equals_hand_traced_stream() -> None:
    """k = 2, delta = 5, one number.

    At 5 the 1 is due: 1, 2 and 4 are up to the median of the five, 9 and 8 above it. The three are too few for another
    split, and the oldest, 1 and 2, are class 0. At 6 the 9 is due, and above the median of 9, 8, 4 and 0 with 8: class
    1, 8-9. At 9 the 4 is due: 0, 2 and 3 are up to the median, and 4 and 9 are class 2. At 10 the 0 is due: with 2,
    class 3, 0-2, as no class covers it. The stream ends: 3, which no class covers, and 8 are class 4; 1 is published
    with class 0, which loses less than class 3; a NULL of an unknown person is suppressed.
    """
    value = np.array([[1], [9], [2], [8], [4], [0], [2], [3], [9], [8], [1], [10]], np.int32)
    people = np.append(np.arange(11), -1)
    came = build_arrivals(
        [NumericAttribute(np.arange(10.0), integral=True)], value, people, np.zeros((12, 0), np.int64)
    )
    remaining = run(came, StreamModel(2), {"delta": 5, "max_stored_classes": 9})
    assert remaining.class_ids.tolist() == [0, 1, 0, 1, 2, 3, 3, 4, 2, 4, 0, SUPPRESSED]
    assert remaining.published_at.tolist() == [5, 6, 5, 6, 9, 10, 10, 12, 9, 12, 12, 12]
    assert remaining.lows.tolist() == [[1], [8], [4], [0], [3]]
    assert remaining.highs.tolist() == [[2], [9], [9], [2], [8]]
    assert remaining.reusable.tolist() == [0, 1, 2, 3, 4]


def test_swaf_resumes_state_with_tree_of_earlier_version() -> None:
    """Earlier versions stored a tree of regions, whose classes are the reusable ones."""
    came, model, options = case(4)
    rows, cut = came.n_records, came.n_records // 2
    first = replace(came, **{name: getattr(came, name)[:cut] for name in ("values", "people", "sensitive", "arrived")})
    state = run(first, model, options, ends=False)
    pending = np.flatnonzero(state.class_ids < -1)
    order = np.append(pending, np.arange(cut, rows))
    later = replace(
        came,
        **{name: getattr(came, name)[order] for name in ("values", "people", "sensitive", "arrived")},
        n_pending=len(pending),
    )
    earlier = replace(state, own={"shape": np.zeros((3, 8)), "at": np.zeros(len(pending))})
    for one in (state, earlier):
        trimmed = replace(one, class_ids=one.class_ids[pending], published_at=one.published_at[pending])
        result = run(later, model, options, trimmed)
        assert (result.class_ids >= SUPPRESSED).all() and not result.own
