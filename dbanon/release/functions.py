"""Declare the table functions of releases: three per algorithm, and those that take the algorithm as a parameter."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dbanon.algorithms import algorithms, find
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.errors.example import Example
from dbanon.release.plan import plan
from dbanon.release.spec import related_parameters, resolve
from dbanon.sqltext.quote import Sql
from dbanon.table_functions.parameter_types import Boolean, Integer, Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import KIND_BY_ENDING, Call, TableFunction

_DESCRIPTIONS = {
    "release": "Returns the released rows, with generalized quasi-identifiers, and the number of their class "
    "(class_id).",
    "classes": "Returns one row per equivalence class: size, published values, loss, and sensitive values with their "
    "counts.",
    "metrics": "Returns one row per metric: metric, value, better ('higher' or 'lower'), description, is_publishable "
    "(whether it follows from the released rows alone; the other metrics are for the custodian).",
    "inference": "Returns published values from which a reader can infer more about the quasi-identifiers of a class "
    "than it publishes (prostate cancer and sex). For the custodian, before a release: it shows raw "
    "values.",
}
_EXAMPLES = {
    "release": "SELECT * FROM {}('patients', {}) LIMIT 5;",
    "classes": "SELECT * FROM {}('patients', {}) ORDER BY loss DESC LIMIT 5;",
    "metrics": "SELECT metric, value, better FROM {}('patients', {});",
    "inference": "SELECT * FROM {}('patients', {}) LIMIT 5;",
}
_PARAMETERS_BY_KIND = {
    "metrics": (
        Parameter(
            "with_kl_divergence",
            Boolean(),
            "Also compute kl_divergence, which may take longer than all other metrics together.",
            False,
        ),
    ),
    "inference": (
        Parameter(
            "min_records",
            Integer(1),
            "Values of fewer than this many records (persons) of the table are not considered, because they say "
            "little; default k.",
        ),
    ),
}
"""Parameters that only functions of one kind have."""

DEFAULT_ALGORITHM = "best"
"""The algorithm of calls that name none."""

_ALGORITHM_PARAMETER = Parameter(
    "algorithm", Text("an algorithm's name"), "The algorithm that forms the classes.", DEFAULT_ALGORITHM
)
_GENERIC_FUNCTIONS = {f"anonymize{ending}": kind for ending, kind in KIND_BY_ENDING.items()} | {
    "inference": "inference"
}
"""Functions that take the algorithm as a parameter, and the kind of each."""


def release_sql(call: Call) -> Sql:
    """Return the SQL of a call of a table function that publishes rows, classes or metrics (or another kind of result).

    If the session collects planned releases, the names of the published columns are added to its list.

    Raises:
        DbanonError: The policy, the roles, the hierarchies, the privacy models or the parameters are invalid.
    """
    if related_parameters.has_related_tables(call.options):
        from dbanon.release.related import statement as related_tables

        return related_tables.related_tables_sql(call)
    spec = resolve.resolve_spec(call)
    if call.session.recorded.releases is not None and spec.kind == "release":
        call.session.recorded.releases.append(plan.published_names(spec))
    if call.session.recorded.kinds is not None and spec.kind == "release":
        for kind in KIND_BY_ENDING.values():
            call.session.recorded.kinds[kind] = plan.release_sql(replace(spec, kind=kind), with_losses=True)
    return Sql(plan.release_sql(spec))


def _algorithm_functions(algorithm_name: str) -> Iterator[TableFunction]:
    """Yield the three table functions of an algorithm: NAME, NAME_classes and NAME_metrics."""
    algorithm = find(algorithm_name)
    for ending, kind in KIND_BY_ENDING.items():
        parameters = algorithm.parameters + _PARAMETERS_BY_KIND.get(kind, ()) + related_parameters.RELATED_PARAMETERS
        yield _function(
            algorithm_name + ending, parameters, f"{algorithm.title}. {_DESCRIPTIONS[kind]}", algorithm_name, kind
        )


def _generic_function(name: str, algorithm: str | None) -> TableFunction:
    """Return the declaration of a table function that takes the algorithm as a parameter.

    `name` is anonymize, anonymize_classes, anonymize_metrics or inference. The function has the parameters of
    `algorithm`; if this is None, those of all algorithms.
    """
    kind = _GENERIC_FUNCTIONS[name]
    algorithm_parameters = {p.name: p for a in algorithms() if algorithm in (None, a.name) for p in a.parameters}
    algorithm_parameters |= {p.name: p for p in COMMON if algorithm is None}
    related_table_parameters = related_parameters.RELATED_PARAMETERS if kind in KIND_BY_ENDING.values() else ()
    return _function(
        name,
        (
            _ALGORITHM_PARAMETER,
            *_PARAMETERS_BY_KIND.get(kind, ()),
            *algorithm_parameters.values(),
            *related_table_parameters,
        ),
        _DESCRIPTIONS[kind],
        algorithm,
        kind,
    )


def _function(
    name: str, parameters: tuple[Parameter, ...], doc: str, algorithm: str | None, kind: str
) -> TableFunction:
    """Return the declaration of a table function that publishes, with its example.

    Args:
        name: The name of the function.
        parameters: Its parameters.
        doc: Its description in the manual.
        algorithm: The algorithm; None if a parameter of the call names it: the parameters then become those of this
            algorithm (`specialize`).
        kind: The result: release, classes, metrics or inference.
    """
    example_arguments = [p.example for p in parameters if p.required]
    if name in _GENERIC_FUNCTIONS:
        example_arguments.append("algorithm = 'mondrian'")
    example = Example(_EXAMPLES[kind].format(name, ", ".join(example_arguments)))

    def specialize(call_values: Mapping[str, object]) -> TableFunction:
        """Return the function with the parameters of the algorithm that a call names, or of the default algorithm.

        If the call gives the algorithm otherwise than as text, the parameters are those of all algorithms.
        """
        algorithm_name = call_values.get("algorithm") or _ALGORITHM_PARAMETER.default
        return _generic_function(name, find(algorithm_name.lower()).name if isinstance(algorithm_name, str) else None)

    return TableFunction(
        name,
        ("tbl",),
        parameters,
        doc,
        release_sql,
        example,
        algorithm,
        kind,
        specialize if name in _GENERIC_FUNCTIONS and algorithm is None else None,
    )


def release_functions() -> dict[str, TableFunction]:
    """Return all table functions that publish releases of tables, not of streams, by name."""
    return {function.name: function for function in _release_functions()}


def _release_functions() -> Iterator[TableFunction]:
    """Yield the functions of all registered algorithms, then those that take the algorithm as a parameter."""
    for algorithm in algorithms():
        yield from _algorithm_functions(algorithm.name)
    yield from (_generic_function(name, None) for name in _GENERIC_FUNCTIONS)


FUNCTIONS = _release_functions


def find_function(name: str) -> TableFunction:
    """Return the function of this name; of an algorithm's function, only the module of this algorithm is imported."""
    if name in _GENERIC_FUNCTIONS:
        return _generic_function(name, None)
    algorithm = name.removesuffix("_classes").removesuffix("_metrics")
    return next(function for function in _algorithm_functions(algorithm) if function.name == name)
