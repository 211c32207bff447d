"""Publishing clusters with more than their records span, where an algorithm says so: what they are published with may
not make a class that misses the privacy model."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dbanon.cluster.extent import Extents, classes, members
from dbanon.cluster.registry import Algorithm
from dbanon.constraint import AtLeast
from dbanon.space import Ints, Space


def widened(
    algorithm: Algorithm, space: Space, constraint: AtLeast, options: Mapping[str, object], labels: Ints
) -> tuple[Ints, Ints, Ints] | None:
    """Clusters that are published with more than their records span, and their least and greatest codes; None where
    there is none.

    Clusters that publish the same are one class. Where persons are counted, a class can miss a model that each of its
    clusters meets; then these are published as they are.
    """
    if algorithm.widen is None or not (labels >= 0).any():
        return None
    rows = members(labels)
    extents = Extents.of(space, rows)
    low, high = algorithm.widen(space, labels, constraint, options)
    low, high = np.minimum(low, extents.low), np.maximum(high, extents.high)
    if space.persons is not None and constraint.models:
        while True:
            number = classes(space, low, high)
            united = [np.concatenate([rows[c] for c in np.flatnonzero(number == n)]) for n in range(number.max() + 1)]
            back = np.isin(number, constraint.missed(space, united)) & (
                (low != extents.low) | (high != extents.high)
            ).any(axis=1)
            if not back.any():
                break
            low[back], high[back] = extents.low[back], extents.high[back]
    wide = np.flatnonzero(((low != extents.low) | (high != extents.high)).any(axis=1))
    names = np.unique(labels[labels >= 0])
    return (names[wide], low[wide], high[wide]) if len(wide) else None
