"""compare('table', ...): what algorithms lose and leave at risk on a table, by k, columns and size; no release."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from dbanon import algorithms as static_algorithms, errors
from dbanon.algorithms import streams
from dbanon.algorithms.base.cluster_metrics import CLUSTER_METRICS, STREAM_METRICS
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.algorithms.base.registry import LARGE, MODE, SEED
from dbanon.algorithms.streams import StreamAlgorithm
from dbanon.audit.comparison import algorithm_runs, stream_runs
from dbanon.errors.example import Example
from dbanon.privacy_models import registry
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source.catalog import Source
from dbanon.sqltext.quote import Sql, identifier, literal
from dbanon.sqltext.templates import fill
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameter_types import Identifiers, Integer, Integers
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.registry import check_algorithm
from dbanon.table_functions.table_function import Call, TableFunction


def statement(call: Call) -> Sql:
    """Return the SQL of one call: a part an encoding of the source, on which all algorithms run with every k.

    Raises what the policy, the roles and the hierarchies raise for a release, and UnknownAlgorithmError. What one
    algorithm refuses is a row that says so.
    """
    options = call.options
    chosen = named(call.function.name, options)
    whole = algorithm_runs.whole(call, {})
    widths = options["d"] or (len(whole.attributes),)
    if widths[-1] > len(whole.attributes):
        accepts = f"numbers of quasi-identifiers, at most {len(whole.attributes)}"
        raise errors.InvalidArgumentError(call.function.name, "d", accepts, str(list(widths)))
    call.session.quasi_counts = widths
    combinations = [(d, rows) for d in widths for rows in options["rows"] or (None,)]
    encodings = list(_encodings(call, chosen, whole))
    count = len(combinations) * len(encodings)
    parts = [
        (figures(_narrowed(base, d, rows, int(options["seed"])), count), literal(rows))
        for d, rows in combinations
        for base, figures in encodings
    ]
    return Sql(fill("audit/comparison/compare.sql", parts=parts))


Figures = Callable[[ReleaseSpec, int], Sql]
"""What is encoded, as one of so many statements -> the statement of all runs on it."""


def _encodings(
    call: Call, chosen: Sequence[static_algorithms.Algorithm | StreamAlgorithm], whole: ReleaseSpec
) -> Iterator[tuple[ReleaseSpec, Figures]]:
    """What is encoded, with the figures of its runs: the table, and the stream as its systems see it."""
    of_tables = [a for a in chosen if isinstance(a, static_algorithms.Algorithm)]
    if of_tables:
        yield whole, partial(_of_table, call, of_tables)
    for looks_up in (False, True):
        systems = [s for s in chosen if isinstance(s, StreamAlgorithm) and s.looks_up == looks_up]
        if systems:
            yield stream_runs.whole(call, looks_up=looks_up), partial(_of_stream, call, systems)


def _of_table(call: Call, algorithms: Sequence[static_algorithms.Algorithm], base: ReleaseSpec, parts: int) -> Sql:
    options = call.options
    every = [algorithm_runs.run(call, base, a, {"k": k}, options["repeat"]) for a in algorithms for k in options["k"]]
    return algorithm_runs.figures(base, every, options["metrics"], queries=options["queries"], parts=parts)


def _of_stream(call: Call, systems: Sequence[StreamAlgorithm], base: ReleaseSpec, parts: int) -> Sql:
    options = call.options
    every = [stream_runs.run(call, base, system, k) for system in systems for k in options["k"]]
    return stream_runs.figures(base, every, options["metrics"], queries=options["queries"], parts=parts)


def algorithms(function: str, options: Options) -> list[static_algorithms.Algorithm]:
    """Return those of tables that a call names; UnknownAlgorithmError, StreamAlgorithmNotAllowedError."""
    if options["algorithms"] == ("all",):
        return list(static_algorithms.algorithms())
    for name in options["algorithms"]:
        check_algorithm(function, name)
    return [static_algorithms.find(name) for name in options["algorithms"]]


def named(function: str, options: Options) -> list[static_algorithms.Algorithm | StreamAlgorithm]:
    """Return those that a call names, of tables and streams.

    UnknownAlgorithmError, MissingArgumentError, UnusedArgumentError.
    """
    of_streams = streams.streams() if options["algorithms"] != ("all",) or options["delta"] is not None else ()
    known: dict[str, static_algorithms.Algorithm | StreamAlgorithm] = {
        a.name: a for a in static_algorithms.algorithms()
    }
    known |= {s.name: s for s in of_streams}
    names = tuple(known) if options["algorithms"] == ("all",) else options["algorithms"]
    for name in names:
        if name not in known:
            raise errors.UnknownAlgorithmError(name, sorted(known))
    chosen = [known[name] for name in names]
    for parameter in (streams.DELTA, streams.ORDER_BY):
        is_given = options[parameter.name] is not None
        if any(isinstance(of, StreamAlgorithm) for of in chosen):
            if not is_given:
                raise errors.MissingArgumentError(function, parameter.name, str(parameter.kind), parameter.example)
        elif is_given:
            raise errors.UnusedArgumentError(function, parameter.name, "no stream system is among the algorithms")
    return chosen


def _narrowed(whole: ReleaseSpec, d: int, rows: int | None, seed: int) -> ReleaseSpec:
    """Return the same of the first d quasi-identifiers, and of some of the rows."""
    roles = replace(whole.roles, quasi=whole.roles.quasi[:d])
    source = whole.source if rows is None else _sample(whole.source, rows, seed)
    return replace(whole, roles=roles, attributes=whole.attributes[:d], source=source)


def _sample(source: Source, rows: int, seed: int) -> Source:
    """At most so many rows of a source: the first ones in an order by their hashes, which no other number changes."""
    row = identifier("dbanon row")
    order = f"md5_number_lower({row}::VARCHAR || {literal(str(seed))}) ASC, {row}::VARCHAR ASC"
    sql = Sql(f"(SELECT * FROM {source.read} AS {row} ORDER BY {order} LIMIT {rows})")
    return replace(source, sql=sql, is_table=False, cleaned=None)


QUERIES = Parameter("queries", Integer(0, 10**6), "How many random queries query_error is of; 0: none.", 300)


def _parameters() -> Iterator[Parameter]:
    """Yield those of a release that play a part; of what an algorithm may have another default of, none."""
    usual = ("kacpc", "kmember", "mdav", "mondrian")
    differ = {name for algorithm in static_algorithms.algorithms() for name in algorithm.defaults}
    known = {p.name: p for p in COMMON}
    each = Integers(1, descending=False, alone=True)
    models = [p.name for p in registry.parameters()]
    yield Parameter("k", replace(each, low=2), "Each k, ascending.", required=True, example="k = [5, 10]")
    yield Parameter(
        "algorithms",
        Identifiers("algorithms", "['kacpc', 'mdav']"),
        "Names of algorithms, each with its own defaults; 'all': every one that clusters a table, and with `delta` "
        "every stream system too.",
        usual,
    )
    yield Parameter(
        "metrics",
        Identifiers("metrics", "['precision', 'ncp']", (*CLUSTER_METRICS, *STREAM_METRICS)),
        "Measures, as NAME_metrics names them, and query_error. Of a table, average_delay, delay and reuse are NULL; "
        "of a stream, k is that of a class when it is first published.",
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
    yield QUERIES
    yield replace(streams.DELTA, required=False)
    yield replace(streams.ORDER_BY, required=False)
    for name in (*algorithm_runs.SHARED[:5], *models, *algorithm_runs.SHARED[5:]):
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
