"""beta-likeness: no sensitive value gains too much in a class over the whole table (Cao and Karras 2012).

A NULL is a category of its own.
"""

import numpy as np

from dbanon.encoding.encoded_table import Floats, SensitiveColumn
from dbanon.privacy_models.model import (
    SLACK,
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


def _max_gain(settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return, for each class, the greatest relative gain of a value's share over its share in the whole table.

    `counts` has the (classes, values + 1) records with each value, NULL last. A loss counts as 0.
    """
    return np.asarray(_relative_gains(sensitive, counts)[0].max(axis=1))


def _max_enhanced_gain(settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return, for each class, the greatest relative gain of a value's share over its share q in the whole table.

    It is infinite where a gain exceeds -ln(q), as in enhanced beta-likeness. `counts` has the (classes, values + 1)
    records with each value, NULL last.
    """
    gains, q = _relative_gains(sensitive, counts)
    return np.asarray(np.where(gains > -np.log(q) + SLACK, np.inf, gains).max(axis=1))


def _relative_gains(sensitive: SensitiveColumn, counts: Floats) -> tuple[Floats, Floats]:
    """Return the relative gain max((p - q) / q, 0) of each value in each class, and the shares q in the table.

    p is the value's share in the class. Only values that occur in the table (q > 0) have a column.
    """
    occurs = sensitive.share > 0
    q = sensitive.share[occurs]
    return np.maximum((shares(counts)[:, occurs] - q) / q, 0.0), q


def _enhanced_kernel_rules(settings: ModelSettings, sensitive: SensitiveColumn) -> KernelRules:
    """Return the rule that a value's share in a class is at most q * (1 + min(beta, -ln q)).

    q is the value's share in the whole table.
    """
    gain = np.minimum(np.full(sensitive.values + 1, settings["beta"]), -np.log(np.maximum(sensitive.share, 1e-300)))
    return KernelRules(max_shares=sensitive.share * (1 + gain))


_METRIC = AchievedMetric(
    "beta_likeness", "Achieved beta of a sensitive column: greatest relative gain of a value's share in a class."
)
_SENTENCE = "relative gain ({form}) of a sensitive value's share in a class at most {beta:.12g}"
_DESCRIPTION = "Greatest relative gain of a value's share in a class over the whole table"

MODEL = PrivacyModel(
    name="beta_likeness",
    position=5,
    parameters=(
        Parameter(
            "beta",
            Float(0, above=True),
            "beta-likeness: greatest relative gain of a sensitive value's share in a class over the whole table.",
        ),
        Parameter(
            "likeness",
            Choice(("basic", "enhanced")),
            "Form of beta-likeness: basic (default), or enhanced, which also limits the gain to -ln of the share in "
            "the table.",
        ),
    ),
    form_parameter="likeness",
    source="Cao and Karras 2012",
    function="beta_likeness",
    description="greatest relative gain of a sensitive value's share in a class over the whole table",
    example="likeness = 'enhanced'",
    forms=(
        ModelForm(
            name="basic",
            bound=ModelBound("beta", "lower"),
            measure=_max_gain,
            metric=_METRIC,
            table_measure=TableMeasure("beta_basic", f"{_DESCRIPTION}."),
            sentence=_SENTENCE,
            kernel_rules=lambda settings, sensitive: KernelRules(
                max_shares=sensitive.share * (1 + np.full(sensitive.values + 1, settings["beta"]))
            ),
            uses_overall=True,
        ),
        ModelForm(
            name="enhanced",
            bound=ModelBound("beta", "lower"),
            measure=_max_enhanced_gain,
            metric=_METRIC,
            table_measure=TableMeasure(
                "beta_enhanced", f"{_DESCRIPTION}; infinite if it is above -ln of the share in the table."
            ),
            sentence=_SENTENCE,
            kernel_rules=_enhanced_kernel_rules,
            uses_overall=True,
        ),
    ),
)
"""A union of classes keeps the model: a value's share in it is an average of its shares in the classes."""
