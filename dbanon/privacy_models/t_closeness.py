"""t-closeness: the distribution of sensitive values in a class is close to that of the whole table (Li et al. 2007).

A NULL is a category of its own.
"""

from functools import partial

import numpy as np

from dbanon.encoding.encoded_table import Floats, SensitiveColumn
from dbanon.privacy_models.model import Form, Listed, Metric, Model, ModelBound, Rules, Settings, shares
from dbanon.table_functions.parameter_types import Choice, Float
from dbanon.table_functions.parameters import Parameter


def _equal(settings: Settings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Earth mover's distance from the whole table, all values equally far apart."""
    return np.asarray(np.abs(shares(counts) - sensitive.share).sum(axis=1) / 2)


def _ordered(settings: Settings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return values as far apart as their ranks."""
    there = sensitive.share > 0  # values that are not released have no rank: no reader knows of them
    off = shares(counts) - sensitive.share
    between = np.abs(np.cumsum(off[:, there], axis=1))
    return np.asarray(between.sum(axis=1) / max(int(there.sum()) - 1, 1))


def _hierarchical(settings: Settings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return values as far apart as their lowest common ancestor is high."""
    off = shares(counts) - sensitive.share
    parent, node, length = sensitive.edges()
    extra = np.zeros((len(off), len(parent)))
    for value, at in enumerate(node.tolist()):
        extra[:, at] += off[:, value]
    for at in range(len(parent) - 1, 0, -1):
        extra[:, parent[at]] += extra[:, at]
    return np.asarray((np.abs(extra) * length).sum(axis=1))


_WHAT = "Greatest earth mover's distance of a class from the whole table"

_form = partial(
    Form,
    bound=ModelBound("t", "lower", most=1.0),
    metric=Metric(
        "t_closeness",
        "Achieved t of a sensitive column: greatest earth mover's distance of a class from the whole release.",
    ),
    sentence="earth mover's distance ({form}) of a class from the whole release at most {t:.12g}",
    compares=True,
)
"""A form of the model: forms differ in how far apart values are."""

MODEL = Model(
    name="t_closeness",
    place=2,
    parameters=(
        Parameter("t", Float(0, 1), "t-closeness: greatest earth mover's distance of a class from the whole table."),
        Parameter(
            "emd",
            Choice(("equal", "ordered", "hierarchical")),
            "Distance of two sensitive values for t: equal (default), by rank (of the leaves of the column's hierarchy "
            "where it has one, else of the values), or by the hierarchy.",
        ),
    ),
    chooses="emd",
    source="Li et al. 2007",
    function="t_closeness",
    gives="earth mover's distance of a class from the whole table",
    example="",
    forms=(
        _form(
            name="equal",
            measure=_equal,
            listed=Listed("t_closeness_equal", f"{_WHAT}, all values equally far apart."),
            rules=lambda settings, sensitive: Rules(distance=(settings["t"], 0)),
        ),
        _form(
            name="ordered",
            measure=_ordered,
            listed=Listed("t_closeness_ordered", f"{_WHAT}, values as far apart as their ranks."),
            rules=lambda settings, sensitive: Rules(distance=(settings["t"], 1)),
            order="order",
            places=("place",),
        ),
        _form(
            name="hierarchical",
            measure=_hierarchical,
            listed=Listed(
                "t_closeness_hierarchical", f"{_WHAT}, values as far apart as their lowest common ancestor is high."
            ),
            rules=lambda settings, sensitive: Rules(distance=(settings["t"], 2)),
            order="hierarchy",
            places=("cell", "weight"),
            instead="equal",
        ),
    ),
)
"""A union keeps it: its distribution is an average of those of the classes, and distances are convex."""
