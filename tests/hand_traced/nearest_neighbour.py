"""The nearest_neighbour family, traced by hand."""

from __future__ import annotations

from oracle.reference import Number

from hand_traced.tables import LETTERS, Traced, letters

TRACED: Traced = {
    # Unused leaves are pruned: A (a, b), B (d, e). The mode is d: centroid 2 with 3, at distance 0. Nearest to it is e,
    # (2 * 1)^(2/3) * 2/4 squared = 0.63, before a and b, 6 * 6 = 36: centroid 4, which takes a, the first at 36. b is
    # at 36 from both: it joins the earlier.
    "kacpc": (LETTERS, letters("abdde"), [[0, 4], [1, 2, 3]]),
    # Centroid 0 takes 1 (a, 0). Farthest from a: f (1), before b (3/7): centroid 4. To f both a and b are at 1: takes
    # 2. b is at 3/7 from a: it joins the first.
    "ikac": (LETTERS, letters("aaabf"), [[0, 1, 3], [2, 4]]),
    # The average is b. c, d and f are at 1: c takes b, the first of those at 1. The remaining records are the other
    # cluster.
    "mdav": (LETTERS, letters("bbcdf"), [[0, 2], [1, 3, 4]]),
    # Scaled averages: five 0, eight 1/2, three 1; groups of 8 or more. Farthest from their average 7/16: the three
    # (9, 9), which take the first five at 1/2: 5 to 9. Of these, pairs: (9, 0) is farthest from (5/8, 6/8) and takes
    # (9, 0); farthest from it (0, 9) takes (0, 9); the third is farthest from (3/4, 1) and takes (9, 9); the last two.
    # Of the others: (9, 0) and (9, 0), then (0, 0) and (0, 0), the third (9, 0) takes (0, 0), the last two.
    "multilevel_mdav": (
        [Number(), Number()],
        [*[[0, 0]] * 5, *[[0, 9]] * 3, *[[9, 0]] * 5, *[[9, 9]] * 3],
        [[0, 1], [2, 12], [3, 4], [5, 6], [7, 13], [8, 9], [10, 11], [14, 15]],
    ),
    # Summed distances: a 1/2 + 1/2 + 1 + 1 = 3, b 1/2 + 0 + 1 + 1 = 2.5, e and g 4. The first b takes the other. a
    # takes e, the first at 1. g is at 1 from both seeds: it joins the first.
    "kmcssa": (LETTERS, letters("abbeg"), [[0, 3], [1, 2, 4]]),
    # a takes b (3/7), the first of those at 3/7. b takes c. d: both clusters increase from 2 * 3/7 to 3 * 1: the
    # earlier.
    "knn_anon": (LETTERS, letters("abbcd"), [[0, 1, 4], [2, 3]]),
    # Scores: a 2/5, others 1/5: b, d | g, a | a. Centers b and g. b takes the first a (1/2). g takes the other, the
    # first at 1. d is at 1 from both centers: it joins the first.
    "gccg": (LETTERS, letters("aabdg"), [[0, 2, 3], [1, 4]]),
}
