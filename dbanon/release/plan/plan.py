"""Plan a release: derive the values of its SQL templates from a release spec, and fill the templates.

The functions are pure: they open no connection.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from dbanon.gate import messages as gate_messages, statement_check
from dbanon.gate.request import CheckedModel, GateRequest, ReleaseContext, StatedRoles
from dbanon.gate.rules import GateRules, gate_rules, rule_blocks
from dbanon.release.plan import input_errors, metrics, template_columns
from dbanon.release.plan.clustering_request import cluster_request_json
from dbanon.release.plan.named_column import NamedColumn
from dbanon.release.plan.number_column import MAX_JOINED_COLUMNS, NumberColumn, number_blocks
from dbanon.release.plan.passthrough_column import PassthroughColumn
from dbanon.release.plan.template_columns import QuasiColumn, SensitiveColumnView, TreeColumn
from dbanon.release.spec.published_columns import PublishedPart, PublishedSchema, published_schema
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext import templates
from dbanon.sqltext.column_labels import derived_reference
from dbanon.sqltext.quote import Sql, identifier, literal, text

_WIDE_KINDS = ("release", "membership")


@dataclass(frozen=True)
class PublishedColumn(NamedColumn):
    """One column of the result, and the SQL of its value; `is_dated`: its texts are days, months, quarters or years."""

    raw_name: str
    expression: Sql
    is_dated: bool = False


@dataclass(frozen=True)
class CodedColumn(NamedColumn):
    """A column that has codes for missing values, and SQL that reads it with NULL in their place."""

    raw_name: str
    source_value: Sql


@dataclass(frozen=True)
class PlannedColumns:
    """The columns of the source and of the release.

    Attributes:
        quasi: The quasi-identifiers.
        generalized: The quasi-identifiers that are published as intervals or nodes, not with noise.
        trees: The categories with or without a hierarchy, and the sensitive columns with a hierarchy.
        unchanged: The columns that are published without generalization.
        model_columns: The sensitive columns that privacy models or the algorithm read.
        output: The columns of the released rows.
        quasi_output: The columns of quasi-identifiers in NAME_classes.
        check_combinations: Several columns are checked for rare values, so their combinations are checked, too.
        tie_break_columns: The columns that distinguish records of equal codes.
        tie_break_mode: How they are hashed; see `tie_break_mode` of `template_columns`.
        pseudonym_columns: The unchanged columns that are pseudonyms.
        n_flat: The number of quasi-identifiers of categories without a hierarchy.
        n_built: The number of hierarchies built for numbers.
        counts_used_leaves: NCP counts the leaves with values in the table, not all.
    """

    quasi: tuple[QuasiColumn, ...]
    generalized: tuple[QuasiColumn, ...]
    trees: tuple[TreeColumn, ...]
    unchanged: tuple[PassthroughColumn, ...]
    model_columns: tuple[SensitiveColumnView, ...]
    output: tuple[PublishedColumn, ...]
    quasi_output: tuple[PublishedColumn, ...]
    check_combinations: bool
    tie_break_columns: tuple[PassthroughColumn, ...]
    tie_break_mode: str
    pseudonym_columns: tuple[PassthroughColumn, ...]
    n_flat: int
    n_built: int
    counts_used_leaves: bool

    def select(self, names: Container[str]) -> PlannedColumns:
        """Return a copy without those unchanged and sensitive columns that `names` does not contain.

        Quasi-identifiers stay, except in `quasi_output`.
        """
        unchanged = tuple(u for u in self.unchanged if u.raw_name in names)
        numbers = {u.i for u in unchanged}
        return replace(
            self,
            unchanged=unchanged,
            model_columns=tuple(s for s in self.model_columns if s.u in numbers),
            pseudonym_columns=tuple(u for u in unchanged if u.is_link),
            quasi_output=tuple(c for c in self.quasi_output if c.raw_name in names),
        )


@dataclass(frozen=True)
class Plan:
    """The values of all SQL templates of one release, in parts.

    Attributes:
        columns: The columns of the source and of the release.
        schema: The names of all published columns.
        gate_rules: The rules by which the gate checks the release.
        settings: The values that only templates read: those of `_source_values` and `_settings`.
        messages: The SQL of error messages, by name.
        gate_messages: The SQL of messages of the gate, by name.
    """

    columns: PlannedColumns
    schema: PublishedSchema
    gate_rules: GateRules
    settings: Mapping[str, object]
    messages: Mapping[str, Sql]
    gate_messages: Mapping[str, Sql]

    @property
    def template_values(self) -> dict[str, object]:
        """The values of all parts by the names that templates use.

        `say` and `gate_say` are mappings with the SQL of error messages, by name. `class_id`, `copies`, `place` and
        `copy` are quoted names of published columns that are no columns of the source; `names` are those of the columns
        size, persons, loss and suppressed of NAME_classes, by these words.
        """
        return {
            "say": self.messages,
            "gate_say": self.gate_messages,
            **vars(self.columns),
            **{name: self.added_name(name) for name in ("class_id", "copies", "place", "copy")},
            "names": {name: self.added_name(name) for name in ("size", "persons", "loss", "suppressed")},
            **vars(self.gate_rules),
            **self.settings,
        }

    def added_name(self, column: str) -> Sql:
        """Return the quoted name of a published column that is no column of the source, such as `class_id`."""
        return identifier(getattr(self.schema, column))


def make_plan(spec: ReleaseSpec) -> Plan:
    """Derive the values of all SQL templates of a release from its spec.

    Raises:
        DbanonError: A person column, a hierarchy or a pseudonym is unsuitable.
    """
    schema = published_schema_of(spec)
    columns = _columns(spec, schema)
    request = gate_request(spec)
    gate = gate_rules(request)
    models = [
        CheckedModel(m.number, m.parameter, m.raw_name) for column in columns.model_columns for m in column.models
    ]
    return Plan(
        columns=columns,
        schema=schema,
        gate_rules=gate,
        settings={**_source_values(spec, columns), **_settings(spec, columns)},
        messages=input_errors.input_error_messages(spec, columns.unchanged),
        gate_messages=gate_messages.release_refusals(request, gate.rules, models),
    )


def gate_request(spec: ReleaseSpec) -> GateRequest:
    """Return the request of the release gate: the facts about a release that the gate may use, as plain values."""
    constraints = spec.version_constraints
    return GateRequest(
        function=spec.function,
        algorithm=spec.algorithm,
        kind=spec.kind,
        table=spec.source.shown,
        columns=spec.source.columns,
        declared=spec.policy.declared,
        options=spec.options,
        quasi_columns=tuple(attribute.quasi.column for attribute in spec.attributes),
        leaf_shapes={attribute.quasi.column: attribute.leaf_shapes for attribute in spec.attributes},
        roles=StatedRoles(spec.roles.person, spec.roles.sensitive, spec.roles.insensitive),
        unchanged=spec.unchanged,
        transformed={name: column.udf_settings_sql for name, column in spec.transformed.items()},
        context=ReleaseContext(
            is_table=spec.source.is_table,
            input_order=spec.reading.order_columns,
            person_key=constraints.person_key,
            has_withheld_records=constraints.has_withheld_records,
            has_noise=spec.run.noise is not None,
            is_single_table=spec.is_single_table,
            view=constraints.view,
        ),
    )


def release_sql(spec: ReleaseSpec, *, with_losses: bool = False) -> str:
    """Return the SQL of the kind that a spec requests: rows, classes, metrics, inference, influence or membership.

    Before, for rows, classes and metrics, it is checked that the statement ends with the SELECT that the gate expects.

    Args:
        spec: The release spec.
        with_losses: Compute losses even if the kind does not need them, so that statements of all kinds have the same
            steps up to the gate.

    Raises:
        GateRefusedError: The statement ends otherwise.
        DbanonError: As `make_plan`.
    """
    release_plan = make_plan(spec)
    values = release_plan.template_values | {"follows": bool(release_plan.columns.pseudonym_columns)}
    values |= _wide_values(spec, release_plan)
    if with_losses:
        values["with_losses"] = True
    if spec.kind == "metrics":
        values["metrics"] = _applicable_metrics(release_plan, values, bool(spec.options.get("with_kl_divergence")))
    if spec.kind == "inference":
        values["support"] = spec.options["min_records"] or spec.k
    statement = templates.fill(f"release/{'plan/' if spec.run.noise is None else 'noise/'}{spec.kind}.sql", **values)
    last_select = _last_select(spec.kind, release_plan)
    return (
        statement if last_select is None else statement_check.check_last_select(spec.function, statement, last_select)
    )


def _wide_values(spec: ReleaseSpec, release_plan: Plan) -> dict[str, object]:
    """Return the template values of a statement with rows of columns; {} if it has one join per column."""
    quasi = release_plan.columns.quasi
    if (
        len(quasi) <= MAX_JOINED_COLUMNS
        or spec.kind not in _WIDE_KINDS
        or spec.run.noise is not None
        or spec.reading.whole_table is not None
    ):
        return {}
    blocks = number_blocks(quasi)
    return {
        "is_wide": True,
        "number_blocks": blocks,
        "tree_block": [q for q in quasi if not q.is_number],
        "first_in_block": {q.i: block[0] for block in blocks for q in block},
        "rule_blocks": rule_blocks(release_plan.gate_rules.rules),
    }


def _last_select(kind: str, release_plan: Plan) -> str | None:
    """Return the SELECT that must end a release's statement of this kind: rows, classes or metrics; None for others."""
    if kind == "release":
        return statement_check.released_rows(*map(release_plan.added_name, ("copies", "place", "copy")))
    if kind == "classes":
        return statement_check.released_classes(
            release_plan.added_name("class_id"),
            release_plan.added_name("suppressed") if release_plan.settings["suppress"] else None,
        )
    return statement_check.released_metrics() if kind == "metrics" else None


