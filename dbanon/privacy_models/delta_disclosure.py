"""Delta-disclosure privacy: no sensitive value is much more or much less frequent in a class than in the whole table
(Brickell and Shmatikov 2008). A NULL is a category of its own."""

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
from dbanon.table_functions.parameter_types import Float
from dbanon.table_functions.parameters import Parameter

MAX_LOG_RATIO = 50.0
"""With a greater bound, no share is too great: shares are at least 2^-63, and e^50 is above 2^63."""


def _max_log_ratio(settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return, for each class, the greatest |ln(p / q)| over the values that occur in the whole table.

    p is the value's share in the class, q in the whole table; a class that lacks a value gives infinity. `counts` has
    the (classes, values + 1) records with each value, NULL last.
    """
    occurs = sensitive.share > 0
    p, q = shares(counts)[:, occurs], sensitive.share[occurs]
    return np.asarray(np.abs(np.log(p / q)).max(axis=1, initial=0.0))


def _kernel_rules(settings: ModelSettings, sensitive: SensitiveColumn) -> KernelRules:
    """Return rules for compiled code: every value occurs in a class, and no share exceeds q * exp(delta).

    q is the value's share in the whole table. The rules do not imply the model (`is_exact` is false): a value that is
    too rare is found only by the measure.
    """
    values = int((sensitive.share[:-1] > 0).sum())
    gain = np.exp(min(settings["delta_disclosure"], MAX_LOG_RATIO))
    return KernelRules(min_distinct=values, max_shares=sensitive.share * gain, is_exact=False)


MODEL = PrivacyModel(
    name="delta_disclosure",
    position=6,
    parameters=(
        Parameter(
            "delta_disclosure",
            Float(0, above=True),
            "delta-disclosure privacy: |ln(p / q)| of a sensitive value's share p in a class and q in the whole table "
            "is below this, for every value of the table in every class.",
        ),
    ),
    source="Brickell and Shmatikov 2008",
    function="delta_disclosure",
    description="greatest |ln(p / q)| of a sensitive value's share p in a class and q in the whole table, infinite "
    "if a class lacks a value",
    example="",
    forms=(
        ModelForm(
            name="shift",
            bound=ModelBound("delta_disclosure", "lower", strict=True),
            measure=_max_log_ratio,
            metric=AchievedMetric(
                "delta_disclosure",
                "Achieved delta of a sensitive column: greatest |ln(p / q)| of a value's share p in a class and q in "
                "the whole release; every class is below delta_disclosure.",
            ),
            table_measure=TableMeasure(
                "delta_disclosure",
                "Greatest |ln(p / q)| of a value's share p in a class and q in the whole table; infinite if a class "
                "lacks a value.",
            ),
            sentence="|ln(p / q)| of every sensitive value's share p in a class and q in the whole release below "
            "{delta_disclosure:.12g}",
            kernel_rules=_kernel_rules,
            uses_overall=True,
        ),
    ),
)
"""A union of classes keeps the model: a value's share in it is an average of its shares in the classes."""
