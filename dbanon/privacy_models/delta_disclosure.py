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
"""Above this a value may be as frequent as it can: shares are at least 2^-63, and e^50 is above 2^63."""


def _max_log_ratio(settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return the greatest |ln(p / q)| of a value of the table; infinite where a class does not have the value."""
    occurs = sensitive.share > 0
    p, q = shares(counts)[:, occurs], sensitive.share[occurs]
    return np.asarray(np.abs(np.log(p / q)).max(axis=1, initial=0.0))


def _kernel_rules(settings: ModelSettings, sensitive: SensitiveColumn) -> KernelRules:
    """Return all values must be there, none too often; that one may be too rare is left to the measure."""
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
    "where a class lacks a value",
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
                "Greatest |ln(p / q)| of a value's share p in a class and q in the whole table; infinite where a class "
                "lacks a value.",
            ),
            sentence="|ln(p / q)| of every sensitive value's share p in a class and q in the whole release below "
            "{delta_disclosure:.12g}",
            kernel_rules=_kernel_rules,
            uses_overall=True,
        ),
    ),
)
"""A union keeps it: a value's share in it is an average of its shares in the classes."""
