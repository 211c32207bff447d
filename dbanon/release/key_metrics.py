"""Choose the metrics of a release that readers need first, and shorten their descriptions."""

import re
from collections.abc import Sequence

from dbanon.privacy_models import registry

MAX_KEY_METRICS = 8

_FIRST_METRICS = ("records", "classes", "k")
_LATER_METRICS = (
    "precision",
    "k_full_record",
    "suppressed",
    "homogeneous_share",
    "class_size_average",
    "unique_by_unchanged_columns",
    "risk_highest",
    "risk_average",
    "gcp",
)
_MAX_MODEL_METRICS = 3
"""Most measures of privacy models among them."""


def key_metric_positions(metrics: Sequence[str]) -> list[int]:
    """Return the positions of the metrics worth reading first, in the order to read them; at most MAX_KEY_METRICS.

    The order is records, classes and k; then at most three metrics of privacy models; then those in _LATER_METRICS,
    such as precision. Other metrics are omitted. A detail after a colon in a name is ignored; of several metrics with
    one name before the colon, only the first counts, except for privacy models.

    >>> key_metric_positions(["records", "l_diversity:disease", "k", "c_avg"])
    [0, 2, 1]
    """
    model_metrics = {metric.name for _, _, metric in registry.metrics()}
    base_names = [name.partition(":")[0] for name in metrics]
    model_positions = [i for i, name in enumerate(base_names) if name in model_metrics][:_MAX_MODEL_METRICS]
    first_positions, later_positions = (
        [base_names.index(name) for name in names if name in base_names] for names in (_FIRST_METRICS, _LATER_METRICS)
    )
    return [*first_positions, *model_positions, *later_positions][:MAX_KEY_METRICS]


def shorten_description(description: str, max_width: int) -> str:
    """Return a description's text before its first colon, period or semicolon, cut to `max_width` characters.

    It is cut at a blank, and an ellipsis is added.

    >>> shorten_description("Share of information that is kept: 1 - loss / records.", 24)
    'Share of information …'
    """
    sentence = re.split(r"[:.;](?:\s|$)", description)[0]
    if len(sentence) <= max_width:
        return sentence
    return sentence[: max_width - 1].rpartition(" ")[0].rstrip(",") + " …"
