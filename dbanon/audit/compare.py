"""compare('table', ...): what algorithms lose and leave at risk on a table, by k, columns and size; no release."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dbanon import cluster, errors
from dbanon.cluster.common_parameters import COMMON
from dbanon.cluster.figures import FIGURES
from dbanon.cluster.registry import LARGE, MODE, SEED
from dbanon.functions.call import Call
from dbanon.functions.example import Example
from dbanon.functions.options import Options
from dbanon.functions.parameter_types import Integer, Integers, Names
from dbanon.functions.parameters import Parameter
from dbanon.functions.table_function import TableFunction
from dbanon.models import demand, registry
from dbanon.release import plan, prepare
from dbanon.release.cluster_request import request
from dbanon.release.number_column import NumberColumn
from dbanon.release.publication import Publication
from dbanon.source.catalog import Source
from dbanon.sqltext.quote import Sql, as_json, identifier, literal
from dbanon.sqltext.template import fill


def statement(call: Call) -> Sql:
    """The SQL of one call: a part an encoding of the source, on which all algorithms run with every k.

    Raises what the policy, the roles and the hierarchies raise for a release, and UnknownAlgorithm. What one algorithm
    refuses is a row that says so.
    """
    options = call.options
    chosen = [cluster.find(name) for name in options["algorithms"]]
    whole = _whole(call)
    widths = options["d"] or (len(whole.attributes),)
    if widths[-1] > len(whole.attributes):
        accepts = f"numbers of quasi-identifiers, at most {len(whole.attributes)}"
        raise errors.InvalidArgument(call.function.name, "d", accepts, str(list(widths)))
    combinations = [(d, rows) for d in widths for rows in options["rows"] or (None,)]
    call.session.compared = 0
    parts = []
    for d, rows in combinations:
        narrowed = _narrowed(whole, d, rows, int(options["seed"]))
        parts.append((_part(call, narrowed, chosen, len(combinations)), literal(rows)))
    return Sql(fill("audit/compare/compare.sql", parts=parts))


def _whole(call: Call) -> Publication:
    """What all runs have in common; roles are those of a release of the same columns."""
    usual = {p.name: p.default for p in COMMON}
    given = {name: value for name, value in call.options.items() if name in usual and value is not None}
    options = Options(usual | given | {"k": call.options["k"][0]})
    publication = prepare.prepared(call, options, call.function.name, "compare")
    return replace(publication, roles=replace(publication.roles, other=()))


def _narrowed(whole: Publication, d: int, rows: int | None, seed: int) -> Publication:
    """The same of the first d quasi-identifiers, and of some of the rows."""
    roles = replace(whole.roles, quasi=whole.roles.quasi[:d])
    source = whole.source if rows is None else _sample(whole.source, rows, seed)
    return replace(whole, roles=roles, attributes=whole.attributes[:d], source=source)


def _sample(source: Source, rows: int, seed: int) -> Source:
    """At most so many rows of a source: the first ones in an order by their hashes, which no other number changes."""
    row = identifier("dbanon row")
    order = f"md5_number_lower({row}::VARCHAR || {literal(str(seed))}) ASC, {row}::VARCHAR ASC"
    sql = Sql(f"(SELECT * FROM {source.sql} AS {row} ORDER BY {order} LIMIT {rows})")
    return replace(source, sql=sql, is_table=False, cleaned=None)


def _part(call: Call, base: Publication, chosen: Sequence[cluster.Algorithm], parts: int) -> Sql:
    """The statement about one encoding."""
    runs: list[dict[str, object]] = []
    looks: list[Publication] = []
    for algorithm in chosen:
        try:
            publication = _running(call, base, algorithm)
        except errors.NoSensitive as error:
            runs += [{"algorithm": algorithm.name, "k": k, "problem": str(error)} for k in call.options["k"]]
            continue
        looks.append(publication)
        repeat = call.options["repeat"] if _draws(algorithm, publication) else 1
        runs += [{**_own(publication), "k": k, "repeat": repeat} for k in call.options["k"]]
    asks = max((p.demands for p in looks), key=len, default=())
    run = replace(
        base.run,
        sensitive=any(p.looks_at_sensitive for p in looks) or _is_about_values(call, base),
        magnitudes=any(p.run.magnitudes for p in looks),
        forest=next((p.run.forest for p in looks if p.run.forest is not None), None),
    )
    encoded = replace(base, demands=asks, run=run)
    of = plan.plan(encoded)
    asked = request(encoded) | {
        "table": base.source.shown,
        "runs": runs,
        "metrics": list(call.options["metrics"]),
        "parts": parts,
        "snapped": [isinstance(q, NumberColumn) and q.is_snapped for q in of.columns.quasi],
    }
    return Sql(fill("audit/compare/part.sql", **of.values | {"runs": as_json(asked)}))


def _running(call: Call, base: Publication, algorithm: cluster.Algorithm) -> Publication:
    """What one algorithm is asked: options of the call, and its own defaults of what the call does not say."""
    names = {p.name for p in algorithm.parameters}
    given = {name: value for name, value in call.options.items() if name in names and value is not None}
    usual = {p.name: p.default for p in algorithm.parameters}
    options = Options(usual | given | {"k": call.options["k"][0]})
    demands = demand.demands(call.function.name, base.source.shown, options, base.roles.sensitive)
    return prepare.running(replace(base, algorithm=algorithm.name, options=options, demands=demands), algorithm)


def _draws(algorithm: cluster.Algorithm, publication: Publication) -> bool:
    """Whether another seed gives another result."""
    own = publication.run.options
    return "seed" in own and own.get("mode") != "deterministic"


def _own(publication: Publication) -> dict[str, object]:
    """What runs of different algorithms do not share."""
    asked = request(publication)
    own = {name: asked[name] for name in ("algorithm", "options", "models", "suppress", "improve", "forest")}
    return own | {"looks": publication.looks_at_sensitive, "magnitudes": publication.run.magnitudes}


def _is_about_values(call: Call, base: Publication) -> bool:
    """Whether a metric is about sensitive values."""
    return "homogeneous_share" in call.options["metrics"] and bool(base.roles.sensitive)


_SHARED = (
    *("qi", "sensitive", "hierarchies", "person", "weights", "nulls", "missing", "withhold", "min_level", "max_level"),
    *("top", "bottom", "grid", "round", "multi", "cell", "suppress", "improve", "escape", "eloss_height"),
)


def _parameters() -> Iterator[Parameter]:
    """Those of a release that play a part; of what an algorithm may have another default of, none."""
    usual = ("kacpc", "kmember", "mdav", "mondrian")
    differ = {name for algorithm in cluster.algorithms() for name in algorithm.defaults}
    known = {p.name: p for p in COMMON}
    each = Integers(1, descending=False, alone=True)
    models = [p.name for p in registry.parameters()]
    yield Parameter("k", replace(each, low=2), "Each k, ascending.", required=True, example="k = [5, 10]")
    yield Parameter(
        "algorithms",
        Names("algorithms", "['kacpc', 'mdav']"),
        "Names of algorithms, each with its own defaults.",
        usual,
    )
    yield Parameter(
        "metrics",
        Names("metrics", "['precision', 'ncp']", tuple(FIGURES)),
        "Measures, as NAME_metrics names them.",
        ("precision", "ncp"),
    )
    yield Parameter("d", each, "Numbers of quasi-identifiers: so many of the first ones.")
    yield Parameter(
        "rows",
        each,
        "Sizes of samples: at most so many rows, the first ones in an order by hashes, so that each sample has the one "
        "before; by default all rows.",
    )
    yield Parameter("repeat", Integer(1, 10_000), "Runs of algorithms with random steps, with seeds from `seed` on.", 1)
    for name in (*_SHARED[:5], *models, *_SHARED[5:]):
        yield replace(known[name], default=None) if name in differ else known[name]
    yield SEED
    yield MODE
    yield LARGE


FUNCTIONS = (
    TableFunction(
        "compare",
        ("tbl",),
        tuple(_parameters()),
        "What algorithms lose and leave at risk on a table, by k, number of quasi-identifiers and size: one row a "
        "combination and metric, with mean, standard deviation and seconds of clustering over the runs. Nothing is "
        "released; what an algorithm refuses is a row whose problem says why. For the custodian.",
        handler=statement,
        example=Example("SELECT algorithm, k, metric, mean FROM compare('patients', k = [5, 10], metrics = ['ncp']);"),
    ),
)
