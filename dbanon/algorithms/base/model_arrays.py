"""Privacy models as arrays, for the kernels that check clusters against them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dbanon.encoding.encoded_table import EncodedTable
from dbanon.kernels.arrays import (
    DISTANCE_KIND,
    MAX_DISTANCE,
    MIN_DISTINCT,
    MIN_EXP_ENTROPY,
    RECURSIVE_C,
    RECURSIVE_L,
    ModelRules,
)
from dbanon.privacy_models.model_request import ModelRequirement

HIERARCHICAL = 2
"""The kind of distance that needs the hierarchy."""


def model_rules(space: EncodedTable, models: Sequence[ModelRequirement]) -> ModelRules:
    """Return the rules of the privacy models as arrays for the kernels (see `dbanon.kernels.model_gathering`).

    Several models of one column are combined to the strictest rule. If a model has no exact rules, its necessary
    conditions are given.
    """
    starts = np.cumsum([0, *(s.values + 1 for s in space.sensitive)])
    table = np.zeros((len(space.sensitive), 6))
    table[:, DISTANCE_KIND] = -1
    share = np.concatenate([np.zeros(0), *(s.share for s in space.sensitive)])
    max_shares = np.ones(int(starts[-1]))
    target_shares = np.ones(int(starts[-1]))
    edges = [(np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0))]
    for i, sensitive in enumerate(space.sensitive):
        values = slice(starts[i], starts[i + 1])
        without_null = slice(starts[i], starts[i + 1] - 1)
        parent, node, length = np.zeros(0, np.int32), np.zeros(sensitive.values + 1, np.int32), np.zeros(0)
        for rules in (m.kernel_rules(sensitive) for m in models if m.sensitive == i):
            table[i, MIN_DISTINCT] = max(table[i, MIN_DISTINCT], rules.min_distinct)
            table[i, MIN_EXP_ENTROPY] = max(table[i, MIN_EXP_ENTROPY], rules.min_exp_entropy)
            target_shares[without_null] = np.minimum(target_shares[without_null], rules.target_share)
            if rules.recursive[1]:
                table[i, [RECURSIVE_C, RECURSIVE_L]] = rules.recursive
            if rules.max_shares is not None:
                max_shares[values] = np.minimum(max_shares[values], rules.max_shares)
            if rules.distance[1] >= 0:
                table[i, [MAX_DISTANCE, DISTANCE_KIND]] = rules.distance
            if rules.distance[1] == HIERARCHICAL:
                parent, node, length = sensitive.edges()
        target_shares[values] = np.minimum(target_shares[values], max_shares[values])
        edges.append((parent, node, length))
    return ModelRules(
        starts,
        table,
        share,
        max_shares,
        target_shares,
        np.cumsum([len(parent) for parent, _, _ in edges]),
        *(np.concatenate(arrays) for arrays in zip(*edges, strict=True)),
    )


def model_scratch(rules: ModelRules) -> tuple[Any, Any]:
    """Return scratch arrays for the kernels that check clusters: counts of values, and sums in hierarchies.

    `rules` are the arrays of `model_rules`. The sums are None if no column has a greatest distance (t-closeness).
    """
    judges_distance = bool((rules.table[:, DISTANCE_KIND] >= 0).any())
    return np.zeros(int(rules.value_starts[-1]), np.int64), np.zeros(
        2 * max(int(rules.node_starts[-1]), 1)
    ) if judges_distance else None
