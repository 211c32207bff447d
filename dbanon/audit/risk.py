"""risk('release') and its parts: disclosure risk and distortion, each metric with the classes that cause it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from dbanon import errors
from dbanon.audit import anonymity, audit_context, column_pairs, risk_metrics
from dbanon.audit.audit_context import AuditContext
from dbanon.audit.column_pairs import PairedColumn
from dbanon.audit.parameters import (
    CLASSES,
    HIERARCHIES,
    PERSON,
    QI,
    SENSITIVE,
    SOURCE,
    SUPPRESSED,
    without_suppressed,
)
from dbanon.errors.example import SAFE, Example
from dbanon.source.catalog import Source
from dbanon.source.column_types import has_equal_texts, person_value
from dbanon.sqltext.column_labels import column_reference, derived_reference
from dbanon.sqltext.messages import error_sql
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, literal
from dbanon.sqltext.templates import fill
from dbanon.table_functions.parameter_types import MAX_SEED, Boolean, Float, Integer, PerColumn, Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction

_SOURCE_METRICS = ("distortion", "infeasible_classes")
"""Metrics that compare published values with those of the source."""


def cell_relation_values(
    source: Source, attributes: Sequence[PairedColumn], name: str, person: Sql | None
) -> dict[str, object]:
    """Return the values of the template of a CTE with one row per combination of values in a table, and its count.

    Args:
        source: The table.
        attributes: The columns that are combined.
        name: The name of the CTE.
        person: SQL that identifies the person of a record, which is part of the combination; None without one.
    """
    return {"name": Sql(name), "source": source.rows, "attributes": attributes, "person": person}


def risk_sql(call: Call, *, groups: tuple[str, ...]) -> Sql:
    """Return the SQL of risk() and of the table functions that return some of its metrics.

    Metrics that cannot be computed for the release are omitted if `groups` has others.

    Args:
        call: The call.
        groups: The groups of metrics that the function returns: all of `_ALL` for risk(), else the one of its name.

    Raises:
        UnknownTableError, UnknownColumnError, UnknownRoleError, UnknownHierarchyError: A name does not exist.
        SensitiveColumnMissingError, MissingArgumentError: The metric needs a sensitive column or an argument.
        UnsupportedPersonError, UnsupportedTypeError, UnsupportedSettingError: A column cannot be counted or compared.
        UnusedArgumentError: An argument would have no effect.
        DbanonError: As `audit_context.resolve_context` and `context_hierarchies`.
    """
    function, options = call.function.name, call.options
    suppressed: str | None = options.get("suppressed")
    with_sensitive = "disclosure" in groups or "exposure" in groups
    context = audit_context.resolve_context(
        call, with_sensitive=with_sensitive, needs_source=function in _SOURCE_METRICS
    )
    counted = without_suppressed(context.release, context.qi.values(), suppressed)
    context = replace(context, release=counted, source=context.source if context.has_source else counted)
    if with_sensitive and not context.sensitive and function != "risk":
        raise errors.SensitiveColumnMissingError(function, function, context.release.shown)
    groups = _available_groups(context, groups)
    population = _population_table(call, context)
    fraction = options.number("fraction")
    if population is not None and fraction is not None:
        raise errors.UnusedArgumentError(function, "fraction", "a population is given")
    needs_hierarchies = population is not None or any(g in _SOURCE_METRICS for g in groups)
    needs_hierarchies = needs_hierarchies or bool(options.get("hierarchies"))
    hierarchies = audit_context.context_hierarchies(call, context) if needs_hierarchies else {}
    threshold = options.number("threshold") or 0.0
    sample = float(options.get("sample", 1.0))
    weights = _influence_weights(call, context)
    source_pairs = (
        _source_pairs(call, context, hierarchies, weights) if any(g in _SOURCE_METRICS for g in groups) else []
    )
    cell_relations = [cell_relation_values(context.source, source_pairs, "source_cells", None)] if source_pairs else []
    population_pairs: list[PairedColumn] = []
    if population is not None:
        population_pairs = audit_context.people_table_pairs(call, context, population, hierarchies)
        cell_relations.append(
            cell_relation_values(
                population, population_pairs, "population_cells", _declared_person_value(context, population)
            )
        )
    metrics = risk_metrics.metric_values(context, groups, population is not None, fraction is not None, sample < 1)
    return Sql(
        fill(
            "audit/risk/risk_metrics.sql",
            **audit_context.class_values(context, options.get("classes", "published")),
            **_unchanged_values(context),
            column_messages=column_pairs.column_message_values(function, context.release),
            attributes=source_pairs,
            others=population_pairs,
            raws=cell_relations,
            fraction=None if fraction is None else literal(fraction),
            threshold=literal(threshold),
            ties=bool(options.get("count_ties")),
            sample=None if sample == 1 else literal(sample),
            seed=options.get("seed"),
            norm=bool(options.get("normalize_levels")),
            max_interval_share=literal(float(options.get("max_interval_share", 0.5))),
            metrics=metrics,
            kinds=list({str(m["kind"]): m for m in metrics if m["of"] != "dominant_share"}.values()),
            **_check_values(function, context, population),
        )
    )


def _unchanged_values(context: AuditContext) -> dict[str, object]:
    """Return the template values of the columns that are published unchanged, by what readers see of them."""
    unchanged, columns = [], []
    for name in context.passthrough:
        type_ = context.release.columns[name]
        if name in context.sensitive and has_equal_texts(type_):
            columns.append(column_reference(name))
            continue
        text_value = Sql(f"{identifier(name)}::VARCHAR COLLATE POSIX")
        value = anonymity.comparable_value(name, type_) if has_equal_texts(type_) else text_value
        columns.append(derived_reference("unchanged", name))
        unchanged.append({"column": columns[-1], "value": value})
    return {"unchanged": unchanged, "unchanged_columns": columns}


def _check_values(function: str, context: AuditContext, population: Source | None) -> dict[str, object]:
    """Return the template values that check the tables when the statement runs, and the messages of the checks.

    Args:
        function: The calling function.
        context: The tables and columns that are measured.
        population: The table of the population; None without one.
    """
    return {
        "sources": [
            {**column_pairs.source_check_values(function, s), **context.fingerprints}
            for s in (context.source, context.release, *([population] if population else ()))
        ],
        "say": {
            "policy_changed": error_sql(errors.PolicyChangedError(function, context.source.shown)),
            "empty": error_sql(errors.EmptySourceError(function, context.release.shown)),
            "empty_source": error_sql(errors.EmptySourceError(function, context.source.shown)),
        },
    }


def _available_groups(context: AuditContext, groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return those of the groups of metrics that can be computed for a release.

    "distortion" and "infeasible_classes" need the source; "together" needs columns that are published unchanged.
    """
    if not context.has_source:
        groups = tuple(g for g in groups if g not in _SOURCE_METRICS)
    return groups if context.passthrough else tuple(g for g in groups if g != "together")


