"""Runs of stream systems on one encoded source: what compare() has beside algorithms of tables."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dbanon import errors
from dbanon.algorithms import streams
from dbanon.algorithms.streams import StreamAlgorithm
from dbanon.audit.comparison import algorithm_runs as runs_on_one
from dbanon.privacy_models import model_request, registry
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.streams import plan as streams_plan
from dbanon.sqltext.quote import Sql, as_json
from dbanon.sqltext.templates import fill
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call

OF_TABLES = ("max_level", "multi", "eloss_height")
"""Parameters that say something of the columns, the model or the metrics, and that functions of streams have not."""


@dataclass(frozen=True)
class StreamRun:
    """A system with its parameters; `publication` is what it would publish, None where it refuses that: `problem` says
    why. `repeat`: how often it runs, with one seed after another."""

    system: StreamAlgorithm
    k: int
    options: Options
    publication: ReleaseSpec | None = None
    repeat: int = 1
    problem: str | None = None

    def asked(self) -> dict[str, object]:
        """What the UDF is asked for it alone."""
        told: dict[str, object] = {"algorithm": self.system.name, "k": self.k}
        if self.publication is None:
            return told | {"problem": self.problem}
        every = streams_plan.stream_request(self.publication, self.options, self.system)
        return told | {name: every[name] for name in ("options", "need", "label", "looks_up")} | {"repeat": self.repeat}


def whole(call: Call, *, looks_up: bool) -> ReleaseSpec:
    """What runs have in common: source and roles as a stream with the same parameters has them; the systems that look
    up what sensitive values are of have hierarchies of these. That k is too great is for each run to say."""
    name, options = call.function.name, _options(call, streams.COMMON, 2)
    found = resolve.resolve_base_spec(
        call, _of_table(call, options), name, "release", ontology={} if looks_up else None
    )
    order = tuple(found.source.column(name, column, "order_by") for column in options.columns("order_by"))
    return replace(found, reading=replace(found.reading, order=order))


def run(call: Call, base: ReleaseSpec, system: StreamAlgorithm, k: int) -> StreamRun:
    """Return a run with k and the model that the call asks for; other options are the system's own defaults."""
    options = _options(call, system.parameters, k)
    repeat = 1
    if "seed" in options:
        options = Options({**options, "seed": call.options["seed"]})
        repeat = 1 if call.options["mode"] == "deterministic" else call.options["repeat"]
    found = StreamRun(system, k, options, repeat=repeat)
    try:
        _refuse_unpromised(call)
        of_table = _of_table(call, options)
        demands = model_request.model_requirements(
            call.function.name, base.source.shown, of_table, base.roles.sensitive
        )
        made = replace(base, algorithm=system.name, options=of_table, demands=demands)
        return replace(found, publication=streams_plan.with_run_settings(made, system, options))
    except (
        errors.SensitiveColumnMissingError,
        errors.InvalidArgumentError,
        errors.UnsupportedSettingError,
        errors.UnusedArgumentError,
    ) as error:
        return replace(found, problem=str(error))


def _options(call: Call, parameters: Sequence[Parameter], k: int) -> Options:
    """Return the options of a stream: those that the call has, and defaults.

    What it says of suppression is a share, which no stream promises.
    """
    shared = {p.name for p in streams.COMMON} - {"suppress"}
    given = {name: call.options[name] for name in shared if call.options.get(name) is not None}
    return Options({**{p.name: p.default for p in parameters}, **given, "k": k})


def _of_table(call: Call, options: Options) -> Options:
    given = {name: call.options[name] for name in OF_TABLES if call.options[name] is not None}
    return Options({**streams_plan.as_table_options(options), **given})


def _refuse_unpromised(call: Call) -> None:
    """UnusedArgumentError where the call asks for what no stream promises."""
    usual = {p.name: p.default for p in call.function.parameters}
    for name in [p.name for p in registry.parameters() if p.name != "l"] + ["multi"]:
        if call.options[name] != usual[name]:
            raise errors.UnusedArgumentError(
                call.function.name, name, "streams promise k persons and l values, and no more"
            )
    if call.options["nulls"] == "drop":
        raise errors.InvalidArgumentError(call.function.name, "nulls", "'keep' or 'error' for a stream", "'drop'")


def figures(base: ReleaseSpec, runs: Sequence[StreamRun], metrics: Sequence[str], *, queries: int, parts: int) -> Sql:
    """Return a statement of one encoding, on which all runs are made: a row a run and metric."""
    made = [r.publication for r in runs if r.publication is not None]
    values = "homogeneous_share" in metrics and bool(base.roles.sensitive)
    sensitive = values or any(p.looks_at_sensitive for p in made)
    encoded = replace(
        base,
        demands=max((p.demands for p in made), key=len, default=()),
        run=replace(base.run, sensitive=sensitive),
    )
    of = plan.make_plan(encoded)
    asked = runs_on_one.asked_together(encoded, of, [r.asked() for r in runs], metrics, queries=queries, parts=parts)
    values_of = of.values | streams_plan.order_values(encoded) | {"runs": as_json(asked)}
    return Sql(fill("audit/comparison/encoded_part.sql", **values_of))
