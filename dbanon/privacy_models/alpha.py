"""(alpha, k)-anonymity: no sensitive value has too great a share of a class (Wong et al. 2006).

A NULL is a category of its own.
"""

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
)
from dbanon.table_functions.parameter_types import Float
from dbanon.table_functions.parameters import Parameter


def _max_share(settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return the greatest share of one sensitive value (or NULL) in each class.

    `counts` has the (classes, values + 1) records with each value, NULL last, `sizes` the records of each class.
    """
    return np.asarray(counts.max(axis=1) / sizes)


MODEL = PrivacyModel(
    name="alpha",
    position=3,
    parameters=(
        Parameter(
            "alpha", Float(0, 1, above=True), "(alpha, k)-anonymity: greatest share of a sensitive value in a class."
        ),
    ),
    source="Wong et al. 2006",
    function="alpha_k",
    description="greatest share of one sensitive value in a class",
    example="",
    forms=(
        ModelForm(
            name="share",
            bound=ModelBound("alpha", "lower", max_measure=1.0),
            measure=_max_share,
            metric=AchievedMetric(
                "alpha", "Achieved alpha of a sensitive column: greatest share of a value in a class."
            ),
            table_measure=TableMeasure("alpha", "Greatest share of one value in a class."),
            sentence="greatest share of a sensitive value in a class at most {alpha:.12g}",
            kernel_rules=lambda settings, sensitive: KernelRules(
                max_shares=np.full(sensitive.values + 1, settings["alpha"])
            ),
        ),
    ),
)
"""A union of classes keeps the model: a value's share in it is an average of its shares in the classes."""
