"""Random streams, and guarantees that every published row must meet."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dbanon.algorithms.streams import PENDING, SUPPRESSED, Arrivals, StreamModel, StreamState, build_arrivals, find
from dbanon.encoding.encoded_table import Attribute, CategoricalAttribute, NumericAttribute

FLAT = CategoricalAttribute(np.array([-1, 0, 0, 0], np.int32), np.array([1, 2, 3], np.int32))
DEEP = CategoricalAttribute(np.array([-1, 0, 1, 1, 1, 0, 5, 5, 0], np.int32), np.array([2, 3, 4, 6, 7, 8], np.int32))
"""Three values under a root; six values, some with an intermediate parent, and one without."""


def random_arrivals(
    seed: int,
    records: int,
    *,
    nulls: bool = False,
    persons: bool = False,
    sensitive: int = 0,
    values: int = 9,
    attributes_used: slice = slice(None),
) -> Arrivals:
    """Return records of two numbers and two categories; many are equal, so that ties matter.

    `persons`: some have several records, and some records have none; `sensitive`: columns of three values and NULL.
    """
    random = np.random.default_rng(seed)
    attributes: list[Attribute] = [
        NumericAttribute(np.cumsum(random.integers(1, 4, values)).astype(float), integral=True),
        NumericAttribute(np.arange(3.0), integral=True, weight=2.0),
        FLAT,
        DEEP,
    ][attributes_used]
    codes = np.stack([random.integers(0, a.values + nulls, records) for a in attributes], axis=1).astype(np.int32)
    people = random.integers(-1, max(records // 2, 2), records) if persons else None
    return build_arrivals(attributes, codes, people, random.integers(-1, 3, (records, sensitive)))


def refuse_broken(
    arrivals: Arrivals,
    model: StreamModel,
    state: StreamState,
    delta: int,
    *,
    allow_null_in_class: bool = False,
    limits_pending: bool = False,
) -> None:
    """Assert that the published records keep the guarantees of a stream that has ended.

    Each record is published once, in time, covered by its class, and every class had k persons and enough sensitive
    values when it was first published. `allow_null_in_class`: a NULL may be in a class of values. `limits_pending`:
    `delta` limits the number of pending records, not their delay.
    """
    assert (state.class_ids != PENDING).all()
    assert (state.class_ids >= SUPPRESSED).all()
    assert (state.published_at >= arrivals.arrived).all()
    if limits_pending:
        last = int(state.published_at.max(initial=0))
        n_arrived, n_published = (np.bincount(a, minlength=last + 1) for a in (arrivals.arrived, state.published_at))
        assert (np.cumsum(n_arrived - n_published)[:last] < delta).all()
    else:
        assert (state.published_at - arrivals.arrived < delta).all()
    members = defaultdict(list)
    for record, number in enumerate(state.class_ids.tolist()):
        if number != SUPPRESSED:
            members[number].append(record)
    assert set(members) == set(range(len(state.made_at)))
    for number, records in members.items():
        first = min(state.published_at[records])
        batch = [r for r in records if state.published_at[r] == first]
        assert len({int(arrivals.people[r]) for r in batch} - {-1}) >= model.k
        for column, need in enumerate(model.min_values):
            assert len({int(arrivals.sensitive[r, column]) for r in batch} - {-1}) >= need
        for a in range(arrivals.values.shape[1]):
            low, high = state.lows[number, a], state.highs[number, a]
            known_values = [v for r in records if not np.isnan(v := arrivals.values[r, a])]
            has_null = len(known_values) < len(records)
            if low == -np.inf and high == np.inf:
                assert has_null and known_values
            elif low > high:
                assert not known_values
            else:
                assert allow_null_in_class or not has_null
                assert low <= min(known_values) and max(known_values) <= high


def resume_at_cuts(
    arrivals: Arrivals,
    run: Callable[[Arrivals, StreamState | None, bool], StreamState],
    cuts: Sequence[int],
    by_record: Sequence[str] = (),
) -> StreamState:
    """Return the final state of a stream that is stored and resumed before each record of `cuts`, as of one batch.

    `cuts` is ascending; `by_record` are the arrays of `own` that have one element per record.
    """
    out, step = np.full(arrivals.n_records, PENDING), np.zeros(arrivals.n_records, np.int64)
    rows, old_copy = np.empty(0, np.int64), None
    ends = [*cuts, arrivals.n_records]
    for turn, (start, end) in enumerate(zip((0, *cuts), ends, strict=True)):
        waiting, rows = len(rows), np.append(rows, np.arange(start, end))
        columns = (a[rows] for a in (arrivals.values, arrivals.people, arrivals.sensitive, arrivals.arrived))
        known_values = (None if a is None else a[rows] for a in (arrivals.labels, arrivals.meanings))
        remaining = run(Arrivals(arrivals.places, *columns, waiting, *known_values), old_copy, turn == len(cuts))
        out[rows], step[rows] = remaining.class_ids, remaining.published_at
        stays = remaining.class_ids == PENDING
        own_values_by_name = {name: a[stays] if name in by_record else a for name, a in remaining.own.items()}
        old_copy, rows = (
            replace(
                remaining,
                class_ids=remaining.class_ids[stays],
                published_at=remaining.published_at[stays],
                own=own_values_by_name,
            ),
            rows[stays],
        )
    return replace(remaining, class_ids=out, published_at=step)


def random_cuts(seed: int, records: int) -> list[int]:
    """Return random positions at which to store a stream; some may be equal, or after the last record."""
    random = np.random.default_rng(seed)
    return sorted(random.integers(0, records + 1, random.integers(1, 8)).tolist())


def assert_equal_states(one: StreamState, other: StreamState) -> None:
    """Assert that equal records were published with equal classes at equal times."""
    for name in ("class_ids", "published_at", "lows", "highs", "made_at", "reusable"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


def check_plain_loop(state: StreamState, reference: Any, seed: int) -> None:
    """Assert that the state equals that of the algorithm's plain loop in records, times and published values."""
    assert (state.class_ids.tolist(), state.published_at.tolist()) == (reference.out, reference.step), seed
    classes = [list(zip(*c, strict=True)) for c in zip(state.lows.tolist(), state.highs.tolist(), strict=True)]
    assert classes == reference.classes, seed
    assert state.reusable.tolist() == reference.kept, seed


def check_cuts(
    name: str, run: Callable[..., StreamState], seed: int, arrivals: Arrivals, model: StreamModel, options: Any
) -> None:
    """Assert that a stream stored and restored at random positions publishes the same."""

    def resume(batch: Arrivals, state: StreamState | None, ends: bool) -> StreamState:
        return run(batch, model, options, state, ends)

    cut_result = resume_at_cuts(
        arrivals, resume, random_cuts(seed, arrivals.n_records), find(name).state_layout.by_record
    )
    assert_equal_states(cut_result, run(arrivals, model, options))
