"""Checkpoints of a stream that grows: it stops between two records and continues later with the records that arrived.

Node numbers and person numbers change with the records that a call reads, so the state stores node names and hashes of
persons instead.
"""

from __future__ import annotations

import io
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from dbanon import errors
from dbanon.algorithms.streams import number_storage
from dbanon.algorithms.streams.arrivals import AttributePlaces
from dbanon.algorithms.streams.number_scales import NumberScale, exact_scale
from dbanon.algorithms.streams.number_storage import OWN, Checkpoint
from dbanon.algorithms.streams.registry import StreamAlgorithm
from dbanon.algorithms.streams.state import OwnArrays, StreamState
from dbanon.encoding.encoded_table import Floats, Ints
from dbanon.kernels.streams.arrays import LAST_BELOW, PENDING

_NODES, _VALUES = "nodes ", "values "


@dataclass(frozen=True)
class NumberMeaning:
    """The meaning of the node and person numbers in the arrivals of one call.

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
        """Each attribute (its index) whose values are ranks, with its scale, as a list of pairs."""
        return [(a, scale) for a, scale in enumerate(self.places.scales) if scale is not None]


def save_state(algorithm: StreamAlgorithm, state: StreamState, meaning: NumberMeaning) -> Checkpoint:
    """Return what a stream needs to continue: its reusable classes and the data of its pending records.

    The result is a dictionary of arrays. Node numbers are replaced by places in stored lists of names, ranks of inexact
    numbers by places in stored lists of exact values, and person numbers by hashes. The entry `classes` has the numbers
    of the reusable classes. Linear in what is saved.

    Args:
        algorithm: The stream algorithm, which states what its own arrays contain.
        state: The state to save; not changed.
        meaning: The meaning of the node, person and value numbers of this call.
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
    _renumber_nodes(arrays, spans, meaning, lambda a, numbers: number_storage.collect_numbers(used[a], numbers))
    orders = [np.array(sorted(numbers), np.int64) for numbers in used]
    arrays = _renumber_nodes(arrays, spans, meaning, lambda a, numbers: np.searchsorted(orders[a], numbers))
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
    """Return the state in a checkpoint, with the node, person and value numbers of this call.

    Args:
        algorithm: The stream algorithm.
        checkpoint: The dictionary of `save_state`.
        meaning: The numbers of this call.
        n_pending: Number of pending records, which are the first of this call.

    Raises:
        KeyError: If a stored node does not exist any more; the argument is its name.
    """
    spans = [("lows", "highs"), *algorithm.state_layout.spans]
    arrays = {name.removeprefix(OWN): array for name, array in checkpoint.items() if name.startswith(OWN)}
    arrays |= {name: checkpoint[name] for name in ("lows", "highs", "seen")}
    for a, scale in meaning.scales:
        arrays = number_storage.keys_to_ranks(algorithm, arrays, a, scale, checkpoint, meaning.is_integral[a])
    numbers = []
    for a, names in enumerate(meaning.nodes):
        places = {} if names is None else {name: i for i, name in enumerate(names)}
        numbers.append(np.array([places[n] for n in checkpoint.get(f"{_NODES}{a}", np.empty(0)).tolist()], np.int64))
    arrays = _renumber_nodes(arrays, spans, meaning, lambda a, given: numbers[a][given])
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
        """Register the segment under its key, for as long as it exists."""
        _SEGMENTS[self.key] = self

    @staticmethod
    def find(key: str | None) -> StreamSegment | None:
        """Return the segment with a key; None if `key` is None, for a stream that is read at once.

        Raises:
            KeyError: If no existing segment has the key.
        """
        return None if key is None else _SEGMENTS[key]

    @classmethod
    def from_bytes(cls, state: bytes | None, n_arrived: int, *, is_last: bool) -> StreamSegment:
        """Return a segment that continues from the bytes that `to_bytes` wrote; None begins a stream.

        Args:
            state: The bytes, or None.
            n_arrived: Number of records in earlier segments.
            is_last: Whether the stream ends with this segment.
        """
        if state is None:
            return cls(None, n_arrived, is_last)
        with np.load(io.BytesIO(state), allow_pickle=False) as arrays:
            return cls(dict(arrays), n_arrived, is_last)

    @property
    def classes(self) -> Ints:
        """The class_id of each class that may be published again, (reusable,); empty for a new stream."""
        return np.empty(0, np.int64) if self.checkpoint is None else self.checkpoint["classes"]

    def node_names(self, attribute: int) -> list[str]:
        """Return the names of the hierarchy nodes of attribute number `attribute` in the state before the segment.

        The list is empty for a number or a new stream.
        """
        return [str(name) for name in (self.checkpoint or {}).get(f"{_NODES}{attribute}", ())]

    def scale(
        self,
        algorithm: StreamAlgorithm,
        attribute: int,
        positions: Floats,
        texts: Sequence[str | None],
        is_integral: bool,
    ) -> NumberScale | None:
        """Return the scale (values by rank) of a number attribute; None if positions are exact, those of the state too.

        If values are inexact, the checkpoint is converted to exact values first, in place of the old one.

        Args:
            algorithm: The stream algorithm.
            attribute: The number of the attribute.
            positions: (codes,) positions of the values of this call.
            texts: The exact value of each code, None if it follows from the position.
            is_integral: Whether positions are whole numbers of steps; else they are half of the values.
        """
        checkpoint, stored_keys = self.checkpoint, None
        if checkpoint is not None:
            is_inexact = any(text is not None for text in texts)
            if is_inexact or (is_integral and number_storage.has_inexact(algorithm, checkpoint, attribute)):
                checkpoint = self.checkpoint = number_storage.with_keys(algorithm, checkpoint, attribute, is_integral)
            stored_keys = number_storage.stored_keys(checkpoint, attribute, is_integral)
        return exact_scale(positions, texts, is_integral, stored_keys)

    def person_hashes(self, algorithm: StreamAlgorithm) -> npt.NDArray[np.uint64]:
        """Return the hashes of the persons in the state before the segment; empty for a new stream.

        Hashes that are stored several times are repeated.
        """
        stored_hashes = (
            []
            if self.checkpoint is None
            else [self.checkpoint[f"{OWN}{name}"].ravel() for name in algorithm.state_layout.people]
        )
        return np.concatenate([np.empty(0, np.uint64), *stored_hashes])

    def value_numbers(self, column: int, hashes: npt.NDArray[np.uint64]) -> Ints:
        """Return a number for each code of a sensitive column that stays the same from segment to segment.

        Values that are new get the next numbers, which are remembered for the new checkpoint.

        Args:
            column: Index of the sensitive column.
            hashes: (codes,) hash of the value of each code.
        """
        name = f"{_VALUES}{column}"
        stored_hashes = np.empty(0, np.uint64) if self.checkpoint is None else self.checkpoint[name]
        stored_hashes = np.append(stored_hashes, hashes[~np.isin(hashes, stored_hashes)])
        self.value_hashes[name] = stored_hashes
        order = np.argsort(stored_hashes, kind="stable")
        return order[np.searchsorted(stored_hashes, hashes, sorter=order)]

    def initial_state(
        self, algorithm: StreamAlgorithm, meaning: NumberMeaning, function: str, n_pending: int
    ) -> StreamState | None:
        """Return the state from which the stream continues; None if it begins.

        Args:
            algorithm: The stream algorithm.
            meaning: The numbers of this call.
            function: Name of the called function, for the message.
            n_pending: Number of pending records.

        Raises:
            HierarchyNodeRemovedError: If a stored node does not exist any more.
        """
        if self.checkpoint is None:
            return None
        try:
            return restore_state(algorithm, self.checkpoint, meaning, n_pending)
        except KeyError as error:
            raise errors.HierarchyNodeRemovedError(function, str(error.args[0])) from None

    def save(self, algorithm: StreamAlgorithm, state: StreamState, meaning: NumberMeaning) -> None:
        """Store the state at the end of the segment in `new_checkpoint`, with the hashes of sensitive values.

        Args:
            algorithm: The stream algorithm.
            state: The state.
            meaning: The meaning of the node, person and value numbers of this call.
        """
        self.new_checkpoint = save_state(algorithm, state, meaning) | self.value_hashes

    def to_bytes(self, class_ids: Mapping[int, int]) -> bytes:
        """Return the new checkpoint as bytes (compressed NumPy arrays) that contain no Python objects.

        `class_ids` are the ids of the classes published in this segment, by the number that the algorithm gave them;
        class numbers are replaced by ids.
        """
        stored_ids = {**dict(enumerate(self.classes.tolist())), **class_ids}
        classes = np.array([stored_ids[number] for number in self.new_checkpoint["classes"].tolist()], np.int64)
        file = io.BytesIO()
        np.savez_compressed(file, **(self.new_checkpoint | {"classes": classes}))  # type: ignore[arg-type]
        return file.getvalue()


_SEGMENTS: WeakValueDictionary[str, StreamSegment] = WeakValueDictionary()
"""Segments that are being read, by key."""


def _renumber_nodes(
    arrays: OwnArrays,
    spans: Sequence[tuple[str, str]],
    meaning: NumberMeaning,
    renumber: Callable[[int, Ints], Ints],
) -> OwnArrays:
    """Return the arrays of a state with the numbers of hierarchy nodes replaced by `renumber(attribute, nodes)`.

    Args:
        arrays: The arrays; not changed.
        spans: Names of pairs of arrays with the lows and highs of classes. The highs of categories are set to the last
            node below the renumbered low.
        meaning: The numbers of this call.
        renumber: Function of an attribute and node numbers that returns the new numbers of these nodes.
    """
    renumbered_arrays = dict(arrays)
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
    """Return the last node of the subtree of each of `nodes` of attribute number `a`, as floats.

    For numbers that are no nodes of the hierarchy the result is meaningless. `places` are the hierarchies.
    """
    begin, size = places.first[a], places.first[a + 1] - places.first[a]
    last: Ints = places.nodes[begin + np.minimum(nodes, size - 1), LAST_BELOW]
    return last.astype(np.float64)
