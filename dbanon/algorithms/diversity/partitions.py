"""Parts of a table, which are clustered for themselves."""

from collections.abc import Callable

import numpy as np

from dbanon.encoding.encoded_table import Ints
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

PARTS = Parameter("parts", Integer(1, 100_000), "Parts of similar records that are clustered one by one.", 10)


def united(parts: Ints, number: int, least: int, away: Callable[[int], Ints]) -> tuple[Ints, Ints]:
    """Parts of all records, numbered without gaps, where those of fewer records than `least` are part of the nearest
    one, the first part first; and the part that each was before. `away` gives the distances of a part to all parts,
    which keep their centers."""
    sizes = np.bincount(parts, minlength=number)
    into = np.arange(number)
    while (sizes > 0).sum() > 1 and ((sizes > 0) & (sizes < least)).any():
        small = int(np.flatnonzero((sizes > 0) & (sizes < least))[0])
        others = np.flatnonzero(sizes > 0)
        others = others[others != small]
        nearest = int(others[np.argmin(away(small)[others])])
        into[into == small] = nearest
        sizes[nearest] += sizes[small]
        sizes[small] = 0
    numbers = np.cumsum(sizes > 0) - 1
    return np.asarray(numbers[into[parts]], np.int64), np.flatnonzero(sizes > 0)
