"""The agglomerative family, traced by hand."""

from __future__ import annotations

from hand_traced.tables import LETTERS, Traced, letters

TRACED: Traced = {
    # Ways to the root: 1 from a letter below A or B, 2/3 from these, f and g. a with b: both up to A, 1/3 + 1/3; with
    # the two f 1 + 2 * 2/3. Then d with {a, b}: 1 + 2 * 2/3, as much as with the two f: the first.
    "kaca": (LETTERS, letters("abdff"), [[0, 1, 2], [3, 4]]),
}
