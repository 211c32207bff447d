"""The centroid family, traced by hand."""

from __future__ import annotations

from hand_traced.tables import LETTERS, NUMBER, Traced, letters, numbers

TRACED: Traced = {
    # Centers a (0) and a (2). a (1) joins the first. b is at 1/2 from both: it joins the first, whose center becomes A.
    # f is at 1 from both: it joins the first, center *. ADJUST: all four are at 1 from *: the first two are removed; 0
    # joins the other, which lacks one, then 1 the nearest, which is the a.
    "oka": (LETTERS, letters("aaabf"), [[0, 1, 2], [3, 4]]),
    # Centers 1 and 6. {1}, {6, 6, 7, 15}: 15 and 7 are removed; 7 fills {1, 7}, 15 joins the nearest: {6, 6, 15}.
    # Centers 4 and 9: {1, 6, 6}, {7, 15}: 1 is removed, and its nearest is 4. Centers 13/3 and 11: {1, 6, 6, 7}, {15}:
    # 1 and 7 are removed; 1 fills {15}, 7 joins 13/3. Centers 19/3 and 8: {1, 6, 6, 7}, {15}: the same again.
    "kmeans_no1": (NUMBER, numbers(1, 6, 6, 7, 15), [[0, 4], [1, 2, 3]]),
    # Centers 0 and 12. 0 joins the first, 12 and 12 close the second, so 13 joins the first; 17 joins 12. Centers 6.5
    # and 41/3: the same again.
    "kmeans_no2": (NUMBER, numbers(0, 12, 12, 13, 17), [[0, 3], [1, 2, 4]]),
    # Centers 0 and 6: {0}, {4, 6, 8, 19}. 0 and 9.25: {0, 4}, {6, 8, 19}. 2 and 11: {0, 4, 6}, {8, 19}. 10/3 and 13.5:
    # {0, 4, 6, 8}, {19}. 4.5 and 19: the same. ADJUST: 0 and 8 are removed; 0 fills {19}, 8 joins 4.5.
    "kmeans_no3": (NUMBER, numbers(0, 4, 6, 8, 19), [[0, 4], [1, 2, 3]]),
    # Seeds 4 and 7. 6: with 4 2 * 2/7, with 7 2 * 1/7: the latter, which is full. 9 joins 4. 11: {4, 9} increases from
    # 2 * 5/7 to 3 * 1, by 11/7, {6, 7} from 2 * 1/7 to 3 * 5/7, by 13/7: the former.
    "systematic": (NUMBER, numbers(4, 6, 7, 9, 11), [[0, 3, 4], [1, 2]]),
    # Seeds a and c. a takes b, which costs 2 * 1/2. c costs 3 * 1/2 - 1 = 1/2, which is less than 1: it joins, too. g
    # would cost 4 - 3/2. The seed c is taken, so that both g join the only cluster.
    "adaptive_k": (LETTERS, letters("abcgg"), [[0, 1, 2, 3, 4]]),
    # Letters are 0, 1, 2, 3. The first seed is a, the farthest from it g. b joins a, d joins g: centers 1/2 and 8/3,
    # and nothing moves. d is farthest from 8/3, is removed, and returns.
    "kmeanspp_cloud": (LETTERS, letters("abdgg"), [[0, 1], [2, 3, 4]]),
    # Centers 0, 2 and 11: {0, 1}, {2}, {10, 11, 12, 30}. 1/2, 2 and 63/4: the same. {2} is small and joins the first.
    "wfcmeans": (NUMBER, numbers(0, 1, 2, 10, 11, 12, 30), [[0, 1, 2], [3, 4, 5, 6]]),
}
