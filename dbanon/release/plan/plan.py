"""From one validated call to the SQL text that answers it: pure."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from dbanon.gate import messages as gate_messages, statement_check
from dbanon.gate.request import CheckedModel, GateRequest, ReleaseContext, StatedRoles
from dbanon.gate.rules import GateRules, gate_rules
from dbanon.release.plan import input_errors, metrics, template_columns
from dbanon.release.plan.clustering_request import cluster_request
from dbanon.release.plan.named_column import NamedColumn
from dbanon.release.plan.number_column import NumberColumn
from dbanon.release.plan.passthrough_column import PassthroughColumn
from dbanon.release.plan.template_columns import QuasiColumn, SensitiveColumn, TreeColumn
from dbanon.release.spec.published_columns import Part, PublishedSchema, published_schema
from dbanon.release.spec.release_spec import Continuity, Larger, ReleaseSpec
from dbanon.sqltext import templates
from dbanon.sqltext.quote import Sql, identifier, literal, text


@dataclass(frozen=True)
class PublishedColumn(NamedColumn):
    """One column as it is published, and what it is made from; `is_dated`: texts of days, months, quarters or years."""

    plain: str
    expression: Sql
    is_dated: bool = False


@dataclass(frozen=True)
class CodedColumn(NamedColumn):
    """One column with codes for missing values, and how it is read."""

    plain: str
    read: Sql


@dataclass(frozen=True)
class Bound:
    """The ends beyond which records are left out, and the number of their quasi-identifier."""

    i: int | Sql
    low: Sql
    high: Sql


@dataclass(frozen=True)
class Reading:
    """What is read: `source`, or `origin` where that can be read only once.

    `person` and `key` say who a record is about, `person_text` is the canonical text of a person. Rows of a table that
    can be read twice have a number of their own, unless a column has its name (`has_rowid`).

    `whole` is the source with the records that are withheld; `coded` are columns with codes for missing values, `order`
    those by which the records of a stream arrive, `weight` the one that says how many records a row stands for;
    `larger` is the table that the source is a part of.
    """

    source: Sql
    origin: Sql
    has_rowid: bool
    whole: Sql
    person: Sql | None
    person_text: Sql | None
    key: Sql | None
    coded: tuple[CodedColumn, ...]
    order: tuple[Sql, ...]
    weight: Sql | None
    larger: Larger | None


@dataclass(frozen=True)
class RecordSelection:
    """Which records are published: all but those that `left_out` withholds, beyond `bounds`, duplicates where
    `distinct`, or with NULL as `nulls` says. `keep` are records that stay in their classes."""

    left_out: Continuity
    keep: Sql | None
    bounds: tuple[Bound, ...]
    distinct: bool
    nulls: str


@dataclass(frozen=True)
class PlannedPolicy:
    """What the policy was when the call was planned, as a fingerprint, and SQL of what it is; `bare` is the name that a
    temporary table could take."""

    bare: Sql | None
    fingerprint_sql: Sql
    fingerprint: Sql


@dataclass(frozen=True)
class Columns:
    """The columns: of the source, and as they are published (`output`, those of the classes in `quasi_output`).

    `ranged` are quasi-identifiers that are published as intervals and nodes, `trees` all trees, `tested` the sensitive
    columns that are looked at; `check_together` where combinations of several columns may be rare, `tying` those that
    tell records of equal codes apart, and `tie_by` how.
    """

    quasi: tuple[QuasiColumn, ...]
    ranged: tuple[QuasiColumn, ...]
    trees: tuple[TreeColumn, ...]
    unchanged: tuple[PassthroughColumn, ...]
    tested: tuple[SensitiveColumn, ...]
    output: tuple[PublishedColumn, ...]
    quasi_output: tuple[PublishedColumn, ...]
    check_together: bool
    tying: tuple[PassthroughColumn, ...]
    tie_by: str
    links: tuple[PassthroughColumn, ...]
    flat_count: int
    built_count: int

    def only(self, names: Container[str]) -> Columns:
        """Return the same with some of the published columns alone."""
        unchanged = tuple(u for u in self.unchanged if u.plain in names)
        left = {u.i for u in unchanged}
        return replace(
            self,
            unchanged=unchanged,
            tested=tuple(s for s in self.tested if s.u in left),
            links=tuple(u for u in unchanged if u.is_link),
            quasi_output=tuple(c for c in self.quasi_output if c.plain in names),
        )


@dataclass(frozen=True)
class Names:
    """Names of columns that are no column of the source; `class_name` unquoted."""

    class_id: Sql
    class_name: str
    names: Mapping[str, Sql]
    copies: Sql
    place: Sql
    copy: Sql

    @classmethod
    def of(cls, schema: PublishedSchema) -> Names:
        """Return those of a schema, as the templates have them."""
        names = {n: identifier(getattr(schema, n)) for n in ("size", "persons", "loss", "suppressed")}
        of_rows = (identifier(n) for n in (schema.copies, schema.place, schema.copy))
        return cls(identifier(schema.class_id), schema.class_id, names, *of_rows)


@dataclass(frozen=True)
class Choices:
    """What the call asks beside columns: the model, the form of what is published, and what the algorithm looks at."""

    k: int
    joint: bool
    suppress: Sql | None
    most_suppressed: int | None
    typed: bool
    escape: bool
    sub_heights: bool
    magnitudes: bool
    widens: bool
    maybe: bool
    noise: bool
    by_column: bool
    request: Sql
    version: None = None


@dataclass(frozen=True)
class Plan:
    """All that the statements about one publication are filled with."""

    reading: Reading
    selection: RecordSelection
    policy: PlannedPolicy
    columns: Columns
    names: Names
    choices: Choices
    gate: GateRules
    say: Mapping[str, Sql]
    gate_say: Mapping[str, Sql]

    @property
    def values(self) -> dict[str, object]:
        """By the names that the templates have for it."""
        parts = (self.reading, self.selection, self.policy, self.columns, self.names, self.choices, self.gate)
        said: dict[str, object] = {"say": self.say, "gate_say": self.gate_say}
        return said | {name: value for part in parts for name, value in templates.field_values(part).items()}


def plan(call: ReleaseSpec) -> Plan:
    """Return the plan of a publication."""
    columns, names = _columns(call)
    asked = gate_request(call)
    gate = gate_rules(asked)
    models = [CheckedModel(m.number, m.parameter, m.plain) for column in columns.tested for m in column.models]
    return Plan(
        reading=_reading(call, columns),
        selection=_selection(call, columns),
        policy=PlannedPolicy(
            bare=text(call.source.table.lower()) if call.source.bare else None,
            fingerprint_sql=call.policy.fingerprint_sql,
            fingerprint=text(call.policy.fingerprint),
        ),
        columns=columns,
        names=names,
        choices=_choices(call),
        gate=gate,
        say=input_errors.problems(call, columns.unchanged),
        gate_say=gate_messages.release_refusals(asked, gate.rules, models),
    )


def gate_request(call: ReleaseSpec) -> GateRequest:
    """Return what the release gate is told of a publication."""
    continuity = call.continuity
    return GateRequest(
        function=call.function,
        algorithm=call.algorithm,
        kind=call.kind,
        table=call.source.shown,
        columns=call.source.columns,
        declared=call.policy.declared,
        options=call.options,
        quasi_columns=tuple(attribute.quasi.column for attribute in call.attributes),
        roles=StatedRoles(call.roles.person, call.roles.sensitive, call.roles.other),
        unchanged=call.unchanged,
        transformed={name: column.told for name, column in call.made.items()},
        context=ReleaseContext(
            is_table=call.source.is_table,
            input_order=call.reading.order,
            person_key=continuity.key,
            has_withheld_records=continuity.leaves_out,
            has_noise=call.run.noise is not None,
            is_single_table=call.alone,
            view=continuity.view,
        ),
    )


def statement(call: ReleaseSpec) -> str:
    """The SQL of NAME (`release`), NAME_classes (`classes`), NAME_metrics (`metrics`), `inference` or `influence`."""
    of = plan(call)
    values = of.values | {"follows": bool(of.columns.links)}
    if call.kind == "metrics":
        values["metrics"] = _metrics(of, values, bool(call.options.get("divergence")))
    if call.kind == "inference":
        values["support"] = call.options["support"] or call.k
    made = templates.fill(f"release/{'plan/' if call.run.noise is None else 'noise/'}{call.kind}.sql", **values)
    last_select = _last_select(call.kind, of)
    return made if last_select is None else statement_check.check_last_select(call.function, made, last_select)


def _last_select(kind: str, of: Plan) -> str | None:
    """Return the SELECT with which the gate expects the statement of a release, its classes or its metrics to end."""
    if kind == "release":
        return statement_check.released_rows(of.names.copies, of.names.place, of.names.copy)
    if kind == "classes":
        return statement_check.released_classes(
            of.names.class_id, of.names.names["suppressed"] if of.choices.suppress else None
        )
    return statement_check.released_metrics() if kind == "metrics" else None


def published_names(call: ReleaseSpec) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a release's columns in their order, and those of its quasi-identifiers."""
    columns, names = _columns(call)
    return (*(c.plain for c in columns.output), names.class_name), tuple(c.plain for c in columns.quasi_output)


