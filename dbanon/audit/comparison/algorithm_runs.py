"""Run algorithms, of tables and of streams, on one encoded source without a release, for compare() and tradeoffs()."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbanon import algorithms, errors
from dbanon.algorithms import streams
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.privacy_models import model_request, registry
from dbanon.release.plan import plan
from dbanon.release.plan.clustering_request import cluster_request
from dbanon.release.plan.number_column import NumberColumn
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.streams import plan as streams_plan
from dbanon.sqltext.quote import Sql, as_json
from dbanon.sqltext.templates import fill
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call

SHARED_PARAMETERS = (
    *(
        "qi",
        "sensitive",
        "hierarchies",
        "person",
        "weights",
        "nulls",
        "missing_codes",
        "withhold",
        "min_level",
        "max_level",
    ),
    *(
        "top",
        "bottom",
        "rounding",
        "coarsen",
        "multi_sensitive",
        "max_partition",
        "suppress",
        "improve",
        "objective",
        "leaves",
        "escape_labels",
        "loss_height",
    ),
)
"""Parameters of a release that have an effect, in addition to k and the models."""


_CONTINUOUS_FAMILIES = ("decimal", "float")
"""Families of types with fractions."""


@dataclass(frozen=True)
class AlgorithmRun:
    """One algorithm with its parameters, to be run on the encoded source.

    Attributes:
        k: The k of the run.
        spec: What it would release; None if it refuses the parameters.
        n_repeats: How often it runs, each time with another seed.
        problem: Why it refuses the parameters; None if it does not.
    """

    algorithm: str
    k: int
    spec: ReleaseSpec | None = None
    n_repeats: int = 1
    problem: str | None = None

    def udf_request(self) -> dict[str, object]:
        """Return the part of the UDF's request that describes this run: algorithm, k, options, models and others.

        If the run has a problem, it has only algorithm, k and problem.
        """
        if self.spec is None:
            return {"algorithm": self.algorithm, "k": self.k, "problem": self.problem}
        request_fields = cluster_request(self.spec)
        names = ("algorithm", "k", "options", "models", "joint", "suppress", "improve", "objective", "leaves", "forest")
        return {name: request_fields[name] for name in names} | {
            "looks": self.spec.uses_sensitive,
            "magnitudes": self.spec.run.reads_magnitudes,
            "repeat": self.n_repeats,
        }


@dataclass(frozen=True, kw_only=True)
class StreamRun(AlgorithmRun):
    """One stream algorithm with its parameters, to be run on the encoded source; `options` are those of the stream."""

    options: Options

    def udf_request(self) -> dict[str, object]:
        """Return the part of the UDF's request that describes this run: algorithm, k, options and others.

        If the run has a problem, it has only algorithm, k and problem.
        """
        if self.spec is None:
            return super().udf_request()
        request_fields = streams_plan.stream_request(self.spec, self.options, streams.find(self.algorithm))
        return {
            "algorithm": self.algorithm,
            "k": self.k,
            **{name: request_fields[name] for name in ("options", "need", "label", "looks_up")},
            "repeat": self.n_repeats,
        }


def base_spec(call: Call, overrides: Mapping[str, object]) -> ReleaseSpec:
    """Return the release spec that all runs share: source, roles and hierarchies.

    It has k = 2 and publishes no insensitive or transformed columns. A k that is too great is reported by each run.
    Sets `call.session.n_compared`, the counter of finished parts of a comparison, to 0.

    Args:
        call: The call of compare() or tradeoffs().
        overrides: Parameters that replace those of the call, since the call has several values of them.
    """
    call.session.n_compared = 0
    defaults = {p.name: p.default for p in COMMON}
    call_values = {name: call.options[name] for name in defaults if call.options.get(name) is not None}
    spec = resolve.resolve_base_spec(
        call, Options({**defaults, **call_values, **overrides, "k": 2}), call.function.name, "release"
    )
    withheld = (*spec.options.columns("withhold"), *spec.roles.insensitive, *spec.roles.transformed)
    return replace(
        spec,
        roles=replace(spec.roles, insensitive=(), transformed={}),
        options=Options({**spec.options, "withhold": withheld}),
    )


def plan_run(
    call: Call, base: ReleaseSpec, algorithm: algorithms.Algorithm, overrides: Mapping[str, object], n_repeats: int
) -> AlgorithmRun:
    """Return the run of one algorithm with the parameters in `overrides`, options of the call, and defaults.

    If the algorithm or a model needs a sensitive column and there is none, the run has a problem instead of a spec.

    Args:
        call: The call of compare() or tradeoffs().
        base: The spec that all runs share.
        algorithm: The algorithm.
        overrides: Parameters that replace those of the call: k and, for tradeoffs(), the other models.
        n_repeats: How often an algorithm with random steps runs; all others, and deterministic mode, run once.
    """
    names = {p.name for p in algorithm.parameters}
    call_values = {name: value for name, value in call.options.items() if name in names and value is not None}
    defaults = {p.name: p.default for p in algorithm.parameters}
    options = Options({**defaults, **call_values, **overrides, "withhold": base.options["withhold"]})
    k = int(options["k"])
    try:
        demands = model_request.model_requirements(call.function.name, base.source.shown, options, base.roles.sensitive)
        spec = replace(base, algorithm=algorithm.name, options=options, model_requirements=demands)
        spec = resolve.with_run_settings(spec, algorithm)
    except errors.SensitiveColumnMissingError as error:
        return AlgorithmRun(algorithm.name, k, problem=str(error))
    is_random = "seed" in options and options.get("mode") != "deterministic"
    return AlgorithmRun(algorithm.name, k, spec, n_repeats if is_random else 1)


def runs_sql(
    base: ReleaseSpec,
    runs: Sequence[AlgorithmRun],
    metrics: Sequence[str],
    *,
    n_queries: int = 0,
    n_parts: int = 1,
    is_timed: bool = True,
) -> Sql:
    """Return a statement that encodes the table or stream once and makes all runs on it: one row per run and metric.

    Args:
        base: The spec that the runs share.
        runs: The runs; those with a problem are reported as such.
        metrics: Names of the metrics.
        n_queries: Number of random queries for query_error; 0: none.
        n_parts: Number of such statements that are combined in one, for the progress.
        is_timed: Whether each run is made and its seconds measured; otherwise cached clusters are used if there are
            any.
    """
    specs = [r.spec for r in runs if r.spec is not None]
    needs_sensitive = "homogeneous_share" in metrics and bool(base.roles.sensitive)
    encoded = replace(
        base,
        model_requirements=max((p.model_requirements for p in specs), key=len, default=()),
        run=replace(
            base.run,
            reads_sensitive=needs_sensitive or any(p.uses_sensitive for p in specs),
            reads_magnitudes=any(p.run.reads_magnitudes for p in specs),
            forest=next((p.run.forest for p in specs if p.run.forest is not None), None),
        ),
    )
    encoding_plan = plan.make_plan(encoded)
    udf_request = cluster_request(encoded) | {
        "table": encoded.source.shown,
        "runs": [r.udf_request() for r in runs],
        "metrics": list(metrics),
        "parts": n_parts,
        "timed": is_timed,
        "queries": n_queries,
        "steps": [0 if a.family in _CONTINUOUS_FAMILIES else 1 for a in encoded.attributes],
        "snapped": [isinstance(q, NumberColumn) and q.is_snapped for q in encoding_plan.columns.quasi],
    }
    return Sql(
        fill(
            "audit/comparison/encoded_part.sql",
            **encoding_plan.template_values | streams_plan.order_values(encoded) | {"runs": as_json(udf_request)},
        )
    )


TABLE_PARAMETERS = ("max_level", "multi_sensitive", "loss_height")
"""Parameters about columns, models or metrics that stream functions do not have."""


def stream_base_spec(call: Call, *, looks_up: bool) -> ReleaseSpec:
    """Return the release spec that the runs of stream algorithms share: source, roles and order of arrival.

    It has k = 2; a k that is too great is reported by each run. If `looks_up`, sensitive columns have hierarchies, for
    algorithms that look up the meaning of their values.
    """
    name, options = call.function.name, _stream_options(call, streams.COMMON, 2)
    spec = resolve.resolve_base_spec(
        call, _table_options(call, options), name, "release", ontology={} if looks_up else None
    )
    order = tuple(spec.source.column(name, column, "order_by") for column in options.columns("order_by"))
    return replace(spec, reading=replace(spec.reading, order_columns=order))


def plan_stream_run(call: Call, base: ReleaseSpec, algorithm: streams.StreamAlgorithm, k: int) -> StreamRun:
    """Return the run of one stream algorithm with this k and the call's stream parameters; the rest are defaults.

    If the algorithm or streams in general refuse the parameters (for example a model other than k and l), the run has a
    problem instead of a spec. Algorithms without random steps, or in deterministic mode, run once.

    `base` is the spec that all runs share.
    """
    options = _stream_options(call, algorithm.parameters, k)
    repeat = 1
    if "seed" in options:
        options = Options({**options, "seed": call.options["seed"]})
        repeat = 1 if call.options["mode"] == "deterministic" else call.options["repeat"]
    planned = StreamRun(algorithm.name, k, n_repeats=repeat, options=options)
    try:
        _check_supported(call)
        of_table = _table_options(call, options)
        demands = model_request.model_requirements(
            call.function.name, base.source.shown, of_table, base.roles.sensitive
        )
        spec = replace(base, algorithm=algorithm.name, options=of_table, model_requirements=demands)
        return replace(planned, spec=streams_plan.with_run_settings(spec, algorithm, options))
    except (
        errors.SensitiveColumnMissingError,
        errors.InvalidArgumentError,
        errors.UnsupportedSettingError,
        errors.UnusedArgumentError,
    ) as error:
        return replace(planned, problem=str(error))


def _stream_options(call: Call, parameters: Sequence[Parameter], k: int) -> Options:
    """Return the options of a stream with this k: those that the call gives, else the defaults of `parameters`.

    Suppression in the call is a share, which no stream guarantees; it is ignored.
    """
    shared = {p.name for p in streams.COMMON} - {"suppress"}
    call_values = {name: call.options[name] for name in shared if call.options.get(name) is not None}
    return Options({**{p.name: p.default for p in parameters}, **call_values, "k": k})


def _table_options(call: Call, options: Options) -> Options:
    """Return stream options as options of a release of a table, with those in TABLE_PARAMETERS that the call gives."""
    call_values = {name: call.options[name] for name in TABLE_PARAMETERS if call.options[name] is not None}
    return Options({**streams_plan.as_table_options(options), **call_values})


def _check_supported(call: Call) -> None:
    """Check that the call has no parameters that no stream can satisfy.

    Raises:
        UnusedArgumentError: A privacy model other than k and l, or `multi_sensitive`, is given.
        InvalidArgumentError: `nulls` is 'drop'.
    """
    defaults = {p.name: p.default for p in call.function.parameters}
    for name in [p.name for p in registry.parameters() if p.name != "l"] + ["multi_sensitive"]:
        if call.options[name] != defaults[name]:
            raise errors.UnusedArgumentError(call.function.name, name, "streams guarantee only k persons and l values")
    if call.options["nulls"] == "drop":
        raise errors.InvalidArgumentError(call.function.name, "nulls", "'keep' or 'error' for a stream", "'drop'")
