"""Privacy models as arrays, for the kernels that judge groups by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dbanon.models.model import Model
from dbanon.space.space import Sensitive, Space

_EMD = {"equal": 0, "ordered": 1, "hierarchical": 2}


def model_rules(space: Space, models: Sequence[Model]) -> tuple[Any, ...]:
    """The models as arrays for the kernels (see `dbanon.kernels.models`)."""
    at = np.cumsum([0, *(s.values + 1 for s in space.sensitive)])
    table = np.zeros((len(space.sensitive), 6))
    table[:, 5] = -1
    share = np.concatenate([s.share for s in space.sensitive])
    most = np.ones(int(at[-1]))
    aim = np.ones(int(at[-1]))
    parents, nodes, lengths = [], [], []
    node_at = [0]
    for i, sensitive in enumerate(space.sensitive):
        values = slice(at[i], at[i + 1])
        known = slice(at[i], at[i + 1] - 1)
        parent, node, length = np.zeros(0, np.int32), np.zeros(sensitive.values + 1, np.int32), np.zeros(0)
        for model in (m for m in models if m.sensitive == i):
            table[i, 0] = max(table[i, 0], model.least)
            if model.kind == "entropy":
                table[i, 1] = model.bound
                aim[known] = np.minimum(aim[known], 1 / model.bound)
            elif model.kind == "recursive":
                table[i, 2:4] = model.bound, model.extra
                enough = model.bound / (1 + model.bound * (model.extra - 1)) * (1 - 1e-9)
                aim[known] = np.minimum(aim[known], enough)
            elif model.kind in ("share", "gain", "enhanced"):
                most[values] = np.minimum(most[values], _greatest_shares(model, sensitive))
            elif model.kind == "closeness":
                table[i, 4:6] = model.bound, _EMD[model.emd]
                if model.emd == "hierarchical":
                    parent, node, length = sensitive.edges()
        aim[values] = np.minimum(aim[values], most[values])
        parents.append(parent)
        nodes.append(node)
        lengths.append(length)
        node_at.append(node_at[-1] + len(parent))
    return (
        at, table, share, most, aim, np.array(node_at), np.concatenate(parents), np.concatenate(nodes),
        np.concatenate(lengths),
    )  # fmt: skip


def _greatest_shares(model: Model, sensitive: Sensitive) -> Any:
    """The greatest share that each value may have in a group."""
    if model.kind == "share":
        return np.full(sensitive.values + 1, model.bound)
    with np.errstate(divide="ignore"):
        gain = np.full(sensitive.values + 1, model.bound)
        if model.kind == "enhanced":
            gain = np.minimum(gain, -np.log(np.maximum(sensitive.share, 1e-300)))
    return sensitive.share * (1 + gain)
