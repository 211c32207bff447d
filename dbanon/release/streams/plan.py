"""Plan the release of a stream, and continue a stream whose state is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbanon import errors
from dbanon.algorithms import streams
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.algorithms.streams import StreamAlgorithm
from dbanon.gate import messages, rules, statement_check
from dbanon.gate.request import CheckedModel
from dbanon.release.plan import plan
from dbanon.release.plan.clustering_request import cluster_request
from dbanon.release.spec import resolve
from dbanon.release.spec.published_columns import unused_name
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.streams.metrics import STREAM_METRICS, StreamMetric
from dbanon.sqltext.column_labels import derived_reference
from dbanon.sqltext.messages import error_sql
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, as_json, identifier, join_sql, literal, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call

ADDED_COLUMNS = ("arrived_at", "published_at", "delay", "suppressed")
"""The columns that are added to every row of a stream.

They are the position at which its record arrived, how many records had arrived when it was published, the difference,
and whether it is suppressed.
"""


@dataclass(frozen=True)
class StreamContinuation:
    """The stored state from which a growing stream is continued, as far as the statement needs it.

    Attributes:
        segment: The key of the stored segment (the part of the stream that one refresh reads).
        n_before: The number of records that had arrived before.
        max_class_id: The greatest number of a published class.
        classes: The table of published classes; None if there is none.
        nodes: By number of the column: the names of hierarchy nodes in the stored state, each after `=`; "" for none.
        place: The source column with the position at which a pending record arrived; NULL for new records.
        row: The source column with the number of the row.
        cluster: The column of the cluster in the result.
    """

    segment: str
    n_before: int
    max_class_id: int
    classes: Sql | None
    nodes: Mapping[int, Sequence[str]]
    place: Sql
    row: Sql
    cluster: Sql

    @property
    def values(self) -> dict[int, Sql]:
        """The names of the stored hierarchy nodes of each column (by number), as a SQL list of texts.

        Empty names are omitted, and the `=` before each name is removed.
        """
        return {
            i: Sql(f"[{join_sql(text(name[1:]) for name in names if name)}]::VARCHAR[]")
            for i, names in self.nodes.items()
        }


def stream_sql(algorithm: StreamAlgorithm, kind: str, call: Call) -> Sql:
    """Return the SQL of one of the three table functions of a stream algorithm.

    `kind` is 'release' for NAME, 'classes' for NAME_classes or 'metrics' for NAME_metrics.

    Raises:
        InvalidArgumentError: Parameters exclude each other.
        DbanonError: See `resolve_base_spec`.
    """
    return Sql(
        fill_stream_template(
            f"release/streams/{kind}.sql", resolve_stream_spec(call, algorithm, kind), call.options, algorithm
        )
    )


@dataclass(frozen=True)
class AppendStatement:
    """The statement that continues a stream.

    Attributes:
        sql: The statement.
        column_names: The published columns.
        quasi_names: The published columns of quasi-identifiers.
        class_id: The column of the class.
        added_names: The names of ADDED_COLUMNS, by these words.
    """

    sql: str
    column_names: tuple[str, ...]
    quasi_names: tuple[str, ...]
    class_id: str
    added_names: Mapping[str, str]


def append_statement(
    spec: ReleaseSpec, options: Options, algorithm: StreamAlgorithm, continuation: StreamContinuation
) -> AppendStatement:
    """Return the statement that continues a stream from a stored state, with the names of its columns.

    Args:
        spec: The release spec of the stream; its source must have the columns that `continuation` names.
        options: The parameters of the stream.
        algorithm: The stream algorithm.
        continuation: The stored state.
    """
    added_names = _added_names(spec)
    spec = replace(spec, run=replace(spec.run, widens_classes=False))
    column_names, quasi_names = plan.published_names(spec)
    return AppendStatement(
        fill_stream_template("release/streams/appended.sql", spec, options, algorithm, continuation=continuation),
        column_names,
        quasi_names,
        column_names[-1],
        added_names,
    )


def resolve_stream_spec(call: Call, algorithm: StreamAlgorithm, kind: str = "release") -> ReleaseSpec:
    """Resolve a call of a stream algorithm to its release spec; `kind` is the requested result.

    Raises:
        TransformedColumnsNotSupportedError: The policy has transformed columns.
        DbanonError: See `resolve_base_spec` and `with_run_settings`.
    """
    ontology = call.options.per_column("value_hierarchy") if algorithm.looks_up else None
    spec = resolve.resolve_base_spec(call, as_table_options(call.options), algorithm.name, kind, ontology=ontology)
    if spec.roles.transformed:
        raise errors.TransformedColumnsNotSupportedError(
            spec.function, spec.source.shown, spec.roles.transformed, "a stream"
        )
    return with_run_settings(spec, algorithm, call.options)


def with_run_settings(spec: ReleaseSpec, algorithm: StreamAlgorithm, options: Options) -> ReleaseSpec:
    """Check a stream's parameters; return a copy of the spec with the arrival order and the algorithm's settings.

    Raises:
        UnknownColumnError: A column of `order_by` does not exist.
        InvalidArgumentError: `order_by` is empty, `delta` is less than a class needs, weights are 'influence', or a
            parameter of the algorithm is not valid.
        SensitiveColumnMissingError: l is given without a sensitive column.
        UnsupportedSettingError: max_level is set, which streams do not support.
    """
    function = spec.function
    order_columns = tuple(spec.source.column(function, name, "order_by") for name in options.columns("order_by"))
    if not order_columns:
        raise errors.InvalidArgumentError(function, "order_by", "one or more columns by which records arrive", "[]")
    min_delta = max([spec.k, *(int(d.bound) for d in spec.model_requirements)])
    if options["delta"] < min_delta:
        accepts = f"at least {min_delta}, as many records as a class needs"
        raise errors.InvalidArgumentError(function, "delta", accepts, options["delta"])
    if options["weights"] == "influence":
        accepts = "weights by column for a stream, which has no records from which to learn influence when it begins"
        raise errors.InvalidArgumentError(function, "weights", accepts, "'influence'")
    if options["l"] is not None and not spec.roles.sensitive:
        raise errors.SensitiveColumnMissingError(function, "l", spec.source.shown)
    problem = algorithm.problem(options, spec.k)
    if problem is not None:
        name, accepts = problem
        raise errors.InvalidArgumentError(function, name, accepts, options[name])
    for attribute in spec.attributes:
        if attribute.quasi.settings.max_level is not None:
            why = "a stream cannot guarantee that a record finds a class below a level. Hint: withhold the column."
            raise errors.UnsupportedSettingError(function, "max_level", spec.source.shown, attribute.quasi.column, why)
    algorithm_options = {p.name: options[p.name] for p in algorithm.own_parameters}
    run = replace(
        spec.run,
        options=algorithm_options,
        maybe_match=algorithm.maybe,
        reads_sensitive=_target_column_number(spec, algorithm_options) is not None,
    )
    return replace(spec, reading=replace(spec.reading, order_columns=order_columns), run=run)


def _target_column_number(spec: ReleaseSpec, algorithm_options: Mapping[str, object]) -> int | None:
    """Return the number of the sensitive column that the parameter `target` names, or None if `target` is not given.

    Raises:
        InvalidArgumentError: The column is not sensitive.
    """
    label = algorithm_options.get("target")
    if label is None:
        return None
    for number, name in enumerate(spec.roles.sensitive):
        if fold_case(name) == fold_case(str(label)):
            return number
    accepts = "a sensitive column" + "".join(f", {name}" for name in spec.roles.sensitive)
    raise errors.InvalidArgumentError(spec.function, "target", accepts, label)


def as_table_options(options: Options) -> Options:
    """Return the options of a stream as options of a release of a table, with which a release spec can be resolved.

    Common parameters of tables that streams lack have their defaults. Parameters of the stream algorithm are dropped,
    because they may have names of privacy models. `suppress` becomes 1.0: any share of the records may be suppressed.
    """
    return Options(
        {**{p.name: p.default for p in COMMON}, **{p.name: options[p.name] for p in streams.COMMON}, "suppress": 1.0}
    )


def fill_stream_template(
    template: str, spec: ReleaseSpec, options: Options, algorithm: StreamAlgorithm, **extra_values: object
) -> str:
    """Plan a stream and fill a template with the plan's values; return the SQL.

    Args:
        template: The path of the template.
        spec: The release spec of the stream.
        options: The parameters of the call.
        algorithm: The stream algorithm.
        extra_values: Further values; `continuation` is the stored state if a stream is continued.

    Raises:
        GateRefusedError: The statement of rows, metrics or a continuation does not end with the SELECT that the gate
            expects.
    """
    release_plan = plan.make_plan(spec)
    added_names = {name: identifier(column_name) for name, column_name in _added_names(spec).items()}
    continuation = extra_values.get("continuation")
    segment = continuation.segment if isinstance(continuation, StreamContinuation) else None
    # The names of the published columns with the added ones, as the gate derives them from the policy.
    release_names = rules.published_column_names(plan.gate_request(spec))
    published_names = [*release_names, *rules.unused_names(release_names, ADDED_COLUMNS)]
    models = [
        CheckedModel(i, d.parameter, spec.roles.sensitive[d.sensitive]) for i, d in enumerate(spec.model_requirements)
    ]
    values = release_plan.template_values | order_values(spec)
    values |= {
        "stream": _stream_values(release_plan, spec, options, algorithm) | added_names,
        "request": as_json(stream_request(spec, options, algorithm, segment)),
        "published_names": Sql(f"[{join_sql(text(name) for name in published_names)}]"),
        "row_alias": rules.row_alias(published_names),
        "gate_say": {**release_plan.gate_messages, **messages.stream_refusals(spec.function, models)},
    }
    statement = fill(template, **values, **extra_values)
    last_select, arrived_at = None, added_names["arrived_at"]
    if isinstance(continuation, StreamContinuation):
        last_select = statement_check.stream_step(
            continuation.cluster, continuation.place, continuation.row, arrived_at
        )
    elif template == "release/streams/metrics.sql":
        last_select = statement_check.stream_metrics()
    elif template == "release/streams/release.sql":
        class_id = release_plan.added_name("class_id")
        last_select = statement_check.stream_rows(added_names["published_at"], class_id, arrived_at)
    return (
        statement if last_select is None else statement_check.check_last_select(spec.function, statement, last_select)
    )


def _stream_values(
    release_plan: plan.Plan, spec: ReleaseSpec, options: Options, algorithm: StreamAlgorithm
) -> dict[str, object]:
    """Return the values of stream templates, in addition to those of a release and the names of added columns.

    The arguments are those of `fill_stream_template`; `release_plan` is the plan of the release.

    Returns:
        delta: The number of arrivals, the record itself counted, at which a record may not be pending any more; if
            `limits_pending`, the number of records that may not be pending at the same time.
        limits_pending: `delta` limits the number of pending records, not their delay.
        drops_suppressed: Suppressed records have no rows.
        maybe_match: NULL may occur among the values of a class.
        metrics: The metrics.
    """
    drops_suppressed = options["suppress"] == "drop"
    return {
        "delta": int(options["delta"]),
        "limits_pending": algorithm.limits_pending(spec.run.options),
        "drops_suppressed": drops_suppressed,
        "maybe_match": algorithm.maybe,
        "metrics": _stream_metrics(release_plan, drops_suppressed),
    }


def order_values(spec: ReleaseSpec) -> dict[str, list[Sql]]:
    """Return two template values: `read_order`, the quoted columns of the arrival order, and `say_order`, their errors.

    The error of a column is SQL of the message that it contains NULL.
    """
    return {
        "read_order": [identifier(name) for name in spec.reading.order_columns],
        "say_order": [
            error_sql(errors.NullInOrderByError(spec.function, spec.source.shown, name))
            for name in spec.reading.order_columns
        ],
    }


def _added_names(spec: ReleaseSpec) -> dict[str, str]:
    """Return the names of the columns added to rows, by the words of ADDED_COLUMNS and `reused`.

    A name gets underscores at its end if a published or another added column has it.
    """
    schema = plan.published_schema_of(spec)
    names: dict[str, str] = {}
    for name in (*ADDED_COLUMNS, "reused"):
        names[name] = unused_name(name, [*schema.row_columns, schema.class_id, *names.values()])
    return names


def stream_request(
    spec: ReleaseSpec, options: Options, algorithm: StreamAlgorithm, segment: str | None = None
) -> Mapping[str, object]:
    """Return the first argument of the stream UDF: the settings of the run, without the records.

    `segment` is the key of the stored segment (part of a growing stream) that is continued; None for a table.
    """
    return {
        **cluster_request(spec),
        "stream": algorithm.name,
        "options": {**spec.run.options, "delta": options["delta"]},
        "need": [int(d.bound) for d in spec.model_requirements],
        "label": _target_column_number(spec, spec.run.options),
        "looks_up": algorithm.looks_up,
        "segment": segment,
    }


def _stream_metrics(release_plan: plan.Plan, drops: bool) -> list[dict[str, Sql]]:
    """Return the metrics of a stream: STREAM_METRICS, then `l:COLUMN` for each sensitive column with a privacy model.

    `drops` is whether suppressed records have no rows; some metrics then have other SQL.

    Returns:
        For each metric SQL of its value (`sql`), and its name (`label`), better direction, description and
        `is_publishable` as SQL literals.
    """
    distinct_values = [
        StreamMetric(
            f"l:{sensitive.raw_name}",
            "higher",
            f"Least number of different values of {sensitive.raw_name} in a class when it is first published.",
            Sql(f"f.{derived_reference('values', sensitive.raw_name)}"),
        )
        for sensitive in release_plan.columns.model_columns
        if sensitive.models
    ]
    return [
        {
            "label": text(m.name),
            "better": text(m.direction),
            "description": text(m.description),
            "is_publishable": literal(m.is_publishable),
            "sql": m.sql_where_dropped if drops and m.sql_where_dropped else m.sql,
        }
        for m in (*STREAM_METRICS, *distinct_values)
    ]
