"""What every system of streams keeps, with what it does where nobody asks for more."""

from __future__ import annotations

import pytest
from support.streams import alike, random_arrivals, refuse_broken, resumed

from dbanon.algorithms.streams import WAITING, Arrivals, Model, State, Stream, streams

DELTA = 20
SYSTEMS = pytest.mark.parametrize("system", streams(), ids=lambda system: system.name)


def options(system: Stream) -> dict[str, object]:
    return {**{p.name: p.default for p in system.parameters}, "delta": DELTA}


@SYSTEMS
def test_a_stream_may_be_put_aside_after_its_last_record(system: Stream) -> None:
    """The last call has no new record, and often none that waits: what leaves in it leaves at the last arrival."""

    def run(some: Arrivals, before: State | None, ends: bool) -> State:
        return system.run(some, model, options(system), lambda: None, before, ends)

    waited = 0
    for seed in range(30):
        came = random_arrivals(seed, 60 + seed, nulls=bool(seed % 2), persons=bool(seed % 3), sensitive=seed % 3)
        model = Model(3, (2,) * (seed % 3))
        left = run(came, None, True)
        assert left.last == came.records
        refuse_broken(came, model, left, DELTA, maybe=system.maybe)
        waited += int((run(came, None, False).out == WAITING).sum())
        for cuts in ([came.records], [came.records, came.records], [7, 7, 40, came.records]):
            alike(resumed(came, run, cuts, system.kept.by_record), left)
    assert waited > 0


@SYSTEMS
def test_a_stream_of_no_records_ends(system: Stream) -> None:
    came = random_arrivals(0, 0)
    left = system.run(came, Model(3), options(system), lambda: None, None, True)
    assert (left.out.tolist(), left.step.tolist(), left.born.tolist(), left.last) == ([], [], [], 0)
