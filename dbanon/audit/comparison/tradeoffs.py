"""choose('table', ...): what configurations of a release cost and leave at risk, and which of them no other beats."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from dbanon import algorithms as static_algorithms, errors
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.algorithms.base.registry import LARGE, MODE, SEED
from dbanon.audit.comparison import algorithm_runs
from dbanon.audit.comparison.algorithm_runs import Run
from dbanon.audit.comparison.compare import QUERIES, algorithms
from dbanon.errors.example import Example
from dbanon.privacy_models import registry as models
from dbanon.release.plan import plan
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, argument, literal, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions import registry
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameter_types import Choice, Choices, Floats, Identifiers, Integers
from dbanon.table_functions.parameters import Parameter, validate_parameters
from dbanon.table_functions.table_function import Call, TableFunction

NAME = "dbanon configuration"
"""What a configuration's release is called in its statement."""

ATTACKS = {"prediction": "accuracy", "reconstruction": "success"}
"""Attacks that can be asked for, and the row of attack_summary that says how often they are right."""

COSTS = ("precision", "ncp", "query_error")
_FIGURES = (*COSTS, "risk_highest", "risk_average", "homogeneous_share", "suppressed")


@dataclass(frozen=True)
class Configuration:
    """One row: a run, the values of the axes, and the statement that makes its release."""

    run: Run
    axes: Mapping[str, str | int | float]
    statement: str


def statement(call: Call) -> Sql:
    """Return the SQL of one call.

    Attacks are run on the releases themselves. Which configurations cannot be released is found out then when the call
    is planned, by running them on what is committed; clusters are kept, so that the statement does not make them again.
    Raises what the policy, the roles and the hierarchies raise for a release, UnknownAlgorithmError,
    InvalidArgumentError and SensitiveColumnMissingError.
    """
    options = call.options
    if options["cost"] == "query_error" and not options["queries"]:
        accepts = "an integer of at least 1 where cost = 'query_error'"
        raise errors.InvalidArgumentError(call.function.name, "queries", accepts, str(options["queries"]))
    chosen = algorithms(call.function.name, options)
    least = min(options["t"] or (1.0,))
    base = algorithm_runs.whole(call, {"l": _most(options["l"]), "t": None if least == 1 else least})
    base = replace(base, demands=())
    every = [
        _configuration(call, base, algorithm, dict(zip(("k", "l", "t"), values, strict=True)))
        for algorithm, *values in product(chosen, options["k"], options["l"] or (1,), options["t"] or (1.0,))
    ]
    asks = options.listed("attacks") or ()
    if asks and not base.roles.sensitive:
        raise errors.SensitiveColumnMissingError(call.function.name, f"attacks = ['{asks[0]}']", base.source.shown)
    every = _tried(call, base, every) if asks else every
    risks = ["risk_highest", *(["homogeneous_share"] if base.roles.sensitive else []), *asks]
    return Sql(
        fill(
            "audit/comparison/tradeoffs.sql",
            figures=algorithm_runs.figures(
                base, [c.run for c in every], _FIGURES, queries=options["queries"], timed=False
            ),
            metrics=_FIGURES,
            configurations=[{n: literal(v) for n, v in {**c.axes, "statement": c.statement}.items()} for c in every],
            questions=[_questions(call, i, c, asks) for i, c in enumerate(every)],
            attacks=asks,
            cost="-precision" if options["cost"] == "precision" else options["cost"],
            risks=risks,
        )
    )


def _most(values: Sequence[int] | None) -> int | None:
    return None if not values or values[-1] == 1 else values[-1]


def _configuration(
    call: Call, base: ReleaseSpec, algorithm: static_algorithms.Algorithm, axes: Mapping[str, int | float]
) -> Configuration:
    """The configuration of an algorithm, k, l and t; l = 1 and t = 1 ask for nothing, and of an algorithm that has a
    default of its own for that."""
    own = {name: value for name, value in algorithm.defaults.items() if axes.get(name) == 1}
    axes = {name: _number(own.get(name, value)) for name, value in axes.items()}
    asked: dict[str, object] = {name: None if value == 1 else value for name, value in axes.items()}
    for model in models.models():
        if asked.get(model.parameter, call.options.get(model.parameter)) is None:
            asked |= {p.name: None for p in model.parameters}
    run = algorithm_runs.run(call, base, algorithm, asked, 1)
    return Configuration(run, {"algorithm": run.algorithm, **axes}, _written(call, run, asked))


def _number(value: object) -> int | float:
    return value if isinstance(value, int) else float(str(value))


