"""The scalar function behind influence(): how much each attribute reveals about sensitive values.

Clustering weighs attributes by the same scores.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.algorithms import influence_forest
from dbanon.encoding import encoded_table
from dbanon.runtime import progress, session
from dbanon.udf import cluster_input

INFLUENCE_SCORES_TYPE = pa.list_(
    pa.struct(
        [("sensitive", pa.string()), ("place", pa.int32()), ("attribute", pa.string()), ("influence", pa.float64()),
         ("rank", pa.int32()), *((n, pa.float64()) for n in ("zeta", "sigma", "accuracy", "test_accuracy"))]
    )
)  # fmt: skip
INFLUENCE_TYPE = pa.struct([("scores", INFLUENCE_SCORES_TYPE), ("error", pa.string())])


@cluster_input.answers_requests(INFLUENCE_TYPE, with_records=True)
def dbanon_influence(request: dict[str, Any], records: Any, *domains: Any) -> Any:
    """Measure how much each attribute reveals about each sensitive column; return the fields of INFLUENCE_TYPE.

    Args:
        request: The call, with the settings of the random forest.
        records: The groups of equal records, as in dbanon_cluster.
        *domains: The domains as in dbanon_cluster.

    Returns:
        STRUCT(scores STRUCT(sensitive, place, attribute, influence, rank, zeta, sigma, accuracy, test_accuracy)[],
        error VARCHAR) with one score per sensitive column and attribute, in this order.
    """
    table, _ = cluster_input.encode_records(request, records, domains)
    rows = []
    for place, (column, influence) in enumerate(
        zip(request["sensitive"], _attribute_influences(table, request), strict=True)
    ):
        scores = influence.scores(request["forest"]["score"]).tolist()
        accuracies = {n: None if np.isnan(v) else v for n, v in vars(influence).items() if n.endswith("accuracy")}
        for i, (attribute, rank) in enumerate(
            zip(request["attributes"], influence_forest.score_ranks(scores), strict=True)
        ):
            row = {"sensitive": column, "place": place, "attribute": attribute["name"], "influence": scores[i]}
            rows.append(accuracies | row | {"rank": rank, "zeta": influence.zeta[i], "sigma": influence.sigma[i]})
    return {"scores": rows}


def _attribute_influences(
    table: encoded_table.EncodedTable, request: dict[str, Any]
) -> list[influence_forest.AttributeInfluence]:
    """Return, for each sensitive column in order, the influence of all attributes on it, from a random forest.

    A result that the session's cache has is not computed again; others are stored there. Progress is reported, and
    StatementInterruptedError is raised after an interrupt.
    """
    current_session = session.session_by_token(request["session"])
    settings = influence_forest.ForestSettings(**request["forest"]["settings"])
    influences = []
    with cluster_input.interrupt_check(request) as check:
        on_step = progress.progress_steps(current_session, check, settings.trees * len(table.sensitive))
        for sensitive in table.sensitive:
            cached = current_session.cache.get(
                influence_forest.influence_key(table, sensitive, settings),
                lambda of=sensitive: influence_forest.attribute_influence(table, of, settings, on_step).to_array(),  # type: ignore[misc]
            )
            influences.append(influence_forest.AttributeInfluence.from_array(cached))
    return influences


def with_influence(table: encoded_table.EncodedTable, request: dict[str, Any]) -> encoded_table.EncodedTable:
    """Return a copy of the table whose attributes have their influence and, if requested, weights by influence.

    The influence of an attribute combines its scores over all sensitive columns. If the forest settings of the request
    have `weigh`, the weight of each attribute is multiplied by a factor that follows from the influences.
    """
    scores = influence_forest.combine_scores(
        [f.scores(request["forest"]["score"]) for f in _attribute_influences(table, request)]
    )
    factors = influence_forest.weight_factors(scores) if request["forest"]["weigh"] else [1.0] * len(scores)
    attributes = tuple(
        replace(a, influence=float(score), weight=a.weight * factor)
        for a, score, factor in zip(table.attributes, scores, factors, strict=True)
    )
    return replace(table, attributes=attributes)