def published_names(spec: ReleaseSpec) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return two tuples of names: of all columns of the released rows, and of the quasi-identifiers among them.

    The last name of the first tuple is that of the column of classes. A quasi-identifier that is published as two
    bounds has two names.
    """
    schema = published_schema_of(spec)
    columns = _columns(spec, schema)
    return (*(c.raw_name for c in columns.output), schema.class_id), tuple(c.raw_name for c in columns.quasi_output)


def published_schema_of(spec: ReleaseSpec) -> PublishedSchema:
    """Return the names of all columns of a release's rows and classes, as a PublishedSchema."""
    quasi = {a.quasi.column: a.is_number for a in spec.attributes}
    return published_schema(spec.source.columns, quasi, spec.unchanged, spec.interval_format)


def fill_release_template(
    template: str, spec: ReleaseSpec, only_columns: Container[str] | None = None, **extra_values: object
) -> str:
    """Plan a release and fill another template with the plan's values; return the SQL.

    Args:
        template: The path of the template, below sql/.
        spec: The release spec.
        only_columns: If given, unchanged and sensitive columns that it does not contain are not read.
        extra_values: Further values of the template.
    """
    release_plan = make_plan(spec)
    if only_columns is not None:
        release_plan = replace(release_plan, columns=release_plan.columns.select(only_columns))
    return templates.fill(template, **(release_plan.template_values | extra_values))


