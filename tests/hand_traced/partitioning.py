"""The partitioning family, traced by hand."""

from __future__ import annotations

from hand_traced.tables import NUMBER, Traced, numbers

TRACED: Traced = {
    # The lower median is 12: {3, 7, 12}, {17, 18}. 7 would leave 12 alone.
    "mondrian": (NUMBER, numbers(3, 7, 12, 17, 18), [[0, 1, 2], [3, 4]]),
    # The mean is 9.6: nearest is 10, farthest from it 0, farthest from that 14. 11 and 13 are nearer to 14, and so is
    # 10. The difference of its distances is least (6, of 11 8): it joins 0, which is alone. Swaps lose more.
    "dissimilarity_tree": (NUMBER, numbers(0, 10, 11, 13, 14), [[0, 1], [2, 3, 4]]),
    # Of all pairs 0 and 19 are farthest: {0, 2, 5}, {16, 17, 19}, whose means are nearest to the same. Both have fewer
    # than four.
    "dhkmeans": (NUMBER, numbers(0, 2, 5, 16, 17, 19), [[0, 1, 2], [3, 4, 5]]),
}
