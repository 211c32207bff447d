"""CASTLE compared with its plain loop, in any split into calls, and with streams traced by hand."""

from __future__ import annotations

import numpy as np
import pytest
from oracle.stream_castle import Castle
from support.streams import check_cuts, check_plain_loop, random_arrivals, refuse_broken

from dbanon.algorithms.streams import SUPPRESSED, Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.encoding.encoded_table import NumericAttribute

Options = dict[str, int]


def run(
    came: Arrivals, model: StreamModel, options: Options, initial_state: StreamState | None = None, ends: bool = True
) -> StreamState:
    return find("castle").run(came, model, options, lambda: None, initial_state, ends)


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
    return came, model, {"delta": delta, "beta": int(random.integers(1, 8)), "mu": int(random.integers(1, 8))}


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(3))
def test_castle_equals_plain_loop_and_meets_k_l_delta(part: int) -> None:
    for seed in range(part, 400, 3):
        came, model, options = case(seed)
        remaining = run(came, model, options)
        plain_castle = Castle(came, model.k, model.min_values, **options)
        check_plain_loop(remaining, plain_castle, seed)
        refuse_broken(came, model, remaining, options["delta"])


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(2))
def test_castle_result_independent_of_batching(part: int) -> None:
    for seed in range(part, 300, 2):
        check_cuts("castle", run, seed, *case(seed))


def number_arrivals(values: list[int], sensitive: list[int] | None = None) -> Arrivals:
    """Return arrivals of one number from 0 to 10, with the sensitive values if given."""
    attribute = NumericAttribute(np.arange(11.0), integral=True)
    codes = np.array(values, np.int32)[:, None]
    others = np.zeros((len(values), 0), np.int64) if sensitive is None else np.array(sensitive)[:, None]
    return build_arrivals([attribute], codes, None, others)


def test_castle_equals_hand_traced_stream() -> None:
    """k = 2, delta = 5, beta = 2, mu = 2, one number.

    1: 0 opens A. 2: 1 would widen it by all that was seen, which is more than no loss, so it opens B. 3: 10 widens B
    least, by 0.9, and there are two clusters, so it joins. 4: 2 joins B, which it does not widen. 5: 0 joins A; 1 is
    due, and A is published as class 0, 0-0, stored as the first. 6: 0 widens B, 1-10, which loses more than tau, so it
    opens C; 2 is due, and B is published as class 1, 1-10, which loses 0.9: tau is 0.45, and it is not stored. 7: 9
    opens D, as C with it would lose 0.9. 8: 8, 9: 7 and 10: 6 join D; 6 is due in C, which is too small, and is
    published with class 0. 11: 9 joins D; 7 is due, and D has five persons, so it is split: 9 and 9, then 8 and the
    nearest, 7; the remaining 6 widens 7-8 least. Class 2, 9-9, loses 0 and is stored; class 3, 6-8, loses 0.2, which is
    not less than tau, 0.1. 12: 3 opens E. 13: 5 opens F, as 3-5 would lose 0.2. 14, 15 and 16: 5 joins F; 12 is due, E
    is too small and no stored class covers 3, of the two clusters not more than half are larger, so it is merged with F
    and split: the 3 and the oldest 5, then the two next; the last 5 joins the first of these. Class 4, 3-5, is not
    stored, class 5, 5-5, is. 17: 2 opens G. The stream ends, and it is suppressed.
    """
    came = number_arrivals([0, 1, 10, 2, 0, 0, 9, 8, 7, 6, 9, 3, 5, 5, 5, 5, 2])
    remaining = run(came, StreamModel(2), {"delta": 5, "beta": 2, "mu": 2})
    assert remaining.class_ids.tolist() == [0, 1, 1, 1, 0, 0, 2, 3, 3, 3, 2, 4, 4, 5, 5, 4, SUPPRESSED]
    assert remaining.published_at.tolist() == [5, 6, 6, 6, 5, 10, 11, 11, 11, 11, 11, 16, 16, 16, 16, 16, 17]
    assert remaining.lows.tolist() == [[0], [1], [9], [6], [3], [5]]
    assert remaining.highs.tolist() == [[0], [10], [9], [8], [5], [5]]
    assert remaining.reusable.tolist() == [0, 2, 5]


def test_outlier_suppressed_if_most_clusters_are_larger() -> None:
    """0, 5 and 10 open clusters, of which 5 and 10 grow before the 0 is due."""
    remaining = run(number_arrivals([0, 5, 10, 5, 10]), StreamModel(2), {"delta": 5, "beta": 3, "mu": 2})
    assert remaining.class_ids.tolist() == [SUPPRESSED, 0, 1, 0, 1]
    assert remaining.published_at.tolist() == [5, 5, 5, 5, 5]


def test_split_takes_share_of_every_sensitive_value() -> None:
    """One cluster, 0 (x), 0 (x), 1 (y), 5 (y), 6 (x). By persons alone the two 0 and then 1 and 5 would be pieces; by
    shares of a piece of two the first 0 and the nearest y, 1, then the second 0 and 5; the 6 widens 0-5 least."""
    values, options = [0, 0, 1, 5, 6], {"delta": 9, "beta": 1, "mu": 2}
    remaining = run(number_arrivals(values, [0, 0, 1, 1, 0]), StreamModel(2, (2,)), options)
    assert remaining.class_ids.tolist() == [0, 1, 0, 1, 1]
    assert (remaining.lows.tolist(), remaining.highs.tolist()) == ([[0], [0]], [[1], [6]])
    assert run(number_arrivals(values), StreamModel(2), options).class_ids.tolist() == [0, 0, 1, 1, 1]
