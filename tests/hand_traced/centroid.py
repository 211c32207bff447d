"""The centroid family, traced by hand."""

from __future__ import annotations

from hand_traced.tables import LETTERS, NUMBER, Traced, letters, numbers

TRACED: Traced = {
    # Centers a (0) and a (2). a (1) to the first. b is at 1/2 from both: to the first, whose center becomes A. f is at
    # 1 from both: to the first, center *. ADJUST: all four are at 1 from *: the first two leave; 0 goes to the other,
    # which lacks one, then 1 to the nearest, which is the a.
    "oka": (LETTERS, letters("aaabf"), [[0, 1, 2], [3, 4]]),
    # Centers 1 and 6. {1}, {6, 6, 7, 15}: 15 and 7 leave; 7 fills up {1, 7}, 15 goes to the nearest: {6, 6, 15}.
    # Centers 4 and 9: {1, 6, 6}, {7, 15}: 1 leaves, and its nearest is 4. Centers 13/3 and 11: {1, 6, 6, 7}, {15}: 1
    # and 7 leave; 1 fills up {15}, 7 goes to 13/3. Centers 19/3 and 8: {1, 6, 6, 7}, {15}: the same again.
    "kmeans_no1": (NUMBER, numbers(1, 6, 6, 7, 15), [[0, 4], [1, 2, 3]]),
    # Centers 0 and 12. 0 to the first, 12 and 12 close the second, so 13 goes to the first; 17 to 12. Centers 6.5 and
    # 41/3: the same again.
    "kmeans_no2": (NUMBER, numbers(0, 12, 12, 13, 17), [[0, 3], [1, 2, 4]]),
    # Centers 0 and 6: {0}, {4, 6, 8, 19}. 0 and 9.25: {0, 4}, {6, 8, 19}. 2 and 11: {0, 4, 6}, {8, 19}. 10/3 and 13.5:
    # {0, 4, 6, 8}, {19}. 4.5 and 19: the same. ADJUST: 0 and 8 leave; 0 fills up {19}, 8 goes to 4.5.
    "kmeans_no3": (NUMBER, numbers(0, 4, 6, 8, 19), [[0, 4], [1, 2, 3]]),
    # Seeds 4 and 7. 6: with 4 2 * 2/7, with 7 2 * 1/7: the latter, which is full. 9 joins 4. 11: {4, 9} goes from 2 *
    # 5/7 to 3 * 1, by 11/7, {6, 7} from 2 * 1/7 to 3 * 5/7, by 13/7: the former.
    "systematic": (NUMBER, numbers(4, 6, 7, 9, 11), [[0, 3, 4], [1, 2]]),
    # Seeds a and c. a takes b, which costs 2 * 1/2. c costs 3 * 1/2 - 1 = 1/2, which is less than 1: it joins, too. g
    # would cost 4 - 3/2. The seed c is taken, so that both g join the only cluster.
    "adaptive_k": (LETTERS, letters("abcgg"), [[0, 1, 2, 3, 4]]),
    # Letters are 0, 1, 2, 3. The first seed is a, the farthest from it g. b goes to a, d to g: centers 1/2 and 8/3, and
    # nothing moves. d is farthest from 8/3, leaves, and comes back.
    "kmeanspp_cloud": (LETTERS, letters("abdgg"), [[0, 1], [2, 3, 4]]),
    # Centers 0, 2 and 11: {0, 1}, {2}, {10, 11, 12, 30}. 1/2, 2 and 63/4: the same. {2} is small and joins the first.
    "wfcmeans": (NUMBER, numbers(0, 1, 2, 10, 11, 12, 30), [[0, 1, 2], [3, 4, 5, 6]]),
}
