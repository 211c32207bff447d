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
from dbanon.algorithms.streams.arrivals import Places
from dbanon.algorithms.streams.number_scales import Scale, exact_scale
from dbanon.algorithms.streams.number_storage import OWN, Put
from dbanon.algorithms.streams.registry import Renumber, Stream
from dbanon.algorithms.streams.state import WAITING, Own, State
from dbanon.encoding.encoded_table import Floats, Ints

_NODES, _VALUES = "nodes ", "values "


@dataclass(frozen=True)
class Meaning:
    """What numbers of arrivals stand for: `nodes` by attribute the names of its nodes in preorder (None: a number has
    none), `people` by number a hash of the person, `is_integral` by attribute whether numbers have whole positions."""

    places: Places
    nodes: Sequence[Sequence[str] | None]
    people: npt.NDArray[np.uint64]
    is_integral: Sequence[bool] = ()

    @property
    def scales(self) -> list[tuple[int, Scale]]:
        """Attributes whose values are ranks, with their scales."""
        return [(a, scale) for a, scale in enumerate(self.places.scales) if scale is not None]


def put_aside(system: Stream, state: State, meaning: Meaning) -> Put:
    """What a stream needs to go on: of its classes those that may be published again, of its records those that wait.

    `classes` (kept,) are the numbers of these classes. Linear in what is kept.
    """
    waits, kept = state.out == WAITING, state.kept
    spans = [("lows", "highs"), *system.kept.spans]
    own = {name: a[waits] if name in system.kept.by_record else a for name, a in state.own.items()}
    put: Put = {"classes": kept, "born": state.born[kept], "last": np.array(state.last)}
    arrays = {**own, "lows": state.lows[kept], "highs": state.highs[kept], "seen": state.seen}
    for a, scale in meaning.scales:
        arrays, keys = number_storage.ranks_to_keys(system, arrays, a, scale)
        put |= keys
    used: list[set[int]] = [set() for _ in meaning.nodes]
    _renumbered(system, arrays, spans, meaning, lambda a, numbers: _noted(used[a], numbers))
    orders = [np.array(sorted(numbers), np.int64) for numbers in used]
    arrays = _renumbered(system, arrays, spans, meaning, lambda a, numbers: np.searchsorted(orders[a], numbers))
    for a, names in enumerate(meaning.nodes):
        if names is not None:
            put[f"{_NODES}{a}"] = np.array([names[i] for i in orders[a]], np.str_)
    for name in system.kept.people:
        arrays[name] = meaning.people[arrays[name].astype(np.int64)]
    put |= {name: arrays.pop(name) for name in ("lows", "highs", "seen")}
    return put | {f"{OWN}{name}": array for name, array in arrays.items()}


def take_up(system: Stream, put: Put, meaning: Meaning, waiting: int) -> State:
    """The state that was put aside, for records of which the first ones wait; KeyError with the name of a node that is
    not there any more."""
    spans = [("lows", "highs"), *system.kept.spans]
    arrays = {name.removeprefix(OWN): array for name, array in put.items() if name.startswith(OWN)}
    arrays |= {name: put[name] for name in ("lows", "highs", "seen")}
    for a, scale in meaning.scales:
        arrays = number_storage.keys_to_ranks(system, arrays, a, scale, put, meaning.is_integral[a])
    numbers = []
    for a, names in enumerate(meaning.nodes):
        places = {} if names is None else {name: i for i, name in enumerate(names)}
        numbers.append(np.array([places[n] for n in put.get(f"{_NODES}{a}", np.empty(0)).tolist()], np.int64))
    arrays = _renumbered(system, arrays, spans, meaning, lambda a, given: numbers[a][given])
    for name in system.kept.people:
        hashes = arrays[name].astype(np.uint64)
        order = np.argsort(meaning.people, kind="stable")
        arrays[name] = order[np.searchsorted(meaning.people, hashes, sorter=order)]
    lows, highs, seen = (arrays.pop(name) for name in ("lows", "highs", "seen"))
    return State(
        np.full(waiting, WAITING, np.int64), np.zeros(waiting, np.int64), lows, highs, put["born"],
        np.arange(len(lows)), seen, int(put["last"]), arrays,
    )  # fmt: skip


