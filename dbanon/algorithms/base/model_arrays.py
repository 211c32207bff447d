"""Privacy models as arrays, for the kernels that judge groups by them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.model_request import Demand

HIERARCHICAL = 2
"""The kind of distance that needs the hierarchy."""


def model_rules(space: EncodedTable, models: Sequence[Demand]) -> tuple[Any, ...]:
    """The models as arrays for the kernels (see `dbanon.kernels.model_gathering`); of what these do not know, what
    follows."""
    at = np.cumsum([0, *(s.values + 1 for s in space.sensitive)])
    table = np.zeros((len(space.sensitive), 6))
    table[:, 5] = -1
    share = np.concatenate([np.zeros(0), *(s.share for s in space.sensitive)])
    most = np.ones(int(at[-1]))
    aim = np.ones(int(at[-1]))
    edges = [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))]
    for i, sensitive in enumerate(space.sensitive):
        values = slice(at[i], at[i + 1])
        known = slice(at[i], at[i + 1] - 1)
        parent, node, length = np.zeros(0, np.int32), np.zeros(sensitive.values + 1, np.int32), np.zeros(0)
        for rules in (m.rules(sensitive) for m in models if m.sensitive == i):
            table[i, 0] = max(table[i, 0], rules.least)
            table[i, 1] = max(table[i, 1], rules.entropy)
            aim[known] = np.minimum(aim[known], rules.aim)
            if rules.recursive[1]:
                table[i, 2:4] = rules.recursive
            if rules.most is not None:
                most[values] = np.minimum(most[values], rules.most)
            if rules.distance[1] >= 0:
                table[i, 4:6] = rules.distance
            if rules.distance[1] == HIERARCHICAL:
                parent, node, length = sensitive.edges()
        aim[values] = np.minimum(aim[values], most[values])
        edges.append((parent, node, length))
    node_at = np.cumsum([len(parent) for parent, _, _ in edges])
    return at, table, share, most, aim, node_at, *(np.concatenate(arrays) for arrays in zip(*edges, strict=True))


def scratch(rules: tuple[Any, ...]) -> tuple[Any, Any]:
    """What kernels that judge groups by rules write to: counts of values, and sums in hierarchies (None: no column has
    a distance)."""
    judges_distance = bool((rules[1][:, 5] >= 0).any())
    return np.zeros(int(rules[0][-1]), np.int64), np.zeros(2 * max(int(rules[5][-1]), 1)) if judges_distance else None
