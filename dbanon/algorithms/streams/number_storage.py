"""Numbers in the state of a stream that are no exact positions: they are stored as places in a list of exact values."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dbanon.algorithms.streams.number_scales import Key, Scale, key_of_position, key_of_text
from dbanon.algorithms.streams.registry import Stream
from dbanon.encoding.encoded_table import Floats

Put = dict[str, npt.NDArray[Any]]
"""The state of a stream as arrays by name (see dbanon.algorithms.streams.checkpoint)."""

MAX_EXACT = 2.0**53
"""Below this, a whole number of steps is exact as DOUBLE."""

_KEYS, _PLACES, OWN = "keys ", "places ", "own "


def with_keys(system: Stream, put: Put, a: int, is_integral: bool) -> Put:
    """Return a state whose numbers of an attribute are places in its list of keys.

    States of earlier versions have positions. Where these are not exact, it is unknown which values are the ends of a
    class; it then covers only values that it covers in any case, which may be none.
    """
    if f"{_KEYS}{a}" in put:
        return put
    made = dict(put)
    pairs = [made[low][:, a] for low, _ in _spans(system, OWN)], [made[high][:, a] for _, high in _spans(system, OWN)]
    lows, highs = np.concatenate([*pairs[0], made["seen"][a, :1]]), np.concatenate([*pairs[1], made["seen"][a, 1:]])
    places: dict[Key, float] = {}
    ends: dict[tuple[float, float], tuple[Key | None, Key | None]] = {}
    for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
        if (low, high) not in ends:
            ends[low, high] = found = _ends(low, high, is_integral)
            places |= {key: end for key, end in zip(found, (low, high), strict=True) if key is not None}
    for name, mask in system.kept.cuts(_own(made), a).items():
        places |= {key_of_position(cut, is_integral): cut for cut in made[OWN + name][mask].tolist()}
    order = sorted(places)
    number = {key: i for i, key in enumerate(order)}
    for low_name, high_name in (*_spans(system, OWN), ("seen", "seen")):
        new_lows, new_highs = made[low_name].astype(np.float64), made[high_name].astype(np.float64)
        if low_name == "seen":
            new_lows = new_highs = new_lows.copy()
            columns = new_lows[a, :1], new_highs[a, 1:]
        else:
            columns = new_lows[:, a], new_highs[:, a]
        for i, pair in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            for column, key in zip(columns, ends[pair], strict=True):
                if key is not None:
                    column[i] = number[key]
        made[low_name], made[high_name] = new_lows, new_highs
    for name, mask in system.kept.cuts(_own(made), a).items():
        cuts = made[OWN + name].astype(np.float64)
        cuts[mask] = [number[key_of_position(cut, is_integral)] for cut in cuts[mask].tolist()]
        made[OWN + name] = cuts
    made[f"{_KEYS}{a}"] = np.array([str(key) for key in order], np.str_)
    made[f"{_PLACES}{a}"] = np.array([places[key] for key in order], np.float64)
    return made


def _ends(low: float, high: float, is_integral: bool) -> tuple[Key | None, Key | None]:
    """Return the ends that an interval of positions has in any case; None where it is open."""
    first = None if not np.isfinite(low) else key_of_position(low, is_integral)
    last = None if not np.isfinite(high) else key_of_position(high, is_integral)
    if is_integral and first is not None and abs(low) >= MAX_EXACT:
        first = int(np.nextafter(low, np.inf))
    if is_integral and last is not None and abs(high) >= MAX_EXACT:
        last = int(np.nextafter(high, -np.inf))
    if first is not None and last is not None and low <= high and first > last:
        first = last = Fraction(2 * int(low) + 1, 2)
    return first, last


def has_inexact(system: Stream, put: Put, a: int) -> bool:
    """Return whether a state of an earlier version has positions of an attribute that are not exact."""
    arrays = [put[name][:, a] for pair in _spans(system, OWN) for name in pair]
    return any(bool((np.isfinite(v) & (np.abs(v) >= MAX_EXACT)).any()) for v in (*arrays, put["seen"][a]))


def known_keys(put: Put, a: int, is_integral: bool) -> dict[Key, float] | None:
    """Return the keys of a state with their positions; None if it has positions."""
    if f"{_KEYS}{a}" not in put:
        return None
    keys = (key_of_text(text, is_integral) for text in put[f"{_KEYS}{a}"].tolist())
    return dict(zip(keys, put[f"{_PLACES}{a}"].tolist(), strict=True))


def ranks_to_keys(system: Stream, arrays: Put, a: int, scale: Scale) -> tuple[Put, Put]:
    """Return arrays whose ranks are places in a list of keys, and this list, to be put aside."""
    used: set[int] = set()

    def note(ranks: Floats) -> Floats:
        used.update(ranks.astype(np.int64).tolist())
        return ranks

    _mapped(system, arrays, a, note)
    order = np.array(sorted(used), np.int64)
    made = _mapped(system, arrays, a, lambda ranks: np.searchsorted(order, ranks.astype(np.int64)).astype(np.float64))
    keys = np.array([str(scale.keys[i]) for i in order], np.str_)
    return made, {f"{_KEYS}{a}": keys, f"{_PLACES}{a}": scale.positions[order]}


def keys_to_ranks(system: Stream, arrays: Put, a: int, scale: Scale, put: Put, is_integral: bool) -> Put:
    """Return arrays whose places in the list of keys of a state are ranks."""
    rank = {key: i for i, key in enumerate(scale.keys)}
    ranks = np.array([rank[key] for key in known_keys(put, a, is_integral) or ()], np.float64)
    return _mapped(system, arrays, a, lambda places: ranks[places.astype(np.int64)])


def _mapped(system: Stream, arrays: Put, a: int, change: Callable[[Floats], Floats]) -> Put:
    """Return the arrays with other numbers of an attribute, infinite ones excepted."""
    made = dict(arrays)
    for name in {name for pair in _spans(system, "") for name in pair}:
        made[name] = made[name].astype(np.float64)
        is_number = np.isfinite(made[name][:, a])
        made[name][is_number, a] = change(made[name][is_number, a])
    made["seen"] = made["seen"].copy()
    is_number = np.isfinite(made["seen"][a])
    made["seen"][a, is_number] = change(made["seen"][a, is_number])
    for name, mask in system.kept.cuts(arrays, a).items():
        made[name] = made[name].astype(np.float64)
        made[name][mask] = change(made[name][mask])
    return made


def _spans(system: Stream, prefix: str) -> Sequence[tuple[str, str]]:
    return [("lows", "highs"), *((prefix + low, prefix + high) for low, high in system.kept.spans)]


def _own(put: Put) -> Put:
    return {name.removeprefix(OWN): array for name, array in put.items() if name.startswith(OWN)}
