"""tradeoffs('table', ...): information loss and risk of release configurations, and which ones no other dominates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from dbanon import algorithms as static_algorithms, errors
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.algorithms.base.registry import LARGE, MODE, SEED
from dbanon.audit.comparison import algorithm_runs
from dbanon.audit.comparison.compare import QUERIES, named_table_algorithms
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

CONFIGURATION_NAME = "dbanon configuration"
"""Name of a configuration's release inside its statement."""

ATTACK_METRICS = {"prediction": "accuracy", "reconstruction": "success"}
"""Attacks that can be run, with the row of attack_summary that has the share of right guesses."""

COSTS = ("precision", "ncp", "query_error")
_METRICS = (*COSTS, "risk_highest", "risk_average", "homogeneous_share", "suppressed")


@dataclass(frozen=True)
class Configuration:
    """One row of the result of tradeoffs(): a run, and the SQL statement that makes its release.

    `axes` has the names and values of the columns algorithm, k, l and t.
    """

    run: algorithm_runs.AlgorithmRun
    axes: Mapping[str, str | int | float]
    statement: str


def tradeoffs_sql(call: Call) -> Sql:
    """Return the SQL of tradeoffs(): one row per combination of algorithm, k, l and t.

    If the call requests attacks, they run on the releases of all combinations. To find those that cannot be released,
    all of them are then first run on the committed data, while the call is planned; the clusters are cached for the
    statement itself.

    Raises:
        UnknownAlgorithmError, InvalidArgumentError, SensitiveColumnMissingError: The arguments do not fit.
        DbanonError: As a release, about the policy, the roles and the hierarchies.
    """
    options = call.options
    if options["cost"] == "query_error" and not options["queries"]:
        accepts = "an integer of at least 1 where cost = 'query_error'"
        raise errors.InvalidArgumentError(call.function.name, "queries", accepts, str(options["queries"]))
    selected = named_table_algorithms(call.function.name, options)
    strictest_l = max(options["l"] or (1,))
    strictest_t = min(options["t"] or (1.0,))
    base = algorithm_runs.base_spec(
        call,
        {"l": None if strictest_l == 1 else strictest_l, "t": None if strictest_t == 1 else strictest_t},
    )
    base = replace(base, model_requirements=())
    configurations = [
        _make_configuration(call, base, algorithm, dict(zip(("k", "l", "t"), values, strict=True)))
        for algorithm, *values in product(selected, options["k"], options["l"] or (1,), options["t"] or (1.0,))
    ]
    attacks = options.sequence("attacks") or ()
    if attacks and not base.roles.sensitive:
        raise errors.SensitiveColumnMissingError(call.function.name, f"attacks = ['{attacks[0]}']", base.source.shown)
    configurations = _mark_infeasible(call, base, configurations) if attacks else configurations
    return Sql(
        fill(
            "audit/comparison/tradeoffs.sql",
            figures=algorithm_runs.runs_sql(
                base, [c.run for c in configurations], _METRICS, n_queries=options["queries"], is_timed=False
            ),
            metrics=_METRICS,
            configurations=[
                {n: literal(v) for n, v in {**c.axes, "statement": c.statement}.items()} for c in configurations
            ],
            questions=[_attack_values(call, i, c, attacks) for i, c in enumerate(configurations)],
            attacks=attacks,
            cost="-precision" if options["cost"] == "precision" else options["cost"],
            risks=["risk_highest", *(["homogeneous_share"] if base.roles.sensitive else []), *attacks],
        )
    )


def _make_configuration(
    call: Call, base: ReleaseSpec, algorithm: static_algorithms.Algorithm, axes: Mapping[str, int | float]
) -> Configuration:
    """Return the configuration of an algorithm with k, l and t, the values in `axes`.

    l = 1 and t = 1 mean no such constraint, or the default of an algorithm that has one. Parameters of models that are
    not required are unset. If the algorithm refuses the values, the run of the configuration has a problem.

    `base` is the spec that all runs share.
    """
    defaults = {name: value for name, value in algorithm.defaults.items() if axes.get(name) == 1}
    values = {name: defaults.get(name, value) for name, value in axes.items()}
    axes = {name: value if isinstance(value, int) else float(str(value)) for name, value in values.items()}
    overrides: dict[str, object] = {name: None if value == 1 else value for name, value in axes.items()}
    for model in models.models():
        if overrides.get(model.parameter, call.options.get(model.parameter)) is None:
            overrides |= {p.name: None for p in model.parameters}
    run = algorithm_runs.plan_run(call, base, algorithm, overrides, 1)
    return Configuration(run, {"algorithm": run.algorithm, **axes}, _release_statement(call, run, overrides))


def _release_statement(call: Call, run: algorithm_runs.AlgorithmRun, overrides: Mapping[str, object]) -> str:
    """Return the SQL statement that makes a configuration's release, as a user would write it.

    Args:
        call: The call of tradeoffs(); its parameters that differ from the defaults are in the statement.
        run: The run, which names the algorithm.
        overrides: The parameters of the configuration; they replace those of the call. None means not given.
    """
    defaults = {p.name: p.default for p in COMMON}
    if run.spec is not None:
        defaults |= {p.name: p.default for p in (SEED, MODE, LARGE) if p.name in run.spec.options}
    call_values = {n: value for n, value in call.options.items() if n in defaults and value != defaults[n]}
    arguments_by_name = {n: value for n, value in {**call_values, **overrides}.items() if value is not None}
    arguments_by_name = {n: arguments_by_name[n] for n in ("k", *arguments_by_name) if n in arguments_by_name}
    arguments = "".join(  # floats in their shortest exact notation
        f", {n} = {repr(v) if isinstance(v, float) else argument(v)}" for n, v in arguments_by_name.items()
    )
    return f"SELECT * FROM {run.algorithm}({text(call.text('tbl'))}{arguments})"


