"""The optimizing family, traced by hand."""

from __future__ import annotations

from oracle.reference import Category, Number

from hand_traced.tables import TREE, Traced

TRACED: Traced = {
    # Letters have three values, numbers five: the line is sorted by letter, then number. {d2, d3}, {d4, e0, g8} loses 2
    # * 1/8 + 3 * 2 = 6.25; {d2, d3, d4}, {e0, g8} loses 3 * 2/8 + 2 * 2 = 4.75. By number, then letter: {e0, d2}, {d3,
    # d4, g8} loses 2 * (2/8 + 1/2) + 3 * (5/8 + 1) = 6.375, {e0, d2, d3}, {d4, g8} 3 * (3/8 + 1/2) + 2 * (4/8 + 1) =
    # 5.625: the first line. The search finds nothing better: g8 with d4, d3 or d2 and the others loses 5.625, 6.25 or
    # 6.5, and g8 with two others at least 3 * (5/8 + 1) = 4.875.
    "best": (
        [Category(TREE), Number()],
        [["d", 2], ["d", 3], ["d", 4], ["e", 0], ["g", 8]],
        [[0, 1, 2], [3, 4]],
    ),
}