def role_by_column(spec: ReleaseSpec) -> dict[str, str]:
    """Return the role of every source column in a release spec.

    It is quasi, sensitive, insensitive, person, pseudonym, mask or shift, or 'withheld' for all other columns. A
    pseudonym that identifies persons is a pseudonym.
    """
    persons = [] if spec.roles.person is None else [spec.roles.person]
    column_roles = {
        **{q.quasi.column: "quasi" for q in spec.attributes},
        **dict.fromkeys(spec.roles.sensitive, "sensitive"),
        **dict.fromkeys(spec.roles.insensitive, "insensitive"),
        **dict.fromkeys(persons, "person"),
        **spec.roles.transformed,
    }
    return {column: column_roles.get(column, "withheld") for column in spec.source.columns}


def _columns(spec: ReleaseSpec, schema: PublishedSchema) -> PlannedColumns:
    """Return the columns of a release as templates read them; `schema` has their names."""
    quasi = tuple(template_columns.quasi_column(spec, i, a) for i, a in enumerate(spec.attributes))
    unchanged = tuple(template_columns.unchanged_columns(spec))
    sensitive = tuple(template_columns.model_columns(spec, unchanged))
    tie_break = template_columns.tie_break_columns(spec, unchanged, sensitive)
    output_columns = {q.raw_name: _published_parts(schema.quasi[q.raw_name], "r.", q) for q in quasi}
    output_columns |= {u.raw_name: [PublishedColumn(u.raw_name, Sql(f"r.{u.column}"))] for u in unchanged}
    trees = [*(q for q in quasi if isinstance(q, TreeColumn)), *(s.tree for s in sensitive if s.tree is not None)]
    return PlannedColumns(
        quasi=quasi,
        generalized=tuple(q for q in quasi if not q.is_drawn),
        trees=tuple(trees),
        unchanged=unchanged,
        model_columns=sensitive,
        output=tuple(column for name in spec.source.columns for column in output_columns.get(name, ())),
        quasi_output=tuple(column for q in quasi for column in _published_parts(schema.quasi[q.raw_name], "", q)),
        check_combinations=sum(u.check_rare for u in unchanged) > 1,
        tie_break_columns=tie_break,
        tie_break_mode=template_columns.tie_break_mode(spec, tie_break),
        pseudonym_columns=tuple(u for u in unchanged if u.is_link),
        n_flat=sum(not a.is_number and a.hierarchy is None for a in spec.attributes),
        n_built=sum(a.is_number for a in spec.attributes) if spec.run.builds_levels else 0,
        counts_used_leaves=spec.options["leaves"] == "used",
    )


