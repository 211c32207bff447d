"""Attacks on a release, as somebody would run them who has it: whom they expose, how sure, how often right."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from dbanon import errors
from dbanon.audit import audit_context, column_pairs, release_lookup
from dbanon.audit.attacks.attack_kinds import KINDS, Attack
from dbanon.audit.audit_context import Tables
from dbanon.audit.column_pairs import Pair, PairedColumn
from dbanon.audit.parameters import HIERARCHIES, QI, SENSITIVE
from dbanon.errors.example import SAFE, Example
from dbanon.policy.hierarchies import hierarchy_sql
from dbanon.policy.hierarchies.messages import tree_messages
from dbanon.release.spec import resolve
from dbanon.source.catalog import Source
from dbanon.source.column_types import family, is_zoned, label_text, person_value
from dbanon.sqltext.quote import Sql, as_json, identifier, join_sql, literal, text
from dbanon.sqltext.templates import error_sql, fill
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameter_types import MAX_SEED, Choice, Float, Integer, Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction


def statement(call: Call) -> Sql:
    """Return the SQL of `attack(release, kind=..., source=...)` and of `attack_summary`.

    Raises UnknownTableError, UnknownColumnError, UnknownRoleError, ConflictingRolesError, PolicyMissingError,
    NoCommonQuasiIdentifiersError, SensitiveColumnMissingError, SensitiveHierarchyMissingError, UnsupportedPersonError,
    UnsupportedTypeError, UnsupportedSettingError, UnknownHierarchyError, MissingArgumentError, UnusedArgumentError,
    MissingExtraError, and of a release of the ledger what `released.resolved` and `released.hierarchies` raise.
    """
    function, options = call.function.name, call.options
    kind = KINDS[str(options["kind"])]
    _check(function, kind, options)
    judges = kind.guesses in ("sensitive", "both")
    tables = audit_context.resolved(call, judges=judges, counts_persons=False, needs_source=True)
    bounds = _bounds(call, tables, kind)
    if kind.guesses == "sensitive" and not tables.sensitive:
        raise errors.SensitiveColumnMissingError(function, kind.name, tables.release.shown)
    own = audit_context.hierarchies(call, tables, others=tables.sensitive)
    attributes = [
        replace(
            column_pairs.attribute(call, tables.release, tables.source, Pair(i, column, published, own.get(column))),
            q=i,
        )
        for i, (column, published) in enumerate(tables.qi.items())
    ]
    values = audit_context.classes(tables)
    values["sensitive"] = _sensitive(call, tables, kind.name, own)
    values |= _register(call, tables, own) | {
        "kind": kind.name,
        "calls_python": kind.calls_python,
        "weighs_people": kind.weighs_people,
        "attributes": attributes,
        "people": tables.source.rows,
        "who": _who(call, tables, tables.source, tables.qi),
        "threshold": literal(_threshold(kind, options, bounds.alpha)),
        "above": kind.name == "minimality" and options["threshold"] is None,
        "alpha": literal(bounds.alpha),
        "k": bounds.k,
        "seed": options["seed"],
        "train": literal(options.number("train")),
        "request": as_json(
            {"kind": kind.name, "function": function, "session": call.session.token, "seed": options["seed"]}
            | _loss(tables, attributes)
        ),
        "facts": options["facts"],
        "sample": options["sample"],
        "tried": Sql("coded" if kind.name == "linkage" or options["sample"] is None else "drawn"),
        "targets": _targets(tables, kind),
        "has_person": _has_person(call, tables),
        "sources": [
            {**column_pairs.stands(function, s), **tables.fingerprints} for s in (tables.source, tables.release)
        ],
        "say": {
            "policy_changed": error_sql(errors.PolicyChangedError(function, tables.source.shown)),
            "empty": error_sql(errors.EmptySourceError(function, tables.release.shown)),
            "empty_source": error_sql(errors.EmptySourceError(function, tables.source.shown)),
        },
        "body": kind.body,
    }
    return Sql(fill("audit/attacks/rows.sql" if function == "attack" else "audit/attacks/summary.sql", **values))


def _targets(tables: Tables, kind: Attack) -> list[dict[str, object]]:
    """What is guessed: sensitive columns, quasi-identifiers (both of them in this order), or whose record it is."""
    if kind.guesses == "person":
        return [{"number": 0, "label": Sql("NULL")}]
    guessed = (
        *(tables.qi if kind.guesses != "sensitive" else ()),
        *(tables.sensitive if kind.guesses != "quasi" else ()),
    )
    return [{"number": i, "label": text(name)} for i, name in enumerate(guessed)]


def _register(call: Call, tables: Tables, hierarchies: Mapping[str, tuple[str, str | None]]) -> dict[str, object]:
    """Template values of the table of other people; none without one."""
    given = call.options.text("register")
    if given is None:
        return {"others": [], "other_of": []}
    table = audit_context.people(call, tables, given)
    others = audit_context.strangers(call, tables, table, hierarchies)
    shared = [column for column in table.columns if column.lower() in {n.lower() for n in tables.qi}]
    by_column = {o.q: o for o in others}
    other_of = [by_column.get(i) for i in range(len(tables.qi))]
    return {
        "others": others,
        "other_of": other_of,
        "register": table.rows,
        "other_who": _who(call, tables, table, shared),
    }


_WITHOUT_DEFAULT = ("register", "k", "l", "alpha", "sample")
"""Parameters that are not given unless the call gives them; the others have defaults and are never refused."""


def _check(function: str, kind: Attack, options: Options) -> None:
    """Refuse what would be ignored, and ask for what an attack cannot do without."""
    for name in _WITHOUT_DEFAULT:
        if name not in kind.uses and options[name] is not None:
            raise errors.UnusedArgumentError(function, name, f"it is not about {kind.name}")
    if kind.name == "linkage" and options["register"] is None:
        raise errors.MissingArgumentError(function, "register", "a table's name", "register = 'citizens'")
    if kind.name == "minimality" and options["alpha"] is not None and options["l"] is not None:
        raise errors.UnusedArgumentError(function, "l", "alpha is given")


def _threshold(kind: Attack, options: Options, alpha: float) -> float:
    """Return the confidence from which on somebody counts as exposed."""
    given = options.number("threshold")
    if given is not None:
        return given
    return alpha if kind.name == "minimality" else kind.threshold


def _loss(tables: Tables, attributes: Sequence[PairedColumn]) -> dict[str, object]:
    """What a refinement takes for granted of the loss: weights, by the call of the ledger or declared, and whether a
    node loses its share of leaves."""
    options = {} if tables.entry is None else tables.entry.options
    given = options.get("weights")
    weights = {row.column.lower(): row.settings.weight for row in tables.declared}
    if isinstance(given, Mapping):
        weights |= {str(name).lower(): float(weight) for name, weight in given.items()}
    return {
        "leaves": options.get("objective") == "ncp",
        "columns": [
            {
                "is_number": a.is_number,
                "is_tree": a.rows is not None,
                "step": a.step,
                "weight": weights.get(a.plain.lower(), 1.0),
            }
            for a in attributes
        ],
    }


class _Bounds(NamedTuple):
    """What the algorithm of a release kept to: least records in a class (None: those of its smallest), and the greatest
    share of a value in a class."""

    k: int | None = None
    alpha: float = 1.0


def _bounds(call: Call, tables: Tables, kind: Attack) -> _Bounds:
    """What an attack takes for granted, by the call and the ledger; l: one in l, as Wong et al. count.

    Raises MissingArgumentError, LedgerMismatchError.
    """
    if "k" not in kind.uses:
        return _Bounds()
    k, least = release_lookup.made_with(call, tables.entry, "k"), call.options.number("l")
    if kind.name == "refinement":
        return _Bounds(None if k is None else int(k))
    alpha = 1 / least if least is not None else release_lookup.made_with(call, tables.entry, "alpha")
    if alpha is None:
        accepts = "a number above 0 and at most 1, or l"
        raise errors.MissingArgumentError(tables.function, "alpha", accepts, "alpha = 0.5")
    return _Bounds(None if k is None else int(k), alpha)


def _has_person(call: Call, tables: Tables) -> bool:
    """Return whether a column names people, such that they are known again in another table."""
    return call.options["person"] is not None or any(row.role.lower() == "person" for row in tables.declared)


def _who(call: Call, tables: Tables, table: Source, columns: Sequence[str] | Mapping[str, Sql]) -> Sql:
    """Who a record of a table is: the person that is asked for or declared, else the quasi-identifiers, as text."""
    given = call.options.text("person")
    if given is not None:
        name = table.column(tables.function, given, "person")
        if person_value(identifier(name), table.columns[name]) is None:
            raise errors.UnsupportedPersonError(tables.function, table.shown, name, table.columns[name])
        return label_text(identifier(name), table.columns[name])
    for row in tables.declared:
        person = table.spelled(row.column)
        if row.role.lower() == "person" and person is not None:
            return label_text(identifier(person), table.columns[person])
    names = [table.column(tables.function, name, "qi") for name in columns]
    types = ((identifier(name), table.columns[name]) for name in names)
    fields = join_sql(
        f"{column} := {label_text(column, type_) if is_zoned(type_) else column}" for column, type_ in types
    )
    return Sql(f"CAST(struct_pack({fields}) AS VARCHAR)")


def _sensitive(
    call: Call, tables: Tables, kind: str, hierarchies: Mapping[str, tuple[str, str | None]]
) -> list[dict[str, object]]:
    """Template values of the sensitive columns; all values are texts, of the release and of the source."""
    register = call.options.text("register") if kind == "prediction" else None
    columns: list[dict[str, object]] = []
    for i, name in enumerate(tables.sensitive):
        true = tables.source.spelled(name)
        if kind in ("prediction", "reconstruction", "majority"):
            true = tables.source.column(tables.function, name, "sensitive")
        order = hierarchies.get(name)
        columns.append(
            {
                "i": i,
                "plain": name,
                "label": text(name),
                "value": _as_text(tables.release, name),
                "true_value": Sql("NULL::VARCHAR") if true is None else _as_text(tables.source, true),
                "is_known": true is not None,
                "is_numeric": family(tables.release.columns[name])[0] in ("integer", "huge", "decimal", "float"),
                "other_value": None if register is None else _unseen(call, tables, register, name),
                "rows": None,
                "nodes": None
                if order is None
                else hierarchy_sql.rows(resolve.sensitive_hierarchy(call, tables.source, name, order[0])),
                "say": tree_messages(tables.release.shown, name, (order or ("none",))[0], (order or (None, None))[1]),
            }
        )
    if kind == "similarity" and not any(s["nodes"] for s in columns):
        what = "kind = 'similarity'"
        raise errors.SensitiveHierarchyMissingError(tables.function, tables.release.shown, tables.sensitive[0], what)
    return columns


def _unseen(call: Call, tables: Tables, register: str, name: str) -> Sql:
    """Return the sensitive value of the people of a register, who are guessed."""
    table = audit_context.people(call, tables, register)
    return _as_text(table, table.column(tables.function, name, "sensitive"))


def _as_text(table: Source, name: str) -> Sql:
    """Return a column's values as texts that are equal where the values are."""
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
        "The table that was released: whom the attacker looks for, and what is true; default: that of the ledger.",
    ),
    QI,
    SENSITIVE,
    Parameter(
        "person",
        Text("a column name"),
        "The column of the source that names people; default: the declared person, else their quasi-identifiers do.",
    ),
    HIERARCHIES,
    Parameter(
        "register",
        Text("a table's name"),
        "linkage: the table of known people. prediction: unseen people, with their sensitive values, to be guessed.",
    ),
    Parameter(
        "threshold",
        Float(0, 1),
        "Confidence from which on somebody counts as exposed. Default: 1 for homogeneity, similarity, background; "
        "alpha for minimality, exclusive; else 0.5. skewness: least gain over the whole table, default 0.2.",
    ),
    Parameter("facts", Integer(0), "background: how many sensitive values the attacker can rule out.", 1),
    Parameter(
        "k",
        Integer(1),
        "minimality, refinement: the k of the release; default: that of the ledger, or its smallest class.",
    ),
    Parameter("l", Integer(2), "minimality: the release lets no value have a share above 1 / l in a class."),
    Parameter(
        "alpha",
        Float(0, 1, above=True),
        "minimality: the release lets no value have a greater share in a class; default: that of the ledger.",
    ),
    Parameter(
        "sample",
        Integer(1),
        "linkage, majority: records of the register (the source) that are tried, drawn by a hash; default: all.",
    ),
    Parameter(
        "seed", Integer(0, MAX_SEED), "prediction: another seed, another split and forest; sample: other records.", 1
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
        "Whom or which class an attack exposes: guess, how sure the attacker is, without the release, how often right.",
        handler=statement,
        example=Example(
            "SELECT guess, confidence, who FROM attack('safe', kind = 'homogeneity') LIMIT 5;",
            SAFE,
        ),
    ),
    TableFunction(
        "attack_summary",
        ("release",),
        _PARAMETERS,
        "What an attack gains in all, beside guessing the most frequent value and the same attack on the raw data.",
        handler=statement,
        example=Example(
            "SELECT name, value, on_raw FROM attack_summary('safe', kind = 'reconstruction');",
            SAFE,
        ),
    ),
)