def _written(call: Call, run: Run, asked: Mapping[str, object]) -> str:
    """The statement of a configuration's release, as a user would write it: what is asked (None: not), and what else
    the call says."""
    usual = {p.name: p.default for p in COMMON}
    if run.publication is not None:
        usual |= {p.name: p.default for p in (SEED, MODE, LARGE) if p.name in run.publication.options}
    said = {n: value for n, value in call.options.items() if n in usual and value != usual[n]}
    every = {n: value for n, value in {**said, **asked}.items() if value is not None}
    every = {n: every[n] for n in ("k", *every) if n in every}
    arguments = "".join(f", {n} = {_shown(v)}" for n, v in every.items())
    return f"SELECT * FROM {run.algorithm}({text(call.text('tbl'))}{arguments})"


def _shown(value: object) -> str:
    """Return a value as a user would write it."""
    return repr(value) if isinstance(value, float) else str(argument(value))


def _tried(call: Call, base: ReleaseSpec, every: Sequence[Configuration]) -> list[Configuration]:
    """Return the same with the problems of what cannot be released.

    What the planner does not see (temporary tables, what is not committed) cannot be tried: then the statement itself
    fails.
    """
    source = base.source
    if {source.table.lower(), f"{source.schema}.{source.table}".lower()} & call.session.temporary.columns.keys():
        return list(every)
    query = algorithm_runs.figures(base, [c.run for c in every], ("k",), timed=False)
    found = call.cursor.execute(
        qualify_builtins(f"SELECT run, problem FROM {query} WHERE problem IS NOT NULL")
    ).fetchall()
    problems = dict(found)
    return [
        replace(c, run=replace(c.run, publication=None, problem=problems[i])) if i in problems else c
        for i, c in enumerate(every)
    ]


def _questions(
    call: Call, number: int, configuration: Configuration, attacks: Sequence[str]
) -> dict[str, object] | None:
    """What is asked of a configuration's release: the SQL of the release, and of the answers.

    None where there is no release, or nothing is asked.
    """
    publication = configuration.run.publication
    if publication is None or not attacks:
        return None
    release = Sql(plan.release_sql(publication))
    local = {**call.session.temporary.columns, NAME: _columns(publication)}
    about: dict[str, object] = {"source": call.text("tbl"), "qi": [a.quasi.column for a in publication.attributes]}
    hierarchies = call.options.get("hierarchies")
    about |= {"hierarchies": hierarchies} if hierarchies else {}
    current = replace(call.session, temporary=replace(call.session.temporary, columns=local))
    inner = replace(call, session=current, positional={"release": NAME})

    def asked(function: str, **more: object) -> Sql:
        of = registry.resolve_function(function, {})
        options = Options(validate_parameters(function, of.parameters, {**about, **more}))
        return of.handler(replace(inner, function=of, options=options))

    sensitive = list(publication.roles.sensitive)
    return {
        "number": number,
        "release": release,
        "attacks": [
            {"kind": kind, "name": text(ATTACKS[kind]), "sql": asked("attack_summary", kind=kind, sensitive=sensitive)}
            for kind in attacks
        ],
    }


def _columns(publication: ReleaseSpec) -> dict[str, str]:
    """Return the columns of a release and their types."""
    names, quasi = plan.published_names(publication)
    types = dict.fromkeys(quasi, "VARCHAR") | {names[-1]: "BIGINT"}
    return {name: types.get(name) or publication.source.columns[name] for name in names}


def _parameters() -> Iterator[Parameter]:
    """Yield the axes, and those of a release that play a part."""
    several = ("k", "l", "t")
    known = {p.name: p for p in COMMON}
    each = Integers(1, descending=False, alone=True)
    own = [p.name for p in models.parameters() if p.name not in several]
    yield Parameter("k", replace(each, low=2), "Each k, ascending.", required=True, example="k = [5, 10]")
    yield Parameter("l", each, "Each l of l-diversity, ascending; 1 asks for none.")
    yield Parameter("t", Floats(0, 1), "Each t of t-closeness, ascending; 1 asks for none.")
    yield Parameter(
        "algorithms",
        Identifiers("algorithms", "['kacpc', 'best']"),
        "Names of algorithms, each with its own defaults; 'all': every one.",
        ("kacpc",),
    )
    for name in (*algorithm_runs.SHARED[:5], *own, *algorithm_runs.SHARED[5:]):
        yield known[name]
    yield QUERIES
    yield Parameter(
        "attacks",
        Choices(tuple(ATTACKS)),
        "Attacks to run on each release: the share of guesses that is right, of the sensitive column where it is most.",
    )
    yield Parameter("cost", Choice(COSTS), "What configurations of the frontier cost least.", "precision")
    yield SEED
    yield MODE
    yield LARGE


FUNCTIONS = (
    TableFunction(
        "choose",
        ("tbl",),
        tuple(_parameters()),
        "One row a configuration of a release: what it costs, what it leaves at risk, whether no other beats it in "
        "both (frontier), and the statement that makes it. What cannot be released is a row whose problem says why. "
        "For the custodian.",
        handler=statement,
        example=Example(
            "SELECT k, l, precision, homogeneous_share, frontier FROM choose('patients', k = [5, 10], l = [1, 2]);"
        ),
    ),
)
