"""Run stream algorithms on one encoded source, for compare()."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbanon import errors
from dbanon.algorithms import streams
from dbanon.privacy_models import model_request, registry
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.streams import plan as streams_plan
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call

TABLE_PARAMETERS = ("max_level", "multi_sensitive", "loss_height")
"""Parameters about columns, models or metrics that stream functions do not have."""


@dataclass(frozen=True)
class StreamRun:
    """One stream algorithm with its parameters, to be run on the encoded source.

    Attributes:
        k: The k of the run.
        options: The parameters of the stream.
        spec: What it would publish; None if it refuses the parameters.
        n_repeats: How often it runs, each time with another seed.
        problem: Why it refuses the parameters; None if it does not.
    """

    algorithm: streams.StreamAlgorithm
    k: int
    options: Options
    spec: ReleaseSpec | None = None
    n_repeats: int = 1
    problem: str | None = None

    def udf_request(self) -> dict[str, object]:
        """Return the part of the UDF's request that describes this run: algorithm, k, options and others.

        If the run has a problem, it has only algorithm, k and problem.
        """
        run_fields: dict[str, object] = {"algorithm": self.algorithm.name, "k": self.k}
        if self.spec is None:
            return run_fields | {"problem": self.problem}
        request_fields = streams_plan.stream_request(self.spec, self.options, self.algorithm)
        return (
            run_fields
            | {name: request_fields[name] for name in ("options", "need", "label", "looks_up")}
            | {"repeat": self.n_repeats}
        )


def base_spec(call: Call, *, looks_up: bool) -> ReleaseSpec:
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


def plan_run(call: Call, base: ReleaseSpec, algorithm: streams.StreamAlgorithm, k: int) -> StreamRun:
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
    planned = StreamRun(algorithm, k, options, n_repeats=repeat)
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
