"""A stream that grows: it is put aside between two records and taken up again with those that came since.

Its state is kept by what its numbers mean, as those of nodes and of persons change with what comes.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from dbanon import errors
from dbanon.algorithms.streams import number_storage
from dbanon.algorithms.streams.arrivals import AttributePlaces
from dbanon.algorithms.streams.number_scales import NumberScale, exact_scale
from dbanon.algorithms.streams.number_storage import OWN, Checkpoint
from dbanon.algorithms.streams.registry import Renumber, StreamAlgorithm
from dbanon.algorithms.streams.state import PENDING, OwnArrays, StreamState
from dbanon.encoding.encoded_table import Floats, Ints

_NODES, _VALUES = "nodes ", "values "


@dataclass(frozen=True)
class NumberMeaning:
    """The meaning of the numbers in arrivals.

    Attributes:
        places: The attributes as compiled code reads them.
        nodes: For each attribute the names of its nodes in preorder; None for a number.
        people: (persons,) a hash of each person.
        is_integral: For each attribute whether its positions are whole numbers.
    """

    places: AttributePlaces
    nodes: Sequence[Sequence[str] | None]
    people: npt.NDArray[np.uint64]
    is_integral: Sequence[bool] = ()

    @property
    def scales(self) -> list[tuple[int, NumberScale]]:
        """Attributes whose values are ranks, with their scales."""
        return [(a, scale) for a, scale in enumerate(self.places.scales) if scale is not None]


def save_state(algorithm: StreamAlgorithm, state: StreamState, meaning: NumberMeaning) -> Checkpoint:
    """Return what a stream needs to continue: its reusable classes and its pending records.

    `classes` are the numbers of these classes, (reusable,). Linear in what is saved.
    """
    is_pending, reusable = state.class_ids == PENDING, state.reusable
    spans = [("lows", "highs"), *algorithm.state_layout.spans]
    own_arrays = {
        name: a[is_pending] if name in algorithm.state_layout.by_record else a for name, a in state.own.items()
    }
    checkpoint: Checkpoint = {
        "classes": reusable,
        "born": state.made_at[reusable],
        "last": np.array(state.last_arrival),
    }
    arrays = {**own_arrays, "lows": state.lows[reusable], "highs": state.highs[reusable], "seen": state.seen_ranges}
    for a, scale in meaning.scales:
        arrays, keys = number_storage.ranks_to_keys(algorithm, arrays, a, scale)
        checkpoint |= keys
    used: list[set[int]] = [set() for _ in meaning.nodes]
    _renumber_nodes(algorithm, arrays, spans, meaning, lambda a, numbers: _collect_numbers(used[a], numbers))
    orders = [np.array(sorted(numbers), np.int64) for numbers in used]
    arrays = _renumber_nodes(algorithm, arrays, spans, meaning, lambda a, numbers: np.searchsorted(orders[a], numbers))
    for a, names in enumerate(meaning.nodes):
        if names is not None:
            checkpoint[f"{_NODES}{a}"] = np.array([names[i] for i in orders[a]], np.str_)
    for name in algorithm.state_layout.people:
        arrays[name] = meaning.people[arrays[name].astype(np.int64)]
    checkpoint |= {name: arrays.pop(name) for name in ("lows", "highs", "seen")}
    return checkpoint | {f"{OWN}{name}": array for name, array in arrays.items()}


def restore_state(
    algorithm: StreamAlgorithm, checkpoint: Checkpoint, meaning: NumberMeaning, n_pending: int
) -> StreamState:
    """The state that was put aside, for records of which the first ones wait; KeyError with the name of a node that is
    not there any more."""
    spans = [("lows", "highs"), *algorithm.state_layout.spans]
    arrays = {name.removeprefix(OWN): array for name, array in checkpoint.items() if name.startswith(OWN)}
    arrays |= {name: checkpoint[name] for name in ("lows", "highs", "seen")}
    for a, scale in meaning.scales:
        arrays = number_storage.keys_to_ranks(algorithm, arrays, a, scale, checkpoint, meaning.is_integral[a])
    numbers = []
    for a, names in enumerate(meaning.nodes):
        places = {} if names is None else {name: i for i, name in enumerate(names)}
        numbers.append(np.array([places[n] for n in checkpoint.get(f"{_NODES}{a}", np.empty(0)).tolist()], np.int64))
    arrays = _renumber_nodes(algorithm, arrays, spans, meaning, lambda a, given: numbers[a][given])
    for name in algorithm.state_layout.people:
        hashes = arrays[name].astype(np.uint64)
        order = np.argsort(meaning.people, kind="stable")
        arrays[name] = order[np.searchsorted(meaning.people, hashes, sorter=order)]
    lows, highs, seen_ranges = (arrays.pop(name) for name in ("lows", "highs", "seen"))
    return StreamState(
        np.full(n_pending, PENDING, np.int64), np.zeros(n_pending, np.int64), lows, highs, checkpoint["born"],
        np.arange(len(lows)), seen_ranges, int(checkpoint["last"]), arrays,
    )  # fmt: skip


@dataclass
class StreamSegment:
    """The records of one refresh of a stream, with the state before and, once it has run, after them.

    Attributes:
        checkpoint: The state before; None if the stream begins.
        n_arrived: Number of records in earlier segments.
        is_last: Whether the stream ends, so that no record stays pending.
        new_checkpoint: The state after the segment.
        value_hashes: Hashes of sensitive values by column, in order of first occurrence.
        key: The random key by which the running function finds the segment; no other caller can guess it.
    """

    checkpoint: Checkpoint | None
    n_arrived: int
    is_last: bool
    new_checkpoint: Checkpoint = field(default_factory=dict)
    value_hashes: Checkpoint = field(default_factory=dict)
    key: str = field(default_factory=secrets.token_hex)

    def __post_init__(self) -> None:
        _SEGMENTS[self.key] = self

    @staticmethod
    def find(key: str | None) -> StreamSegment | None:
        """Return the segment with a key; None where there is no key, for a stream that is read at once."""
        return None if key is None else _SEGMENTS[key]

    @classmethod
    def from_bytes(cls, state: bytes | None, n_arrived: int, *, is_last: bool) -> StreamSegment:
        """Return one that goes on from what `written` gave; None: that begins."""
        if state is None:
            return cls(None, n_arrived, is_last)
        with np.load(io.BytesIO(state), allow_pickle=False) as arrays:
            return cls(dict(arrays), n_arrived, is_last)

    @property
    def classes(self) -> Ints:
        """(kept,): the class_id of the classes that may be published again."""
        return np.empty(0, np.int64) if self.checkpoint is None else self.checkpoint["classes"]

    def node_names(self, attribute: int) -> list[str]:
        """Return the names of the nodes of an attribute that the state knows."""
        stored_names = (
            [] if self.checkpoint is None else self.checkpoint.get(f"{_NODES}{attribute}", np.empty(0)).tolist()
        )
        return [str(name) for name in stored_names]

    def scale(
        self,
        algorithm: StreamAlgorithm,
        attribute: int,
        positions: Floats,
        texts: Sequence[str | None],
        is_integral: bool,
    ) -> NumberScale | None:
        """Return the scale of a number attribute; None where positions are exact, those of the state too.

        Args:
            algorithm: The system.
            attribute: The number of the attribute.
            positions: (codes,) positions of the values of this call.
            texts: The exact value of each code, None if it follows from the position.
            is_integral: Whether positions are numbers of steps.
        """
        checkpoint, stored_keys = self.checkpoint, None
        if checkpoint is not None:
            is_inexact = any(text is not None for text in texts)
            if is_inexact or (is_integral and number_storage.has_inexact(algorithm, checkpoint, attribute)):
                checkpoint = self.checkpoint = number_storage.with_keys(algorithm, checkpoint, attribute, is_integral)
            stored_keys = number_storage.stored_keys(checkpoint, attribute, is_integral)
        return exact_scale(positions, texts, is_integral, stored_keys)

    def person_hashes(self, algorithm: StreamAlgorithm) -> npt.NDArray[np.uint64]:
        """Return hashes of the persons that the state knows."""
        stored_hashes = (
            []
            if self.checkpoint is None
            else [self.checkpoint[f"{OWN}{name}"].ravel() for name in algorithm.state_layout.people]
        )
        return np.concatenate([np.empty(0, np.uint64), *stored_hashes])

    def value_numbers(self, column: int, hashes: npt.NDArray[np.uint64]) -> Ints:
        """Numbers of the values of a sensitive column that stay the same, by code; `hashes` are those of its codes."""
        name = f"{_VALUES}{column}"
        stored_hashes = np.empty(0, np.uint64) if self.checkpoint is None else self.checkpoint[name]
        stored_hashes = np.append(stored_hashes, hashes[~np.isin(hashes, stored_hashes)])
        self.value_hashes[name] = stored_hashes
        order = np.argsort(stored_hashes, kind="stable")
        return order[np.searchsorted(stored_hashes, hashes, sorter=order)]

    def initial_state(
        self, algorithm: StreamAlgorithm, meaning: NumberMeaning, function: str, n_pending: int
    ) -> StreamState | None:
        """Return the state that the stream is taken up from, with so many records that wait.

        HierarchyNodeRemovedError.
        """
        if self.checkpoint is None:
            return None
        try:
            return restore_state(algorithm, self.checkpoint, meaning, n_pending)
        except KeyError as error:
            raise errors.HierarchyNodeRemovedError(function, str(error.args[0])) from None

    def save(self, algorithm: StreamAlgorithm, state: StreamState, meaning: NumberMeaning) -> None:
        """Keep the state at the end of the segment as the new checkpoint."""
        self.new_checkpoint = save_state(algorithm, state, meaning) | self.value_hashes

    def to_bytes(self, class_ids: Mapping[int, int]) -> bytes:
        """Return the new checkpoint as bytes that contain no Python objects.

        `class_ids` are the ids of the classes published in this segment, by the number that the algorithm gave them.
        """
        stored_ids = {**dict(enumerate(self.classes.tolist())), **class_ids}
        classes = np.array([stored_ids[number] for number in self.new_checkpoint["classes"].tolist()], np.int64)
        file = io.BytesIO()
        np.savez_compressed(file, **(self.new_checkpoint | {"classes": classes}))  # type: ignore[arg-type]
        return file.getvalue()


_SEGMENTS: WeakValueDictionary[str, StreamSegment] = WeakValueDictionary()
"""Segments that are being read, by key."""


def _renumber_nodes(
    algorithm: StreamAlgorithm,
    arrays: OwnArrays,
    spans: Sequence[tuple[str, str]],
    meaning: NumberMeaning,
    renumber: Renumber,
) -> OwnArrays:
    """Return the arrays with their nodes by other numbers.

    The last node below one follows from it where that is known.
    """
    renumbered_arrays = {**arrays, **algorithm.state_layout.nodes(arrays, renumber)}
    for name, other in spans:
        lows, highs = renumbered_arrays[name].astype(np.float64), renumbered_arrays[other].astype(np.float64)
        for a, names in enumerate(meaning.nodes):
            if names is None:
                continue
            is_node = np.isfinite(lows[:, a])
            nodes = renumber(a, lows[is_node, a].astype(np.int64))
            lows[is_node, a] = nodes
            highs[is_node, a] = _last_nodes(meaning.places, a, nodes)
        renumbered_arrays[name], renumbered_arrays[other] = lows, highs
    return renumbered_arrays


def _last_nodes(places: AttributePlaces, a: int, nodes: Ints) -> Floats:
    """Return the last nodes below nodes; of numbers that stand for others it does not matter."""
    begin, size = places.first[a], places.first[a + 1] - places.first[a]
    last: Ints = places.nodes[begin + np.minimum(nodes, size - 1), 1]
    return last.astype(np.float64)


def _collect_numbers(used: set[int], numbers: Ints) -> Ints:
    used.update(np.unique(numbers).tolist())
    return numbers
