"""The hybrid family, traced by hand."""

from __future__ import annotations

from hand_traced.tables import NUMBER, Traced, numbers

TRACED: Traced = {
    # As oka_kmember: {4, 7, 9} and {6, 11}, both lose 5/7 a record. 4 and 11 are farthest apart: 4 takes 6, 11 takes 9;
    # 7 adds 3 * 3/7 - 2 * 2/7 to {4, 6}, 3 * 4/7 - 2 * 2/7 to {9, 11}. 13/7 is less than 25/7. Again: no gain.
    "ga_clustering": (NUMBER, numbers(4, 6, 7, 9, 11), [[0, 1, 2], [3, 4]]),
    # 9 has its nearest at 4: the limit. 0 marks 1 and 4; 5 marks 9: both have two. 0 keeps 0 and 1; 4 is nearer to 5.
    "r_gather": (NUMBER, numbers(0, 1, 4, 5, 9), [[0, 1], [2, 3, 4]]),
    # One pass with the centers 4 and 7: 6 joins 7 (6.5), 9 (22/3), 11 (8.25). Of {6, 7, 9, 11} 7 and 9 are the nearest
    # to 8.25 and stay. Of 4, 6 and 11 the last one is far from the first record, and takes 6. 4: {7, 9} increases from
    # 2 * 2/7 to 3 * 5/7, {6, 11} from 2 * 5/7 to 3 * 1, both by 11/7: the earlier.
    "oka_kmember": (NUMBER, numbers(4, 6, 7, 9, 11), [[0, 2, 3], [1, 4]]),
}
