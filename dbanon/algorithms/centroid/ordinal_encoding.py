"""Tables whose categories are read as numbers, for methods that know nothing else."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dbanon.encoding.encoded_table import Number, Space, Tree


def as_numbers(space: Space) -> Space:
    """The space with each category a number: 0, 1, 2 ... for the values that occur, in the order of the leaves. Codes
    stay as they are."""
    attributes = (
        Number(np.arange(float(a.values)), integral=True, weight=a.weight) if isinstance(a, Tree) else a
        for a in space.attributes
    )
    return replace(space, attributes=tuple(attributes))
