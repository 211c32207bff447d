"""The eight measures of a release that are worth reading first."""

import re
from collections.abc import Sequence

from dbanon.privacy_models import registry

MOST = 8

_FIRST = ("records", "classes", "k")
_THEN = (
    "precision",
    "k_all",
    "suppressed",
    "homogeneous_share",
    "class_size_average",
    "unique_unchanged",
    "risk_highest",
    "risk_average",
    "gcp",
)
_MODELS = 3
"""Most measures of privacy models among them."""


def headline(metrics: Sequence[str]) -> list[int]:
    """Return the positions of the metrics that are worth reading first, in the order to read them.

    >>> headline(["records", "l_diversity:disease", "k", "c_avg"])
    [0, 2, 1]
    """
    models = {metric.name for _, _, metric in registry.metrics()}
    plain = [name.partition(":")[0] for name in metrics]
    of_models = [i for i, name in enumerate(plain) if name in models][:_MODELS]
    before, after = ([plain.index(name) for name in names if name in plain] for names in (_FIRST, _THEN))
    return [*before, *of_models, *after][:MOST]


def brief(description: str, width: int) -> str:
    """What a measure is, in a line: the description up to its first colon, and no wider than so much.

    >>> brief("Share of information that is kept: 1 - loss / records.", 24)
    'Share of information …'
    """
    said = re.split(r"[:.;](?:\s|$)", description)[0]
    if len(said) <= width:
        return said
    return said[: width - 1].rpartition(" ")[0].rstrip(",") + " …"
