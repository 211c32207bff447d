"""t-closeness: the distribution of sensitive values in a class is close to that of the whole table (Li et al. 2007).

A NULL is a category of its own.
"""

from functools import partial

import numpy as np

from dbanon.encoding.encoded_table import Floats, SensitiveColumn
from dbanon.privacy_models.model import (
    AchievedMetric,
    KernelRules,
    ModelBound,
    ModelForm,
    ModelSettings,
    PrivacyModel,
    TableMeasure,
    shares,
)
from dbanon.table_functions.parameter_types import Choice, Float
from dbanon.table_functions.parameters import Parameter


def _equal_distance(settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return the earth mover's distance of each class from the whole table, all values 1 apart.

    `counts` has the (classes, values + 1) records with each value, NULL last.
    """
    return np.asarray(np.abs(shares(counts) - sensitive.share).sum(axis=1) / 2)


def _ordered_distance(settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return the earth mover's distance of each class from the whole table, with values as far apart as their ranks.

    Ranks are those of the values that occur in the table, NULL last, scaled to a greatest distance of 1. `counts` has
    the (classes, values + 1) records with each value.
    """
    occurs = sensitive.share > 0  # values that are not released have no rank: readers do not see them
    between = np.abs(np.cumsum((shares(counts) - sensitive.share)[:, occurs], axis=1))
    return np.asarray(between.sum(axis=1) / max(int(occurs.sum()) - 1, 1))


def _hierarchical_distance(
    settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats
) -> Floats:
    """Return the earth mover's distance of each class from the whole table, with distances from the column's hierarchy.

    Two values are as far apart as their lowest common ancestor is high, relative to the root. `counts` has the
    (classes, values + 1) records with each value, NULL last. Raises ValueError if the column has no hierarchy.
    """
    differences = shares(counts) - sensitive.share
    parent, node, length = sensitive.edges()
    extra = np.zeros((len(differences), len(parent)))
    for value, place in enumerate(node.tolist()):
        extra[:, place] += differences[:, value]
    for place in range(len(parent) - 1, 0, -1):
        extra[:, parent[place]] += extra[:, place]
    return np.asarray((np.abs(extra) * length).sum(axis=1))


_DESCRIPTION = "Greatest earth mover's distance of a class from the whole table"

_t_closeness_form = partial(
    ModelForm,
    bound=ModelBound("t", "lower", max_measure=1.0),
    metric=AchievedMetric(
        "t_closeness",
        "Achieved t of a sensitive column: greatest earth mover's distance of a class from the whole release.",
    ),
    sentence="earth mover's distance ({form}) of a class from the whole release at most {t:.12g}",
    uses_overall=True,
)
"""A form of the model; forms differ in the distances between values."""

MODEL = PrivacyModel(
    name="t_closeness",
    position=2,
    parameters=(
        Parameter("t", Float(0, 1), "t-closeness: greatest earth mover's distance of a class from the whole table."),
        Parameter(
            "ground_distance",
            Choice(("equal", "ordered", "hierarchical")),
            "Distance of two sensitive values for t: equal for all pairs (default), by rank (of the leaves if the "
            "column has a hierarchy, otherwise of the values), or by the hierarchy.",
        ),
    ),
    form_parameter="ground_distance",
    source="Li et al. 2007",
    function="t_closeness",
    description="earth mover's distance of a class from the whole table",
    example="",
    forms=(
        _t_closeness_form(
            name="equal",
            measure=_equal_distance,
            table_measure=TableMeasure("t_closeness_equal", f"{_DESCRIPTION}, all values equally far apart."),
            kernel_rules=lambda settings, sensitive: KernelRules(distance=(settings["t"], 0)),
        ),
        _t_closeness_form(
            name="ordered",
            measure=_ordered_distance,
            table_measure=TableMeasure("t_closeness_ordered", f"{_DESCRIPTION}, values as far apart as their ranks."),
            kernel_rules=lambda settings, sensitive: KernelRules(distance=(settings["t"], 1)),
            value_order="order",
            order_columns=("place",),
        ),
        _t_closeness_form(
            name="hierarchical",
            measure=_hierarchical_distance,
            table_measure=TableMeasure(
                "t_closeness_hierarchical",
                f"{_DESCRIPTION}, values as far apart as their lowest common ancestor is high.",
            ),
            kernel_rules=lambda settings, sensitive: KernelRules(distance=(settings["t"], 2)),
            value_order="hierarchy",
            order_columns=("cell", "weight"),
            alternative="equal",
        ),
    ),
)
"""A union of classes keeps the model: its distribution is an average of theirs, and distances are convex."""
