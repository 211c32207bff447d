"""The gather family, traced by hand."""

from __future__ import annotations

from traced.tables import LETTERS, Traced, letters

TRACED: Traced = {
    # Unused leaves are pruned: A (a, b), B (d, e). The mode is d: centroid 2 with 3, at distance 0. Nearest to it is e,
    # (2 * 1)^(2/3) * 2/4 squared = 0.63, before a and b, 6 * 6 = 36: centroid 4, which takes a, the first at 36. b is
    # at 36 from both: to the earlier.
    "kacpc": (LETTERS, letters("abdde"), [[0, 4], [1, 2, 3]]),
    # Centroid 0 takes 1 (a, 0). Farthest from a: f (1), before b (3/7): centroid 4. To f both a and b are at 1: takes
    # 2. b is at 3/7 from a: to the first.
    "ikac": (LETTERS, letters("aaabf"), [[0, 1, 3], [2, 4]]),
    # The average is b. c, d and f are at 1: c takes b, the first of those at 1. What is left is the other.
    "mdav": (LETTERS, letters("bbcdf"), [[0, 2], [1, 3, 4]]),
    # Summed distances: a 1/2 + 1/2 + 1 + 1 = 3, b 1/2 + 0 + 1 + 1 = 2.5, e and g 4. The first b takes the other. a
    # takes e, the first at 1. g is at 1 from both seeds: to the first.
    "kmcssa": (LETTERS, letters("abbeg"), [[0, 3], [1, 2, 4]]),
    # a takes b (3/7), the first of those at 3/7. b takes c. d: both clusters go from 2 * 3/7 to 3 * 1: the earlier.
    "knn_anon": (LETTERS, letters("abbcd"), [[0, 1, 4], [2, 3]]),
    # Scores: a 2/5, others 1/5: b, d | g, a | a. Centers b and g. b takes the first a (1/2). g takes the other, the
    # first at 1. d is at 1 from both centers: to the first.
    "gccg": (LETTERS, letters("aabdg"), [[0, 2, 3], [1, 4]]),
}
