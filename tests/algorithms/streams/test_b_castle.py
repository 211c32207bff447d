"""B-CASTLE compared with its plain loop, in any split into calls, and with a stream traced by hand."""

from __future__ import annotations

import numpy as np
import pytest
from oracle.stream_castle import BCastle
from support.streams import assert_equal_states, check_cuts, check_plain_loop, random_arrivals, refuse_broken

from dbanon.algorithms.streams import SUPPRESSED, Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.algorithms.streams.b_castle import excluded_parameter
from dbanon.encoding.encoded_table import NumericAttribute

Options = dict[str, int]


def run(
    came: Arrivals, model: StreamModel, options: Options, initial_state: StreamState | None = None, ends: bool = True
) -> StreamState:
    return find("b_castle").run(came, model, options, lambda: None, initial_state, ends)


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
    model = StreamModel(int(random.integers(2, 5)), (2,) * sensitive)
    delta = model.k + int(random.integers(0, 4 if seed % 5 == 0 else 60))
    options = {"delta": delta, "beta": int(random.integers(1, 8)), "mu": int(random.integers(1, 8))}
    return came, model, {**options, "alpha": model.k + int(random.integers(0, 8))}


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(3))
def test_b_castle_equals_plain_loop_and_meets_k_l_delta(part: int) -> None:
    for seed in range(part, 400, 3):
        came, model, options = case(seed)
        remaining = run(came, model, options)
        plain_bcastle = BCastle(came, model.k, model.min_values, **options)
        check_plain_loop(remaining, plain_bcastle, seed)
        refuse_broken(came, model, remaining, options["delta"])


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(2))
def test_b_castle_result_independent_of_batching(part: int) -> None:
    for seed in range(part, 300, 2):
        check_cuts("b_castle", run, seed, *case(seed))


def number_arrivals(values: list[int]) -> Arrivals:
    """Return arrivals of one number from 0 to 10."""
    codes = np.array(values, np.int32)[:, None]
    return build_arrivals(
        [NumericAttribute(np.arange(11.0), integral=True)], codes, None, np.zeros((len(values), 0), np.int64)
    )


def test_b_castle_equals_hand_traced_stream() -> None:
    """k = 2, delta = 7, beta = 2, mu = 2, alpha = 3, one number.

    1: 0 opens A; 2: 10 opens B. 3: 4 and 4: 6 join A, which they widen least. Each time 0 is farthest from the center
    of A, and B would lose more by it. 5: A is full, so only B is free, and 5 opens C. 6: 7 joins C, 7: 9 joins B; 0 is
    due, and A is published as class 0, 0-6, which is stored as the first. 8: 1 joins C, which with 0.6 is as good as A
    was, and is full; 10 is due, and B is published as class 1, 9-10, which loses 0.1. 9: 2 opens D, 10: 8 opens E, as
    with D it would lose 0.6, more than tau, 0.35. 11: 3 joins D; 5 is due, and C is published as class 2, 1-7, which is
    not stored. The stream ends: D is class 3, 2-3, and 8 is suppressed.
    """
    remaining = run(
        number_arrivals([0, 10, 4, 6, 5, 7, 9, 1, 2, 8, 3]),
        StreamModel(2),
        {"delta": 7, "beta": 2, "mu": 2, "alpha": 3},
    )
    assert remaining.class_ids.tolist() == [0, 1, 0, 0, 2, 2, 1, 2, 3, SUPPRESSED, 3]
    assert remaining.published_at.tolist() == [7, 8, 7, 7, 11, 11, 8, 11, 11, 11, 11]
    assert remaining.lows.tolist() == [[0], [9], [1], [2]]
    assert remaining.highs.tolist() == [[6], [10], [7], [3]]
    assert remaining.reusable.tolist() == [0, 1, 3]


def test_b_castle_merges_small_clusters_reaching_k() -> None:
    """4, 10, 0, 3 and 7 open clusters, and two more records join the cluster of 7.

    The 4 is due: with 3 it would lose 0.1, but be two records short of four; with the three 7 it loses 0.3 and is four.
    The remaining clusters are too small.
    """
    options = {"delta": 7, "beta": 5, "mu": 2, "alpha": 8}
    remaining = run(number_arrivals([4, 10, 0, 3, 7, 7, 7]), StreamModel(4), options)
    assert remaining.class_ids.tolist() == [0, SUPPRESSED, SUPPRESSED, SUPPRESSED, 0, 0, 0]


def test_published_cluster_is_not_split() -> None:
    came, options = number_arrivals([1, 9, 1, 9]), {"delta": 4, "beta": 1, "mu": 2}
    assert run(came, StreamModel(2), {**options, "alpha": 8}).class_ids.tolist() == [0, 0, 0, 0]
    assert find("castle").run(came, StreamModel(2), options, lambda: None, None, True).class_ids.tolist() == [
        0,
        1,
        0,
        1,
    ]


def test_b_castle_alpha_below_k_refused_and_defaults_to_2k() -> None:
    assert excluded_parameter({"alpha": 3}, 4) == ("alpha", "at least 4, as many records as a class needs")
    assert excluded_parameter({"alpha": 4}, 4) is None
    assert excluded_parameter({"alpha": None}, 4) is None
    came, model, options = case(1)
    twice = run(came, model, {**options, "alpha": 2 * model.k})
    assert_equal_states(find("b_castle").run(came, model, {**options, "alpha": None}, lambda: None, None, True), twice)
