"""Parts of a table that are clustered separately."""

from collections.abc import Callable

import numpy as np

from dbanon.encoding.encoded_table import Ints
from dbanon.table_functions.parameter_types import Integer
from dbanon.table_functions.parameters import Parameter

PARTS = Parameter("parts", Integer(1, 100_000), "Number of parts of similar records; each is clustered separately.", 10)


def merge_small_parts(
    parts: Ints, n_parts: int, min_records: int, distances_from: Callable[[int], Ints]
) -> tuple[Ints, Ints]:
    """Merge parts of fewer than `min_records` records into the nearest part, the lowest-numbered small part first.

    If only one part is left, it may be smaller.

    Args:
        parts: (records,) the part of every record.
        n_parts: The number of parts.
        min_records: Least number of records of a part.
        distances_from: Returns the distances of a part to all parts; a merged part keeps the center of the part that
            was joined.

    Returns:
        (records,) the part of every record, numbered without gaps, and the old number of each of these parts.
    """
    sizes = np.bincount(parts, minlength=n_parts)
    merged_into = np.arange(n_parts)
    while (sizes > 0).sum() > 1 and ((sizes > 0) & (sizes < min_records)).any():
        small = int(np.flatnonzero((sizes > 0) & (sizes < min_records))[0])
        others = np.flatnonzero(sizes > 0)
        others = others[others != small]
        nearest = int(others[np.argmin(distances_from(small)[others])])
        merged_into[merged_into == small] = nearest
        sizes[nearest] += sizes[small]
        sizes[small] = 0
    numbers = np.cumsum(sizes > 0) - 1
    return np.asarray(numbers[merged_into[parts]], np.int64), np.flatnonzero(sizes > 0)
