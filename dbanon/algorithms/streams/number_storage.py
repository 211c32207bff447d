"""Storage of numbers whose positions are not exact: a stored state has places in a list of exact values instead."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from dbanon.algorithms.streams.number_scales import ExactValue, NumberScale, key_of_position, key_of_text
from dbanon.algorithms.streams.registry import StreamAlgorithm
from dbanon.encoding.encoded_table import Floats

Checkpoint = dict[str, npt.NDArray[Any]]
"""The state of a stream as arrays by name (see dbanon.algorithms.streams.checkpoint)."""

MAX_EXACT = 2.0**53
"""Below this, a whole number of steps is exact as DOUBLE."""

_KEYS, _PLACES, OWN = "keys ", "places ", "own "


def with_keys(algorithm: StreamAlgorithm, checkpoint: Checkpoint, a: int, is_integral: bool) -> Checkpoint:
    """Return a checkpoint in which the numbers of attribute `a` are places in a stored list of exact values (keys).

    It is returned unchanged if it has them already. Checkpoints of earlier versions have positions. If these are not
    exact, it is unknown which values are the ends of a class; it then covers only values that it covers in any case,
    which may be none.

    Args:
        algorithm: The stream algorithm, which states what its own arrays contain.
        checkpoint: The checkpoint (arrays by name); not changed.
        a: Index of the attribute.
        is_integral: Whether positions are whole numbers of steps; else they are half of the values.
    """
    if f"{_KEYS}{a}" in checkpoint:
        return checkpoint
    converted = dict(checkpoint)
    span_names = _span_names(algorithm, OWN)
    lows, highs = (
        np.concatenate([*(converted[low][:, a] for low, _ in span_names), converted["seen"][a, :1]]),
        np.concatenate([*(converted[high][:, a] for _, high in span_names), converted["seen"][a, 1:]]),
    )
    places: dict[ExactValue, float] = {}
    ends: dict[tuple[float, float], tuple[ExactValue | None, ExactValue | None]] = {}
    for low, high in zip(lows.tolist(), highs.tolist(), strict=True):
        if (low, high) not in ends:
            ends[low, high] = interval_keys = _certain_ends(low, high, is_integral)
            places |= {key: end for key, end in zip(interval_keys, (low, high), strict=True) if key is not None}
    order = sorted(places)
    number = {key: i for i, key in enumerate(order)}
    for low_name, high_name in (*span_names, ("seen", "seen")):
        new_lows, new_highs = converted[low_name].astype(np.float64), converted[high_name].astype(np.float64)
        if low_name == "seen":
            new_lows = new_highs = new_lows.copy()
            columns = new_lows[a, :1], new_highs[a, 1:]
        else:
            columns = new_lows[:, a], new_highs[:, a]
        for i, pair in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            for column, key in zip(columns, ends[pair], strict=True):
                if key is not None:
                    column[i] = number[key]
        converted[low_name], converted[high_name] = new_lows, new_highs
    converted[f"{_KEYS}{a}"] = np.array([str(key) for key in order], np.str_)
    converted[f"{_PLACES}{a}"] = np.array([places[key] for key in order], np.float64)
    return converted


def _certain_ends(low: float, high: float, is_integral: bool) -> tuple[ExactValue | None, ExactValue | None]:
    """Return the exact ends of the values that an interval of rounded positions certainly covers.

    An infinite end is None. If the interval certainly covers no value, both ends are a number between two whole
    numbers.

    Args:
        low: Lower end.
        high: Upper end.
        is_integral: Whether positions are whole numbers of steps, rounded from 2^53 on; else they are exact.
    """
    first = None if not np.isfinite(low) else key_of_position(low, is_integral)
    last = None if not np.isfinite(high) else key_of_position(high, is_integral)
    if is_integral and first is not None and abs(low) >= MAX_EXACT:
        first = int(np.nextafter(low, np.inf))
    if is_integral and last is not None and abs(high) >= MAX_EXACT:
        last = int(np.nextafter(high, -np.inf))
    if first is not None and last is not None and low <= high and first > last:
        first = last = Fraction(2 * int(low) + 1, 2)
    return first, last


def has_inexact(algorithm: StreamAlgorithm, checkpoint: Checkpoint, a: int) -> bool:
    """Return whether a checkpoint has finite positions of attribute `a` of at least 2^53 in absolute value.

    These are not exact. `algorithm` states which of its own arrays contain positions.
    """
    arrays = [checkpoint[name][:, a] for pair in _span_names(algorithm, OWN) for name in pair]
    return any(bool((np.isfinite(v) & (np.abs(v) >= MAX_EXACT)).any()) for v in (*arrays, checkpoint["seen"][a]))


def stored_keys(checkpoint: Checkpoint, a: int, is_integral: bool) -> dict[ExactValue, float] | None:
    """Return the exact values (keys) of attribute `a` in a checkpoint, with their positions; None if it has no keys.

    `is_integral` states whether positions are whole numbers of steps; otherwise keys are floats.
    """
    if f"{_KEYS}{a}" not in checkpoint:
        return None
    keys = (key_of_text(text, is_integral) for text in checkpoint[f"{_KEYS}{a}"].tolist())
    return dict(zip(keys, checkpoint[f"{_PLACES}{a}"].tolist(), strict=True))


def ranks_to_keys(
    algorithm: StreamAlgorithm, arrays: Checkpoint, a: int, scale: NumberScale
) -> tuple[Checkpoint, Checkpoint]:
    """Replace the ranks of attribute `a` by places in a list of the keys (exact values) that occur.

    Args:
        algorithm: The stream algorithm, which states what its own arrays contain.
        arrays: The arrays of a state by name; not changed.
        a: Index of the attribute.
        scale: Its values by rank.

    Returns:
        The new arrays; and the list of keys and their positions, to be added to the checkpoint.
    """
    used: set[int] = set()
    _map_numbers(algorithm, arrays, a, lambda ranks: collect_numbers(used, ranks))
    order = np.array(sorted(used), np.int64)
    converted = _map_numbers(
        algorithm, arrays, a, lambda ranks: np.searchsorted(order, ranks.astype(np.int64)).astype(np.float64)
    )
    keys = np.array([str(scale.keys[i]) for i in order], np.str_)
    return converted, {f"{_KEYS}{a}": keys, f"{_PLACES}{a}": scale.positions[order]}


def collect_numbers(used: set[int], numbers: Any) -> Any:
    """Add the numbers, which are whole, to the set `used`, in place, and return them unchanged."""
    used.update(np.unique(numbers).astype(np.int64).tolist())
    return numbers


def keys_to_ranks(
    algorithm: StreamAlgorithm,
    arrays: Checkpoint,
    a: int,
    scale: NumberScale,
    checkpoint: Checkpoint,
    is_integral: bool,
) -> Checkpoint:
    """Return the arrays with places in the checkpoint's list of keys replaced by the ranks of this call.

    Every stored key (exact value) must be in `scale`, otherwise a KeyError is raised.

    Args:
        algorithm: The stream algorithm, which states what its own arrays contain.
        arrays: The arrays of a state by name; not changed.
        a: Index of the attribute.
        scale: The attribute's values by rank.
        checkpoint: The checkpoint with the list of keys.
        is_integral: Whether positions are whole numbers of steps.
    """
    rank = {key: i for i, key in enumerate(scale.keys)}
    ranks = np.array([rank[key] for key in stored_keys(checkpoint, a, is_integral) or ()], np.float64)
    return _map_numbers(algorithm, arrays, a, lambda places: ranks[places.astype(np.int64)])


def _map_numbers(
    algorithm: StreamAlgorithm, arrays: Checkpoint, a: int, change: Callable[[Floats], Floats]
) -> Checkpoint:
    """Return copies of the arrays with the numbers of attribute `a` replaced by `change(numbers)`.

    Infinite numbers stay. `algorithm` states which of its own arrays contain numbers of the attribute.
    """
    mapped_arrays = dict(arrays)
    for name in {name for pair in _span_names(algorithm, "") for name in pair}:
        mapped_arrays[name] = mapped_arrays[name].astype(np.float64)
        is_number = np.isfinite(mapped_arrays[name][:, a])
        mapped_arrays[name][is_number, a] = change(mapped_arrays[name][is_number, a])
    mapped_arrays["seen"] = mapped_arrays["seen"].copy()
    is_number = np.isfinite(mapped_arrays["seen"][a])
    mapped_arrays["seen"][a, is_number] = change(mapped_arrays["seen"][a, is_number])
    return mapped_arrays


def _span_names(algorithm: StreamAlgorithm, prefix: str) -> Sequence[tuple[str, str]]:
    """Return the names of all pairs of arrays with the least and greatest positions (lows and highs) of classes.

    The names of the pairs that only this algorithm has get the prefix.
    """
    return [("lows", "highs"), *((prefix + low, prefix + high) for low, high in algorithm.state_layout.spans)]