def class_names(call: ReleaseSpec) -> PublishedSchema:
    """Return the names that columns of a release and of its classes have, beside those of the source."""
    quasi = {a.quasi.column: a.is_number for a in call.attributes}
    return published_schema(
        call.source.columns, quasi, [u.plain for u in template_columns.unchanged(call)], call.intervals
    )


def filled(name: str, call: ReleaseSpec, only: Container[str] | None = None, **more: object) -> str:
    """Return another statement about the same publication, about some of its columns where `only` is given."""
    of = plan(call)
    if only is not None:
        of = replace(of, columns=of.columns.only(only))
    return templates.fill(name, **(of.values | more))


def roles(call: ReleaseSpec) -> dict[str, str]:
    """What each column of the source is in this publication."""
    known = {q.quasi.column: "quasi" for q in call.attributes}
    known |= dict.fromkeys(call.roles.sensitive, "sensitive") | dict.fromkeys(call.roles.other, "other")
    if call.roles.person is not None:
        known[call.roles.person] = "person"
    known |= call.roles.made
    return {column: known.get(column, "withheld") for column in call.source.columns}


def _columns(call: ReleaseSpec) -> tuple[Columns, Names]:
    quasi = tuple(template_columns.quasi(call, i, a) for i, a in enumerate(call.attributes))
    unchanged = tuple(template_columns.unchanged(call))
    tested = tuple(template_columns.tested(call, unchanged))
    tying = template_columns.tying(call, unchanged, tested)
    schema = class_names(call)
    released = {q.plain: _published(schema.quasi[q.plain], "r.", q) for q in quasi}
    released |= {u.plain: [PublishedColumn(u.plain, Sql(f"r.u{u.i}"))] for u in unchanged}
    trees = [*(q for q in quasi if isinstance(q, TreeColumn)), *(s.tree for s in tested if s.tree is not None)]
    columns = Columns(
        quasi=quasi,
        ranged=tuple(q for q in quasi if not q.drawn),
        trees=tuple(trees),
        unchanged=unchanged,
        tested=tested,
        output=tuple(column for name in call.source.columns for column in released.get(name, ())),
        quasi_output=tuple(column for q in quasi for column in _published(schema.quasi[q.plain], "", q)),
        check_together=sum(u.check_rare for u in unchanged) > 1,
        tying=tying,
        tie_by=template_columns.tie_by(call, tying),
        links=tuple(u for u in unchanged if u.is_link),
        flat_count=sum(not a.is_number and a.hierarchy is None for a in call.attributes),
        built_count=sum(a.is_number for a in call.attributes) if call.run.levels else 0,
    )
    return columns, Names.of(schema)


