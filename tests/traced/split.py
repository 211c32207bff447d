"""The split family, traced by hand."""

from __future__ import annotations

from traced.tables import NUMBER, Traced, numbers

TRACED: Traced = {
    # The lower median is 12: {3, 7, 12}, {17, 18}. 7 would leave 12 alone.
    "mondrian": (NUMBER, numbers(3, 7, 12, 17, 18), [[0, 1, 2], [3, 4]]),
}
