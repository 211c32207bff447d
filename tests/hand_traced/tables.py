"""Building blocks of the tables traced by hand: letters, which have a hierarchy, and numbers.

Letters: * > A (a, b, c), B (d, e), f, g.
"""

from __future__ import annotations

from collections.abc import Sequence

from oracle import reference
from oracle.reference import Attribute, Category, Number, Value

TREE = reference.Tree(
    [["a", "A", "*"], ["b", "A", "*"], ["c", "A", "*"], ["d", "B", "*"], ["e", "B", "*"], ["f", "*"], ["g", "*"]]
)
LETTERS, NUMBER = [Category(TREE)], [Number()]

Groups = list[list[int]]

Traced = dict[str, tuple[Sequence[Attribute], list[list[Value]], Groups]]
"""By algorithm: the attributes, the records in canonical order, and its clusters of them."""


def letters(text: str) -> list[list[Value]]:
    """Return records of one letter each."""
    return [[letter] for letter in text]


def numbers(*values: int) -> list[list[Value]]:
    """Return records of one number each."""
    return [[value] for value in values]
