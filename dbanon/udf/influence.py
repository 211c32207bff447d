"""The function that measures how much attributes reveal about sensitive values; clustering weighs by the same."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon.algorithms import influence_forest
from dbanon.encoding import encoded_table
from dbanon.runtime import progress, session
from dbanon.udf import cluster_input

SCORES = pa.list_(
    pa.struct(
        [("sensitive", pa.string()), ("place", pa.int32()), ("attribute", pa.string()), ("influence", pa.float64()),
         ("rank", pa.int32()), *((n, pa.float64()) for n in ("zeta", "sigma", "accuracy", "test_accuracy"))]
    )
)  # fmt: skip
INFLUENCE = pa.struct([("scores", SCORES), ("error", pa.string())])


def dbanon_influence(request: Any, rows: Any, *domains: Any) -> Any:
    """STRUCT(scores STRUCT(...)[], error VARCHAR) of each table of groups: what attributes tell of sensitive values."""
    return cluster_input.each(request, rows, domains, _influences, INFLUENCE)


def _influences(asked: dict[str, Any], records: Any, domains: list[Any]) -> Any:
    """Return the influences of one table's attributes, as an array of one."""
    table, _ = cluster_input.table(asked, records, domains)
    rows = []
    for place, (column, found) in enumerate(zip(asked["sensitive"], _forests(table, asked), strict=True)):
        scores = found.scores(asked["forest"]["score"]).tolist()
        accuracies = {n: None if np.isnan(v) else v for n, v in vars(found).items() if n.endswith("accuracy")}
        rows += [
            accuracies | {"sensitive": column, "place": place, "attribute": attribute["name"], "influence": scores[j],
                     "rank": rank, "zeta": found.zeta[j], "sigma": found.sigma[j]}
            for j, (attribute, rank) in enumerate(
                zip(asked["attributes"], influence_forest.score_ranks(scores), strict=True)
            )
        ]  # fmt: skip
    return pa.array([{"scores": rows}], INFLUENCE)


def _forests(table: encoded_table.EncodedTable, asked: dict[str, Any]) -> list[influence_forest.AttributeInfluence]:
    """Return the influences on each sensitive column, from the cache where they are known."""
    current = session.session_by_token(asked["session"])
    settings = influence_forest.ForestSettings(**asked["forest"]["settings"])
    found = []
    with cluster_input.interruptible(asked) as check:
        step = progress.progress_steps(current, check, settings.trees * len(table.sensitive))
        for sensitive in table.sensitive:
            packed = current.cache.get(
                influence_forest.influence_key(table, sensitive, settings),
                lambda of=sensitive: influence_forest.attribute_influence(table, of, settings, step).to_array(),  # type: ignore[misc]
            )
            found.append(influence_forest.AttributeInfluence.from_array(packed))
    return found


def influenced(table: encoded_table.EncodedTable, asked: dict[str, Any]) -> encoded_table.EncodedTable:
    """Return the space with the attributes' influence, and weights by it where that is asked for."""
    scores = influence_forest.combine_scores([f.scores(asked["forest"]["score"]) for f in _forests(table, asked)])
    factors = influence_forest.weight_factors(scores) if asked["forest"]["weigh"] else [1.0] * len(scores)
    attributes = tuple(
        replace(a, influence=float(score), weight=a.weight * factor)
        for a, score, factor in zip(table.attributes, scores, factors, strict=True)
    )
    return replace(table, attributes=attributes)
