"""The functions that DuckDB calls; the module of a function is imported at its first call, so attaching is fast."""

from collections.abc import Callable
from importlib import import_module
from inspect import Parameter, Signature
from typing import Any


def _lazy_function(file: str, name: str, parameters: str) -> Callable[..., Any]:
    """Return a function that, when called, imports a module of this package and calls its function `name`.

    Args:
        file: The name of the module.
        name: The name of the function.
        parameters: Its parameters, separated by blanks; DuckDB inspects the signature.
    """

    def call(*arguments: Any) -> Any:
        """Import the module and return the result of its function called with `arguments`."""
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

PLAN = _lazy_function("plan", "dbanon_plan", "token call places")

_COMPARISON = (
    "STRUCT(rows STRUCT(place INTEGER, run INTEGER, algorithm VARCHAR, k INTEGER, n BIGINT, "
    "metric VARCHAR, mean DOUBLE, stddev DOUBLE, seconds DOUBLE, runs INTEGER, problem VARCHAR)[], error VARCHAR)"
)
ARROW_FUNCTIONS = (
    (
        _lazy_function("cluster", "dbanon_cluster", "requests rows *domains"),
        "STRUCT(parts STRUCT(gid BIGINT, cluster INTEGER, first INTEGER, last INTEGER)[], "
        "wide STRUCT(cluster INTEGER, low INTEGER[], high INTEGER[], raised INTEGER[])[], "
        "drawn STRUCT(cluster INTEGER, seat INTEGER, code INTEGER[], position DOUBLE[])[], error VARCHAR)",
    ),
    (
        _lazy_function("diversify", "dbanon_diversify", "requests rows people sensitive_values *domains"),
        "STRUCT(people STRUCT(rid BIGINT, cluster INTEGER)[], error VARCHAR)",
    ),
    (
        _lazy_function("hierarchies", "dbanon_trees", "requests values stored"),
        "STRUCT(nodes STRUCT(tree INTEGER, node INTEGER, parent INTEGER, depth INTEGER, height INTEGER, "
        "leaves INTEGER, is_leaf BOOLEAN, code INTEGER, label VARCHAR, published VARCHAR, line INTEGER[])[], "
        "codes STRUCT(tree INTEGER, value VARCHAR, code INTEGER, node INTEGER, own INTEGER)[], "
        "domains STRUCT(parent INTEGER[], value INTEGER[], names VARCHAR[])[], "
        "facts STRUCT(tree INTEGER, malformed VARCHAR, reserved INTEGER, uncovered INTEGER, several_nodes INTEGER)[])",
    ),
    (
        _lazy_function("influence", "dbanon_influence", "requests rows *domains"),
        "STRUCT(scores STRUCT(sensitive VARCHAR, place INTEGER, attribute VARCHAR, influence DOUBLE, "
        "rank INTEGER, zeta DOUBLE, sigma DOUBLE, accuracy DOUBLE, test_accuracy DOUBLE)[], error VARCHAR)",
    ),
    (_lazy_function("compare", "dbanon_compare", "requests rows *domains"), _COMPARISON),
    (_lazy_function("compare_streams", "dbanon_compare_streams", "requests rows *inputs"), _COMPARISON),
    (
        _lazy_function("attack", "dbanon_attack", "requests inputs"),
        "STRUCT(rows STRUCT(id BIGINT, place BIGINT, confidence DOUBLE)[], error VARCHAR)",
    ),
    (
        _lazy_function("refine", "dbanon_refine", "requests inputs"),
        "STRUCT(rows STRUCT(id BIGINT, place BIGINT, low DOUBLE, high DOUBLE, most BIGINT)[], "
        "losses STRUCT(id BIGINT, own DOUBLE, freed DOUBLE)[], examined BIGINT, error VARCHAR)",
    ),
    (
        _lazy_function("ml_utility", "dbanon_utility", "requests inputs"),
        "STRUCT(rows STRUCT(trained_on VARCHAR, accuracy DOUBLE, balanced_accuracy DOUBLE, f_measure DOUBLE, "
        "retained_gain DOUBLE, n_train BIGINT, n_test BIGINT, davies_bouldin DOUBLE, cluster_agreement DOUBLE)[], "
        "error VARCHAR)",
    ),
    (
        _lazy_function("stream", "dbanon_stream", "requests rows *inputs"),
        "STRUCT(records STRUCT(rid BIGINT, cluster INTEGER, step BIGINT, again BIGINT)[], "
        "wide STRUCT(cluster INTEGER, low INTEGER[], high INTEGER[], raised INTEGER[])[], error VARCHAR)",
    ),
    (_lazy_function("pseudonyms", "dbanon_pseudonym", "values settings"), "VARCHAR"),
    (_lazy_function("pseudonyms", "dbanon_pseudonym_again", "values settings"), "VARCHAR"),
    (_lazy_function("pseudonyms", "dbanon_pseudonym_length", "lists settings"), "INTEGER"),
    (_lazy_function("pseudonyms", "dbanon_together", "rows"), "BIGINT[][]"),
    (_lazy_function("pseudonyms", "dbanon_shift", "persons settings"), "INTEGER"),
    (_lazy_function("pseudonyms", "dbanon_shift_again", "persons settings"), "INTEGER"),
)
"""The functions that receive Arrow columns, each with the SQL type of its result."""