def _influence_weights(call: Call, context: AuditContext) -> dict[str, float]:
    """Return the weights of columns in the distortion that the call gives, by lower-case name.

    Raises:
        UnknownColumnError: A weighted column is not a quasi-identifier.
    """
    weights = {fold_case(name): weight for name, weight in call.options.per_column("influence").items()}
    for name in weights:
        if name not in {fold_case(column) for column in context.qi}:
            raise errors.UnknownColumnError(
                call.function.name, context.source.shown, name, "influence", tuple(context.qi)
            )
    return weights


def _source_pairs(
    call: Call, context: AuditContext, hierarchies: Mapping[str, tuple[str, str | None]], weights: Mapping[str, float]
) -> list[PairedColumn]:
    """Pair the published quasi-identifiers with the columns of the source, each with its weight in the distortion.

    `hierarchies` are those of the columns, `weights` those that the call gives, by lower-case name (default 1).
    """
    return [
        replace(pair, influence=literal(weights.get(fold_case(pair.raw_name), 1)))
        for pair in audit_context.source_pairs(call, context, hierarchies, "classes")
    ]


def _population_table(call: Call, context: AuditContext) -> Source | None:
    """Return the table that the call's parameter `population` names; None if it is not given.

    Raises:
        UnknownTableError: The table does not exist.
    """
    name = call.options.text("population")
    return None if name is None else audit_context.resolve_people_table(call, context, name)


def _declared_person_value(context: AuditContext, table: Source) -> Sql | None:
    """Return SQL of the person of a record in `table`, by the column that the policy of the source declares as person.

    None if the table does not have this column or its type is not supported.
    """
    person_columns = (table.spelled(row.column) for row in context.declared if row.role.lower() == "person")
    return next(
        (person_value(identifier(name), table.columns[name]) for name in person_columns if name is not None), None
    )


# --- the table functions -----------------------------------------------------------------------------------

