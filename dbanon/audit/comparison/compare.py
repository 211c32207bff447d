"""compare('table', ...): information loss and risk of algorithms by k, columns and table size, before any release."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from dbanon import algorithms as static_algorithms, errors
from dbanon.algorithms import streams
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.algorithms.base.published_clusters import CLUSTER_METRICS, STREAM_METRICS
from dbanon.algorithms.base.registry import LARGE, MODE, SEED
from dbanon.algorithms.streams import StreamAlgorithm
from dbanon.audit.comparison import algorithm_runs
from dbanon.errors.example import Example
from dbanon.privacy_models import registry
from dbanon.release.spec.published_columns import unused_name
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source.catalog import Source
from dbanon.sqltext.quote import Sql, identifier, literal
from dbanon.sqltext.templates import fill
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameter_types import Identifiers, Integer, Integers
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.registry import check_algorithm
from dbanon.table_functions.table_function import Call, TableFunction


def compare_sql(call: Call) -> Sql:
    """Return the SQL of compare(): all algorithms with every k, by number of quasi-identifiers and sample size.

    The source is encoded once for each number of quasi-identifiers and sample size, and separately for algorithms for
    tables and for streams. If one algorithm refuses the parameters, its row states the problem. Stores the numbers of
    quasi-identifiers in the session.

    Raises:
        UnknownAlgorithmError: A named algorithm does not exist.
        InvalidArgumentError: `n_quasi_identifiers` exceeds the number of quasi-identifiers.
        DbanonError: As a release, about the policy, the roles and the hierarchies.
    """
    options = call.options
    selected = named_algorithms(call.function.name, options)
    base = algorithm_runs.base_spec(call, {})
    quasi_counts = options["n_quasi_identifiers"] or (len(base.attributes),)
    if quasi_counts[-1] > len(base.attributes):
        accepts = f"numbers of quasi-identifiers, at most {len(base.attributes)}"
        raise errors.InvalidArgumentError(call.function.name, "n_quasi_identifiers", accepts, str(list(quasi_counts)))
    call.session.quasi_counts = quasi_counts
    combinations = [(d, rows) for d in quasi_counts for rows in options["sample_sizes"] or (None,)]
    encodings = list(_encodings(call, selected, base))
    n_parts = len(combinations) * len(encodings)
    parts = []
    for d, rows in combinations:
        for encoded, plan_runs in encodings:
            spec = _restrict_spec(encoded, d, rows, int(options["seed"]))
            sql = algorithm_runs.runs_sql(
                spec, plan_runs(spec), options["metrics"], n_queries=options["queries"], n_parts=n_parts
            )
            parts.append((sql, literal(rows)))
    return Sql(fill("audit/comparison/compare.sql", parts=parts))


PlanRuns = Callable[[ReleaseSpec], Sequence[algorithm_runs.AlgorithmRun]]
"""Returns all runs on an encoding, given its spec."""


def _encodings(
    call: Call, selected: Sequence[static_algorithms.Algorithm | StreamAlgorithm], base: ReleaseSpec
) -> Iterator[tuple[ReleaseSpec, PlanRuns]]:
    """Yield the specs by which the source is encoded, each with a function that returns the runs on it.

    First that of the selected algorithms for tables, then those of stream algorithms that do not look up the meaning of
    values and of those that do; each only if there are such algorithms. `base` is the spec for tables.
    """
    table_algorithms = [a for a in selected if isinstance(a, static_algorithms.Algorithm)]
    if table_algorithms:
        yield base, partial(_table_runs, call, table_algorithms)
    for looks_up in (False, True):
        stream_algorithms = [s for s in selected if isinstance(s, StreamAlgorithm) and s.looks_up == looks_up]
        if stream_algorithms:
            yield (
                algorithm_runs.stream_base_spec(call, looks_up=looks_up),
                partial(_stream_runs, call, stream_algorithms),
            )


def _table_runs(
    call: Call, table_algorithms: Sequence[static_algorithms.Algorithm], base: ReleaseSpec
) -> list[algorithm_runs.AlgorithmRun]:
    """Return the runs of each algorithm for tables with each k; `base` is the spec by which the table is encoded."""
    ks, n_repeats = call.options["k"], call.options["repeat"]
    return [algorithm_runs.plan_run(call, base, a, {"k": k}, n_repeats) for a in table_algorithms for k in ks]


def _stream_runs(
    call: Call, stream_algorithms: Sequence[StreamAlgorithm], base: ReleaseSpec
) -> list[algorithm_runs.StreamRun]:
    """Return the runs of each stream algorithm with each k; `base` is the spec by which the stream is encoded."""
    return [algorithm_runs.plan_stream_run(call, base, a, k) for a in stream_algorithms for k in call.options["k"]]


def named_table_algorithms(function: str, options: Options) -> list[static_algorithms.Algorithm]:
    """Return the algorithms for tables that a call names, or all of them for `algorithms = 'all'`.

    Raises:
        UnknownAlgorithmError, StreamAlgorithmNotAllowedError: A name is unknown or that of a stream algorithm.
    """
    if options["algorithms"] == ("all",):
        return list(static_algorithms.algorithms())
    for name in options["algorithms"]:
        check_algorithm(function, name)
    return [static_algorithms.find(name) for name in options["algorithms"]]


def named_algorithms(function: str, options: Options) -> list[static_algorithms.Algorithm | StreamAlgorithm]:
    """Return the algorithms for tables and streams that a call names.

    `algorithms = 'all'` means all algorithms for tables and, if the call gives `delta`, all stream algorithms.

    Raises:
        UnknownAlgorithmError: A name is unknown.
        MissingArgumentError, UnusedArgumentError: Stream parameters are missing, or given without a stream algorithm.
    """
    stream_algorithms = streams.streams() if options["algorithms"] != ("all",) or options["delta"] is not None else ()
    algorithms_by_name: dict[str, static_algorithms.Algorithm | StreamAlgorithm] = {
        a.name: a for a in static_algorithms.algorithms()
    }
    algorithms_by_name |= {s.name: s for s in stream_algorithms}
    names = tuple(algorithms_by_name) if options["algorithms"] == ("all",) else options["algorithms"]
    for name in names:
        if name not in algorithms_by_name:
            raise errors.UnknownAlgorithmError(name, sorted(algorithms_by_name))
    selected = [algorithms_by_name[name] for name in names]
    for parameter in (streams.DELTA, streams.ORDER_BY):
        is_given = options[parameter.name] is not None
        if any(isinstance(algorithm, StreamAlgorithm) for algorithm in selected):
            if not is_given:
                raise errors.MissingArgumentError(function, parameter.name, str(parameter.kind), parameter.example)
        elif is_given:
            raise errors.UnusedArgumentError(function, parameter.name, "no stream system is among the algorithms")
    return selected


def _restrict_spec(base: ReleaseSpec, d: int, rows: int | None, seed: int) -> ReleaseSpec:
    """Return a copy of the spec with its first d quasi-identifiers and a sample of at most `rows` rows.

    If `rows` is None, all rows are used. `seed` selects the sample.
    """
    roles = replace(base.roles, quasi=base.roles.quasi[:d])
    source = base.source if rows is None else _sample(base.source, rows, seed)
    return replace(base, roles=roles, attributes=base.attributes[:d], source=source)


def _sample(source: Source, max_rows: int, seed: int) -> Source:
    """Return the source with only its first rows, at most `max_rows`, in an order by hashes of rows and seed.

    A smaller sample with an equal seed is contained in a greater one. Codes for missing values are not replaced in it.
    """
    row = identifier(unused_name("dbanon row", source.columns))
    order = f"md5_number_lower({row}::VARCHAR || {literal(str(seed))}) ASC, {row}::VARCHAR ASC"
    sql = Sql(f"(SELECT * FROM {source.read} AS {row} ORDER BY {order} LIMIT {max_rows})")
    return replace(source, sql=sql, is_table=False, cleaned=None)


COMPARED_ALGORITHMS = ("kacpc", "kmember", "mdav", "mondrian")
"""The algorithms that `compare` runs if a call names none.

