"""l-diversity: sensitive values are well represented in every class (Machanavajjhala et al. 2006).

A NULL never counts.
"""

import numpy as np

from dbanon.encoding.encoded_table import Floats, SensitiveColumn
from dbanon.privacy_models.model import SLACK, Form, Listed, Metric, Model, ModelBound, Rules, Settings
from dbanon.table_functions.parameter_types import Choice, Float, Integer
from dbanon.table_functions.parameters import Parameter


def distinct(settings: Settings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """How many values."""
    return np.asarray((counts[:, :-1] > 0).sum(axis=1), np.float64)


def _entropy(settings: Settings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """exp of the entropy."""
    known = counts[:, :-1]
    total = known.sum(axis=1)
    logs = np.where(known > 0, known * np.log(np.where(known > 0, known, 1)), 0).sum(axis=1)
    return np.where(total > 0, np.exp(np.log(np.maximum(total, 1)) - logs / np.maximum(total, 1)), 0.0)


def _recursive(settings: Settings, sensitive: SensitiveColumn, counts: Floats, sizes: Floats) -> Floats:
    """r_1 / (r_l + .. + r_m), infinite below l values."""
    ranked = -np.sort(-counts[:, :-1], axis=1)
    if ranked.shape[1] < settings["l"]:
        return np.full(len(counts), np.inf)
    tail = ranked[:, settings["l"] - 1 :].sum(axis=1)
    return np.where(tail > 0, ranked[:, 0] / np.maximum(tail, 1), np.inf)


def _least_of_entropy(settings: Settings) -> int:
    return int(np.ceil(settings["l"] - SLACK))


def _rules_of_recursive(settings: Settings, sensitive: SensitiveColumn) -> Rules:
    c, least = float(settings["c"]), int(settings["l"])
    aim = c / (1 + c * (least - 1)) * (1 - 1e-9)
    return Rules(least=least, recursive=(c, least), aim=aim)


_ACHIEVED_L = Metric(
    "l_diversity",
    "Achieved l of a sensitive column: least number of different values in a class, or least exp of their entropy "
    "(diversity).",
)

MODEL = Model(
    name="l_diversity",
    place=1,
    parameters=(
        Parameter("l", Integer(2), "l-diversity: least number of well-represented sensitive values in every class."),
        Parameter(
            "diversity",
            Choice(("distinct", "entropy", "recursive")),
            "How l counts values: different ones (default), exp of their entropy, or recursive (c, l)-diversity.",
        ),
        Parameter("c", Float(0, above=True), "c of recursive (c, l)-diversity; default 2."),
    ),
    chooses="diversity",
    source="Machanavajjhala et al. 2006",
    function="l_diversity",
    gives="well-represented sensitive values in a class",
    example="diversity = 'entropy'",
    forms=(
        Form(
            name="distinct",
            bound=ModelBound("l", "higher"),
            measure=distinct,
            metric=_ACHIEVED_L,
            listed=Listed("distinct_l", "Least number of different values in a class."),
            sentence="at least {l} different sensitive values in every class",
            least=lambda settings: int(settings["l"]),
            rules=lambda settings, sensitive: Rules(least=int(settings["l"])),
            counts_values=True,
        ),
        Form(
            name="entropy",
            bound=ModelBound("l", "higher"),
            measure=_entropy,
            metric=_ACHIEVED_L,
            listed=Listed("entropy_l", "Least exp of the entropy of the values of a class."),
            sentence="at least {l} well-represented (exp of entropy) sensitive values in every class",
            least=_least_of_entropy,
            rules=lambda settings, sensitive: Rules(
                least=_least_of_entropy(settings), entropy=float(settings["l"]), aim=1 / settings["l"]
            ),
        ),
        Form(
            name="recursive",
            # no slack: one division of whole numbers, which SQL makes as exactly
            bound=ModelBound("c", "lower", strict=True, slack=0.0, unreachable="a smaller l"),
            settings={"c": 2.0},
            measure=_recursive,
            metric=Metric(
                "recursive_c", "Achieved c of recursive (c, l)-diversity of a sensitive column; every class is below c."
            ),
            listed=Listed(
                "recursive_l",
                "Greatest l such that every class is recursive (c, l)-diverse with c = {c:g}.",
                measure="longest",
                better="higher",
            ),
            sentence="at least {l} well-represented (recursive, c = {c:g}) sensitive values in every class",
            least=lambda settings: int(settings["l"]),
            rules=_rules_of_recursive,
        ),
    ),
)
"""A union keeps entropy, which is concave; and neither r_1 nor the sum of the l - 1 most frequent is more than the sum
of those of the classes, so r_1 < c (r_l + ... + r_m) adds up."""