_POPULATION = Parameter(
    "population",
    Text("a table's name"),
    "A table of all people among whom the released people may be, with quasi-identifiers as in the source.",
)
_FRACTION = Parameter(
    "fraction",
    Float(0, 1, above=True),
    "Instead of a population table: the share of the population that was released; a class represents size / "
    "fraction people.",
)
_THRESHOLD = Parameter("threshold", Float(0, 1), "Records whose risk is above this threshold are at risk.", 0.2)
_COUNT_TIES = Parameter(
    "count_ties",
    Boolean(),
    "Count classes as exposed in which another value is as frequent as the dominant one.",
    False,
)
_SAMPLE = Parameter(
    "sample",
    Float(0, 1, above=True),
    "Share of the classes, rounded up, from which the number is estimated; they are drawn by a hash of their "
    "published values.",
    1.0,
)
_INFLUENCE = Parameter(
    "influence", PerColumn(Float(0), "{'age': 0.8}"), "Weight of a column in the distortion; default 1."
)
_NORMALIZE_LEVELS = Parameter(
    "normalize_levels",
    Boolean(),
    "Divide levels by the greatest one, so that * counts 1; by default they are divided by their number, as in the "
    "paper.",
    False,
)
_MAX_INTERVAL_SHARE = Parameter(
    "max_interval_share",
    Float(0, 1),
    "Share of a column's range above which an interval is too wide.",
    0.5,
)

_REIDENTIFICATION = (_POPULATION, _FRACTION, _THRESHOLD)
_ALL = ("reidentification", "uniqueness", "together", "disclosure", "exposure", "distortion", "infeasible_classes")
"""The groups of metrics of `risk`; each other function returns the group of its name."""

_FUNCTIONS: tuple[tuple[str, tuple[Parameter, ...], str, str], ...] = (
    (
        "risk",
        (
            *(SOURCE, QI, SENSITIVE, PERSON, CLASSES, HIERARCHIES, *_REIDENTIFICATION),
            *(_COUNT_TIES, _INFLUENCE, _NORMALIZE_LEVELS, _MAX_INTERVAL_SHARE, SUPPRESSED),
        ),
        "Returns all risk metrics, one per row, each with the classes that determine it: those of reidentification, "
        "uniqueness, disclosure, exposure, distortion and infeasible_classes.",
        "SELECT name, sensitive, value, classes, records FROM risk('safe', threshold = 0.1);",
    ),
    (
        "reidentification",
        (SOURCE, QI, PERSON, CLASSES, HIERARCHIES, *_REIDENTIFICATION, SUPPRESSED),
        "Returns the risk that a record is re-identified: prosecutor, journalist and marketer risk; highest, "
        "average, and share of records above a threshold.",
        "SELECT name, value FROM reidentification('safe', fraction = 0.01);",
    ),
    (
        "uniqueness",
        (SOURCE, QI, PERSON, CLASSES, HIERARCHIES, _POPULATION, SUPPRESSED),
        "Returns the share of records that are alone in their class and, with a population table, of records that "
        "match exactly one person in it.",
        "SELECT name, value FROM uniqueness('safe', population = 'patients');",
    ),
    (
        "disclosure",
        (SOURCE, QI, SENSITIVE, PERSON, CLASSES, SUPPRESSED),
        "Returns the risk that a sensitive value is guessed from a class: by the values of the class, and by its "
        "dominant value (Majeed et al. 2024, Eq. 13).",
        "SELECT name, value, worst FROM disclosure('safe');",
    ),
    (
        "exposure",
        (
            *(SOURCE, QI, SENSITIVE, PERSON, CLASSES, _COUNT_TIES, _SAMPLE),
            Parameter("seed", Integer(0, MAX_SEED), "Seed of the sample.", 0),
            SUPPRESSED,
        ),
        "Returns the share of the table's most frequent sensitive value that is in classes where it is the most "
        "frequent one (Majeed et al. 2024, Eq. 15); NULL if it does not occur in the sample.",
        "SELECT value, classes FROM exposure('safe', count_ties = true);",
    ),
    (
        "distortion",
        (SOURCE, QI, HIERARCHIES, _INFLUENCE, _NORMALIZE_LEVELS),
        "Returns the average level to which quasi-identifiers were generalized, weighted by influence (Majeed et al. "
        "2024, Eq. 16).",
        "SELECT value FROM distortion('safe', influence = {'sex': 0.2, 'zip': 1.5});",
    ),
    (
        "infeasible_classes",
        (SOURCE, QI, HIERARCHIES, _MAX_INTERVAL_SHARE),
        "Returns the number of classes that give inaccurate answers to queries: those with suppressed, open or wide "
        "values (Majeed et al. 2024, Eq. 17).",
        "SELECT value, worst FROM infeasible_classes('safe', max_interval_share = 0.3);",
    ),
)
"""Name, parameters, description and example."""

FUNCTIONS = tuple(
    TableFunction(
        name,
        ("release",),
        parameters,
        description,
        handler=partial(risk_sql, groups=_ALL if name == "risk" else (name,)),
        example=Example(example, SAFE),
    )
    for name, parameters, description, example in _FUNCTIONS
)