def _published_parts(parts: Sequence[PublishedPart], prefix: str, quasi: QuasiColumn) -> list[PublishedColumn]:
    """Return the published columns of one quasi-identifier, with SQL of their values.

    Args:
        parts: The names and kinds of the columns: one "value" (text), "low" and "high", or a "pair" (struct) of bounds.
        prefix: The qualifier, such as 'r.', of the columns from which they are made.
        quasi: The quasi-identifier.
    """
    is_dated = isinstance(quasi, NumberColumn) and quasi.is_dated
    value, low, high = (prefix + derived_reference(step, quasi.raw_name) for step in ("published", "low", "high"))
    pair = f"CASE WHEN {low} IS NOT NULL THEN {{'low': {low}, 'high': {high}}} END"
    expressions = {"value": value, "low": low, "high": high, "pair": pair}
    return [
        PublishedColumn(part.name, Sql(expressions[part.kind]), is_dated and part.kind == "value") for part in parts
    ]


def _source_values(spec: ReleaseSpec, columns: PlannedColumns) -> dict[str, object]:
    """Return the source as templates read it.

    If records are withheld or deferred, the source is a query without them.

    Returns:
        source: The relation of the records.
        origin: The relation that is read again later: the source, or a copy of it if it can be read only once.
        has_rowid: The relation has the pseudo-column rowid, and no column of that name.
        full_source: The source with the withheld records.
        person: SQL of the person of a record, or None.
        person_text: The form of the canonical text of a person, or None.
        key: SQL of the key of a record if other columns than a person identify persons, or None.
        coded: The columns with codes for missing values.
        order: The columns that give the arrival order of a stream.
        weight: The column with the number of records per row, or None.
        whole_table: The table that the source is a part of, or None.
    """
    person, key, source = (
        template_columns.person_value_sql(spec),
        template_columns.person_key_sql(spec),
        spec.source.read,
    )
    constraints = spec.version_constraints
    if constraints.has_withheld_records:
        source = Sql(
            templates.fill(
                "release/plan/withheld_records.sql",
                held=None,
                full_source=spec.source.read,
                version_constraints=constraints,
                person=person,
                person_text=template_columns.person_text_sql(spec),
                key=key,
                quasi=columns.quasi,
                unchanged=columns.unchanged,
            )
        )
    return {
        "source": source,
        "origin": source if is_read_by_gate(spec) else Sql("source_copy"),
        "has_rowid": has_rowid(spec),
        "full_source": spec.source.read,
        "person": person,
        "person_text": template_columns.person_text_sql(spec),
        "key": key,
        "coded": [
            CodedColumn(name, spec.column_sql(name))
            for name in spec.source.columns
            if spec.reading.missing_codes.get(name)
        ],
        "order": [identifier(name) for name in spec.reading.order_columns],
        "weight": spec.reading.weight,
        "whole_table": spec.reading.whole_table,
    }


def is_read_by_gate(spec: ReleaseSpec) -> bool:
    """Return whether the release gate reads the source itself, a second time.

    Otherwise, for a source that may return other rows or if records are withheld, it reads a copy of the first reading.
    """
    return spec.source.is_table and not spec.version_constraints.has_withheld_records


def has_rowid(spec: ReleaseSpec) -> bool:
    """Return whether the source has the pseudo-column rowid, also when it is read again, and no column of that name."""
    return is_read_by_gate(spec) and "rowid" not in map(str.lower, spec.source.columns)


