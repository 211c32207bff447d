"""The greedy family, traced by hand."""

from __future__ import annotations

from oracle.reference import Category, Number

from hand_traced.tables import LETTERS, TREE, Traced, letters

TRACED: Traced = {
    # Far from a: d, f, f at 1 (b: 1/2): seed 2. All others cost 1: takes a. Far from d: all at 1: seed b takes f, the
    # first. The second f: both clusters increase from 2 * 1 to 3 * 1: the earlier.
    "kmember": (LETTERS, letters("abdff"), [[0, 2, 4], [1, 3]]),
    # Seed a: all cost 1: takes the first d. Seed d (2) takes d (3), which costs nothing. e: {0, 1} increases from 2 to
    # 3, {2, 3} from 0 to 3 * 1/2: the former.
    "kmembers_random": (LETTERS, letters("addde"), [[0, 1, 4], [2, 3]]),
    # Seed (b, 4) takes (c, 4) for 3/7: (c, 0) costs 4/8 + 3/7. Seed (c, 0) takes (e, 2) for 2/8 + 1. (g, 8): {0, 2}
    # increases from 2 * 3/7 to 3 * (4/8 + 1), by 3.64, {1, 3} from 2 * 5/4 to 3 * 2, by 3.5: the latter. With edges,
    # 1/2 for A, both increase by 3.5.
    "gaa_cp": (
        [Category(TREE), Number()],
        [["b", 4], ["c", 0], ["c", 4], ["e", 2], ["g", 8]],
        [[0, 2], [1, 3, 4]],
    ),
    # Entropies: letters 1, 1, 3 of five: 0.950 / ln 3 = 0.865; numbers 1, 2, 2: 1.055 / ln 3 = 0.960; so the weights
    # are 0.948 and 1.052. Far from (a, 0): (d, 4), 2; it takes (d, 2) for 0.53. Far from (d, 4): (a, 0), which takes
    # (d, 2) for 0.95 + 0.53, (b, 4) costs 0.47 + 1.05 (with equal weights both 1.5). (b, 4): {0, 3} increases from 2 *
    # 1.474 to 3 * 2, {2, 4} from 2 * 0.526 to 3 * 1.474: the former.
    "mwck": (
        [Category(TREE), Number()],
        [["a", 0], ["b", 4], ["d", 2], ["d", 2], ["d", 4]],
        [[0, 1, 3], [2, 4]],
    ),
    # Letters are all in A, numbers from 0 to 9: numbers are wider. (b, 0) takes (c, 1) for 1/2 + 1/9. (a, 4), the next
    # of the smallest number, takes (a, 9) for 5/9. (c, 9): {2, 3} increases from 2 * 11/18 to 3 * 3/2, by 3.28, {0, 1}
    # from 2 * 5/9 to 3 * 19/18, by 2.06: the latter.
    "mckl": (
        [Category(TREE), Number()],
        [["a", 4], ["a", 9], ["b", 0], ["c", 1], ["c", 9]],
        [[0, 1, 4], [2, 3]],
    ),
    # The first seed, a, is the random record itself and takes a. Far from a: f, which takes b for 1. b: {0, 1}
    # increases from 0 to 3 * 1/2, {2, 4} from 2 to 3: the latter.
    "eld": (LETTERS, letters("aabbf"), [[0, 1], [2, 3, 4]]),
}
