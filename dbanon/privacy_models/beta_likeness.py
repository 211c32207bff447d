"""beta-likeness: no sensitive value gains too much in a class over the whole table (Cao and Karras 2012).

A NULL is a category of its own.
"""

import numpy as np

from dbanon.encoding.encoded_table import Floats, SensitiveColumn
from dbanon.privacy_models.model import SLACK, Form, Listed, Metric, Model, ModelBound, Rules, Settings, shares
from dbanon.table_functions.parameter_types import Choice, Float
from dbanon.table_functions.parameters import Parameter


def _basic(settings: Settings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return the greatest relative gain of a share over the whole table."""
    gains, _ = _gains(sensitive, counts)
    return np.asarray(gains.max(axis=1))


def _enhanced(settings: Settings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return the same, infinite where a gain is above -ln of the share in the table."""
    gains, q = _gains(sensitive, counts)
    return np.asarray(np.where(gains > -np.log(q) + SLACK, np.inf, gains).max(axis=1))


def _gains(sensitive: SensitiveColumn, counts: Floats) -> tuple[Floats, Floats]:
    """Return the relative gain of each value of the table by class, and the values' shares in the table."""
    there = sensitive.share > 0
    q = sensitive.share[there]
    return np.maximum((shares(counts)[:, there] - q) / q, 0.0), q


def _rules_of_enhanced(settings: Settings, sensitive: SensitiveColumn) -> Rules:
    gain = np.minimum(np.full(sensitive.values + 1, settings["beta"]), -np.log(np.maximum(sensitive.share, 1e-300)))
    return Rules(most=sensitive.share * (1 + gain))


_METRIC = Metric(
    "beta_likeness", "Achieved beta of a sensitive column: greatest relative gain of a value's share in a class."
)
_SENTENCE = "relative gain ({form}) of a sensitive value's share in a class at most {beta:.12g}"
_WHAT = "Greatest relative gain of a value's share in a class over the whole table"

MODEL = Model(
    name="beta_likeness",
    place=5,
    parameters=(
        Parameter(
            "beta",
            Float(0, above=True),
            "beta-likeness: greatest relative gain of a sensitive value's share in a class over the whole table.",
        ),
        Parameter(
            "likeness",
            Choice(("basic", "enhanced")),
            "Of beta-likeness: basic (default), or enhanced, which also bounds the gain by -ln of the share in the "
            "table.",
        ),
    ),
    chooses="likeness",
    source="Cao and Karras 2012",
    function="beta_likeness",
    gives="greatest relative gain of a sensitive value's share in a class over the whole table",
    example="likeness = 'enhanced'",
    forms=(
        Form(
            name="basic",
            bound=ModelBound("beta", "lower"),
            measure=_basic,
            metric=_METRIC,
            listed=Listed("beta_basic", f"{_WHAT}."),
            sentence=_SENTENCE,
            rules=lambda settings, sensitive: Rules(
                most=sensitive.share * (1 + np.full(sensitive.values + 1, settings["beta"]))
            ),
            compares=True,
        ),
        Form(
            name="enhanced",
            bound=ModelBound("beta", "lower"),
            measure=_enhanced,
            metric=_METRIC,
            listed=Listed("beta_enhanced", f"{_WHAT}; infinite where it is above -ln of the share in the table."),
            sentence=_SENTENCE,
            rules=_rules_of_enhanced,
            compares=True,
        ),
    ),
)
"""A union keeps it: a value's share in it is an average of its shares in the classes."""
