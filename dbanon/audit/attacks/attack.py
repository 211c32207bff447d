"""attack('release', kind = ...): run an attack on a release, and report who is exposed and how often it is right."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from dbanon import errors
from dbanon.audit import audit_context, column_pairs, release_lookup
from dbanon.audit.attacks.attack_kinds import KINDS, Attack
from dbanon.audit.audit_context import AuditContext
from dbanon.audit.column_pairs import PairedColumn
from dbanon.audit.parameters import HIERARCHIES, QI, SENSITIVE
from dbanon.errors.example import SAFE, Example
from dbanon.policy.hierarchies import hierarchy_sql
from dbanon.policy.hierarchies.messages import hierarchy_messages
from dbanon.release.spec import resolve
from dbanon.source.catalog import Source
from dbanon.source.column_types import NUMERIC_FAMILIES, family, is_zoned, label_text, person_value
from dbanon.sqltext.column_labels import column_reference
from dbanon.sqltext.messages import error_sql
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, as_json, identifier, join_sql, literal, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameter_types import MAX_SEED, Choice, Float, Integer, Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction


def attack_sql(call: Call) -> Sql:
    """Return the SQL of the table functions attack() and attack_summary(), which run an attack on a release.

    The first gives one row per exposed person or class, the second totals.

    Raises:
        UnknownTableError, UnknownColumnError, UnknownRoleError, UnknownHierarchyError: A name does not exist.
        SensitiveColumnMissingError, SensitiveHierarchyMissingError, MissingArgumentError: The attack needs a column,
            hierarchy or argument that is missing.
        UnsupportedPersonError, UnsupportedTypeError, UnsupportedSettingError: A column cannot be counted or compared.
        UnusedArgumentError: An argument would have no effect.
        MissingExtraError: scikit-learn is not installed (raised when the SQL runs).
        DbanonError: As `audit_context.resolve_context` and `context_hierarchies`.
    """
    function, options = call.function.name, call.options
    kind = KINDS[str(options["kind"])]
    _check_options(function, kind, options)
    with_sensitive = kind.target in ("sensitive", "both")
    context = audit_context.resolve_context(call, with_sensitive=with_sensitive, with_person=False, needs_source=True)
    constraint = _known_constraint(call, context, kind)
    if kind.target == "sensitive" and not context.sensitive:
        raise errors.SensitiveColumnMissingError(function, kind.name, context.release.shown)
    hierarchies = audit_context.context_hierarchies(call, context, other_columns=context.sensitive)
    pairs = audit_context.source_pairs(call, context, hierarchies, "classes")
    attributes = [replace(pair, qi_index=pair.i) for pair in pairs]
    values = audit_context.class_values(context)
    values["sensitive"] = _sensitive_values(call, context, kind.name, hierarchies)
    values |= _register_values(call, context, hierarchies) | {
        "kind": kind.name,
        "calls_python": kind.calls_python,
        "weighs_people": kind.weighs_people,
        "attributes": attributes,
        "people": context.source.rows,
        "identity": _identity_text(call, context, context.source, context.qi),
        "threshold": literal(_exposure_threshold(kind, options, constraint.alpha)),
        "above": kind.name == "minimality" and options["threshold"] is None,
        "alpha": literal(constraint.alpha),
        "k": constraint.k,
        "seed": options["seed"],
        "train": literal(options.number("train")),
        "request": as_json(
            {"kind": kind.name, "function": function, "session": call.session.token, "seed": options["seed"]}
            | _loss_request(context, attributes)
        ),
        "known_negatives": options["known_negatives"],
        "sample": options["sample"],
        "is_sampled": kind.name != "linkage" and options["sample"] is not None,
        "targets": _guess_targets(context, kind),
        "has_person": _has_person(call, context, context.source),
        "sources": [
            {**column_pairs.source_check_values(function, s), **context.fingerprints}
            for s in (context.source, context.release)
        ],
        "column_messages": column_pairs.column_message_values(function, context.release),
        "say": {
            "policy_changed": error_sql(errors.PolicyChangedError(function, context.source.shown)),
            "empty": error_sql(errors.EmptySourceError(function, context.release.shown)),
            "empty_source": error_sql(errors.EmptySourceError(function, context.source.shown)),
        },
        "body": kind.template_path,
    }
    return Sql(fill("audit/attacks/rows.sql" if function == "attack" else "audit/attacks/summary.sql", **values))


def _guess_targets(context: AuditContext, kind: Attack) -> list[dict[str, object]]:
    """Return number and SQL label of each column that the attack guesses: quasi-identifiers, then sensitive columns.

    `kind.target` decides: "quasi" or "sensitive" for one of both, "both" for all. For "person" (the attack guesses the
    person of a record) there is one target with number 0 and label NULL.
    """
    if kind.target == "person":
        return [{"number": 0, "label": Sql("NULL")}]
    columns = (
        *(context.qi if kind.target != "sensitive" else ()),
        *(context.sensitive if kind.target != "quasi" else ()),
    )
    return [{"number": i, "label": text(name)} for i, name in enumerate(columns)]


def _register_values(
    call: Call, context: AuditContext, hierarchies: Mapping[str, tuple[str, str | None]]
) -> dict[str, object]:
    """Return template values of the register, a table of other people that the call may name.

    `others` lists the columns of the register paired with the quasi-identifiers that it has. `other_of` has the pair of
    each quasi-identifier, or None. `register` is SQL of its rows, `other_identity` SQL of a person's identity. Without
    a register only `others` and `other_of` are returned, as empty lists. `register_has_person` is true if a person
    column identifies people both in the source and in the register.

    `hierarchies` are those of the columns, as `audit_context.context_hierarchies` returns them.
    """
    name = call.options.text("register")
    if name is None:
        return {"others": [], "other_of": []}
    table = audit_context.resolve_people_table(call, context, name)
    pairs = audit_context.people_table_pairs(call, context, table, hierarchies)
    shared = [column for column in table.columns if fold_case(column) in {fold_case(n) for n in context.qi}]
    by_column = {o.qi_index: o for o in pairs}
    return {
        "others": pairs,
        "other_of": [by_column.get(i) for i in range(len(context.qi))],
        "register": table.rows,
        "other_identity": _identity_text(call, context, table, shared),
        "register_has_person": _has_person(call, context, table),
    }


_OPTIONAL_PARAMETERS = ("register", "k", "l", "alpha", "sample")
"""Parameters without a default, which are refused if the attack does not use them."""


def _check_options(function: str, kind: Attack, options: Options) -> None:
    """Check that the call gives no optional argument that the attack does not use, and those that the attack needs.

    Only register, k, l, alpha and sample are checked; alpha and l exclude each other. Linkage and membership need a
    register.

    Raises:
        UnusedArgumentError: The attack does not use an argument.
        MissingArgumentError: The attack needs an argument.
    """
    for name in _OPTIONAL_PARAMETERS:
        if name not in kind.own_parameters and options[name] is not None:
            raise errors.UnusedArgumentError(function, name, f"it is not about {kind.name}")
    if kind.name in ("linkage", "membership") and options["register"] is None:
        raise errors.MissingArgumentError(function, "register", "a table's name", "register = 'citizens'")
    if kind.name == "minimality" and options["alpha"] is not None and options["l"] is not None:
        raise errors.UnusedArgumentError(function, "l", "alpha is given")


def _exposure_threshold(kind: Attack, options: Options, alpha: float) -> float:
    """Return the confidence from which a person counts as exposed: the call's `threshold`, else the default.

    The default is `kind.threshold`; for the attack "minimality" it is `alpha`, the greatest share of a value in a
    class.
    """
    threshold = options.number("threshold")
    if threshold is not None:
        return threshold
    return alpha if kind.name == "minimality" else kind.threshold


def _loss_request(context: AuditContext, attributes: Sequence[PairedColumn]) -> dict[str, object]:
    """Return what the refinement attack assumes about the loss of information that the algorithm minimized.

    `leaves` is true if a node of a hierarchy loses its share of the leaves (objective `ncp` in the ledger), false if it
    loses its share of the levels. `columns` has a dict for each of `attributes`, the quasi-identifiers as columns of
    release and source: is_number, is_tree (it has a hierarchy), step, and weight. The weight is that in the ledger,
    else the declared one, else 1.
    """
    options = {} if context.ledger_entry is None else context.ledger_entry.options
    call_weights = options.get("weights")
    weights = {fold_case(row.column): row.settings.weight for row in context.declared}
    if isinstance(call_weights, Mapping):
        weights |= {fold_case(str(name)): float(weight) for name, weight in call_weights.items()}
    return {
        "leaves": options.get("objective") == "ncp",
        "columns": [
            {
                "is_number": a.is_number,
                "is_tree": a.has_hierarchy,
                "step": a.step,
                "weight": weights.get(fold_case(a.raw_name), 1.0),
            }
            for a in attributes
        ],
    }


class _KnownConstraint(NamedTuple):
    """The privacy constraint that the algorithm of a release kept, as the attacker knows it.

    Attributes:
        k: Minimum number of records in a class; None: the size of the smallest class.
        alpha: Maximum share of a value in a class.
    """

    k: int | None = None
    alpha: float = 1.0


def _known_constraint(call: Call, context: AuditContext, kind: Attack) -> _KnownConstraint:
    """Return the privacy constraint that an attack assumes, from the call, else from the ledger.

    For attacks that do not use k it is without effect (k None, alpha 1). The refinement attack uses only k. An `l` of
    the call means alpha = 1 / l, as in Wong et al. 2007.

    Raises:
        MissingArgumentError: The minimality attack needs alpha, which is neither given nor in the ledger.
        LedgerMismatchError: The call and the ledger differ.
    """
    if "k" not in kind.own_parameters:
        return _KnownConstraint()
    k, min_l = release_lookup.release_parameter(call, context.ledger_entry, "k"), call.options.number("l")
    if kind.name == "refinement":
        return _KnownConstraint(None if k is None else int(k))
    alpha = 1 / min_l if min_l is not None else release_lookup.release_parameter(call, context.ledger_entry, "alpha")
    if alpha is None:
        accepts = "a number above 0 and at most 1, or l"
        raise errors.MissingArgumentError(context.function, "alpha", accepts, "alpha = 0.5")
    return _KnownConstraint(None if k is None else int(k), alpha)


def _has_person(call: Call, context: AuditContext, table: Source) -> bool:
    """Return whether a person column, named in the call or declared, identifies the people of source and `table`.

    A declared column counts only if both tables have it. A named one that a table lacks is an error elsewhere.
    """
    return call.options["person"] is not None or any(
        row.role.lower() == "person"
        and table.spelled(row.column) is not None
        and context.source.spelled(row.column) is not None
        for row in context.declared
    )


def _identity_text(call: Call, context: AuditContext, table: Source, columns: Sequence[str] | Mapping[str, Sql]) -> Sql:
    """Return SQL of a text that identifies the person of a record in `table`.

    It is the person column that the call names, else the declared one if the table has it. Without any it is the values
    of `columns` (names of quasi-identifiers; of a mapping only the keys are used) as one text.

    Raises:
        UnsupportedPersonError: The type of the person column that the call names is not supported.
        UnknownColumnError: The table does not have a named column.
    """
    requested = call.options.text("person")
    if requested is not None:
        name = table.column(context.function, requested, "person")
        if person_value(identifier(name), table.columns[name]) is None:
            raise errors.UnsupportedPersonError(context.function, table.shown, name, table.columns[name])
        return label_text(identifier(name), table.columns[name])
    for row in context.declared:
        person = table.spelled(row.column)
        if row.role.lower() == "person" and person is not None:
            return label_text(identifier(person), table.columns[person])
    names = [table.column(context.function, name, "qi") for name in columns]
    types = ((identifier(name), table.columns[name]) for name in names)
    fields = join_sql(
        f"{column} := {label_text(column, type_) if is_zoned(type_) else column}" for column, type_ in types
    )
    return Sql(f"CAST(struct_pack({fields}) AS VARCHAR)")


def _sensitive_values(
    call: Call, context: AuditContext, kind: str, hierarchies: Mapping[str, tuple[str, str | None]]
) -> list[dict[str, object]]:
    """Return template values of each sensitive column: SQL of the values in release, source and register; hierarchy.

    All values are compared as texts. `true_value` is NULL and `is_known` false if the source does not have the column.
    `other_value` is None except for the prediction attack with a register.

    `kind` is the name of the kind of attack; `hierarchies` are those of the columns, as
    `audit_context.context_hierarchies` returns them.

    Raises:
        UnknownTableError, UnknownColumnError: The register does not exist, or the attack needs a column in the source
            or register, which does not have it.
        SensitiveHierarchyMissingError: The similarity attack finds no hierarchy for any sensitive column.
    """
    register_name = call.options.text("register") if kind == "prediction" else None
    register = None if register_name is None else audit_context.resolve_people_table(call, context, register_name)
    columns: list[dict[str, object]] = []
    for i, name in enumerate(context.sensitive):
        source_column = context.source.spelled(name)
        if kind in ("prediction", "reconstruction", "majority"):
            source_column = context.source.column(context.function, name, "sensitive")
        hierarchy = hierarchies.get(name)
        columns.append(
            {
                "i": i,
                "raw_name": name,
                "column": column_reference(name),
                "label": text(name),
                "value": _comparable_text(context.release, name),
                "true_value": Sql("NULL::VARCHAR")
                if source_column is None
                else _comparable_text(context.source, source_column),
                "is_known": source_column is not None,
                "is_numeric": family(context.release.columns[name])[0] in NUMERIC_FAMILIES,
                "other_value": None
                if register is None
                else _comparable_text(register, register.column(context.function, name, "sensitive")),
                "rows": None,
                "nodes": None
                if hierarchy is None
                else hierarchy_sql.rows(resolve.sensitive_hierarchy(call, context.source, name, hierarchy[0])),
                "say": hierarchy_messages(
                    context.release.shown, name, (hierarchy or ("none",))[0], (hierarchy or (None, None))[1]
                ),
            }
        )
    if kind == "similarity" and not any(s["nodes"] for s in columns):
        raise errors.SensitiveHierarchyMissingError(
            context.function, context.release.shown, context.sensitive[0], "kind = 'similarity'"
        )
    return columns


def _comparable_text(table: Source, name: str) -> Sql:
    """Return SQL of a column as text, such that two texts are equal exactly if the values are; -0.0 equals 0.0."""
    type_ = table.columns[name]
    value = f"({identifier(name)} + 0::{type_})" if type_ in ("FLOAT", "DOUBLE") else identifier(name)
    return Sql(f"{label_text(Sql(value), type_)} COLLATE POSIX")


# --- the table functions -----------------------------------------------------------------------------------

_PARAMETERS = (
    Parameter(
        "kind",
        Choice(tuple(KINDS)),
        "The attack: what the attacker knows and does.",
        required=True,
        example="kind = 'homogeneity'",
    ),
    Parameter(
        "source",
        Text("a table's name"),
        "The table that was released, with the people whom the attacker looks for and their true values; default: "
        "that of the ledger.",
    ),
    QI,
    SENSITIVE,
    Parameter(
        "person",
        Text("a column name"),
        "The column of the source that identifies people; default: the declared person column, otherwise the "
        "quasi-identifiers.",
    ),
    HIERARCHIES,
    Parameter(
        "register",
        Text("a table's name"),
        "linkage, membership: the table of known people. prediction: other people, with their sensitive values, which "
        "are guessed.",
    ),
    Parameter(
        "threshold",
        Float(0, 1),
        "Least confidence at which a person counts as exposed. Default: 1 for homogeneity, similarity and "
        "background; more than alpha for minimality; 0.5 for other attacks. skewness: least gain over the whole "
        "table, default 0.2.",
    ),
    Parameter(
        "known_negatives", Integer(0), "background: number of sensitive values that the attacker can rule out.", 1
    ),
    Parameter(
        "k",
        Integer(1),
        "minimality, refinement: the k of the release; default: that of the ledger, or its smallest class.",
    ),
    Parameter("l", Integer(2), "minimality: in the release, no value has a share above 1 / l of a class."),
    Parameter(
        "alpha",
        Float(0, 1, above=True),
        "minimality: the greatest share of a value in a class of the release; default: that of the ledger.",
    ),
    Parameter(
        "sample",
        Integer(1),
        "linkage, majority: number of records of the register (the source) that are tried, drawn by a hash; default: "
        "all.",
    ),
    Parameter(
        "seed",
        Integer(0, MAX_SEED),
        "prediction: seed of the split and of the forest; sample: seed of the drawn records.",
        1,
    ),
    Parameter(
        "train",
        Float(0, 1, above=True),
        "prediction: share of the people whose records the model learns from; the others are guessed.",
        0.67,
    ),
)


FUNCTIONS = (
    TableFunction(
        "attack",
        ("release",),
        _PARAMETERS,
        "Returns the people or classes that an attack exposes, one row per guess: the guess, the attacker's "
        "confidence with and without the release, and how often the guess is right.",
        handler=attack_sql,
        example=Example(
            "SELECT guess, confidence, people FROM attack('safe', kind = 'homogeneity') LIMIT 5;",
            SAFE,
        ),
    ),
    TableFunction(
        "attack_summary",
        ("release",),
        _PARAMETERS,
        "Returns the overall gain of an attack, compared with guessing the most frequent value and with the same "
        "attack on the raw data.",
        handler=attack_sql,
        example=Example(
            "SELECT name, value, raw_baseline FROM attack_summary('safe', kind = 'reconstruction');",
            SAFE,
        ),
    ),
)
