"""FAANST in its modes compared with its plain loop, in any split into calls, and with a stream traced by hand."""

from __future__ import annotations

import numpy as np
import pytest
from oracle.stream_faanst import Faanst
from support.streams import assert_equal_states, check_cuts, check_plain_loop, random_arrivals, refuse_broken

from dbanon.algorithms.streams import SUPPRESSED, Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.algorithms.streams.faanst import MODES, excluded_parameter
from dbanon.encoding.encoded_table import NumericAttribute

Options = dict[str, object]


def run(
    came: Arrivals, model: StreamModel, options: Options, initial_state: StreamState | None = None, ends: bool = True
) -> StreamState:
    return find("faanst").run(came, model, options, lambda: None, initial_state, ends)


def case(seed: int) -> tuple[Arrivals, StreamModel, Options]:
    """Return a random stream, its model and the options: NULLs, several records per person, few values."""
    random = np.random.default_rng(seed)
    sensitive = int(random.integers(0, 3))
    came = random_arrivals(
        seed,
        int(random.integers(1, 100)),
        nulls=bool(seed % 2),
        persons=bool(seed % 3),
        sensitive=sensitive,
        values=int(random.integers(1, 9)),
    )
    model = StreamModel(int(random.integers(2, 6)), (2,) * sensitive)
    delta = model.k + int(random.integers(0, 40))
    return (
        came,
        model,
        {
            "delta": delta,
            "mu": int(random.integers(model.k, delta + 1)),
            "mode": MODES[seed % 3],
            "threshold": float(random.choice([0.0, 0.2, 0.5, 1.0])),
            "clusters": ("kmeans", "kmember")[seed // 3 % 2],
            "seed": seed,
        },
    )


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(3))
def test_faanst_equals_plain_loop_and_meets_k_l_delta(part: int) -> None:
    for seed in range(part, 400, 3):
        came, model, options = case(seed)
        remaining = run(came, model, options)
        plain_faanst = Faanst(came, model.k, model.min_values, options)
        check_plain_loop(remaining, plain_faanst, seed)
        refuse_broken(came, model, remaining, int(str(options["delta"])))


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(2))
def test_faanst_result_independent_of_batching(part: int) -> None:
    for seed in range(part, 200, 2):
        check_cuts("faanst", run, seed, *case(seed))


@pytest.mark.all_cases
@pytest.mark.parametrize("mode", ["base", "passive"])
def test_faanst_equals_hand_traced_stream(mode: str) -> None:
    """k = 2, mu = 3, delta = 4, one number, threshold 0.5.

    Three records are pending, which makes one cluster: 0, 10 and 4 are published as class 0, 0-10, which loses 1 and is
    not accepted. 2, 3 and 3 are published as class 1, 2-3, which loses 0.1 and is accepted. At 9 the first, 2, is
    published with it, and 9 and 8 as class 2. At 12 3 is published with class 1, and 5 and 6 as class 3. Then 0, 1 and
    0 are of one person, too few to be clustered; at 16 the first is due, and is published with the new 7 as class 4,
    0-7; the other two are suppressed when the stream ends. In the base mode the first is suppressed, and the last round
    makes one cluster of the other two and the 7.
    """
    value = np.array([[0], [10], [4], [2], [3], [3], [2], [9], [8], [5], [6], [3], [0], [1], [0], [7]], np.int32)
    people = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12, 12, 13])
    came = build_arrivals(
        [NumericAttribute(np.arange(11.0), integral=True)], value, people, np.zeros((16, 0), np.int64)
    )
    options = {"delta": 4, "mu": 3, "mode": mode, "threshold": 0.5, "clusters": "kmeans", "seed": 0}
    remaining = run(came, StreamModel(2), options)
    end = [4, SUPPRESSED, SUPPRESSED, 4] if mode == "passive" else [SUPPRESSED, 4, 4, 4]
    assert remaining.class_ids.tolist() == [0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 1, *end]
    assert remaining.published_at.tolist() == [3, 3, 3, 6, 6, 6, 9, 9, 9, 12, 12, 12, 16, 16, 16, 16]
    assert remaining.lows.tolist() == [[0], [2], [8], [5], [0]]
    assert remaining.highs.tolist() == [[10], [3], [9], [6], [7]]
    assert remaining.reusable.tolist() == [1, 2, 3]


def test_faanst_mu_must_lie_between_k_and_delta() -> None:
    assert excluded_parameter({"delta": 10, "mu": 4}, 5) == ("mu", "at least 5, as many records as a class needs")
    assert excluded_parameter({"delta": 10, "mu": 11}, 5) == (
        "mu",
        "at most 10, because more records are never pending",
    )
    assert excluded_parameter({"delta": 10, "mu": 10}, 10) is None
    assert excluded_parameter({"delta": 10, "mu": None}, 10) is None
    came, model, options = case(1)
    for mu in (2, 1000):  # the function itself accepts them
        remaining = run(came, model, {**options, "mu": mu})
        refuse_broken(came, model, remaining, int(str(options["delta"])))


def test_faanst_clusters_95_percent_of_delta_by_default() -> None:
    came = random_arrivals(3, 400, values=30)
    options = {"mode": "passive", "threshold": 0.5, "clusters": "kmeans", "seed": 0}
    for delta, mu in ((100, 95), (39, 38), (6, 6)):
        default, explicit = (run(came, StreamModel(6), {**options, "delta": delta, "mu": m}) for m in (None, mu))
        assert_equal_states(default, explicit)
