"""What any table achieves, released by whomever: the privacy models as measures of its classes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from dbanon import errors
from dbanon.audit.parameters import QI
from dbanon.functions.call import Call
from dbanon.functions.example import SAFE, Example
from dbanon.functions.parameter_types import Columns, PerColumn, Text
from dbanon.functions.parameters import COMMON, Parameter
from dbanon.functions.table_function import TableFunction
from dbanon.hierarchy.relation import rows
from dbanon.hierarchy.storage import Hierarchy
from dbanon.policy.column_roles import ROLES
from dbanon.release import prepare
from dbanon.release.column_views import tree_messages
from dbanon.source import stored_policy
from dbanon.source.catalog import Source
from dbanon.source.column_types import family, person_value
from dbanon.source.stored_policy import Declared
from dbanon.sqltext.quote import Sql, identifier, literal, text
from dbanon.sqltext.template import fill, message

_COMMON = {p.name: p for p in COMMON}
_PERSON = Parameter(
    "person",
    Text("a column name"),
    "Distinct persons are counted instead of records; default: the declared person column.",
)
_K = (QI, _PERSON)
_SENSITIVE = (
    QI,
    Parameter("sensitive", Columns(), "The columns that are judged; default: the declared sensitive ones."),
    _PERSON,
    _COMMON["multi"],
)
_HIERARCHIES = Parameter(
    "hierarchies",
    PerColumn(Text("a hierarchy's name"), "{'disease': 'icd10'}"),
    "Hierarchy of a sensitive column: a name, or ARX rows as text; default: the declared one.",
)
_ALL = "anonymity"

# --- the models ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Form:
    """One form of a model: a branch of sql/audit/anonymity/value.sql."""

    kind: str
    better: str
    what: str


_EMD = "Greatest earth mover's distance of a class from the whole table"
_FORMS = {
    f.kind: f
    for f in (
        _Form("k", "higher", "Least number of {unit} in a class."),
        _Form("distinct", "higher", "Least number of different values in a class."),
        _Form("entropy", "higher", "Least exp of the entropy of the values of a class."),
        _Form("recursive", "higher", "Greatest l such that every class is recursive (c, l)-diverse with c = {c:g}."),
        _Form("equal", "lower", f"{_EMD}, all values equally far apart."),
        _Form("ordered", "lower", f"{_EMD}, values as far apart as their ranks."),
        _Form("hierarchical", "lower", f"{_EMD}, values as far apart as their lowest common ancestor is high."),
        _Form("share", "lower", "Greatest share of one value in a class."),
        _Form("gain", "lower", "Greatest relative gain of a value's share in a class over the whole table."),
        _Form(
            "enhanced",
            "lower",
            "Greatest relative gain of a value's share in a class over the whole table; infinite where it is above "
            "-ln of the share in the table.",
        ),
    )
}


@dataclass(frozen=True)
class _Judged:
    """One sensitive column of a call, with the hierarchy that applies to it and how it was named."""

    column: str
    type: str
    hierarchy: Hierarchy | None = None
    shown: str = ""
    asked: str | None = None

    @property
    def is_number(self) -> bool:
        return family(self.type)[0] is not None


def _forms(function: str, options: Mapping[str, object]) -> list[str]:
    """The form of the model that one function measures."""
    return {
        "k_anonymity": ["k"],
        "l_diversity": [str(options.get("diversity") or "distinct")],
        "t_closeness": [str(options.get("emd") or "equal")],
        "alpha_k": ["share"],
        "p_sensitive": ["distinct"],
        "beta_likeness": ["enhanced" if options.get("likeness") == "enhanced" else "gain"],
    }[function]


def _all_forms(judged: _Judged) -> list[tuple[str, str]]:
    """(name in `anonymity`, form) of all models that fit a sensitive column."""
    return [
        ("distinct_l", "distinct"),
        ("entropy_l", "entropy"),
        ("recursive_l", "recursive"),
        ("t_closeness_equal", "equal"),
        *([("t_closeness_ordered", "ordered")] if judged.is_number or judged.hierarchy else []),
        *([("t_closeness_hierarchical", "hierarchical")] if judged.hierarchy else []),
        ("alpha", "share"),
        ("p_sensitive", "distinct"),
        ("beta_basic", "gain"),
        ("beta_enhanced", "enhanced"),
    ]


# --- the columns of a call -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Columns:
    """Columns as the table spells them."""

    qi: tuple[str, ...]
    sensitive: tuple[str, ...]
    person: str | None


def _columns(
    function: str, source: Source, declared: Iterable[Declared], options: Mapping[str, object], judges: bool
) -> _Columns:
    """What a call names, and where it names nothing, what the policy declares and the call does not use otherwise.

    Measuring publishes nothing, so a call may name any column. Raises UnknownColumn, UnknownRole, TwoRoles, NoPolicy,
    NoSensitive.
    """
    spelled = {name.lower(): name for name in source.columns}

    def column(name: str, where: str) -> str:
        if name.lower() not in spelled:
            raise errors.UnknownColumn(function, source.shown, name, where, source.columns)
        return spelled[name.lower()]

    asked: dict[str, str] = {}
    for parameter in ("qi", "sensitive", "person"):
        value = cast("str | Sequence[str] | None", options.get(parameter))
        for given in (value,) if isinstance(value, str) else value or ():
            name = column(given, parameter)
            if name in asked:
                raise errors.TwoRoles(function, source.shown, name, (asked[name], parameter))
            asked[name] = parameter
    roles: dict[str, str] = {}
    for row in declared:
        name, role = column(row.column, "dbanon.policy"), row.role.lower()
        if role not in ROLES:
            raise errors.UnknownRole(source.shown, name, row.role, ROLES)
        if name in roles:
            raise errors.TwoRoles(function, source.shown, name, (roles[name], role))
        roles[name] = role

    def found(parameter: str, role: str) -> tuple[str, ...]:
        if options.get(parameter) is not None:
            return tuple(name for name, where in asked.items() if where == parameter)
        return tuple(name for name in source.columns if roles.get(name) == role and name not in asked)

    qi, sensitive = found("qi", "quasi"), found("sensitive", "sensitive") if judges else ()
    persons = [name for name in source.columns if roles.get(name) == "person"]
    if options.get("person") is not None:
        persons = list(found("person", "person"))
    if len(persons) > 1:
        raise errors.TwoRoles(function, source.shown, persons[1], ("person", f"person of {persons[0]}"))
    if persons and asked.get(persons[0], "person") != "person":
        raise errors.TwoRoles(function, source.shown, persons[0], (asked[persons[0]], "person"))
    if not qi:
        raise errors.NoPolicy(function, source.shown, source.columns)
    if judges and not sensitive and function != _ALL:
        raise errors.NoSensitive(function, source.shown, function)
    return _Columns(qi, sensitive, persons[0] if persons else None)


def _judged(
    function: str,
    source: Source,
    sensitive: Sequence[str],
    declared: Iterable[Declared],
    options: Mapping[str, object],
    find: Callable[[str, str], Hierarchy],
) -> list[_Judged]:
    """The sensitive columns, each with its hierarchy where a distance of their values is measured.

    Raises UnknownColumn, UnsupportedSetting, UnusedArgument, UnknownHierarchy, NoSensitiveHierarchy.
    """
    spelled = {name.lower(): name for name in source.columns}
    emd = str(options.get("emd") or "equal")
    given: dict[str, str] = {}
    for key, value in cast(Mapping[str, str], options.get("hierarchies") or {}).items():
        name = spelled.get(key.lower())
        if name is None:
            raise errors.UnknownColumn(function, source.shown, key, "hierarchies", source.columns)
        if name not in sensitive:
            why = "it is not a sensitive column of this call."
            raise errors.UnsupportedSetting(function, source.shown, name, "hierarchies", why)
        given[name] = value
    if given and function != _ALL and emd == "equal":
        raise errors.UnusedArgument(function, "hierarchies", "emd is 'equal'")
    stored = {spelled[d.column.lower()]: d.settings.hierarchy for d in declared if d.role.lower() == "sensitive"}
    found = []
    for name in sensitive:
        judged = _Judged(name, source.columns[name])
        hierarchy = given.get(name) or stored.get(name)
        if hierarchy and (function == _ALL or emd != "equal"):
            shown = hierarchy if ";" not in hierarchy else "given as text"
            judged = replace(judged, hierarchy=find(name, hierarchy), shown=shown, asked=given.get(name))
        elif emd == "hierarchical":
            raise errors.NoSensitiveHierarchy(function, source.shown, name)
        found.append(judged)
    return found


# --- the statement ---------------------------------------------------------------------------------------


def statement(
    function: str,
    source: Source,
    policy: tuple[list[Declared], Sql, str],
    options: Mapping[str, object],
    find: Callable[[str, str], Hierarchy],
) -> Sql:
    """The SQL of one call. `policy` is what `stored_policy.policy_of` gives, `find` the hierarchy of a column by name.

    Raises UnknownColumn, UnknownRole, TwoRoles, NoPolicy, NoSensitive, UnsupportedPerson, UnsupportedSetting,
    UnusedArgument, UnknownHierarchy, NoSensitiveHierarchy.
    """
    declared, fingerprint_sql, fingerprint = policy
    if options.get("c") is not None and function != _ALL and options.get("diversity") != "recursive":
        raise errors.UnusedArgument(function, "c", "diversity is not 'recursive'")
    columns = _columns(function, source, declared, options, function != "k_anonymity")
    judged = _judged(function, source, columns.sensitive, declared, options, find)
    table = source.shown
    sensitive = [_sensitive(source, i, s) for i, s in enumerate(judged)]
    return Sql(
        fill(
            "audit/anonymity/all.sql" if function == _ALL else "audit/anonymity/worst.sql",
            source=source.sql,
            quasi=[{"name": identifier(n), "value": value(n, source.columns[n])} for n in columns.qi],
            sensitive=sensitive,
            person=_person(function, source, columns.person),
            joint=options.get("multi") == "joint" and len(sensitive) > 1,
            models=_models(function, columns, judged, options),
            fingerprint_sql=fingerprint_sql,
            fingerprint=text(fingerprint),
            bare=text(source.table.lower()) if source.bare else None,
            say={
                "policy_changed": message(errors.PolicyChanged(function, table)),
                "shadowed": message(errors.ShadowedTable(function, table, str(source.sql))),
                "empty": message(errors.EmptySource(function, table)),
            },
        )
    )


def value(name: str, type_: str) -> Sql:
    """A column whose equal values are told apart by nothing that a reader sees.

    Texts compare byte by byte, whatever collation the column has; of 0.0 and -0.0 only one is shown.
    """
    if type_ in ("FLOAT", "DOUBLE"):
        return Sql(f"({identifier(name)} + 0::{type_})")
    return Sql(f"{identifier(name)} COLLATE POSIX") if type_ == "VARCHAR" else identifier(name)


def _person(function: str, source: Source, name: str | None) -> Sql | None:
    if name is None:
        return None
    value = person_value(name, source.columns[name])
    if value is None:
        raise errors.UnsupportedPerson(function, source.shown, name, source.columns[name])
    return value


def _sensitive(source: Source, i: int, judged: _Judged) -> dict[str, object]:
    """Template values of one sensitive column."""
    return {
        "i": i,
        "value": value(judged.column, judged.type),
        "rows": rows(judged.hierarchy) if judged.hierarchy else None,
        "say": tree_messages(source.shown, judged.column, judged.shown, judged.asked),
    }


def _models(
    function: str, columns: _Columns, judged: Sequence[_Judged], options: Mapping[str, object]
) -> list[dict[str, object]]:
    """Template values of the models of a call, in the order in which they are shown."""
    found: list[tuple[str, str, int | None]] = []
    if function == _ALL:
        found.append(("k_anonymity", "k", None))
        found += [(name, form, i) for i, s in enumerate(judged) for name, form in _all_forms(s)]
    else:
        places = [None] if function == "k_anonymity" else range(len(judged))
        found += [(function, form, i) for i in places for form in _forms(function, options)]
    c = float(cast(float, options.get("c") or 2.0))
    within = options.get("multi") == "joint" and len(judged) > 1
    unit = "records" if columns.person is None else "persons"
    return [
        {
            "number": number,
            "label": text(name),
            "kind": form.kind,
            "sensitive": i,
            "sensitive_label": text(judged[i].column) if i is not None else Sql("NULL"),
            "c": literal(c),
            "better": text(form.better),
            "higher": form.better == "higher",
            "what": text(
                form.what.format(unit=unit, c=c)
                + (" Within equal values of the other sensitive columns." if within and i is not None else "")
            ),
        }
        for number, (name, kind, i) in enumerate(found)
        for form in (_FORMS[kind],)
    ]


def measured(call: Call) -> Sql:
    """The SQL of a call; errors are those of `statement`, and UnknownTable."""
    source = call.source()
    policy = stored_policy.policy_of(source, call.cursor)
    return statement(call.function.name, source, policy, call.options, partial(prepare.order, call, source))


# --- the table functions ---------------------------------------------------------------------------------

_EXAMPLE_QI = "qi = ['sex', 'zip']"
_EXAMPLE_JUDGED = f"{_EXAMPLE_QI}, sensitive = ['disease']"
_GIVES = "The achieved value and the ten worst classes"
FUNCTIONS = (
    TableFunction(
        "k_anonymity",
        ("tbl",),
        _K,
        f"{_GIVES}: records (persons) in a class.",
        handler=measured,
        example=Example(f"SELECT * FROM k_anonymity('safe', {_EXAMPLE_QI});", SAFE),
    ),
    TableFunction(
        "l_diversity",
        ("tbl",),
        (*_SENSITIVE, _COMMON["diversity"], _COMMON["c"]),
        f"{_GIVES}: well-represented sensitive values in a class.",
        handler=measured,
        example=Example(f"SELECT * FROM l_diversity('safe', {_EXAMPLE_JUDGED}, diversity = 'entropy');", SAFE),
    ),
    TableFunction(
        "t_closeness",
        ("tbl",),
        (*_SENSITIVE, _COMMON["emd"], _HIERARCHIES),
        f"{_GIVES}: earth mover's distance of a class from the whole table.",
        handler=measured,
        example=Example(f"SELECT * FROM t_closeness('safe', {_EXAMPLE_JUDGED});", SAFE),
    ),
    TableFunction(
        "alpha_k",
        ("tbl",),
        _SENSITIVE,
        f"{_GIVES}: greatest share of one sensitive value in a class.",
        handler=measured,
        example=Example(f"SELECT * FROM alpha_k('safe', {_EXAMPLE_JUDGED});", SAFE),
    ),
    TableFunction(
        "p_sensitive",
        ("tbl",),
        _SENSITIVE,
        f"{_GIVES}: different sensitive values in a class.",
        handler=measured,
        example=Example(f"SELECT * FROM p_sensitive('safe', {_EXAMPLE_JUDGED});", SAFE),
    ),
    TableFunction(
        "beta_likeness",
        ("tbl",),
        (*_SENSITIVE, _COMMON["likeness"]),
        f"{_GIVES}: greatest relative gain of a sensitive value's share in a class over the whole table.",
        handler=measured,
        example=Example(f"SELECT * FROM beta_likeness('safe', {_EXAMPLE_JUDGED}, likeness = 'enhanced');", SAFE),
    ),
    TableFunction(
        "anonymity",
        ("tbl",),
        (*_SENSITIVE, _COMMON["c"], _HIERARCHIES),
        "What a table achieves by every model: value, how many classes have it, how many records are in these.",
        handler=measured,
        example=Example(f"SELECT * FROM anonymity('safe', {_EXAMPLE_JUDGED});", SAFE),
    ),
)
"""Not more than eight parameters each: all of them take `name = value` (see dbanon.functions.arguments)."""
