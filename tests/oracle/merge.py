"""KACA again, class by class and as plainly as it is described."""

from __future__ import annotations

import math
from itertools import count
from typing import TypeAlias

from dbanon.space.space import Attribute, Number, Space

Path: TypeAlias = tuple[object, ...]
"""A value as what it is raised to, from the root down."""


def kaca(space: Space, k: int, beta: float, stub: bool = False) -> list[list[int]]:
    """Rows of each class. The smallest class that is too small (ties: the first) is united with the nearest."""
    scale = 2.0 ** (62 - math.frexp(space.total * sum(a.weight for a in space.attributes))[1])
    row = count()
    rows = [[next(row) for _ in range(n)] for n in space.counts.tolist()]
    values = [
        [_path(a, int(code)) for a, code in zip(space.attributes, codes, strict=True)] for codes in space.codes.tolist()
    ]
    classes = dict(enumerate(zip(rows, values, strict=True)))

    def way(j: int, path: Path) -> int:
        attribute = space.attributes[j]
        if path[-1] == "NULL":
            return round(attribute.weight * scale)
        levels = max(len(_path(attribute, c)) for c in range(attribute.values)) if attribute.values else 1
        if not isinstance(attribute, Number):
            levels = int(attribute.depth.max()) + 1
        edges = [1 / float(level) ** beta for level in range(1, levels)]
        return round(sum(edges[: len(path) - 1]) / (sum(edges) or 1.0) * (attribute.weight * scale))

    def whole(value: list[Path]) -> int:
        return sum(way(j, path) for j, path in enumerate(value))

    def cost(one: int, other: int) -> int:
        together = whole(_common(classes[one][1], classes[other][1]))
        return sum(len(classes[c][0]) * (whole(classes[c][1]) - together) for c in (one, other))

    while True:
        small = [c for c in classes if len(classes[c][0]) < k]
        if not small or len(classes) == 1:
            return [sorted(rows) for _, (rows, _) in sorted(classes.items())]
        c = min(small, key=lambda c: (len(classes[c][0]), c))
        other = min((o for o in classes if o != c), key=lambda o: (cost(c, o), o))
        both = _common(classes[c][1], classes[other][1])
        own, others = classes[c][0], sorted(classes[other][0])
        if stub and len(others) >= 2 * k - len(own):
            needed = k - len(own)
            classes[c] = own + others[-needed:], both
            classes[other] = others[:-needed], classes[other][1]
        else:
            del classes[max(c, other)]
            classes[min(c, other)] = own + others, both


def _path(attribute: Attribute, code: int) -> Path:
    if code == attribute.values:
        return "*", "NULL"
    if isinstance(attribute, Number):
        height = 0
        while 2**height < attribute.values:
            height += 1
        return tuple("*" if level == height else (level, code // 2**level) for level in range(height, -1, -1))
    line = attribute.line(int(attribute.node[code]))[::-1]
    return "*", *line[1:]


def _common(one: list[Path], other: list[Path]) -> list[Path]:
    found = []
    for a, b in zip(one, other, strict=True):
        same = [x for x, y in zip(a, b, strict=False) if x == y]
        found.append(a[: len(same)])
    return found
