"""Numbers whose positions as DOUBLE are not exact: they are compared by rank, and distances use positions.

Beyond 2^53 steps several values have one position, and a class would seem to cover a value next to those that it
publishes. Ranks change with the values that a call reads, so a stream that grows keeps the exact values, called keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dbanon.encoding.encoded_table import Floats

ExactValue = int | float | Fraction
"""An exact number of steps from zero; of floating numbers the value. Between two steps there is no value."""


@dataclass(frozen=True)
class NumberScale:
    """The values of a number attribute in a call and in the state that it continues from, in ascending order.

    Attributes:
        ranks: (codes,) the rank of each code.
        positions: (values,) the position of each rank.
        keys: The exact value of each rank; empty for a stream that does not grow.
    """

    ranks: Floats
    positions: Floats
    keys: tuple[ExactValue, ...] = ()


def scale_of_codes(positions: Floats) -> NumberScale | None:
    """Return the scale (values by rank) of values that ascend with their codes; None if all positions differ.

    The rank of a value is then its code, and the scale has no exact values (keys).
    """
    if (np.diff(positions) > 0).all():
        return None
    return NumberScale(np.arange(float(len(positions))), positions)


def exact_scale(
    positions: Floats, texts: Sequence[str | None], is_integral: bool, stored_keys: Mapping[ExactValue, float] | None
) -> NumberScale | None:
    """Return the scale of the values of a call together with those of a state; None if positions are exact in both.

    Args:
        positions: (codes,) the position of each code.
        texts: The exact value of each code, None if it follows from the position.
        is_integral: Whether positions are numbers of steps; else they are half of the values.
        stored_keys: Positions of the keys of the state; None if the state has positions that are exact, or is empty.
    """
    if stored_keys is None and all(text is None for text in texts):
        return None
    keys = [
        key_of_position(position, is_integral) if text is None else key_of_text(text, is_integral)
        for position, text in zip(positions.tolist(), texts, strict=True)
    ]
    places = {**(stored_keys or {}), **dict(zip(keys, positions.tolist(), strict=True))}
    order = sorted(places)
    rank = {key: float(i) for i, key in enumerate(order)}
    return NumberScale(
        np.array([rank[key] for key in keys], np.float64),
        np.array([places[key] for key in order], np.float64),
        tuple(order),
    )


def key_of_text(text: str, is_integral: bool) -> ExactValue:
    """Return the exact value (key) that a text represents: int, fraction ('7/2') or, if not `is_integral`, float."""
    if not is_integral:
        return float(text)
    return Fraction(text) if "/" in text else int(text)


def key_of_position(position: float, is_integral: bool) -> ExactValue:
    """Return the exact value (key) of a value whose position is exact.

    It is the position as an integer. If not `is_integral`, it is twice the position, since such positions are half of
    the values.
    """
    return int(position) if is_integral else position * 2
