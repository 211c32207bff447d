"""Runs of algorithms on one encoded source, without a release: what compare() and choose() are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbanon import algorithms, errors
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.privacy_models import model_request
from dbanon.release.plan import plan
from dbanon.release.plan.clustering_request import cluster_request
from dbanon.release.plan.number_column import NumberColumn
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.quote import Sql, as_json
from dbanon.sqltext.templates import fill
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call

SHARED = (
    *("qi", "sensitive", "hierarchies", "person", "weights", "nulls", "missing", "withhold", "min_level", "max_level"),
    *("top", "bottom", "grid", "round", "multi", "cell", "suppress", "improve", "objective", "escape", "eloss_height"),
)
"""Parameters of a release that play a part, beside k and the models."""


_MEASURED = ("decimal", "float")
"""Families of types whose values are measured, not counted."""


@dataclass(frozen=True)
class Run:
    """An algorithm with its parameters; `publication` is what it would release, None where it refuses that: `problem`
    says why. `repeat`: how often it runs, with one seed after another."""

    algorithm: str
    k: int
    publication: ReleaseSpec | None = None
    repeat: int = 1
    problem: str | None = None

    def asked(self) -> dict[str, object]:
        """What the UDF is asked for it alone."""
        if self.publication is None:
            return {"algorithm": self.algorithm, "k": self.k, "problem": self.problem}
        every = cluster_request(self.publication)
        names = ("algorithm", "k", "options", "models", "joint", "suppress", "improve", "objective", "forest")
        run = self.publication.run
        looks = {"looks": self.publication.looks_at_sensitive, "magnitudes": run.magnitudes}
        return {name: every[name] for name in names} | looks | {"repeat": self.repeat}


def whole(call: Call, asked: Mapping[str, object]) -> ReleaseSpec:
    """What all runs have in common: source, roles and hierarchies are those of a release with the same parameters.

    `asked` stands for parameters of which the call has several values; that k is too great is for each run to say.
    """
    call.session.n_compared = 0
    usual = {p.name: p.default for p in COMMON}
    given = {name: call.options[name] for name in usual if call.options.get(name) is not None}
    publication = resolve.resolve_base_spec(
        call, Options({**usual, **given, **asked, "k": 2}), call.function.name, "release"
    )
    return replace(publication, roles=replace(publication.roles, other=(), made={}))


def run(
    call: Call, base: ReleaseSpec, algorithm: algorithms.Algorithm, asked: Mapping[str, object], repeat: int
) -> Run:
    """A run with k and the models that are asked; options are those of the call, and the algorithm's own defaults of
    what the call does not say. Where there is no sensitive column, what asks for one is a run with a problem."""
    names = {p.name for p in algorithm.parameters}
    given = {name: value for name, value in call.options.items() if name in names and value is not None}
    usual = {p.name: p.default for p in algorithm.parameters}
    options = Options({**usual, **given, **asked})
    k = int(options["k"])
    try:
        demands = model_request.model_requirements(call.function.name, base.source.shown, options, base.roles.sensitive)
        made = replace(base, algorithm=algorithm.name, options=options, demands=demands)
        made = resolve.with_run_settings(made, algorithm)
    except errors.SensitiveColumnMissingError as error:
        return Run(algorithm.name, k, problem=str(error))
    draws = "seed" in options and options.get("mode") != "deterministic"
    return Run(algorithm.name, k, made, repeat if draws else 1)


def figures(
    base: ReleaseSpec,
    runs: Sequence[Run],
    metrics: Sequence[str],
    *,
    queries: int = 0,
    parts: int = 1,
    timed: bool = True,
) -> Sql:
    """Return a statement of one encoding, on which all runs are made: a row a run and metric.

    The source is encoded once, with all that any of the runs looks at. `parts`: of so many such statements that stand
    in one; unless `timed`, clusters that are known are not made again. `queries`: of so many is query_error.
    """
    made = [r.publication for r in runs if r.publication is not None]
    values = "homogeneous_share" in metrics and bool(base.roles.sensitive)
    encoded = replace(
        base,
        demands=max((p.demands for p in made), key=len, default=()),
        run=replace(
            base.run,
            sensitive=values or any(p.looks_at_sensitive for p in made),
            magnitudes=any(p.run.magnitudes for p in made),
            forest=next((p.run.forest for p in made if p.run.forest is not None), None),
        ),
    )
    of = plan.make_plan(encoded)
    asked = asked_together(encoded, of, [r.asked() for r in runs], metrics, queries=queries, parts=parts)
    return Sql(fill("audit/comparison/encoded_part.sql", **of.values | {"runs": as_json(asked | {"timed": timed})}))


def asked_together(
    encoded: ReleaseSpec,
    of: plan.Plan,
    runs: Sequence[Mapping[str, object]],
    metrics: Sequence[str],
    *,
    queries: int,
    parts: int,
) -> dict[str, object]:
    """What a UDF is asked for all runs on one encoding."""
    return cluster_request(encoded) | {
        "table": encoded.source.shown,
        "runs": list(runs),
        "metrics": list(metrics),
        "parts": parts,
        "timed": True,
        "queries": queries,
        "steps": [0 if a.family in _MEASURED else 1 for a in encoded.attributes],
        "snapped": [isinstance(q, NumberColumn) and q.is_snapped for q in of.columns.quasi],
    }