def _published(parts: Sequence[Part], of: str, q: QuasiColumn) -> list[PublishedColumn]:
    """Return the published columns of one quasi-identifier; `of` qualifies what they are made from."""
    i, is_dated = q.i, isinstance(q, NumberColumn) and q.is_dated
    pair = f"CASE WHEN {of}low{i} IS NOT NULL THEN {{'low': {of}low{i}, 'high': {of}high{i}}} END"
    expressions = {"value": f"{of}p{i}", "low": f"{of}low{i}", "high": f"{of}high{i}", "pair": pair}
    return [
        PublishedColumn(part.name, Sql(expressions[part.part]), is_dated and part.part == "value") for part in parts
    ]


def _reading(call: ReleaseSpec, columns: Columns) -> Reading:
    person, key, source = template_columns.person(call), template_columns.key(call), call.source.read
    continuity = call.continuity
    if continuity.leaves_out:
        who = {
            "person": person,
            "person_text": template_columns.person_text(call),
            "key": key,
            "quasi": columns.quasi,
            "unchanged": columns.unchanged,
        }
        source = Sql(
            templates.fill(
                "release/plan/withheld_records.sql", held=None, whole=call.source.read, left_out=continuity, **who
            )
        )
    twice = call.source.is_table and not continuity.leaves_out
    return Reading(
        source=source,
        origin=source if twice else Sql("as_it_came"),
        has_rowid=twice and "rowid" not in map(str.lower, call.source.columns),
        whole=call.source.read,
        person=person,
        person_text=template_columns.person_text(call),
        key=key,
        coded=tuple(
            CodedColumn(name, call.read(name)) for name in call.source.columns if call.reading.missing.get(name)
        ),
        order=tuple(identifier(name) for name in call.reading.order),
        weight=call.reading.weight,
        larger=call.reading.larger,
    )


