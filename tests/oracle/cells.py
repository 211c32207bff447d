"""Coarse cells, implemented plainly: for each cut all tuples of a cell are read one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from dbanon.encoding.encoded_table import Attribute, EncodedTable, NumericAttribute

UNEVEN = 8


def cells(space: EncodedTable, max_tuples: int, is_enough: Callable[[list[int]], bool]) -> list[list[int]]:
    """Return the tuples of the cells, first codes first."""

    def split(tuples: list[int]) -> list[list[int]]:
        if len(tuples) <= max_tuples:
            return [tuples]
        ways = []
        for j, attribute in enumerate(space.attributes):
            own_numbers = sorted(int(space.codes[t, j]) for t in tuples)
            begin = _second_side_start(attribute, own_numbers)
            if begin is None:
                continue
            sides = [
                [t for t in tuples if space.codes[t, j] < begin],
                [t for t in tuples if space.codes[t, j] >= begin],
            ]
            share = len(sides[0]) / len(tuples)
            low, high = (_width(attribute, [c for c in own_numbers if (c < begin) == first]) for first in (True, False))
            width = _width(attribute, own_numbers) - share * low - (1 - share) * high
            uneven = min(len(side) for side in sides) * UNEVEN < len(tuples)
            ways.append((uneven, -width * attribute.weight, j, sides))
        for *_, sides in sorted(ways, key=lambda way: way[:3]):
            if is_enough(sides[0]) and is_enough(sides[1]):
                return split(sides[0]) + split(sides[1])
        return [tuples]

    return split(list(range(len(space.codes))))


def _second_side_start(attribute: Attribute, codes: list[int]) -> int | None:
    """Return the code with which the second side begins.

    It is that of NULL, or of the most even cut between two different values, for a category between different children
    of the lowest common ancestor.
    """
    different = sorted(set(codes))
    if len(different) < 2:
        return None
    if different[-1] == attribute.values:
        return attribute.values
    possible = []
    for previous, position in pairwise(different):
        if isinstance(attribute, NumericAttribute) or _child(attribute, previous, codes) != _child(
            attribute, position, codes
        ):
            possible.append((abs(2 * sum(c < position for c in codes) - len(codes)), position))
    return min(possible)[1]


def _child(attribute: Attribute, code: int, codes: list[int]) -> int:
    """Return the child of the lowest common ancestor that is above a value, or the ancestor if it is the value."""
    assert not isinstance(attribute, NumericAttribute)
    lines = [attribute.path_to_root(int(attribute.node[c]))[::-1] for c in (*codes, code)]
    depth = 0
    while all(len(line) > depth + 1 for line in lines) and len({line[depth + 1] for line in lines}) == 1:
        depth += 1
    line = lines[-1]
    return line[min(depth + 1, len(line) - 1)]


def _width(attribute: Attribute, codes: list[int]) -> float:
    """Return the width of some codes as a share of the attribute, from 0 to 1."""
    if len(set(codes)) == 1:
        return 0.0
    if max(codes) == attribute.values:
        return 1.0
    if isinstance(attribute, NumericAttribute):
        width = float(attribute.positions[-1])
        return float(attribute.positions[max(codes)] - attribute.positions[min(codes)]) / width if width > 0 else 0.0
    lines = [attribute.path_to_root(int(attribute.node[c])) for c in codes]
    above = next(node for node in lines[0] if all(node in line for line in lines))
    return float(attribute.leaves[above] / attribute.leaves[0])
