"""(k,l)-clustering compared with its plain loop, in any split into calls, and with a stream traced by hand."""

from __future__ import annotations

import numpy as np
import pytest
from oracle.stream_kl import KLClustering
from support.streams import assert_equal_states, random_arrivals, random_cuts, refuse_broken, resume_at_cuts

from dbanon.algorithms.streams import SUPPRESSED, Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.algorithms.streams.kl_clustering import excluded_parameter
from dbanon.encoding.encoded_table import NumericAttribute


def run(
    came: Arrivals, model: StreamModel, delta: int, initial_state: StreamState | None = None, ends: bool = True
) -> StreamState:
    return find("kl_clustering").run(came, model, {"delta": delta}, lambda: None, initial_state, ends)


def case(seed: int) -> tuple[Arrivals, StreamModel, int]:
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
    if seed % 5 == 1 and seed % 3:  # a few persons with many records each
        people = random.integers(-1, 12, came.n_records)
        came = Arrivals(came.places, came.values, people, came.sensitive, came.arrived)
    model = StreamModel(int(random.integers(2, 6)), (2,) * sensitive)
    return came, model, model.k + int(random.integers(0, 40))


@pytest.mark.all_cases
@pytest.mark.parametrize("part", range(3))
def test_kl_clustering_equals_plain_loop_within_delta(part: int) -> None:
    for seed in range(part, 300, 3):
        came, model, delta = case(seed)
        remaining = run(came, model, delta)
        plain_klclustering = KLClustering(came, model.k, model.min_values, delta)
        assert (remaining.class_ids.tolist(), remaining.published_at.tolist()) == (
            plain_klclustering.out,
            plain_klclustering.step,
        ), seed
        assert [
            list(zip(*c, strict=True)) for c in zip(remaining.lows.tolist(), remaining.highs.tolist(), strict=True)
        ] == (plain_klclustering.classes), seed
        assert remaining.own["clusters"].tolist() == plain_klclustering.clusters
        refuse_broken(came, model, remaining, delta)


def test_kl_clustering_independent_of_batching() -> None:
    for seed in range(150):
        came, model, delta = case(seed)
        assert_equal_states(_run_in_batches(seed, came, model, delta), run(came, model, delta))


def _run_in_batches(seed: int, came: Arrivals, model: StreamModel, delta: int) -> StreamState:
    cuts = random_cuts(seed, came.n_records)
    return resume_at_cuts(came, lambda some, before, ends: run(some, model, delta, before, ends), cuts)


def test_kl_clustering_keeps_same_persons_together() -> None:
    came = random_arrivals(4, 400, persons=True)
    came = Arrivals(came.places, came.values, came.people % 30, came.sensitive, came.arrived)
    remaining = run(came, StreamModel(3), 40)
    others: dict[int, set[int]] = {}
    for number in range(len(remaining.made_at)):
        group = came.people[remaining.class_ids == number].tolist()
        assert len(group) == 3
        for person in group:
            assert others.setdefault(person, set(group)) == set(group)


def test_kl_clustering_equals_hand_traced_stream() -> None:
    """k = 2, delta = 4, one number; sensitive values in brackets, of which two are needed.

    1: A 0 (x); 2: B 1 (x); 3: C 9 (y); 4: D 3 (y). With 4 the first is due: B is nearest to A but has its value, so D
    (3) and A are a cluster and are published as 0-3, class 0. 5: A 5 (x) is pending for D; record 2 is due: B and C
    form a second cluster, class 1, 1-9. 6: D 6 (x): A and D have one record each but one value. 7: A 7 (y). 8: record 5
    is due, with D 8 (y) just arrived: it is suppressed; then 6 (x) of D and 7 (y) of A are published, class 2, 6-7. 9:
    an unknown person, 10: B. The stream ends: 8, 9 and 10 are suppressed.
    """
    value = np.array([[0], [1], [9], [3], [5], [6], [7], [8], [2], [4]], np.int32)
    people = np.array([0, 1, 2, 3, 0, 3, 0, 3, -1, 1])
    sensitive = np.array([[0], [0], [1], [1], [0], [0], [1], [1], [0], [0]])
    came = build_arrivals([NumericAttribute(np.arange(10.0), integral=True)], value, people, sensitive)
    remaining = run(came, StreamModel(2, (2,)), 4)
    assert remaining.class_ids.tolist() == [0, 1, 1, 0, SUPPRESSED, 2, 2, SUPPRESSED, SUPPRESSED, SUPPRESSED]
    assert remaining.published_at.tolist() == [4, 5, 5, 4, 8, 8, 8, 10, 10, 10]
    assert remaining.lows.tolist() == [[0], [1], [6]]
    assert remaining.highs.tolist() == [[3], [9], [7]]


def test_kl_clustering_l_is_at_most_k() -> None:
    assert excluded_parameter({"l": 4}, 3) == ("l", "at most 3, as a group is exactly k records")
    assert excluded_parameter({"l": 3}, 3) is None
    assert excluded_parameter({"l": None}, 3) is None
