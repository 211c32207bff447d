"""Every stream algorithm keeps its guarantees with default parameters."""

from __future__ import annotations

import pytest
from support.streams import assert_equal_states, random_arrivals, refuse_broken, resume_at_cuts

from dbanon.algorithms.streams import PENDING, Arrivals, StreamAlgorithm, StreamModel, StreamState, streams

DELTA = 20
SYSTEMS = pytest.mark.parametrize("system", streams(), ids=lambda system: system.name)


def options(system: StreamAlgorithm) -> dict[str, object]:
    return {**{p.name: p.default for p in system.parameters}, "delta": DELTA}


@SYSTEMS
def test_stream_saved_after_last_record_resumes_equally(system: StreamAlgorithm) -> None:
    """The last call adds no record and often finds none pending: it publishes everything at the last arrival."""

    def run(arrivals: Arrivals, initial_state: StreamState | None, ends: bool) -> StreamState:
        return system.run(arrivals, model, options(system), lambda: None, initial_state, ends)

    waited = 0
    for seed in range(30):
        came = random_arrivals(seed, 60 + seed, nulls=bool(seed % 2), persons=bool(seed % 3), sensitive=seed % 3)
        model = StreamModel(3, (2,) * (seed % 3))
        remaining = run(came, None, True)
        assert remaining.last_arrival == came.n_records
        limits_pending = system.limits_pending(options(system))
        refuse_broken(came, model, remaining, DELTA, allow_null_in_class=system.maybe, limits_pending=limits_pending)
        waited += int((run(came, None, False).class_ids == PENDING).sum())
        for cuts in ([came.n_records], [came.n_records, came.n_records], [7, 7, 40, came.n_records]):
            assert_equal_states(resume_at_cuts(came, run, cuts, system.state_layout.by_record), remaining)
    assert waited > 0


@SYSTEMS
def test_empty_stream_ends_without_classes(system: StreamAlgorithm) -> None:
    came = random_arrivals(0, 0)
    remaining = system.run(came, StreamModel(3), options(system), lambda: None, None, True)
    assert (
        remaining.class_ids.tolist(),
        remaining.published_at.tolist(),
        remaining.made_at.tolist(),
        remaining.last_arrival,
    ) == (
        [],
        [],
        [],
        0,
    )
