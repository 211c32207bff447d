"""The functions that DuckDB calls. The file that defines one is imported at its first call, so attaching is fast."""

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any


def _imported(file: str, name: str, parameters: str) -> Callable[..., Any]:
    """Return a function that calls `name` of a file of this folder; DuckDB inspects its signature."""

    def call(*arguments: Any) -> Any:
        return getattr(import_module(f"dbanon.udf.{file}"), name)(*arguments)

    call.__name__ = name
    call.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(p.lstrip("*"), Parameter.VAR_POSITIONAL if p[0] == "*" else Parameter.POSITIONAL_OR_KEYWORD)
            for p in parameters.split()
        ]
    )
    return call


# The table keeps the functions alive: DuckDB may call one after the connection that registered it is closed.

PLAN = _imported("plan", "dbanon_plan", "token call places")

_COMPARISON = (
    "STRUCT(rows STRUCT(place INTEGER, run INTEGER, algorithm VARCHAR, k INTEGER, n BIGINT, "
    "metric VARCHAR, mean DOUBLE, stddev DOUBLE, seconds DOUBLE, runs INTEGER, problem VARCHAR)[], error VARCHAR)"
)
ARROW_FUNCTIONS = (
    (
        _imported("cluster", "dbanon_cluster", "request rows *domains"),
        "STRUCT(parts STRUCT(gid BIGINT, cluster INTEGER, first INTEGER, last INTEGER)[], "
        "wide STRUCT(cluster INTEGER, low INTEGER[], high INTEGER[], raised INTEGER[])[], "
        "drawn STRUCT(cluster INTEGER, seat INTEGER, code INTEGER[], position DOUBLE[])[], error VARCHAR)",
    ),
    (
        _imported("diversify", "dbanon_diversify", "request rows people held *domains"),
        "STRUCT(people STRUCT(rid BIGINT, cluster INTEGER)[], error VARCHAR)",
    ),
    (
        _imported("hierarchies", "dbanon_trees", "request values stored"),
        "STRUCT(nodes STRUCT(tree INTEGER, node INTEGER, parent INTEGER, depth INTEGER, height INTEGER, "
        "leaves INTEGER, is_leaf BOOLEAN, label VARCHAR, published VARCHAR, line INTEGER[])[], "
        "codes STRUCT(tree INTEGER, value VARCHAR, code INTEGER, node INTEGER, own INTEGER)[], "
        "domains STRUCT(parents INTEGER[], places INTEGER[], names VARCHAR[])[], "
        "facts STRUCT(tree INTEGER, roots INTEGER, stored INTEGER, reached INTEGER, same_labels BOOLEAN, "
        "inner_nodes INTEGER, inner_names INTEGER, inner_stars INTEGER, reserved INTEGER, uncovered INTEGER, "
        "ambiguous INTEGER, "
        "several_nodes INTEGER)[])",
    ),
    (
        _imported("influence", "dbanon_influence", "request rows *domains"),
        "STRUCT(scores STRUCT(sensitive VARCHAR, place INTEGER, attribute VARCHAR, influence DOUBLE, "
        "rank INTEGER, zeta DOUBLE, sigma DOUBLE, accuracy DOUBLE, test_accuracy DOUBLE)[], error VARCHAR)",
    ),
    (_imported("compare", "dbanon_compare", "request rows *domains"), _COMPARISON),
    (_imported("compare_streams", "dbanon_compare_streams", "request rows *rest"), _COMPARISON),
    (
        _imported("attack", "dbanon_attack", "request given"),
        "STRUCT(rows STRUCT(id BIGINT, place BIGINT, confidence DOUBLE)[], error VARCHAR)",
    ),
    (
        _imported("refine", "dbanon_refine", "request given"),
        "STRUCT(rows STRUCT(id BIGINT, place BIGINT, low DOUBLE, high DOUBLE, most BIGINT)[], "
        "losses STRUCT(id BIGINT, own DOUBLE, freed DOUBLE)[], examined BIGINT, error VARCHAR)",
    ),
    (
        _imported("ml_utility", "dbanon_utility", "request given"),
        "STRUCT(rows STRUCT(trained_on VARCHAR, accuracy DOUBLE, balanced_accuracy DOUBLE, kept DOUBLE, "
        "learned BIGINT, tested BIGINT)[], error VARCHAR)",
    ),
    (
        _imported("stream", "dbanon_stream", "request rows *rest"),
        "STRUCT(records STRUCT(rid BIGINT, cluster INTEGER, step BIGINT, again BIGINT)[], "
        "wide STRUCT(cluster INTEGER, low INTEGER[], high INTEGER[], raised INTEGER[])[], error VARCHAR)",
    ),
    (_imported("pseudonyms", "dbanon_pseudonym", "values how"), "VARCHAR"),
    (_imported("pseudonyms", "dbanon_pseudonym_again", "values how"), "VARCHAR"),
    (_imported("pseudonyms", "dbanon_pseudonym_length", "lists how"), "INTEGER"),
    (_imported("pseudonyms", "dbanon_together", "rows"), "BIGINT[][]"),
    (_imported("pseudonyms", "dbanon_shift", "persons how"), "INTEGER"),
    (_imported("pseudonyms", "dbanon_shift_again", "persons how"), "INTEGER"),
)
"""The functions that get Arrow tables, each with the type of its result."""