A comparison needs several, so these are not the default algorithm of releases (`release.functions.DEFAULT_ALGORITHM`).
"""

QUERIES = Parameter("queries", Integer(0, 10**6), "Number of random queries for query_error; 0: none.", 300)


def _parameters() -> tuple[Parameter, ...]:
    """Return the parameters of compare(), without a default if algorithms have different ones."""
    overridden = {name for algorithm in static_algorithms.algorithms() for name in algorithm.defaults}
    common_parameters = {p.name: p for p in COMMON}
    ascending_integers = Integers(1, descending=False, alone=True)
    models = [p.name for p in registry.parameters()]
    return (
        Parameter(
            "k", replace(ascending_integers, low=2), "Values of k, ascending.", required=True, example="k = [5, 10]"
        ),
        Parameter(
            "algorithms",
            Identifiers("algorithms", "['kacpc', 'mdav']"),
            "Names of algorithms, each with its own defaults; 'all': every algorithm that clusters a table and, with "
            "`delta`, every stream algorithm. The default is four well-known ones; `best`, the default of releases, "
            "runs several itself.",
            COMPARED_ALGORITHMS,
        ),
        Parameter(
            "metrics",
            Identifiers("metrics", "['precision', 'ncp']", (*CLUSTER_METRICS, *STREAM_METRICS)),
            "Metrics, as NAME_metrics names them, and query_error. For a table, average_delay, delay and reuse are "
            "NULL; for a stream, k is that of a class when it is first published.",
            ("precision", "ncp"),
        ),
        Parameter("n_quasi_identifiers", ascending_integers, "Numbers of quasi-identifiers; the first ones are used."),
        Parameter(
            "sample_sizes",
            ascending_integers,
            "Sizes of samples: greatest number of rows of each. Rows are taken in an order by hashes, so that each "
            "sample contains the one before; default: all rows.",
        ),
        Parameter(
            "repeat",
            Integer(1, 10_000),
            "Number of runs of algorithms with random steps; their seeds begin at `seed`.",
            1,
        ),
        QUERIES,
        replace(streams.DELTA, required=False),
        replace(streams.ORDER_BY, required=False),
        *(
            replace(common_parameters[name], default=None) if name in overridden else common_parameters[name]
            for name in (*algorithm_runs.SHARED_PARAMETERS[:5], *models, *algorithm_runs.SHARED_PARAMETERS[5:])
        ),
        SEED,
        MODE,
        LARGE,
    )


FUNCTIONS = (
    TableFunction(
        "compare",
        ("tbl",),
        _parameters(),
        "Compares the loss and the risk of algorithms on a table, by k, number of quasi-identifiers and size: one "
        "row per combination and metric, with mean, standard deviation and seconds of clustering over the runs. "
        "Nothing is released. If an algorithm refuses a combination, its row states the reason (problem). For the "
        "custodian.",
        handler=compare_sql,
        example=Example("SELECT algorithm, k, metric, mean FROM compare('patients', k = [5, 10], metrics = ['ncp']);"),
    ),
)