def _settings(spec: ReleaseSpec, columns: PlannedColumns) -> dict[str, object]:
    """Return the values that only templates read: the selection of the records, the policy and the options.

    The selection:
        version_constraints: The constraints that withhold or defer records.
        kept_members: The membership of records that stay in their classes, or None.
        bounds: The least and greatest value (SQL) of quasi-identifiers; records with values outside are dropped. `i` is
            the number of the quasi-identifier, `column` the quoted name of its values in a statement.
        distinct: Duplicates are dropped.
        nulls: The treatment of NULL in quasi-identifiers.

    The policy at the time of planning, which the statement compares with the policy when it runs:
        bare: The name of the source that a temporary table could shadow, or None.
        fingerprint_sql: SQL of the fingerprint of the policy.
        fingerprint: The fingerprint at the time of planning.

    The options:
        k: The least number of records (persons) of a class.
        joint: Privacy models must hold within equal values of the other sensitive columns.
        suppress: The share of records that may be suppressed; None for none.
        max_suppressed: The greatest number of suppressed records, or None.
        typed: Intervals are published as bounds or structs, not as text.
        escape: Labels of leaves are escaped.
        sub_heights: Losses are relative to the edges below a node.
        magnitudes: The algorithm reads the values of numbers.
        widens: Classes are published wider than their records span.
        maybe: NULL may occur among the values of a class.
        noise: Noise is published instead of classes.
        by_column: Noise is drawn by column.
        request: The first argument of the clustering UDF.
        version: Always None here.
        is_wide: Relations have one row per column in place of one join per column; False here (see `_wide_values`).
    """
    preprocessing, noise = spec.run.preprocessing, spec.run.noise
    return {
        "version_constraints": spec.version_constraints,
        "kept_members": spec.version_constraints.kept_members,
        "bounds": [
            {"i": q.i, "column": q.column, "low": low, "high": high}
            for q in columns.quasi
            if q.raw_name in preprocessing.bounds
            for low, high in [preprocessing.bounds[q.raw_name]]
        ],
        "distinct": preprocessing.distinct,
        "nulls": str(spec.options["nulls"]),
        "bare": text(spec.source.table.lower()) if spec.source.bare else None,
        "fingerprint_sql": spec.policy.fingerprint_sql,
        "fingerprint": text(spec.policy.fingerprint),
        "k": spec.k,
        "joint": spec.is_joint,
        "suppress": Sql(repr(spec.options["suppress"])) if spec.options["suppress"] else None,
        "max_suppressed": spec.run.max_suppressed,
        "typed": spec.interval_format != "text",
        "escape": bool(spec.options["escape_labels"]),
        "sub_heights": spec.options["loss_height"] == "sub",
        "magnitudes": spec.run.reads_magnitudes,
        "widens": spec.run.widens_classes,
        "maybe": spec.run.maybe_match,
        "noise": noise is not None,
        "by_column": noise is not None and noise.by_column,
        "request": cluster_request_json(spec),
        "version": None,
        "is_wide": False,
    }


def _applicable_metrics(
    release_plan: Plan, values: Mapping[str, object], with_divergence: bool
) -> list[dict[str, object]]:
    """Return the metrics that apply to a release, in order, as templates read them.

    Args:
        release_plan: The plan of the release.
        values: The values of the templates.
        with_divergence: Also include the expensive KL divergence.

    Returns:
        For each metric:
            name, better, description: SQL literals of texts; `better` is 'higher' or 'lower'.
            position: The metric's position in the order of all metrics.
            is_publishable: SQL literal: whether it follows from published values.
            value: SQL of the value, from the row `totals` or the rows `column_totals` (see `per`); empty if `sql` is
                given.
            sql: A SELECT of (metric, detail, value); empty if `value` is given.
            per: 'column' or 'number' if `value` is that of each quasi-identifier or number; empty if it is of all.
            is_optional: `sql` may return no row, and there is no metric then.
    """
    columns, person = release_plan.columns, values["person"] is not None
    requirements_met = {
        "sensitive": any(u.is_sensitive for u in columns.unchanged),
        "person": person,
        "number": any(q.is_number for q in columns.quasi),
        "unchanged": any(not u.is_link for u in columns.unchanged),
        "link": bool(columns.pseudonym_columns),
        "divergence": with_divergence,
        "missing": bool(values["coded"]),
        "levels": columns.n_built > 0,
        "": True,
    }
    parameters = {m.parameter for s in columns.model_columns for m in s.models}
    kind = "noise" if values["noise"] else "classes"
    views: list[dict[str, object]] = [
        {
            "name": text(m.name),
            "better": text(m.better),
            "description": text(m.describe(person)),
            "position": position,
            "is_publishable": literal(
                kind not in m.custodian and not (columns.counts_used_leaves and m.name in metrics.LEAF_METRICS)
            ),
            "value": templates.fill_text(m.value, values),
            "sql": Sql(templates.fill_text(m.sql, {**values, "metric": m.name, "metric_name": text(m.name)}).strip()),
            "per": m.per,
            "is_optional": m.is_optional,
        }
        for position, m in enumerate(metrics.all_metrics())
        if requirements_met.get(m.requires, m.requires in parameters) and kind in m.applies_to
    ]
    return [view for view in views if view["value"] or view["sql"]]
