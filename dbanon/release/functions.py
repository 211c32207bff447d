"""The functions that publish: three of each algorithm, and those that take the algorithm as a parameter."""

from collections.abc import Iterator, Mapping

from dbanon.algorithms import algorithms, find
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.errors.example import Example
from dbanon.release.plan import plan
from dbanon.release.related import statement as related_tables
from dbanon.release.spec import related_parameters, resolve
from dbanon.sqltext.quote import Sql
from dbanon.table_functions.parameter_types import Boolean, Integer, Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import KIND_BY_ENDING, Call, TableFunction

_DOC = {
    "release": "The released rows: quasi-identifiers generalized, then class_id.",
    "classes": "One row an equivalence class: size, published values, loss, sensitive values with counts.",
    "metrics": "One row a measure: metric, value, better ('higher' or 'lower'), description, published (whether it "
    "follows from the released rows alone; the others are the custodian's).",
    "inference": "Published values that narrow a class's quasi-identifiers below what is published (prostate cancer "
    "and sex). It shows raw values: for the custodian, before a release.",
}
_EXAMPLES = {
    "release": "SELECT * FROM {}('patients', {}) LIMIT 5;",
    "classes": "SELECT * FROM {}('patients', {}) ORDER BY loss DESC LIMIT 5;",
    "metrics": "SELECT metric, value, better FROM {}('patients', {});",
    "inference": "SELECT * FROM {}('patients', {}) LIMIT 5;",
}
_OF_KIND = {
    "metrics": (
        Parameter(
            "divergence",
            Boolean(),
            "Also kl_divergence, which may take longer than all other measures together.",
            False,
        ),
    ),
    "inference": (
        Parameter(
            "support",
            Integer(1),
            "Values of fewer records (persons) of the table are left out, as they say little; default k.",
        ),
    ),
}
"""Parameters that only functions of one kind have."""

_ALGORITHM = Parameter("algorithm", Text("an algorithm's name"), "The algorithm that makes the classes.", "kacpc")
_GENERIC = {f"anonymize{ending}": kind for ending, kind in KIND_BY_ENDING.items()} | {"inference": "inference"}
"""Functions that take the algorithm as a parameter, and the kind of each."""


def statement(call: Call) -> Sql:
    """The SQL of a call that publishes; errors are those of the policy, the roles, the hierarchies and the models."""
    if related_parameters.asks(call.options):
        return related_tables.statement(call)
    publication = resolve.resolve_spec(call)
    if call.session.planned_releases is not None and publication.kind == "release":
        call.session.planned_releases.append(plan.published_names(publication))
    return Sql(plan.statement(publication))


def _functions(algorithm: str) -> Iterator[TableFunction]:
    """Yield the three functions of an algorithm."""
    found = find(algorithm)
    for ending, kind in KIND_BY_ENDING.items():
        known = found.parameters + _OF_KIND.get(kind, ()) + related_parameters.RELATED
        yield _function(algorithm + ending, known, f"{found.title}. {_DOC[kind]}", algorithm, kind)


def _generic(name: str, algorithm: str | None) -> TableFunction:
    """Return a function that takes the algorithm, with the parameters of one; None: of all."""
    kind = _GENERIC[name]
    own = {p.name: p for a in algorithms() if algorithm in (None, a.name) for p in a.parameters}
    own |= {p.name: p for p in COMMON if algorithm is None}
    related = related_parameters.RELATED if kind in KIND_BY_ENDING.values() else ()
    return _function(name, (_ALGORITHM, *_OF_KIND.get(kind, ()), *own.values(), *related), _DOC[kind], algorithm, kind)


def _function(name: str, known: tuple[Parameter, ...], doc: str, algorithm: str | None, kind: str) -> TableFunction:
    given = [p.example for p in known if p.required]
    if name in _GENERIC:
        given.append("algorithm = 'mondrian'")
    example = Example(_EXAMPLES[kind].format(name, ", ".join(given)))

    def narrowed(given: Mapping[str, object]) -> TableFunction:
        wanted = given.get("algorithm") or _ALGORITHM.default
        return _generic(name, find(wanted.lower()).name if isinstance(wanted, str) else None)

    return TableFunction(
        name,
        ("tbl",),
        known,
        doc,
        statement,
        example,
        algorithm,
        kind,
        narrowed if name in _GENERIC and algorithm is None else None,
    )


def publishing() -> dict[str, TableFunction]:
    """Return all functions that publish, by name."""
    return {function.name: function for function in _every()}


def _every() -> Iterator[TableFunction]:
    """Yield the functions of all registered algorithms, then those that take the algorithm."""
    for algorithm in algorithms():
        yield from _functions(algorithm.name)
    yield from (_generic(name, None) for name in _GENERIC)


FUNCTIONS = _every
