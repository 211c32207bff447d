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
    """Return the greatest relative gain of a share over the whole table."""
    gains, _ = _relative_gains(sensitive, counts)
    return np.asarray(gains.max(axis=1))


def _max_enhanced_gain(settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return the same, infinite where a gain is above -ln of the share in the table."""
    gains, q = _relative_gains(sensitive, counts)
    return np.asarray(np.where(gains > -np.log(q) + SLACK, np.inf, gains).max(axis=1))


def _relative_gains(sensitive: SensitiveColumn, counts: Floats) -> tuple[Floats, Floats]:
    """Return the relative gain of each value of the table by class, and the values' shares in the table."""
    occurs = sensitive.share > 0
    q = sensitive.share[occurs]
    return np.maximum((shares(counts)[:, occurs] - q) / q, 0.0), q


def _enhanced_kernel_rules(settings: ModelSettings, sensitive: SensitiveColumn) -> KernelRules:
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
            "Of beta-likeness: basic (default), or enhanced, which also bounds the gain by -ln of the share in the "
            "table.",
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
                "beta_enhanced", f"{_DESCRIPTION}; infinite where it is above -ln of the share in the table."
            ),
            sentence=_SENTENCE,
            kernel_rules=_enhanced_kernel_rules,
            uses_overall=True,
        ),
    ),
)
"""A union keeps it: a value's share in it is an average of its shares in the classes."""
