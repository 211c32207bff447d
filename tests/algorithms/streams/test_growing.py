"""A stored stream state is restored unchanged, whatever numbers its nodes and persons have by then."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.streams import FLAT, assert_equal_states, random_arrivals

from dbanon.algorithms.streams import PENDING, Arrivals, StreamAlgorithm, StreamModel, StreamState, streams
from dbanon.algorithms.streams.arrivals import _attribute_places
from dbanon.algorithms.streams.checkpoint import NumberMeaning, StreamSegment, restore_state, save_state
from dbanon.encoding.encoded_table import CategoricalAttribute

SYSTEMS = pytest.mark.parametrize("system", streams(), ids=lambda system: system.name)
DELTA = 30


def run_stream(
    system: StreamAlgorithm, came: Arrivals, model: StreamModel, initial_state: StreamState | None, ends: bool
) -> StreamState:
    options = {**{p.name: p.default for p in system.parameters}, "delta": DELTA}
    return system.run(came, model, options, lambda: None, initial_state, ends)


def meaning(came: Arrivals) -> NumberMeaning:
    """Return names of nodes made of attribute and number, and hashes of persons that differ from their numbers."""
    sizes = np.diff(came.places.first).tolist()
    names = [[f"{a} {i}" for i in range(size)] if size else None for a, size in enumerate(sizes)]
    people = (np.arange(int(came.people.max(initial=0)) + 1, dtype=np.uint64) * 7919) % 100_003
    return NumberMeaning(came.places, names, people)


@SYSTEMS
def test_stored_stream_state_is_restored_unchanged(system: StreamAlgorithm) -> None:
    for seed in range(20):
        came = random_arrivals(seed, 150, nulls=bool(seed % 2), persons=bool(seed % 3), sensitive=seed % 2)
        model = StreamModel(3, (2,) * (seed % 2))
        state, one_meaning = run_stream(system, came, model, None, False), meaning(came)
        segment = StreamSegment(None, 0, False)
        segment.save(system, state, one_meaning)
        numbers = {int(c): 10 * int(c) for c in state.reusable}
        repeated = StreamSegment.from_bytes(segment.to_bytes(numbers), came.n_records, is_last=True)
        assert repeated.classes.tolist() == [10 * c for c in state.reusable.tolist()]
        waits = state.class_ids == PENDING
        rest = Arrivals(
            came.places, came.values[waits], came.people[waits], came.sensitive[waits], came.arrived[waits],
            int(waits.sum()),
        )  # fmt: skip
        taken_initial_state = repeated.initial_state(system, one_meaning, system.name, rest.n_pending)
        assert taken_initial_state is not None
        own_values_by_name = {
            name: a[waits] if name in system.state_layout.by_record else a for name, a in state.own.items()
        }
        for name, array in own_values_by_name.items():
            np.testing.assert_array_equal(taken_initial_state.own[name], array, name)
        kept_state = replace(
            state,
            class_ids=state.class_ids[waits],
            published_at=state.published_at[waits],
            lows=state.lows[state.reusable],
            highs=state.highs[state.reusable],
            made_at=state.made_at[state.reusable],
            reusable=np.arange(len(state.reusable)),
            own=own_values_by_name,
        )
        assert_equal_states(
            run_stream(system, rest, model, taken_initial_state, True),
            run_stream(system, rest, model, kept_state, True),
        )


@SYSTEMS
def test_stream_state_identifies_nodes_by_name(system: StreamAlgorithm) -> None:
    """A new leaf precedes the others, so all their numbers change; stored again, they have the same names."""
    came = random_arrivals(7, 300, values=20)
    one_meaning = meaning(came)
    put = save_state(system, run_stream(system, came, StreamModel(3), None, False), one_meaning)
    extra_categorical_attribute = CategoricalAttribute(
        np.append(FLAT.parent, 0), np.arange(1, len(FLAT.parent) + 1, dtype=np.int32)
    )
    flat, old = came.places.first[2], len(FLAT.parent)
    assert came.places.first[3] - flat == old
    names = [name and list(name) for name in one_meaning.nodes]
    assert names[2] is not None
    names[2].insert(1, "new")
    nodes = np.concatenate([_attribute_places([extra_categorical_attribute]).nodes, came.places.nodes[old:]])
    share = np.append(np.ones(1), came.places.share)
    places = replace(came.places, first=came.places.first + (np.arange(5) > 2), nodes=nodes, share=share)
    other = NumberMeaning(places, names, one_meaning.people)
    waiting = int((run_stream(system, came, StreamModel(3), None, False).class_ids == PENDING).sum())
    taken_state = restore_state(system, put, other, waiting)
    second = save_state(system, taken_state, other)
    assert second.keys() == put.keys()
    for name, array in put.items():
        if name not in ("classes", "highs", "own high", "own open_highs"):  # the root ends at another leaf
            np.testing.assert_array_equal(second[name], array, name)


def test_stream_state_with_removed_node_name_raises() -> None:
    system = next(s for s in streams() if s.name == "castle")
    came = random_arrivals(7, 300, values=20)
    put = save_state(system, run_stream(system, came, StreamModel(3), None, False), meaning(came))
    removed_meaning = replace(meaning(came), nodes=[None, None, ["other"], ["other"]])
    with pytest.raises(KeyError):
        restore_state(system, put, removed_meaning, 0)


def test_stream_segment_found_by_key_until_deleted() -> None:
    segment = StreamSegment.from_bytes(None, 0, is_last=False)
    key = segment.key
    assert StreamSegment.find(key) is segment
    assert StreamSegment.find(None) is None
    assert StreamSegment.from_bytes(None, 0, is_last=False).key != key
    del segment
    with pytest.raises(KeyError):
        StreamSegment.find(key)