def _mark_infeasible(call: Call, base: ReleaseSpec, configurations: Sequence[Configuration]) -> list[Configuration]:
    """Return the configurations; those that cannot be released have a problem instead of a spec.

    All are run now on the committed data. If the source is a temporary table, they are returned unchanged: the planner
    does not see it, and the statement itself fails later.

    `base` is the spec that all runs share.
    """
    source = base.source
    if {source.table.lower(), f"{source.schema}.{source.table}".lower()} & call.session.temporary.columns.keys():
        return list(configurations)
    query = algorithm_runs.runs_sql(base, [c.run for c in configurations], ("k",), is_timed=False)
    problems = dict(
        call.cursor.execute(qualify_builtins(f"SELECT run, problem FROM {query} WHERE problem IS NOT NULL")).fetchall()
    )
    return [
        replace(c, run=replace(c.run, spec=None, problem=problems[i])) if i in problems else c
        for i, c in enumerate(configurations)
    ]


def _attack_values(
    call: Call, number: int, configuration: Configuration, attacks: Sequence[str]
) -> dict[str, object] | None:
    """Return template values of the attacks on a configuration's release: number, release and attacks.

    `release` is SQL of the release. `attacks` has a dict for each kind of attack: kind, SQL of the row's name in
    attack_summary(), and SQL of the call of it.

    Args:
        call: The call of tradeoffs().
        number: The number of the configuration.
        configuration: The configuration.
        attacks: The kinds of attacks: "prediction" and "reconstruction".

    Returns:
        The values; None if the configuration cannot be released or no attack is requested.
    """
    spec = configuration.run.spec
    if spec is None or not attacks:
        return None
    release = Sql(plan.release_sql(spec))
    local = {**call.session.temporary.columns, CONFIGURATION_NAME: _release_column_types(spec)}
    options_of_release: dict[str, object] = {
        "source": call.text("tbl"),
        "qi": [a.quasi.column for a in spec.attributes],
    }
    hierarchies = call.options.get("hierarchies")
    options_of_release |= {"hierarchies": hierarchies} if hierarchies else {}
    current = replace(call.session, temporary=replace(call.session.temporary, columns=local))
    inner = replace(call, session=current, positional={"release": CONFIGURATION_NAME})

    def function_sql(function: str, **arguments: object) -> Sql:
        """Return the SQL of a table function that is called for the configuration's release with these arguments."""
        table_function = registry.resolve_function(function, {})
        options = Options(validate_parameters(function, table_function.parameters, {**options_of_release, **arguments}))
        return table_function.handler(replace(inner, function=table_function, options=options))

    return {
        "number": number,
        "release": release,
        "attacks": [
            {
                "kind": kind,
                "name": text(ATTACK_METRICS[kind]),
                "sql": function_sql("attack_summary", kind=kind, sensitive=list(spec.roles.sensitive)),
            }
            for kind in attacks
        ],
    }


def _release_column_types(spec: ReleaseSpec) -> dict[str, str]:
    """Return the types by name of a release's columns, in order: VARCHAR for quasi-identifiers, BIGINT for the class.

    Other columns have the type of the source.
    """
    names, quasi = plan.published_names(spec)
    types = dict.fromkeys(quasi, "VARCHAR") | {names[-1]: "BIGINT"}
    return {name: types.get(name) or spec.source.columns[name] for name in names}


def _parameters() -> tuple[Parameter, ...]:
    """Return the parameters of tradeoffs(): lists of k, l and t, those of a release that have an effect, and others."""
    axes = ("k", "l", "t")
    common_parameters = {p.name: p for p in COMMON}
    ascending_integers = Integers(1, descending=False, alone=True)
    model_parameters = [p.name for p in models.parameters() if p.name not in axes]
    return (
        Parameter(
            "k", replace(ascending_integers, low=2), "Values of k, ascending.", required=True, example="k = [5, 10]"
        ),
        Parameter("l", ascending_integers, "Values of l for l-diversity, ascending; 1: no l-diversity."),
        Parameter("t", Floats(0, 1), "Values of t for t-closeness, ascending; 1: no t-closeness."),
        Parameter(
            "algorithms",
            Identifiers("algorithms", "['kacpc', 'best']"),
            "Names of algorithms, each with its own defaults; 'all': every algorithm.",
            ("best",),
        ),
        *(
            common_parameters[name]
            for name in (
                *algorithm_runs.SHARED_PARAMETERS[:5],
                *model_parameters,
                *algorithm_runs.SHARED_PARAMETERS[5:],
            )
        ),
        QUERIES,
        Parameter(
            "attacks",
            Choices(tuple(ATTACK_METRICS)),
            "Attacks to run on each release. The risk is the share of right guesses, for the sensitive column where it "
            "is greatest.",
        ),
        Parameter("cost", Choice(COSTS), "The cost that configurations of the frontier minimize.", "precision"),
        SEED,
        MODE,
        LARGE,
    )


FUNCTIONS = (
    TableFunction(
        "tradeoffs",
        ("tbl",),
        _parameters(),
        "Returns one row per configuration of a release: its cost, its risk, whether no other configuration is "
        "better in both (frontier), and the statement that makes it. If a configuration cannot be released, its row "
        "states the reason (problem). For the custodian.",
        handler=tradeoffs_sql,
        example=Example(
            "SELECT k, l, precision, homogeneous_share, frontier FROM tradeoffs('patients', k = [5, 10], l = [1, 2]);"
        ),
    ),
)