@dataclass
class StreamSegment:
    """The records of one refresh of a stream: the state before them, and, once it has run, the state after them.

    `put` is None where the stream begins; `arrived` is the number of earlier records. Where it `ends`, no record stays
    pending. `values` are hashes of sensitive values by column, in the order in which they came. The function that runs
    the segment finds it by its `key`, which no other caller can guess, for as long as its maker keeps it.
    """

    put: Put | None
    arrived: int
    ends: bool
    aside: Put = field(default_factory=dict)
    values: Put = field(default_factory=dict)
    key: str = field(default_factory=secrets.token_hex)

    def __post_init__(self) -> None:
        _SEGMENTS[self.key] = self

    @staticmethod
    def find(key: str | None) -> StreamSegment | None:
        """Return the segment with a key; None where there is no key, for a stream that is read at once."""
        return None if key is None else _SEGMENTS[key]

    @classmethod
    def of(cls, state: bytes | None, arrived: int, *, ends: bool) -> StreamSegment:
        """Return one that goes on from what `written` gave; None: that begins."""
        if state is None:
            return cls(None, arrived, ends)
        with np.load(io.BytesIO(state), allow_pickle=False) as arrays:
            return cls(dict(arrays), arrived, ends)

    @property
    def classes(self) -> Ints:
        """(kept,): the class_id of the classes that may be published again."""
        return np.empty(0, np.int64) if self.put is None else self.put["classes"]

    def nodes(self, attribute: int) -> list[str]:
        """Return the names of the nodes of an attribute that the state knows."""
        known = [] if self.put is None else self.put.get(f"{_NODES}{attribute}", np.empty(0)).tolist()
        return [str(name) for name in known]

    def scale(
        self, system: Stream, attribute: int, positions: Floats, texts: Sequence[str | None], is_integral: bool
    ) -> Scale | None:
        """Return the scale of a number attribute; None where positions are exact, those of the state too.

        Args:
            system: The system.
            attribute: The number of the attribute.
            positions: (codes,) positions of the values of this call.
            texts: The exact value of each code, None if it follows from the position.
            is_integral: Whether positions are numbers of steps.
        """
        put, known = self.put, None
        if put is not None:
            is_inexact = any(text is not None for text in texts)
            if is_inexact or (is_integral and number_storage.has_inexact(system, put, attribute)):
                put = self.put = number_storage.with_keys(system, put, attribute, is_integral)
            known = number_storage.known_keys(put, attribute, is_integral)
        return exact_scale(positions, texts, is_integral, known)

    def people(self, system: Stream) -> npt.NDArray[np.uint64]:
        """Return hashes of the persons that the state knows."""
        known = [] if self.put is None else [self.put[f"{OWN}{name}"].ravel() for name in system.kept.people]
        return np.concatenate([np.empty(0, np.uint64), *known])

    def numbers(self, column: int, hashes: npt.NDArray[np.uint64]) -> Ints:
        """Numbers of the values of a sensitive column that stay the same, by code; `hashes` are those of its codes."""
        name = f"{_VALUES}{column}"
        known = np.empty(0, np.uint64) if self.put is None else self.put[name]
        known = np.append(known, hashes[~np.isin(hashes, known)])
        self.values[name] = known
        order = np.argsort(known, kind="stable")
        return order[np.searchsorted(known, hashes, sorter=order)]

    def before(self, system: Stream, meaning: Meaning, function: str, waiting: int) -> State | None:
        """Return the state that the stream is taken up from, with so many records that wait.

        HierarchyNodeRemovedError.
        """
        if self.put is None:
            return None
        try:
            return take_up(system, self.put, meaning, waiting)
        except KeyError as error:
            raise errors.HierarchyNodeRemovedError(function, str(error.args[0])) from None

    def after(self, system: Stream, state: State, meaning: Meaning) -> None:
        """Note the state that the stream is left in."""
        self.aside = put_aside(system, state, meaning) | self.values

    def written(self, class_ids: Mapping[int, int]) -> bytes:
        """What is to be put aside, as bytes that hold no Python objects; `class_ids` are those of the classes that left
        in this segment, by the number that the system gave them."""
        known = {**dict(enumerate(self.classes.tolist())), **class_ids}
        classes = np.array([known[number] for number in self.aside["classes"].tolist()], np.int64)
        file = io.BytesIO()
        np.savez_compressed(file, **(self.aside | {"classes": classes}))  # type: ignore[arg-type]
        return file.getvalue()


_SEGMENTS: WeakValueDictionary[str, StreamSegment] = WeakValueDictionary()
"""Segments that are being read, by key."""


def _renumbered(
    system: Stream, arrays: Own, spans: Sequence[tuple[str, str]], meaning: Meaning, renumber: Renumber
) -> Own:
    """Return the arrays with their nodes by other numbers.

    The last node below one follows from it where that is known.
    """
    made = {**arrays, **system.kept.nodes(arrays, renumber)}
    for name, other in spans:
        lows, highs = made[name].astype(np.float64), made[other].astype(np.float64)
        for a, names in enumerate(meaning.nodes):
            if names is None:
                continue
            is_node = np.isfinite(lows[:, a])
            nodes = renumber(a, lows[is_node, a].astype(np.int64))
            lows[is_node, a] = nodes
            highs[is_node, a] = _last(meaning.places, a, nodes)
        made[name], made[other] = lows, highs
    return made


def _last(places: Places, a: int, nodes: Ints) -> Floats:
    """Return the last nodes below nodes; of numbers that stand for others it does not matter."""
    begin, size = places.first[a], places.first[a + 1] - places.first[a]
    last: Ints = places.nodes[begin + np.minimum(nodes, size - 1), 1]
    return last.astype(np.float64)


def _noted(used: set[int], numbers: Ints) -> Ints:
    used.update(np.unique(numbers).tolist())
    return numbers
