"""The full_domain family, traced by hand, without suppression."""

from __future__ import annotations

from oracle.reference import Category, Number

from hand_traced.tables import TREE, Traced

TRACED: Traced = {
    # Letters have four values, numbers three: letters are raised to B, *: now they have two: numbers to {2, 3}, {6}.
    # (B, 6) is alone. Two and two: letters to *. Numbers to the top.
    "datafly": (
        [Category(TREE), Number()],
        [["d", 2], ["d", 2], ["e", 6], ["f", 3], ["g", 2]],
        [[0, 1, 2, 3, 4]],
    ),
    # Letters on level 1 are A and *, numbers {0, 1}, {2, 3}, {5}, then {0 .. 3}, {5}, then one. With letters as they
    # are, a is alone; on level 1, f and g are apart until numbers are one: sum 4. Letters on level 2 leave 5 alone
    # until numbers are one: sum 5.
    "incognito": (
        [Category(TREE), Number()],
        [["a", 1], ["b", 2], ["b", 3], ["f", 0], ["g", 5]],
        [[0, 1, 2], [3, 4]],
    ),
    # Letters: a and f are A and * one step up, which joins nothing, and one then: one step of height, two levels.
    # Numbers: {0, 5}, {9}, then one: two steps. Height 1 is letters alone, which leaves pairs; numbers on {0, 5}, {9}
    # leave (a, 9) alone. For Incognito both tops have the sum 2 and lose 1 a record: letters as they are come first.
    "samarati": (
        [Category(TREE), Number()],
        [["a", 0], ["a", 5], ["a", 9], ["f", 0], ["f", 5], ["f", 9]],
        [[0, 3], [1, 4], [2, 5]],
    ),
}