def _selection(call: ReleaseSpec, columns: Columns) -> RecordSelection:
    cleaning = call.run.cleaning
    return RecordSelection(
        left_out=call.continuity,
        keep=call.continuity.keep,
        bounds=tuple(Bound(q.i, *cleaning.bounds[q.plain]) for q in columns.quasi if q.plain in cleaning.bounds),
        distinct=cleaning.distinct,
        nulls=str(call.options["nulls"]),
    )


def _choices(call: ReleaseSpec) -> Choices:
    return Choices(
        k=call.k,
        joint=call.joint,
        suppress=Sql(repr(call.options["suppress"])) if call.options["suppress"] else None,
        most_suppressed=call.run.most_suppressed,
        typed=call.intervals != "text",
        escape=bool(call.options["escape"]),
        sub_heights=call.options["eloss_height"] == "sub",
        magnitudes=call.run.magnitudes,
        widens=call.run.widens,
        maybe=call.run.maybe,
        noise=call.run.noise is not None,
        by_column=call.run.noise is not None and call.run.noise.by_column,
        request=cluster_request(call),
    )


@dataclass(frozen=True)
class MetricView:
    """One measure in a statement."""

    name: Sql
    better: Sql
    what: Sql
    position: int
    published: Sql
    sql: Sql


def _metrics(of: Plan, values: Mapping[str, object], divergence: bool) -> list[MetricView]:
    """Return the measures that apply; `divergence`: the costly one too."""
    columns, person = of.columns, of.reading.person is not None
    have = {
        "sensitive": any(u.is_sensitive for u in columns.unchanged),
        "person": person,
        "number": any(q.is_number for q in columns.quasi),
        "unchanged": any(not u.is_link for u in columns.unchanged),
        "link": bool(columns.links),
        "divergence": divergence,
        "missing": bool(of.reading.coded),
        "prepared": bool(of.selection.bounds or of.selection.distinct),
        "levels": columns.built_count > 0,
        "": True,
    }
    parameters = {m.parameter for s in columns.tested for m in s.models}
    kind = "noise" if of.choices.noise else "classes"
    return [
        MetricView(
            name=text(m.name),
            better=text(m.better),
            what=text(m.said(person)),
            position=position,
            published=literal(kind not in m.custodian),
            sql=templates.fill_text(m.sql, {**values, "metric": m.name}),
        )
        for position, m in enumerate(metrics.all_metrics())
        if have.get(m.needs, m.needs in parameters) and kind in m.of
    ]
