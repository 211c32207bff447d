"""From a call of a stream system to the SQL that answers it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dbanon import errors
from dbanon.algorithms import streams
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.algorithms.streams import StreamAlgorithm
from dbanon.gate import messages, rules, statement_check
from dbanon.gate.request import CheckedModel
from dbanon.release.plan import plan
from dbanon.release.plan.clustering_request import request
from dbanon.release.spec import resolve
from dbanon.release.spec.published_columns import free, published_schema
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.release.streams.metrics import MEASURES, Measure
from dbanon.sqltext.quote import Sql, as_json, identifier, join_sql, text
from dbanon.sqltext.templates import error_sql, fill
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call

OWN = ("arrived", "published", "delay", "suppressed")
"""What a row of a stream says beside the values: at which place its record arrived, how many had arrived when it left,
the difference, and whether it is left out."""


@dataclass(frozen=True)
class Grown:
    """The state of a stream that is read on: the key of its `segment`, how many records had arrived `before`, the
    greatest `number` of a class, the table of the `classes` (None: none has left), and, by column, names of nodes that
    its state knows.

    The columns `place` and `row` of the source say at which place each record that waits arrived (NULL: it comes now),
    and which row it is; `cluster` is a column of what leaves.
    """

    segment: str
    before: int
    number: int
    classes: Sql | None
    nodes: Mapping[int, Sequence[str]]
    place: Sql
    row: Sql
    cluster: Sql

    @property
    def values(self) -> dict[int, Sql]:
        """The values among these nodes, of columns without a hierarchy."""
        return {
            i: Sql(f"[{join_sql(text(name[1:]) for name in names if name)}]::VARCHAR[]")
            for i, names in self.nodes.items()
        }


@dataclass(frozen=True)
class StreamView:
    """What the templates of streams have beside those of a release: names of columns that are no columns of the source,
    most arrivals that a record may wait for, whether rows of what is left out are dropped, and the measures."""

    arrived: Sql
    published: Sql
    delay: Sql
    suppressed: Sql
    reused: Sql
    delta: int
    drops: bool
    maybe: bool
    widens: bool
    metrics: tuple[Measure, ...]


def statement(system: StreamAlgorithm, kind: str, call: Call) -> Sql:
    """The SQL of NAME (`release`), NAME_classes or NAME_metrics; errors are those of a release, and
    InvalidArgumentError where parameters exclude each other."""
    return Sql(filled(f"release/streams/{kind}.sql", prepared(call, system, kind), call.options, system))


@dataclass(frozen=True)
class GrownStatement:
    """What leaves a stream that is read on, as SQL, and the names of its columns: those that are `shown`, those of the
    quasi-identifiers, and the columns of OWN by these words."""

    sql: str
    shown: tuple[str, ...]
    quasi: tuple[str, ...]
    class_id: str
    own: Mapping[str, str]


def grown_statement(
    publication: ReleaseSpec, options: Options, system: StreamAlgorithm, grown: Grown
) -> GrownStatement:
    """Return the statement of a publication whose source has the columns of `grown`."""
    own = _names(publication)
    publication = replace(publication, run=replace(publication.run, widens=False))
    shown, quasi = plan.published_names(publication)
    return GrownStatement(
        filled("release/streams/appended.sql", publication, options, system, grown=grown), shown, quasi, shown[-1], own
    )


def prepared(call: Call, system: StreamAlgorithm, kind: str = "release") -> ReleaseSpec:
    """What a call publishes."""
    ontology = call.options.per_column("ontology") if system.looks_up else None
    found = resolve.prepared(call, as_of_table(call.options), system.name, kind, ontology=ontology)
    if found.roles.made:
        raise errors.TransformedColumnsNotSupportedError(
            found.function, found.source.shown, found.roles.made, "a stream"
        )
    return running(found, system, call.options)


def running(found: ReleaseSpec, system: StreamAlgorithm, given: Options) -> ReleaseSpec:
    """Return the publication with what a run of the system is given.

    UnknownColumnError, InvalidArgumentError, SensitiveColumnMissingError and UnsupportedSettingError.
    """
    function = found.function
    order = tuple(found.source.column(function, name, "order_by") for name in given.columns("order_by"))
    if not order:
        raise errors.InvalidArgumentError(function, "order_by", "one or more columns by which records arrive", "[]")
    least = max([found.k, *(int(d.bound) for d in found.demands)])
    if given["delta"] < least:
        accepts = f"at least {least}, as many records as a class needs"
        raise errors.InvalidArgumentError(function, "delta", accepts, given["delta"])
    if given["weights"] == "influence":
        accepts = "weights by column for a stream, of which nothing is there to learn influence from when it begins"
        raise errors.InvalidArgumentError(function, "weights", accepts, "'influence'")
    if given["l"] is not None and not found.roles.sensitive:
        raise errors.SensitiveColumnMissingError(function, "l", found.source.shown)
    problem = system.problem(given, found.k)
    if problem is not None:
        name, accepts = problem
        raise errors.InvalidArgumentError(function, name, accepts, given[name])
    for attribute in found.attributes:
        if attribute.quasi.settings.max_level is not None:
            why = "a stream cannot promise that a record finds a class below a level. Hint: withhold the column."
            raise errors.UnsupportedSettingError(function, "max_level", found.source.shown, attribute.quasi.column, why)
    own = {p.name: given[p.name] for p in system.own}
    reads = _label(found, own) is not None
    run = replace(found.run, options=own, maybe=system.maybe, widens=system.widens, sensitive=reads)
    return replace(found, reading=replace(found.reading, order=order), run=run)


def _label(publication: ReleaseSpec, own: Mapping[str, object]) -> int | None:
    """Return the number of the sensitive column that has the labels; InvalidArgumentError where it is none."""
    label = own.get("label")
    if label is None:
        return None
    for number, name in enumerate(publication.roles.sensitive):
        if name.lower() == str(label).lower():
            return number
    accepts = "a sensitive column" + "".join(f", {name}" for name in publication.roles.sensitive)
    raise errors.InvalidArgumentError(publication.function, "label", accepts, label)


def as_of_table(given: Options) -> Options:
    """The options as those of a table: with what a stream has not as it is where nobody says anything, and without
    those of the system alone, which may have names of models. Records may be left out, as many as must."""
    return Options(
        {**{p.name: p.default for p in COMMON}, **{p.name: given[p.name] for p in streams.COMMON}, "suppress": 1.0}
    )


def filled(template: str, publication: ReleaseSpec, options: Options, system: StreamAlgorithm, **more: object) -> str:
    """Return a statement about a stream."""
    of = plan.plan(publication)
    names = _names(publication)
    view = StreamView(
        **{name: identifier(own) for name, own in names.items()},
        delta=int(options["delta"]),
        drops=options["suppress"] == "drop",
        maybe=system.maybe,
        widens=system.widens,
        metrics=tuple(_measures(of, options["suppress"] == "drop")),
    )
    values = of.values
    grown = more.get("grown")
    values["request"] = as_json(
        stream_request(publication, options, system, grown.segment if isinstance(grown, Grown) else None)
    )
    values["leave"] = Sql(f"[{join_sql(text(name) for name in _leave(publication))}]")
    values["gate_say"] = {**of.gate_say, **_refusals(publication)}
    values |= order_values(publication)
    made = fill(template, stream=view, **values, **more)
    last_select = None
    if isinstance(grown, Grown):
        last_select = statement_check.stream_step(grown.cluster, grown.place, grown.row, view.arrived)
    elif template == "release/streams/metrics.sql":
        last_select = statement_check.stream_metrics()
    elif template == "release/streams/release.sql":
        last_select = statement_check.stream_rows(view.published, of.names.class_id, view.arrived)
    return made if last_select is None else statement_check.check_last_select(publication.function, made, last_select)


def order_values(publication: ReleaseSpec) -> dict[str, list[Sql]]:
    """What the templates have beside the columns by which records arrive: their names, and what is said of a NULL."""
    source = publication.source.shown
    return {
        "read_order": [identifier(name) for name in publication.reading.order],
        "say_order": [
            error_sql(errors.NullInOrderByError(publication.function, source, name))
            for name in publication.reading.order
        ],
    }


def _names(publication: ReleaseSpec) -> dict[str, str]:
    """Return the names of what a row says beside its values; `reused` is a column of NAME_classes alone."""
    quasi = {a.quasi.column: a.is_number for a in publication.attributes}
    unchanged = [*publication.roles.sensitive, *publication.roles.other]
    schema = published_schema(publication.source.columns, quasi, unchanged, publication.intervals)
    found: dict[str, str] = {}
    for name in (*OWN, "reused"):
        found[name] = free(name, [*schema.rows, schema.class_id, *found.values()])
    return found


def _leave(publication: ReleaseSpec) -> list[str]:
    """Return the names of the columns that leave, as the gate reads the policy."""
    names = rules.published_column_names(plan.gate_request(publication))
    return [*names, *rules.unused_names(names, OWN)]


def stream_request(
    publication: ReleaseSpec, options: Options, system: StreamAlgorithm, segment: str | None = None
) -> Mapping[str, object]:
    """Return the first argument of the UDF, with the key of the segment of a stream that is read on."""
    asked = request(publication)
    need = [int(d.bound) for d in publication.demands]
    own = {**publication.run.options, "delta": options["delta"]}
    label = _label(publication, publication.run.options)
    more = {"need": need, "label": label, "looks_up": system.looks_up, "segment": segment}
    return {**asked, "stream": system.name, "options": own, **more}


def _refusals(publication: ReleaseSpec) -> dict[str, Sql]:
    """What the gate says."""
    sensitive = publication.roles.sensitive
    models = [CheckedModel(i, d.parameter, sensitive[d.sensitive]) for i, d in enumerate(publication.demands)]
    return messages.stream_refusals(publication.function, models)


def _measures(of: plan.Plan, drops: bool) -> Iterator[Measure]:
    """Yield the measures of a stream; those of sensitive values where a model is about them."""
    yield from (replace(m, sql=m.sql_where_dropped if drops and m.sql_where_dropped else m.sql) for m in MEASURES)
    yield from (
        Measure(
            f"l:{sensitive.plain}",
            "higher",
            f"Least number of different values of {sensitive.plain} in a class when it is first published.",
            Sql(f"f.values{sensitive.i}"),
        )
        for sensitive in of.columns.tested
        if sensitive.models
    )
