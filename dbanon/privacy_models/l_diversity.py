"""l-diversity: sensitive values are well represented in every class (Machanavajjhala et al. 2006).

A NULL never counts.
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
)
from dbanon.table_functions.parameter_types import Choice, Float, Integer
from dbanon.table_functions.parameters import Parameter


def distinct_values(settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return the number of different sensitive values in each class; NULL does not count.

    `counts` has the (classes, values + 1) records with each value, NULL last.
    """
    return np.asarray((counts[:, :-1] > 0).sum(axis=1), np.float64)


def _exp_entropy(settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return exp of the entropy of the sensitive values of each class; 0 for a class without values.

    `counts` has the (classes, values + 1) records with each value, NULL last; NULL does not count.
    """
    value_counts = counts[:, :-1]
    total = value_counts.sum(axis=1)
    logs = np.where(value_counts > 0, value_counts * np.log(np.where(value_counts > 0, value_counts, 1)), 0).sum(axis=1)
    return np.where(total > 0, np.exp(np.log(np.maximum(total, 1)) - logs / np.maximum(total, 1)), 0.0)


def _recursive_ratio(settings: ModelSettings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """Return r_1 / (r_l + ... + r_m) of each class, with r_i the i-th greatest number of records with one value.

    It is infinite if the class has fewer than l different values. NULL does not count. l is one of the settings;
    `counts` has the (classes, values + 1) records with each value, NULL last.
    """
    descending = -np.sort(-counts[:, :-1], axis=1)
    if descending.shape[1] < settings["l"]:
        return np.full(len(counts), np.inf)
    tail = descending[:, settings["l"] - 1 :].sum(axis=1)
    return np.where(tail > 0, descending[:, 0] / np.maximum(tail, 1), np.inf)


def _min_records_for_entropy(settings: ModelSettings) -> int:
    """Return l rounded up: a class of fewer records cannot have exp of entropy l."""
    return int(np.ceil(settings["l"] - SLACK))


def _recursive_kernel_rules(settings: ModelSettings, sensitive: SensitiveColumn) -> KernelRules:
    """Return the rules of recursive (c, l)-diversity for compiled code.

    A class needs at least l different values and a ratio below c. The share to aim at for a value is just below
    c / (1 + c * (l - 1)).
    """
    c, min_values = float(settings["c"]), int(settings["l"])
    target_share = c / (1 + c * (min_values - 1)) * (1 - 1e-9)
    return KernelRules(min_distinct=min_values, recursive=(c, min_values), target_share=target_share)


_ACHIEVED_L = AchievedMetric(
    "l_diversity",
    "Achieved l of a sensitive column: least number of distinct values in a class, or least exp of their entropy "
    "(diversity).",
)

MODEL = PrivacyModel(
    name="l_diversity",
    position=1,
    parameters=(
        Parameter("l", Integer(2), "l-diversity: least number of well-represented sensitive values in every class."),
        Parameter(
            "diversity",
            Choice(("distinct", "entropy", "recursive")),
            "How l counts values: distinct values (default), exp of their entropy, or recursive (c, l)-diversity.",
        ),
        Parameter("c", Float(0, above=True), "Parameter c of recursive (c, l)-diversity; default 2."),
    ),
    form_parameter="diversity",
    source="Machanavajjhala et al. 2006",
    function="l_diversity",
    description="well-represented sensitive values in a class",
    example="diversity = 'entropy'",
    forms=(
        ModelForm(
            name="distinct",
            bound=ModelBound("l", "higher"),
            measure=distinct_values,
            metric=_ACHIEVED_L,
            table_measure=TableMeasure("distinct_l", "Least number of distinct values in a class."),
            sentence="at least {l} different sensitive values in every class",
            min_records=lambda settings: int(settings["l"]),
            kernel_rules=lambda settings, sensitive: KernelRules(min_distinct=int(settings["l"])),
            is_distinct_count=True,
        ),
        ModelForm(
            name="entropy",
            bound=ModelBound("l", "higher"),
            measure=_exp_entropy,
            metric=_ACHIEVED_L,
            table_measure=TableMeasure("entropy_l", "Least exp of the entropy of the values of a class."),
            sentence="at least {l} well-represented (exp of entropy) sensitive values in every class",
            min_records=_min_records_for_entropy,
            kernel_rules=lambda settings, sensitive: KernelRules(
                min_distinct=_min_records_for_entropy(settings),
                min_exp_entropy=float(settings["l"]),
                target_share=1 / settings["l"],
            ),
        ),
        ModelForm(
            name="recursive",
            # no slack: one division of whole numbers, which SQL computes as exactly
            bound=ModelBound("c", "lower", strict=True, slack=0.0, unreachable="a smaller l"),
            settings={"c": 2.0},
            measure=_recursive_ratio,
            metric=AchievedMetric(
                "recursive_c", "Achieved c of recursive (c, l)-diversity of a sensitive column; every class is below c."
            ),
            table_measure=TableMeasure(
                "recursive_l",
                "Greatest l such that every class is recursive (c, l)-diverse with c = {c:g}.",
                measure="longest",
                better="higher",
            ),
            sentence="at least {l} well-represented (recursive, c = {c:g}) sensitive values in every class",
            min_records=lambda settings: int(settings["l"]),
            kernel_rules=_recursive_kernel_rules,
        ),
    ),
)
"""A union of classes keeps the model. Entropy is concave. Neither r_1 nor the sum of the l - 1 most frequent values of
a union is more than the sum of those of the classes, so r_1 < c (r_l + ... + r_m) adds up."""
